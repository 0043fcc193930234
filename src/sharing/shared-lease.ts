import type { ListKeeper } from '../banks/list-keeper.ts';
import type { LoadErrorKind } from '../banks/load-error.ts';
import type { NewFailure, SharedFailure } from '../banks/loading/fleet.ts';
import type { RetryAfter } from '../banks/loading/retry-after.ts';
import { monotonic, type Clock, type MonotonicMs } from '../clock.ts';
import type { LeaseWrite, RedisStore } from './redis-store.ts';
import { ENDED, type LeaseToWrite } from './saved-lease.ts';

// The lease in Redis, which is the right to make the next request. While a load is under way its
// owner has it, and nobody else takes it away; after a failure it is held until the next attempt is
// due.

export interface SharedLeaseOptions {
  readonly store: Pick<RedisStore, 'lease' | 'version' | 'writeLease'>;
  readonly retryAfter: Pick<RetryAfter, 'isEnded' | 'leftMs'>;
  readonly keeper: Pick<ListKeeper, 'failures'>;
  /** The longest time that a load can take, in milliseconds. */
  readonly loadTimeoutMs: number;
  /** Failures that say nothing of the other replicas: they are not shared. */
  readonly unsharedFailures: readonly LoadErrorKind[];
  readonly clock: Clock;
}

/**
 * Added to the load's time: for reading before it and writing after it. A lease that ends too early
 * costs one call.
 */
const WRITE_MS = 500;

export type SharedLease = ReturnType<typeof createSharedLease>;

export const createSharedLease = (options: SharedLeaseOptions) => {
  const { store, retryAfter, keeper, loadTimeoutMs, unsharedFailures, clock } = options;
  const after = (delayMs: number): MonotonicMs => monotonic(clock.monotonicMs() + delayMs);

  /** Nobody loads, and nobody is to for `waitMs` after this failure. */
  const waiting = (failure: SharedFailure, waitMs: number): LeaseToWrite => ({
    heldUntilMs: after(waitMs),
    isLoading: false,
    failure,
  });

  /** Ends the lease of this replica, if it has one for a load. What the others know holds on. */
  const release = async (): Promise<void> => {
    const lease = store.lease();
    if (!lease?.isOwn || !lease.isLoading) return;
    const { failure } = lease;
    await store.writeLease(failure ? waiting(failure, failure.askedForMs) : ENDED);
  };

  /** For how long the `Retry-After` that came with `failure`, or before it, is still in force. */
  const retryAfterLeftMs = ({ id, askedForMs, askedAtMs }: SharedFailure): number => {
    // The last look may have found a failure that this replica has not followed yet.
    const isNew = !keeper.failures.hasSeen(id) && !retryAfter.isEnded(askedAtMs);
    return isNew ? askedForMs : retryAfter.leftMs();
  };

  return {
    release,
    /** Takes the lease for a load. */
    claim: (): Promise<LeaseWrite> => {
      const failure = store.lease()?.failure;
      return store.writeLease({
        heldUntilMs: after(loadTimeoutMs + WRITE_MS),
        isLoading: true,
        // It stays known during the next attempt; its Retry-After has been obeyed.
        failure: failure && { ...failure, askedForMs: 0 },
      });
    },
    /**
     * There is a fresh list: nobody makes a request, and nobody waits after a failure, except for a
     * `Retry-After` that is in force nevertheless.
     */
    end: async (): Promise<void> => {
      const lease = store.lease();
      if (!lease || (lease.isLoading && !lease.isOwn)) return;
      const { failure } = lease;
      const leftMs = failure ? retryAfterLeftMs(failure) : 0;
      await store.writeLease(failure && leftMs > 0 ? waiting(failure, leftMs) : ENDED);
    },
    /**
     * A load has failed, and the next attempt is not due for `waitMs`. Writes the failure into the
     * lease, which is then held for so long; into the lease of another replica that loads now,
     * which goes on as it is; or nowhere, where the failure says nothing of the others.
     */
    fail: async (newFailure: NewFailure, waitMs: number): Promise<LeaseWrite> => {
      if (unsharedFailures.includes(newFailure.kind)) {
        await release();
        return 'written';
      }
      const lease = store.lease();
      const earlier = lease?.failure;
      const failure: SharedFailure = {
        ...newFailure,
        listId: store.version()?.listId ?? '',
        askedForMs: Math.max(newFailure.askedForMs, earlier?.askedForMs ?? 0),
        // Not when the answer came: the store has been looked at since, so this is not too early,
        // however long its reply took.
        askedAtMs: newFailure.askedForMs > 0 || !earlier ? clock.monotonicMs() : earlier.askedAtMs,
      };
      // An operator's load has failed while another replica loads.
      if (lease?.isLoading && !lease.isOwn) return store.writeLease({ ...lease, failure });
      // Two replicas may have failed at once: the longer wait counts.
      const heldUntilMs = lease?.isLoading ? 0 : (lease?.heldUntilMs ?? 0);
      const dueAtMs = monotonic(Math.max(after(waitMs), heldUntilMs));
      return store.writeLease({ heldUntilMs: dueAtMs, isLoading: false, failure });
    },
  };
};
