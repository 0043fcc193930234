import type { ServedList } from '../banks/cached-list.ts';
import { LoadError } from '../banks/load-error.ts';
import { countRejected } from '../banks/reading/entry.ts';
import type { Config } from '../config/config.ts';
import { parseJson } from '../provider/contract.ts';
import { EXCHANGE_STEPS, type ExchangeStep } from '../failure-kinds.ts';
import { advise, entryHints, type Evidence } from './advice.ts';
import { findMissing, suggestLines, type SuggestedLine } from './bank-fields.ts';
import type { Observation } from './observe.ts';
import type { SurroundingStep } from './obstacles.ts';
import { signOfPages, surveyEntries, type FieldSeen } from './survey.ts';
import { ms, size } from './units.ts';

// What the exchange showed, step by step in words, up to the first failure. Pure: an observation in, a report out.

export interface Step {
  readonly name: 'configuration' | ExchangeStep | 'clock' | SurroundingStep;
  /** `note`: it works, but somebody should look at it. */
  readonly verdict: 'ok' | 'note' | 'FAIL';
  readonly message: string;
  readonly likely?: string;
  readonly next?: string;
}

export interface Report {
  readonly steps: readonly Step[];
  readonly fields: readonly FieldSeen[];
  /** Published names and where each comes from; undefined: all. */
  readonly published: Config['banks']['fields'];
  readonly suggestions: readonly SuggestedLine[];
  /** The list that would be served; undefined if this configuration cannot serve one. */
  readonly served: ServedList | undefined;
  /** The steps that failed. */
  readonly failed: readonly Step['name'][];
}

/** @param surroundings the steps that do not concern the provider */
export const diagnose = (
  config: Config,
  observation: Observation,
  surroundings: readonly Step[] = [],
): Report => {
  const { answer, outcome } = observation;
  const published = config.banks.fields;
  const json = answer && jsonOf(answer.body);
  const survey = surveyEntries(Array.isArray(json) ? json : [], published);
  const missing = survey.entries > 0 ? findMissing(published, survey.fields) : [];
  const evidence: Evidence = { config, observation, json, survey, missing };
  const failed = outcome instanceof LoadError ? toFailedStep(outcome, evidence) : undefined;
  const passed = EXCHANGE_STEPS.slice(
    0,
    EXCHANGE_STEPS.findIndex((name) => name === failed?.name),
  );
  const steps = [
    describeConfiguration(config),
    ...(failed ? passed : EXCHANGE_STEPS).map((name) => describeStep(name, evidence)),
    ...(failed ? [failed] : []),
    ...describeClock(observation),
    ...surroundings,
  ];
  return {
    steps,
    failed: steps.filter(({ verdict }) => verdict === 'FAIL').map(({ name }) => name),
    fields: survey.fields,
    published,
    suggestions: suggestLines(published, missing, survey.fields),
    served: outcome instanceof LoadError ? undefined : outcome,
  };
};

const jsonOf = (body: Buffer): unknown => {
  try {
    return parseJson(body);
  } catch {
    return undefined;
  }
};

const toFailedStep = (error: LoadError, evidence: Evidence): Step => {
  const { step: name, likely, next } = advise(error, evidence);
  return { name, verdict: 'FAIL', message: error.message, likely, next };
};

const describeConfiguration = ({ provider, banks }: Config): Step => ({
  name: 'configuration',
  verdict: 'ok',
  message:
    `${provider.environment}, ${provider.baseUrl.href}, at most ${provider.timeoutMs} ms and ` +
    `${size(provider.maxBodyBytes)}; ${banks.fields ? `publishes ${banks.fields.length} fields` : 'publishes every field'}`,
});

/** The provider's `Date` has whole seconds, and answers travel. */
const MAX_CLOCK_ERROR_SECONDS = 5;

/** This machine's clock compared with the provider's; nothing where it sent no time. */
const describeClock = ({ provider }: Observation): Step[] => {
  const aheadMs = provider.head?.clockAheadMs;
  if (aheadMs === undefined) return [];
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  if (seconds <= MAX_CLOCK_ERROR_SECONDS)
    return [{ name: 'clock', verdict: 'ok', message: "agrees with the provider's" }];
  return [
    {
      name: 'clock',
      verdict: 'note',
      message: `${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the provider's`,
      next: 'synchronise the clock of this machine (NTP): certificates, tokens and the ages of shared lists depend on it; if it is right, tell the provider',
    },
  ];
};

const describeStep = (name: ExchangeStep, evidence: Evidence): Step => {
  const [message, next] = DESCRIBE[name](evidence);
  return next ? { name, verdict: 'note', message, next } : { name, verdict: 'ok', message };
};

/** The steps that were passed, in words; with what to do next where somebody should look at it. */
const DESCRIBE: Readonly<
  Record<ExchangeStep, (evidence: Evidence) => readonly [message: string, next?: string | undefined]>
> = {
  token: ({ config, observation: { tokenAfterMs = 0 } }) => {
    const texts = {
      fixed: 'the fixed one of PROVIDER_ACCESS_TOKEN',
      file: 'from the file of PROVIDER_ACCESS_TOKEN_FILE',
      'client-credentials': `granted by the token endpoint after ${ms(tokenAfterMs)}`,
    };
    return [texts[config.provider.token.kind]];
  },
  address: ({ observation }) => {
    const { connection, isThroughProxy } = observation.provider;
    if (!connection) return ['something listens there'];
    const through = isThroughProxy ? 'the provider through the proxy at ' : '';
    return [`connected to ${through}${connection.address ?? 'the provider'} after ${ms(connection.afterMs)}`];
  },
  TLS: ({ observation: { provider, observedAtMs } }) => {
    const tls = provider.connection?.tls;
    if (!tls) return ['none: the address is http:, which only a sandbox may have'];
    const days = Math.floor((tls.validUntilMs - observedAtMs) / 86_400_000);
    const message = `${tls.protocol}, the certificate is valid for ${days} more days`;
    if (days >= MIN_CERTIFICATE_DAYS) return [message];
    return [message, 'ask the provider, or the operator of its gateway, to renew it in time'];
  },
  status: ({ observation: { provider, answeredAfterMs = 0 } }) => [
    `${provider.head?.status ?? 200} after ${ms(provider.head?.afterMs ?? answeredAfterMs)}`,
  ],
  content: ({ config, observation: { answer, answeredAfterMs = 0 } }) => {
    const message = `JSON, ${size(answer?.body.length ?? 0)}, complete after ${ms(answeredAfterMs)}`;
    if (answeredAfterMs <= config.provider.timeoutMs / 2) return [message];
    return [
      `${message}: more than half of PROVIDER_TIMEOUT`,
      'raise PROVIDER_TIMEOUT, so that a slow day does not make it fail',
    ];
  },
  list: ({ observation, survey, json }) => {
    const pages = signOfPages(observation.answer?.link, json);
    if (pages === undefined) return [`${survey.entries} entries`];
    return [
      `${survey.entries} entries, perhaps the first page of more: ${pages}`,
      "compare the number with the provider's documentation; this service makes one request: ask for an address that sends the whole list",
    ];
  },
  entries: (evidence) => {
    const { outcome } = evidence.observation;
    const [count, rejected] =
      outcome instanceof LoadError ? [0, 0] : [outcome.list.count, countRejected(outcome.list.rejected)];
    const hints = entryHints(evidence).join('; ') || (rejected > 0 ? 'look at the fields below' : undefined);
    return [`${count} can be served, ${rejected} rejected`, hints];
  },
};

/** Less leaves too little time to get a new one. */
const MIN_CERTIFICATE_DAYS = 14;
