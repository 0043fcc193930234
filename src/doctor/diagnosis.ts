import type { ServedList } from '../banks/cached-list.ts';
import { LoadError } from '../banks/load-error.ts';
import { countRejected } from '../banks/reading/entry.ts';
import type { Config } from '../config/config.ts';
import { advise, entriesOf, entryHints, STEPS, type StepName } from './advice.ts';
import type { Facts } from './exchange.ts';
import { surveyFields, type FieldSeen } from './fields.ts';
import { ms, size } from './units.ts';

// What the exchange showed, step by step in words, up to the first failure. Pure: facts in, a report out.

export interface Step {
  readonly name: StepName;
  /** `note`: it works, but somebody should look at it. */
  readonly verdict: 'ok' | 'note' | 'FAIL';
  readonly told: string;
  readonly likely?: string;
  readonly next?: string;
}

export interface Report {
  readonly steps: readonly Step[];
  readonly fields: readonly FieldSeen[];
  /** Published names and where each comes from; undefined: all. */
  readonly published: Config['banks']['fields'];
  /** The list that would be served. */
  readonly served: ServedList | undefined;
}

export const diagnose = (config: Config, facts: Facts): Report => {
  const { outcome } = facts;
  const failed = outcome instanceof LoadError ? fail(outcome, config, facts) : undefined;
  const passed = STEPS.slice(0, failed ? STEPS.findIndex((name) => name === failed.name) : undefined);
  return {
    steps: [
      tellConfiguration(config),
      ...passed.map((name) => tell(name, config, facts)),
      ...(failed ? [failed] : []),
    ],
    fields: surveyFields(entriesOf(facts)),
    published: config.banks.fields,
    served: outcome instanceof LoadError ? undefined : outcome,
  };
};

const fail = (error: LoadError, config: Config, facts: Facts): Step => {
  const { step, ...advice } = advise(error, config, facts);
  return { name: step, verdict: 'FAIL', told: error.message, ...advice };
};

const tellConfiguration = ({ provider, banks }: Config): Step => ({
  name: 'configuration',
  verdict: 'ok',
  told:
    `${provider.environment}, ${provider.baseUrl.href}, at most ${provider.timeoutMs} ms and ` +
    `${size(provider.maxBodyBytes)}; ${banks.fields ? `publishes ${banks.fields.length} fields` : 'publishes every field'}`,
});

/** A step that was passed. */
const tell = (name: (typeof STEPS)[number], config: Config, facts: Facts): Step => {
  const { answeredAfterMs = 0 } = facts;
  const { connection, head } = facts.providerWay;
  const ok = (told: string): Step => ({ name, verdict: 'ok', told });
  const note = (told: string, next: string): Step => ({ name, verdict: 'note', told, next });
  switch (name) {
    case 'token':
      return ok(tellToken(config, facts));
    case 'address':
      return ok(
        connection
          ? `connected to ${connection.address ?? 'it'} after ${ms(connection.afterMs)}`
          : 'something listens there',
      );
    case 'TLS': {
      if (!connection?.tls) return ok('none: the address is http:, which only a sandbox may be');
      const days = Math.floor((connection.tls.validUntilMs - facts.examinedAtMs) / 86_400_000);
      const told = `${connection.tls.protocol}, the certificate is valid for ${days} more days`;
      return days < 14
        ? note(told, 'tell the provider, or who runs its gateway, to renew it in time')
        : ok(told);
    }
    case 'status':
      return ok(`${head?.status ?? 200} after ${ms(head?.afterMs ?? answeredAfterMs)}`);
    case 'content': {
      const told = `JSON, ${size(facts.answer?.body.length ?? 0)}, whole after ${ms(answeredAfterMs)}`;
      return answeredAfterMs > config.provider.timeoutMs / 2
        ? note(
            `${told}: more than half of PROVIDER_TIMEOUT`,
            'raise PROVIDER_TIMEOUT before a slow day makes it fail',
          )
        : ok(told);
    }
    case 'list':
      return ok(`${entriesOf(facts).length} entries`);
    case 'entries':
      return tellEntries(config, facts);
  }
};

const tellToken = ({ provider: { token } }: Config, { tokenAfterMs = 0 }: Facts): string => {
  switch (token.kind) {
    case 'fixed':
      return 'the fixed one of PROVIDER_ACCESS_TOKEN';
    case 'file':
      return 'from the file that PROVIDER_ACCESS_TOKEN_FILE names';
    case 'client-credentials':
      return `granted by the token endpoint after ${ms(tokenAfterMs)}`;
  }
};

const tellEntries = (config: Config, facts: Facts): Step => {
  const { outcome } = facts;
  const [count, rejected] =
    outcome instanceof LoadError ? [0, 0] : [outcome.list.count, countRejected(outcome.list.rejected)];
  const told = `${count} can be served, ${rejected} rejected`;
  const hints = entryHints(config, facts);
  return rejected > 0 || hints.length > 0
    ? { name: 'entries', verdict: 'note', told, next: hints.join('; ') || 'look at the fields below' }
    : { name: 'entries', verdict: 'ok', told };
};
