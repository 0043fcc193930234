import { LoadError } from '../banks/load-error.ts';
import { SecretFileError } from '../secrets/secrets.ts';

// What is reported of a store, in which the list is saved outside the process. Stores are neither
// trusted nor relied on: whatever one does, the service continues with the list in memory.

/** The variable that configures a store. */
export type StoreName = 'CACHE_SNAPSHOT_FILE' | 'CACHE_REDIS_URL';

/** A store failed. The message is for the log and never quotes stored data. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

export type StoreEvent =
  | { readonly type: 'store-failed'; readonly store: StoreName; readonly reason: string }
  | { readonly type: 'store-recovered'; readonly store: StoreName };

export type StoreReport = ReturnType<typeof createStoreReport>;

/** Makes events of what happens to a store, so that a lasting problem is reported once. */
export const createStoreReport = (store: StoreName, onEvent: (event: StoreEvent) => void) => {
  /** The last failure or problem, if no success has followed. */
  let reported: string | undefined;
  /** Each call is an event. */
  const everyTime = (reason: string): void => {
    reported = reason;
    onEvent({ type: 'store-failed', store, reason });
  };
  /** An event only if the reason is not the one that was reported last. */
  const ifNew = (reason: string): void => {
    if (reason !== reported) everyTime(reason);
  };
  return {
    everyTime,
    ifNew,
    /** A StoreError has been reported by the connection already. */
    unlessReported: (error: unknown): void => {
      if (!(error instanceof StoreError)) ifNew(describeStoreFailure(error));
    },
    success: (): void => {
      if (reported !== undefined) onEvent({ type: 'store-recovered', store });
      reported = undefined;
    },
  };
};

/** Why a store cannot be used, for the log. */
export const describeStoreFailure = (error: unknown): string => {
  if (error instanceof StoreError) return error.message;
  if (error instanceof SecretFileError) return `is not used: ${error.message}`;
  if (error instanceof LoadError) return `contains a list that is refused: ${error.message}`;
  return 'failed with an unexpected error';
};
