import type { Clock } from '../clock.ts';
import { SecretFileError } from '../secrets/secret.ts';

// What is reported of a store, in which the list is saved outside the process. Stores are neither
// trusted nor relied on: whatever one does, the service continues with the list in memory.

/** The variable that configures a store. */
export type StoreName = 'CACHE_SNAPSHOT_FILE' | 'CACHE_REDIS_URL' | 'CACHE_REDIS_URL_FILE';

/** A store failed. The message is for the log and never quotes stored data. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

export type StoreEvent =
  /** It fails, and did not before. */
  | { readonly type: 'store-failed'; readonly store: StoreName; readonly reason: string }
  | { readonly type: 'store-recovered'; readonly store: StoreName };

/** Whether a store works. It does until it fails. */
export interface StoreState {
  readonly name: StoreName;
  /** Undefined while it works. `sinceMs` is in wall-clock milliseconds; the reason is the newest. */
  readonly failing: { readonly sinceMs: number; readonly reason: string } | undefined;
}

export type StoreReport = ReturnType<typeof createStoreReport>;

/** Remembers whether a store works, and tells when that changes. */
export const createStoreReport = (
  name: StoreName,
  clock: Pick<Clock, 'wallMs'>,
  onEvent: (event: StoreEvent) => void = () => undefined,
) => {
  let failing: StoreState['failing'];
  return {
    failed: (reason: string): void => {
      if (!failing) onEvent({ type: 'store-failed', store: name, reason });
      failing = { sinceMs: failing?.sinceMs ?? clock.wallMs(), reason };
    },
    worked: (): void => {
      if (failing) onEvent({ type: 'store-recovered', store: name });
      failing = undefined;
    },
    state: (): StoreState => ({ name, failing }),
  };
};

/**
 * Why a store cannot be used, for the log.
 * @param otherwise what is said of an error that is not one of this service's own
 */
export const describeStoreFailure = (
  error: unknown,
  otherwise = 'failed with an unexpected error',
): string => {
  if (error instanceof StoreError) return error.message;
  return error instanceof SecretFileError ? `is not used: ${error.message}` : otherwise;
};
