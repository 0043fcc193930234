import type { LoadErrorKind } from '../banks/load-error.ts';
import type { SharedFailure } from '../banks/loading/fleet.ts';
import { monotonic, type Clock, type MonotonicMs } from '../clock.ts';
import type { RedisView } from './redis-view.ts';
import { ENDED } from './saved-lease.ts';

// The lease in Redis, which is the right to make the next request. While a load is under way its
// owner has it, and nobody else takes it away; after a failure it is held until the next attempt is
// due.

export interface SharedLeaseOptions {
  readonly view: RedisView;
  /** The longest time that a load can take, in milliseconds. */
  readonly loadTimeoutMs: number;
  /** Failures that say nothing of the other replicas: they are not shared. */
  readonly ownFailures: readonly LoadErrorKind[];
  readonly clock: Clock;
}

/**
 * Added to the load's time: for reading before it and writing after it. A lease that ends too early
 * costs one call.
 */
const WRITE_MS = 500;

export type SharedLease = ReturnType<typeof createSharedLease>;

export const createSharedLease = (options: SharedLeaseOptions) => {
  const { view, loadTimeoutMs, ownFailures, clock } = options;
  const after = (delayMs: number): MonotonicMs => monotonic(clock.monotonicMs() + delayMs);

  /** Gives up the right to make the request that was claimed. */
  const release = async (): Promise<void> => {
    const lease = view.lease();
    if (lease?.isOwn && lease.isLoading) await view.writeLease(ENDED);
  };

  return {
    release,
    /** @returns false where another replica was quicker; undefined without Redis */
    claim: (): Promise<boolean | undefined> => {
      const failure = view.lease()?.failure;
      return view.writeLease({
        heldUntilMs: after(loadTimeoutMs + WRITE_MS),
        isLoading: true,
        // It stays known during the next attempt; its Retry-After has been obeyed.
        failure: failure && { ...failure, askedForMs: 0 },
      });
    },
    /**
     * There is a fresh list: nobody makes a request, and nobody waits after a failure.
     * @param retryAfterMs for which the provider is to be left alone nevertheless
     */
    end: async (retryAfterMs: number): Promise<void> => {
      const lease = view.lease();
      if (!lease || (lease.isLoading && !lease.isOwn)) return;
      const { failure } = lease;
      const isWaiting = retryAfterMs > 0 && failure !== undefined;
      await view.writeLease(
        isWaiting ? { heldUntilMs: after(retryAfterMs), isLoading: false, failure } : ENDED,
      );
    },
    /**
     * A load has failed, and the next attempt is not due for `waitMs`.
     * @returns whether it is written; false where another replica has written, undefined without
     *   Redis
     */
    fail: async (newest: SharedFailure, waitMs: number): Promise<boolean | undefined> => {
      if (ownFailures.includes(newest.kind)) {
        await release();
        return undefined;
      }
      const lease = view.lease();
      const failure: SharedFailure = {
        ...newest,
        listId: view.place()?.id ?? '',
        askedForMs: Math.max(newest.askedForMs, lease?.failure?.askedForMs ?? 0),
      };
      // An operator's load has failed while another replica loads.
      if (lease?.isLoading && !lease.isOwn) return view.writeLease({ ...lease, failure });
      // Two replicas may have failed at once: the longer wait counts.
      const heldUntilMs = lease?.isLoading ? 0 : (lease?.heldUntilMs ?? 0);
      const dueAtMs = monotonic(Math.max(after(waitMs), heldUntilMs));
      return view.writeLease({ heldUntilMs: dueAtMs, isLoading: false, failure });
    },
  };
};
