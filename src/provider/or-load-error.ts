import { LoadError, UNUSABLE_FILE, type LoadErrorKind } from '../banks/load-error.ts';
import { SecretFileError } from '../secrets/secrets.ts';

/**
 * `read`, which rejects with a LoadError of this kind if a file has no usable content: the load
 * then fails before a request is made.
 */
export const orLoadError =
  <T>(kind: LoadErrorKind, read: () => Promise<T>): (() => Promise<T>) =>
  () =>
    read().catch((error: unknown) => {
      throw error instanceof SecretFileError
        ? new LoadError(kind, error.message, { reasonCode: UNUSABLE_FILE })
        : error;
    });
