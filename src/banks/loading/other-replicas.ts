import { randomUUID } from 'node:crypto';
import { monotonic, type Clock, type MonotonicMs } from '../../clock.ts';
import type { ListEvent } from '../list-event.ts';
import type { ListKeeper } from '../list-keeper.ts';
import { LoadError } from '../load-error.ts';
import type { FailingLoads } from './failures.ts';
import type { Fleet, Lease, NewFailure, SharedFailure } from './fleet.ts';
import { dependsOnCachedList, type NextLoad } from './next-load.ts';
import type { RetryAfter } from './retry-after.ts';
import { boundedRetryAfterMs, longestWaitMs } from './schedule.ts';

// What the loads of the other replicas mean for this one. While one of them loads, this one waits.
// A failure of one counts for all.

export interface OtherReplicasOptions {
  /** Longest time for one load. */
  readonly loadTimeoutMs: number;
  readonly ttlMs: number;
  readonly keeper: ListKeeper;
  readonly fleet: Fleet;
  readonly retryAfter: RetryAfter;
  readonly nextLoad: NextLoad;
  readonly clock: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  readonly onEvent: (event: ListEvent) => void;
}

export const createOtherReplicas = (options: OtherReplicasOptions) => {
  const { loadTimeoutMs, ttlMs, keeper, fleet, retryAfter, nextLoad, clock, random, onEvent } =
    options;
  const { cache, failures } = keeper;
  /** The newest lease of another replica, and when it was first seen. */
  let seen: { readonly id: string; readonly atMs: MonotonicMs } | undefined;
  /** The newest failure of the provider that this replica knows, its own or another one's. */
  let known: KnownFailure | undefined;

  /** A list has come since, or another one than the failed load was to replace is fresh. */
  const isOutdated = ({ attempts, listId }: SharedFailure): boolean =>
    attempts === 0 || (cache.state() === 'fresh' && listId !== cache.get()?.id);

  /** Counts the failure as one of this replica: the next load waits as the other replica does. */
  const adopt = (
    { attempts, failingSinceMs }: SharedFailure,
    { heldUntilMs }: Lease,
    error: LoadError,
    spreadMs: number,
  ): void => {
    failures.addShared(error, attempts, failingSinceMs);
    const latestMs = clock.monotonicMs() + longestWaitMs(cache.servableForMs());
    nextLoad.planAt(monotonic(Math.min(heldUntilMs, latestMs) + spreadMs));
    onEvent({ type: 'list-load-failed-elsewhere', error, state: cache.state() });
  };

  /**
   * How long to wait for a load, from the moment when its lease is first seen.
   * @param failure that of the attempt before, which no success has followed
   */
  const longestWaitForMs = ({ failure }: Lease): number => {
    const servableForMs = cache.servableForMs();
    const saysSomething = failure && (servableForMs > 0 || !dependsOnCachedList(failure));
    if (saysSomething) return longestWaitMs(servableForMs);
    if (servableForMs > 0) return Infinity;
    // Requests wait for a list: not for all of a load.
    return loadTimeoutMs / 2;
  };

  const causeOf = ({ kind }: SharedFailure): LoadError =>
    new LoadError(kind, 'the load of another replica failed');

  /** The `Retry-After` of another replica holds here too. */
  const obey = (
    { retryAfterMs, retryAfterAtMs: receivedAtMs }: SharedFailure,
    cause: LoadError,
    spreadMs: number,
  ): void => retryAfter.add({ retryAfterMs, receivedAtMs, spreadMs, cause });

  /** Writes the failure, with the time of the next attempt, for the others. */
  const write = async (
    written: KnownFailure,
    { attempts, sinceMs }: FailingLoads,
    leastRetryAfterMs: number,
  ): Promise<void> => {
    const { id, failure, atMs } = written;
    const waitMs = boundedRetryAfterMs(failure.retryAfterMs ?? 0, ttlMs, Infinity);
    const leftMs = waitMs - (clock.monotonicMs() - atMs);
    const shared: NewFailure = {
      id,
      kind: failure.kind,
      attempts,
      failingSinceMs: monotonic(clock.monotonicMs() - Math.max(0, clock.wallMs() - sinceMs)),
      retryAfterMs: Math.round(Math.max(leftMs, leastRetryAfterMs)),
    };
    const dueInMs = Math.max(0, nextLoad.dueInMs() - fleet.handoverMs);
    const { isDone, replaced } = await fleet.shareFailure(shared, dueInMs);
    if (known === written) known = { ...written, isShared: isDone };
    if (replaced) obey(replaced, causeOf(replaced), fleet.handoverMs);
  };

  /**
   * Writes the known failure, unless a success has followed it.
   * @param leastRetryAfterMs what is left of an earlier `Retry-After`, in milliseconds
   */
  const writeKnown = async (leastRetryAfterMs: number): Promise<void> => {
    const { failing } = failures.current();
    if (known && failing) await write(known, failing, leastRetryAfterMs);
    else known = undefined;
  };

  /** The failure of another replica takes the place of the known one, unless that must be written. */
  const note = ({ id }: SharedFailure, failure: LoadError): void => {
    const mustBeWritten = known && !known.isShared && retryAfter.leftMs() > 0;
    if (!mustBeWritten) known = { id, failure, atMs: clock.monotonicMs(), isShared: true };
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
      if (!isOwn && seen?.id !== id) seen = { id, atMs: clock.monotonicMs() };
      if (!failure || failures.hasSeen(failure.id)) return;
      failures.noteSeen(failure.id);
      const cause = causeOf(failure);
      // So that the replicas do not make their next attempts at the same time.
      const spreadMs = random() * fleet.handoverMs;
      const isToAdopt = !isOutdated(failure);
      if (isToAdopt) note(failure, cause);
      obey(failure, cause, spreadMs);
      if (isToAdopt) adopt(failure, lease, cause, spreadMs);
    },
    /**
     * Milliseconds for which to wait for another replica that is loading now. One that waits after
     * a failure is not waited for: the failure has been adopted, with a time for the next load.
     */
    waitForOthersMs: (): number => {
      const lease = fleet.lease();
      if (!lease?.isLoading || lease.id !== seen?.id) return 0;
      const untilMs = Math.min(lease.heldUntilMs, seen.atMs + longestWaitForMs(lease));
      return Math.max(0, untilMs - clock.monotonicMs());
    },
    /**
     * Writes the failure of a load of this replica for the others. One that says nothing of the
     * provider leaves the next attempt to them, at once.
     */
    share: async (failure: LoadError): Promise<void> => {
      if (failure.isLocal) {
        known = undefined;
        await fleet.release();
        return;
      }
      const id = randomUUID();
      failures.noteSeen(id);
      known = { id, failure, atMs: clock.monotonicMs(), isShared: false };
      await writeKnown(0);
    },
    /**
     * To be called after each look at the shared store. Writes the known failure where it came
     * while the store could not be used, or where the store has lost it since: also that of another
     * replica, which may be gone.
     */
    shareAgain: async (): Promise<void> => {
      const isThere = known?.isShared && fleet.lease() !== undefined;
      if (known && !isThere && nextLoad.dueInMs() > 0) await writeKnown(retryAfter.leftMs());
    },
  };
};

/** A failure that counts for all replicas. */
interface KnownFailure {
  readonly id: string;
  readonly failure: LoadError;
  /** When this replica got to know it. */
  readonly atMs: MonotonicMs;
  /** Whether the others can read it, or need not. */
  readonly isShared: boolean;
}
