import { systemClock, type Clock } from '../../src/clock.ts';
import { secretCheckFor } from '../../src/config/config.ts';
import { createSecretFiles, type SecretFiles } from '../../src/secrets/secret-files.ts';

/** For a part of the service that a test makes by itself. */
export const createTestSecrets = (
  clock: Clock,
  addSecret: (variable: string, secret: string) => void = () => undefined,
): SecretFiles =>
  createSecretFiles({
    problemOf: secretCheckFor('sandbox'),
    addSecret,
    clock,
    ioClock: systemClock,
    onEvent: () => undefined,
  });
