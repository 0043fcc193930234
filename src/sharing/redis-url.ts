import type { SecretSource } from '../config/reader.ts';
import { InvalidValue, passwordsIn, toRedisUrl } from '../config/values.ts';
import { createSecretFile, SecretFileError, type SecretFileOptions } from '../secrets/secret-file.ts';
import { StoreError } from './list-store.ts';

const VARIABLE = 'CACHE_REDIS_URL_FILE';

/**
 * Gives the address of Redis. A file is read again each time, so a new password is used at the next connection; it is
 * passed to `addSecret` before it is used.
 * @throws {StoreError} if the file has no usable address
 */
export const createRedisUrl = (
  source: SecretSource,
  addSecret: SecretFileOptions['addSecret'],
): (() => Promise<string>) => {
  if ('reveal' in source) return () => Promise.resolve(source.reveal());
  const readText = createSecretFile({
    variable: VARIABLE,
    path: source.path,
    rule: { bearer: false, minChars: 1 },
    addSecret: () => undefined,
  });
  return async () => {
    try {
      const url = toRedisUrl(await readText()).reveal();
      for (const password of passwordsIn(url)) addSecret(VARIABLE, password);
      return url;
    } catch (error) {
      if (error instanceof SecretFileError) throw new StoreError(error.message);
      if (error instanceof InvalidValue) throw new StoreError(`${VARIABLE} ${error.message}`);
      throw error;
    }
  };
};
