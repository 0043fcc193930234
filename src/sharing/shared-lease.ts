import type { ListKeeper } from '../banks/list-keeper.ts';
import type { NewFailure, SharedFailure } from '../banks/loading/fleet.ts';
import { asReceivedAt, longerWait } from '../banks/loading/provider-wait.ts';
import type { RetryAfter } from '../banks/loading/retry-after.ts';
import { monotonic, type Clock, type MonotonicMs } from '../clock.ts';
import type { LeaseResult, RedisStore } from './redis-store.ts';
import { ENDED, type LeaseToWrite } from './saved-lease.ts';

// The lease in Redis: the right to make the next load. Its owner has it while it loads, and nobody
// else takes it away. After a failure it is held until the next attempt is due.

export interface SharedLeaseOptions {
  readonly store: Pick<RedisStore, 'lease' | 'version' | 'writeLease'>;
  readonly retryAfter: Pick<RetryAfter, 'isEnded' | 'leftMs'>;
  readonly keeper: Pick<ListKeeper, 'failures'>;
  /** The longest time that a load can take, in milliseconds. */
  readonly loadTimeoutMs: number;
  readonly clock: Clock;
}

/**
 * Added to the load's time: for reading before it and writing after it. A lease that ends too early
 * costs one call.
 */
const WRITE_MS = 500;

export type SharedLease = ReturnType<typeof createSharedLease>;

export const createSharedLease = (options: SharedLeaseOptions) => {
  const { store, retryAfter, keeper, loadTimeoutMs, clock } = options;
  const after = (delayMs: number): MonotonicMs => monotonic(clock.monotonicMs() + delayMs);

  /** After this failure nobody loads for `waitMs`. */
  const waiting = (failure: SharedFailure, waitMs: number): LeaseToWrite => ({
    heldUntilMs: after(waitMs),
    isLoading: false,
    failure,
  });

  /** For how long the `Retry-After` of `failure`, or one before it, still holds. */
  const retryAfterLeftMs = (failure: SharedFailure): number => {
    // The last look may have found a failure that this replica has not followed yet.
    if (keeper.failures.hasSeen(failure.id)) return retryAfter.leftMs();
    const wait = failure.retryAfter;
    if (!wait) return 0;
    if (retryAfter.isEnded(wait.receivedAtMs)) return retryAfter.leftMs();
    return Math.max(0, wait.untilMs - clock.monotonicMs());
  };

  /** Gives the lease back, if this replica has it for a load. An earlier failure stays in it. */
  const release = async (): Promise<void> => {
    const lease = store.lease();
    if (!lease?.isOwn || !lease.isLoading) return;
    const { failure } = lease;
    await store.writeLease(failure ? waiting(failure, retryAfterLeftMs(failure)) : ENDED);
  };

  return {
    release,
    /** Claims the lease for a load. */
    claim: (): Promise<LeaseResult> =>
      store.writeLease({
        heldUntilMs: after(loadTimeoutMs + WRITE_MS),
        isLoading: true,
        // Others can still find it during the load.
        failure: store.lease()?.failure,
      }),
    /**
     * Redis has a fresh list: ends the lease of this replica for a load, and any wait after a
     * failure, except for a `Retry-After` that still holds.
     */
    endForFreshList: async (): Promise<void> => {
      const lease = store.lease();
      if (!lease || (lease.isLoading && !lease.isOwn)) return;
      const { failure } = lease;
      const leftMs = failure ? retryAfterLeftMs(failure) : 0;
      await store.writeLease(
        failure && leftMs > 0 ? waiting({ ...failure, attempts: 0 }, leftMs) : ENDED,
      );
    },
    /**
     * Writes the failure of a load into the lease, which is then held for `waitMs`, until the next
     * attempt is due. If another replica is loading, its lease keeps its owner and its end.
     */
    writeFailure: async (
      { isNew, ...newFailure }: NewFailure,
      waitMs: number,
    ): Promise<LeaseResult> => {
      const lease = store.lease();
      const earlier = lease?.failure?.retryAfter;
      // The time of the response could be too early by the clock of the store, by as long as the
      // reply of the store took, and a list that was requested before it would then end the wait.
      const received =
        isNew && newFailure.retryAfter
          ? asReceivedAt(clock.monotonicMs(), newFailure.retryAfter)
          : newFailure.retryAfter;
      const failure: SharedFailure = {
        ...newFailure,
        attempts: keeper.failures.current().failure ? newFailure.attempts : 0,
        listId: store.version()?.listId ?? '',
        retryAfter: received ? longerWait(received, earlier) : earlier,
      };
      // A refresh has failed while another replica loads.
      if (lease?.isLoading && !lease.isOwn) return store.writeLease({ ...lease, failure });
      // Two replicas may have failed at once: the longer wait counts.
      const heldUntilMs = lease?.isLoading ? 0 : (lease?.heldUntilMs ?? 0);
      const dueAtMs = monotonic(Math.max(after(waitMs), heldUntilMs));
      return store.writeLease({ heldUntilMs: dueAtMs, isLoading: false, failure });
    },
  };
};
