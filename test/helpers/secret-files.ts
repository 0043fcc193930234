import type { Clock } from '../../src/clock.ts';
import { secretRulesFor } from '../../src/config/config.ts';
import { createSecrets, type Secrets } from '../../src/secrets/secrets.ts';

/** For a part of the service that a test makes by itself. */
export const createTestSecrets = (
  clock: Clock,
  addSecret: (variable: string, secret: string) => void = () => undefined,
): Secrets =>
  createSecrets({
    sources: {
      PROVIDER_ACCESS_TOKEN: { reveal: () => 'token' },
      PROVIDER_CLIENT_SECRET: { reveal: () => 'emulator-secret' },
    },
    tlsFiles: {},
    rules: secretRulesFor('sandbox'),
    addSecret,
    clock,
    onEvent: () => undefined,
  });
