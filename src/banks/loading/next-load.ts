import { randomUUID } from 'node:crypto';
import { monotonic, type MonotonicMs } from '../../clock.ts';
import { isOverridable } from '../guard/guard.ts';
import { LoadError, type LoadErrorKind } from '../load-error.ts';
import type { Fleet, Lease, NewFailure, SharedFailure } from './fleet.ts';
import type { RetryAfter, RetryAfterOptions } from './retry-after.ts';
import {
  longestWaitMs,
  renewalDelayMs,
  retryAfterMs,
  retryDelayMs,
  untilExpiredMs,
} from './schedule.ts';

// When the next load is due, by the age of the list, the failures of this replica and of the
// others, and the provider's Retry-After; and whether another replica is to make it.

export interface NextLoadOptions extends RetryAfterOptions {
  readonly fleet: Fleet;
  readonly retryAfter: RetryAfter;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
}

/** When the next load is due, after this failure, or of a list that was loaded then. */
interface Plan {
  readonly cause: LoadError | MonotonicMs | undefined;
  readonly dueAtMs: MonotonicMs;
}

export type NextLoad = ReturnType<typeof createNextLoad>;

export const createNextLoad = (options: NextLoadOptions) => {
  const { loadTimeoutMs, ttlMs, keeper, fleet, retryAfter, clock, random } = options;
  const { cache, failures } = keeper;
  let planned: Plan = { cause: undefined, dueAtMs: clock.monotonicMs() };
  /** The newest lease of another replica, and when it was first seen. */
  let othersLease: { readonly id: string; readonly seenAtMs: MonotonicMs } | undefined;

  /** Draws when the next load is due, once for each failure and each list. */
  const plan = (): void => {
    const { failure, failing } = failures.current();
    // A restored list may turn out to be older than its snapshot says.
    const cause = failure ?? cache.get()?.loadedAtMs;
    if (cause === planned.cause) return;
    const delayMs = failure
      ? retryDelayMs(failing?.attempts ?? 1, ttlMs, random()) + fleet.handoverMs
      : renewalDelayMs(cache.freshForMs(), ttlMs, random());
    planned = { cause, dueAtMs: monotonic(clock.monotonicMs() + delayMs) };
  };

  /** Milliseconds until the planned load is due. */
  const dueInMs = (): number => {
    const plannedMs = planned.dueAtMs - clock.monotonicMs();
    const dueMs = isByGuard(failures.current().failure)
      ? Math.min(plannedMs, untilExpiredMs(cache.servableForMs()))
      : plannedMs;
    return Math.max(0, dueMs, retryAfter.leftMs());
  };

  /** Another list than the one that the failed load was to replace is fresh. */
  const isOutdated = ({ listId }: SharedFailure): boolean =>
    cache.state() === 'fresh' && listId !== cache.get()?.id;

  /**
   * Another replica's failure counts as one of this replica, unless it is outdated; its
   * `Retry-After` holds in any case.
   */
  const adoptFailure = ({ heldUntilMs }: Lease, failure: SharedFailure): void => {
    const { id, kind, attempts, failingForMs, askedForMs, askedAtMs } = failure;
    const nowMs = clock.monotonicMs();
    const error = new LoadError(kind, 'the load of another replica failed');
    const spreadMs = random() * fleet.handoverMs;
    retryAfter.note(error, askedForMs, spreadMs, askedAtMs);
    failures.noteSeen(id);
    if (isOutdated(failure)) return;
    failures.addShared(error, attempts, failingForMs);
    const latestMs = nowMs + longestWaitMs(cache.servableForMs());
    planned = { cause: error, dueAtMs: monotonic(Math.min(heldUntilMs, latestMs) + spreadMs) };
    keeper.onEvent({ type: 'list-load-failed-elsewhere', error, state: cache.state() });
  };

  /** How long the lease of another replica is respected, from the moment when it is first seen. */
  const respectedForMs = ({ isLoading, failure }: Lease): number => {
    const servableForMs = cache.servableForMs();
    if (failure && (servableForMs > 0 || !isByGuard(failure))) return longestWaitMs(servableForMs);
    if (servableForMs > 0) return Infinity;
    // Requests wait for a list: not for all of a load.
    return isLoading ? loadTimeoutMs / 2 : 0;
  };

  return {
    plan,
    dueInMs,
    retryAfterCause: retryAfter.cause,
    /**
     * Notes when the lease of another replica is first seen, and adopts the failure that is in it,
     * once.
     */
    followOthers: (): void => {
      const lease = fleet.lease();
      if (lease && !lease.isOwn && othersLease?.id !== lease.id)
        othersLease = { id: lease.id, seenAtMs: clock.monotonicMs() };
      const failure = lease?.failure;
      if (failure && !failures.hasSeen(failure.id)) adoptFailure(lease, failure);
    },
    /** Milliseconds for which another replica has the right to make the next request. */
    othersTurnMs: (): number => {
      const lease = fleet.lease();
      if (!lease || lease.id !== othersLease?.id) return 0;
      const untilMs = Math.min(lease.heldUntilMs, othersLease.seenAtMs + respectedForMs(lease));
      return Math.max(0, untilMs - clock.monotonicMs());
    },
    answered: retryAfter.answered,
    /** A load of this replica has failed. */
    failed: (failure: LoadError): void => {
      failures.add(failure);
      retryAfter.note(failure, failure.retryAfterMs ?? 0, fleet.handoverMs);
      plan();
    },
    /** Tells the other replicas of a failure of this one, and when the next attempt is due. */
    shareFailure: async (failure: LoadError): Promise<void> => {
      const { failure: newest, failing } = failures.current();
      if (!failing || failure !== newest) return;
      const id = randomUUID();
      failures.noteSeen(id);
      const shared: NewFailure = {
        id,
        kind: failure.kind,
        attempts: failing.attempts,
        failingForMs: Math.max(0, Math.round(clock.wallMs() - failing.sinceMs)),
        askedForMs: retryAfterMs(failure.retryAfterMs ?? 0, ttlMs, Infinity),
      };
      const dueMs = Math.max(0, dueInMs() - fleet.handoverMs);
      const others = await fleet.fail(shared, dueMs);
      if (others) retryAfter.note(failure, others.askedForMs, fleet.handoverMs, others.askedAtMs);
    },
  };
};

/**
 * Whether a list was refused because of the cached one. It says nothing to a replica with
 * nothing to serve, which would take that list.
 */
const isByGuard = (failure: { readonly kind: LoadErrorKind } | undefined): boolean =>
  isOverridable(failure?.kind);
