import type { SavedList } from '../banks/fleet.ts';
import { freshness, isServable } from '../banks/freshness.ts';
import { LoadError } from '../banks/load-error.ts';
import { systemClock } from '../clock.ts';
import { secretSourcesOf, secretsOf, type Config } from '../config/config.ts';
import type { Redaction } from '../secrets/redaction.ts';
import { createSecrets } from '../secrets/secrets.ts';
import { createEnvelope } from '../sharing/envelope.ts';
import { explainList } from './list.ts';
import { explainLoad, observeLoad } from './load.ts';
import { tryPorts } from './ports.ts';
import { formatBytes, renderStep, type Step } from './report.ts';
import { tryRedis, trySnapshot, type TriedStore } from './stores.ts';

// Whether a valid configuration works: one load from the provider, then each store and each port
// once. The report has a line for each step, and no secret.

export const CANNOT_SERVE = 'This configuration cannot serve a list.';

export interface ExamineOptions {
  readonly version: string;
  /** Is given every secret. */
  readonly redaction: Redaction;
}

export const examine = async (config: Config, { version, redaction }: ExamineOptions) => {
  const { addSecret, findEcho } = redaction;
  for (const [variable, secret] of secretsOf(config)) addSecret(variable, secret);
  const secrets = createSecrets({
    ...secretSourcesOf(config),
    addSecret,
    clock: systemClock,
    onEvent: () => undefined,
  });
  const observation = await observeLoad(config, { version, secrets, addSecret, findEcho });
  const { outcome } = observation;
  const envelope = createEnvelope({
    provider: config.provider,
    banks: config.banks,
    policy: config.cache,
    readKey: config.cache.signingKey && (() => secrets.read('CACHE_SIGNING_KEY')),
    clock: systemClock,
  });
  const content = outcome instanceof LoadError ? Buffer.from('doctor') : outcome.json;
  const { redisUrl, snapshotFile } = config.cache;
  const stores: readonly TriedStore[] = [
    ...(redisUrl ? [await tryRedis(secrets, { envelope, content })] : []),
    ...(snapshotFile === undefined ? [] : [await trySnapshot(snapshotFile, { envelope, content })]),
  ];
  const held = stores.map(({ saved }) => saved).find((saved) => saved && isHeld(saved, config));
  const list = explainList(config, observation, held);
  const steps: readonly Step[] = [
    { name: 'configuration', result: 'ok', message: describeConfig(config) },
    ...explainLoad(config, observation),
    ...(list ? [list.step] : []),
    ...stores.map(({ step }) => step),
    ...(await tryPorts(config)),
  ];
  const failed = steps.filter(({ result }) => result === 'FAIL').map(({ name }) => name);
  const isServed = list !== undefined && list.step.result !== 'FAIL';
  const verdict = isServed ? 'This configuration can serve a list.' : CANNOT_SERVE;
  const rest =
    isServed && failed.length > 0 ? ` But it does not all work: ${failed.join(', ')}.` : '';
  const lines = [...steps.flatMap(renderStep), ...(list?.lines ?? []), '', verdict + rest, ''];
  return { text: lines.join('\n'), works: failed.length === 0 };
};

const describeConfig = ({ provider, banks }: Config): string => {
  const fields = banks.fields ? `${banks.fields.length} fields` : 'every field';
  return `${provider.environment}, ${provider.baseUrl.href}, at most ${provider.timeoutMs} ms and ${formatBytes(provider.maxBodyBytes)}; publishes ${fields}`;
};

/** Whether the service would hold this list, if it started now. */
const isHeld = ({ askedAtMs }: SavedList, { cache }: Config): boolean =>
  isServable(freshness(systemClock.monotonicMs() - askedAtMs, cache));
