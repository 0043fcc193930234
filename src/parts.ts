import type { GuardPolicy } from './banks/guard.ts';
import { systemClock, type Clock } from './clock.ts';
import { passwordsAndKeysOf, type Config } from './config/config.ts';
import { createProvider, type ProviderEvent } from './provider/provider.ts';
import type { TokenEvent } from './provider/token.ts';
import type { Redaction } from './secrets/redaction.ts';
import type { SecretFileEvent } from './secrets/secret-files.ts';
import { createSecrets } from './secrets/secrets.ts';
import { createEnvelope } from './sharing/envelope.ts';

// What loads a list, checks it and opens a saved one: for the service, and for the commands that do
// that once.

export interface PartsOptions {
  readonly version: string;
  /** Is given every secret. */
  readonly redaction: Redaction;
  readonly onEvent?: (event: ProviderEvent | TokenEvent | SecretFileEvent) => void;
  /** For tests; by default the system's. */
  readonly clock?: Clock | undefined;
}

export const createParts = (config: Config, options: PartsOptions) => {
  const { version, redaction, clock = systemClock, onEvent = () => undefined } = options;
  const { banks, cache } = config;
  for (const [variable, keys] of passwordsAndKeysOf(config)) redaction.addSecret(variable, keys);
  const secrets = createSecrets(config.secrets, {
    environment: config.provider.environment,
    addSecret: redaction.addSecret,
    clock,
    onEvent,
  });
  const provider = createProvider(config, { version, clock, secrets, redaction, onEvent });
  const envelope = createEnvelope({
    provider: config.provider,
    banks,
    policy: cache,
    clock,
    readKey: config.secrets.CACHE_SIGNING_KEY && (() => secrets.read('CACHE_SIGNING_KEY')),
  });
  const guardPolicy: GuardPolicy = {
    ...config.guard,
    fields: banks.fields,
    maxStaleMs: cache.maxStaleMs,
  };
  return { secrets, provider, envelope, guardPolicy };
};
