import { freshness, isServable } from '../banks/freshness.ts';
import type { SavedList } from '../banks/fleet.ts';
import { LoadError } from '../banks/load-error.ts';
import type { LoadedList } from '../banks/reading/list-reader.ts';
import { systemClock } from '../clock.ts';
import { secretSourcesOf, secretsOf, type Config } from '../config/config.ts';
import { withDeadline } from '../deadline.ts';
import { createProvider, type ProviderOptions } from '../provider/provider.ts';
import type { Redaction } from '../secrets/redaction.ts';
import { createSecrets } from '../secrets/secrets.ts';
import { createEnvelope } from '../sharing/envelope.ts';

// The parts of the service that load a list once and read a saved one, for the commands that do
// that and end.

export interface PartsOptions {
  readonly version: string;
  /** Is given every secret. */
  readonly redaction: Redaction;
  readonly onEvent?: ProviderOptions['onEvent'];
}

export const createParts = (
  config: Config,
  { version, redaction, onEvent = () => undefined }: PartsOptions,
) => {
  const { provider: providerConfig, banks, cache } = config;
  const { addSecret, findEcho } = redaction;
  for (const [variable, secret] of secretsOf(config)) addSecret(variable, secret);
  const clock = systemClock;
  const secrets = createSecrets({
    ...secretSourcesOf(config),
    addSecret,
    clock,
    onEvent: () => undefined,
  });
  const provider = createProvider(config, {
    version,
    clock,
    random: Math.random,
    secrets,
    addSecret,
    findEcho,
    onEvent,
  });
  const limitMs = providerConfig.timeoutMs;
  return {
    secrets,
    envelope: createEnvelope({
      provider: providerConfig,
      banks,
      policy: cache,
      clock,
      readKey: cache.signingKey && (() => secrets.read('CACHE_SIGNING_KEY')),
    }),
    /** Makes the load. @throws {LoadError} */
    load: async (): Promise<LoadedList> => {
      try {
        return await withDeadline(provider.load, {
          limitMs,
          clock,
          timeoutError: () => new LoadError('timeout', `no complete response within ${limitMs} ms`),
        });
      } catch (error) {
        throw LoadError.from(error);
      } finally {
        provider.close();
      }
    },
    /** The list that a service would hold if it started with this saved one now. */
    heldOf: (saved: SavedList | undefined): SavedList | undefined =>
      saved && isServable(freshness(clock.monotonicMs() - saved.askedAtMs, cache))
        ? saved
        : undefined,
    /** What the guard needs to know of the configuration. */
    guardPolicy: { ...config.guard, fields: banks.fields, maxStaleMs: cache.maxStaleMs },
  };
};
