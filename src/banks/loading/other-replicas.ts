import { monotonic, type MonotonicMs } from '../../clock.ts';
import type { FailureSharing } from './failure-sharing.ts';
import { causeOf, type Lease, type SharedFailure } from './fleet.ts';
import { dependsOnCachedList, type NextLoad } from './next-load.ts';
import type { RenewalOptions } from './renewal-options.ts';
import { LONGEST_RETRY_MS, longestWaitMs } from './schedule.ts';

// What the loads of the other replicas mean for this one. While one of them loads, this one waits.
// A failure of one counts for all.

/**
 * A lease for a load lasts for the `PROVIDER_TIMEOUT` of its owner. It seems to last longer if the
 * clock of the shared store was set back; its owner may be gone.
 */
const LONGEST_LOAD_MS = 60_000;

/**
 * A lease is held from when a load failed, and the `Retry-After` in it counts from when it was
 * written: what Redis takes for an answer lies between them.
 */
const SLACK_MS = 1_000;

export const createOtherReplicas = (
  options: RenewalOptions,
  nextLoad: NextLoad,
  sharing: FailureSharing,
) => {
  const { loadTimeoutMs, keeper, fleet, retryAfter, clock, random, onEvent } = options;
  const { cache, failures } = keeper;
  /** The newest lease of another replica. */
  let newestLease: { readonly id: string; readonly firstSeenAtMs: MonotonicMs } | undefined;

  /** A list has come since, or another one than the failed load was to replace is fresh. */
  const isOutdated = ({ attempts, listId }: SharedFailure): boolean =>
    attempts === 0 || (cache.state() === 'fresh' && listId !== cache.get()?.id);

  /** Counts the failure as one of this replica: the next load waits as the other replica does. */
  const adopt = (failure: SharedFailure, { heldUntilMs }: Lease, spreadMs: number): void => {
    const error = causeOf(failure);
    failures.addShared(error, failure.attempts, failure.failingSinceMs);
    // A replica with a list may hold the lease until the end of a Retry-After, which one without a
    // list obeys for a minute only. Once that is over, nothing in the lease tells when the last
    // failure came, and the wait of a minute begins anew.
    const { untilMs = 0, untilWithoutListMs = 0 } = failure.retryAfter ?? {};
    const nowMs = clock.monotonicMs();
    const isHeldForLonger =
      untilWithoutListMs > nowMs && heldUntilMs > Math.max(untilWithoutListMs, untilMs - SLACK_MS);
    const minuteMs = isHeldForLonger ? untilWithoutListMs - nowMs : LONGEST_RETRY_MS;
    const latestMs = nowMs + Math.max(cache.expiresInMs(), minuteMs);
    nextLoad.planAt(monotonic(Math.min(heldUntilMs, latestMs) + spreadMs));
    onEvent({ type: 'list-load-failed-elsewhere', error, state: cache.state() });
  };

  /**
   * How long to wait for a load, from the moment when its lease is first seen.
   * @param failure that of the attempt before, which no success has followed
   */
  const longestWaitForMs = ({ failure }: Lease): number => {
    const expiresInMs = cache.expiresInMs();
    const saysSomething = failure && (expiresInMs > 0 || !dependsOnCachedList(failure));
    if (saysSomething) return longestWaitMs(expiresInMs);
    if (expiresInMs > 0) return Math.max(LONGEST_LOAD_MS, 2 * loadTimeoutMs);
    // Requests wait for a list: not for all of a load.
    return loadTimeoutMs / 2;
  };

  return {
    /**
     * To be called after each look at the shared store. Notes when the lease of another replica is
     * first seen. Each failure in a lease is followed once: its `Retry-After` holds in any case,
     * and it is adopted unless it is outdated.
     */
    follow: (): void => {
      const lease = fleet.lease();
      if (!lease) return;
      const { id, isOwn, failure } = lease;
      if (!isOwn && newestLease?.id !== id)
        newestLease = { id, firstSeenAtMs: clock.monotonicMs() };
      if (!failure || failures.hasSeen(failure.id)) return;
      failures.noteSeen(failure.id);
      // So that the replicas do not make their next attempts at the same time.
      const spreadMs = random() * fleet.handoverMs;
      const isToAdopt = !isOutdated(failure);
      // Before its Retry-After holds here: this replica may have one that is still to be written.
      if (isToAdopt) sharing.noteAdopted(failure);
      retryAfter.addShared(failure, spreadMs);
      if (isToAdopt) adopt(failure, lease, spreadMs);
    },
    /**
     * Milliseconds for which to wait for another replica that is loading now. One that waits after
     * a failure is not waited for: the failure has been adopted, with a time for the next load.
     */
    waitForOthersMs: (): number => {
      const lease = fleet.lease();
      if (!lease?.isLoading || lease.id !== newestLease?.id) return 0;
      const untilMs = Math.min(
        lease.heldUntilMs,
        newestLease.firstSeenAtMs + longestWaitForMs(lease),
      );
      return Math.max(0, untilMs - clock.monotonicMs());
    },
  };
};
