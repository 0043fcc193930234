import type { HeldList } from '../banks/cached-list.ts';
import type { StorePlace } from '../banks/order.ts';
import { describeStoreFailure, StoreError, type StoreReport } from './list-store.ts';
import type { RedisStore, StoreContent } from './redis-store.ts';
import type { LeaseToWrite } from './saved-lease.ts';

// What a replica knows of Redis: what it had at the last look, over which everything is written.

export type RedisView = ReturnType<typeof createRedisView>;

export const createRedisView = (
  store: Pick<RedisStore, 'look' | 'write' | 'writeLease' | 'isConnected'>,
  report: StoreReport,
) => {
  /** Undefined while Redis cannot be used. */
  let content: StoreContent | undefined;

  const reportFailure = (error: unknown): void => {
    // The connection has reported its own failures.
    if (!(error instanceof StoreError)) report.isBad(describeStoreFailure(error));
  };

  return {
    /** @throws {StoreError | SecretFileError} */
    look: async (): Promise<StoreContent> => (content = await store.look()),
    /** Redis cannot be used before the next look. */
    failed: (error: unknown): void => {
      content = undefined;
      reportFailure(error);
    },
    /** An open connection is of no use without the signing key. */
    isUsable: (): boolean => content !== undefined && store.isConnected(),
    place: (): StorePlace | undefined => content?.place,
    lease: (): StoreContent['lease'] => (store.isConnected() ? content?.lease : undefined),
    /**
     * Writes a list over the one of the last look.
     * @returns whether it did; if not, another replica has written one
     * @throws {StoreError | SecretFileError}
     */
    writeList: async (list: HeldList, place: StorePlace): Promise<boolean> =>
      content !== undefined && store.write(list, place, content),
    /** Writes a lease over the one of the last look. Never rejects. @returns the same */
    writeLease: async (lease: LeaseToWrite): Promise<boolean | undefined> => {
      if (!content) return undefined;
      try {
        const written = await store.writeLease(lease, content);
        if (written) content = written;
        return written !== undefined;
      } catch (error) {
        reportFailure(error);
        return undefined;
      }
    },
  };
};
