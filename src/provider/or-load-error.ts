import { LoadError, UNUSABLE_FILE, type LoadErrorKind } from '../banks/load-error.ts';
import { SecretFileError } from '../secrets/watched-files.ts';

/**
 * `read`, with files that hold nothing usable as a LoadError of this kind: the load fails before
 * anybody is asked.
 */
export const orLoadError =
  <T>(kind: LoadErrorKind, read: () => Promise<T>): (() => Promise<T>) =>
  () =>
    read().catch((error: unknown) => {
      throw error instanceof SecretFileError
        ? new LoadError(kind, error.message, { reasonCode: UNUSABLE_FILE })
        : error;
    });
