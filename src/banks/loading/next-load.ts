import { randomUUID } from 'node:crypto';
import { monotonic, type Clock, type MonotonicMs } from '../../clock.ts';
import { isOverridable } from '../guard/guard.ts';
import type { ListKeeper } from '../list-keeper.ts';
import { LoadError, type LoadErrorKind } from '../load-error.ts';
import type { Fleet, Lease, NewFailure, SharedFailure } from './fleet.ts';
import type { RetryAfter } from './retry-after.ts';
import {
  longestWaitMs,
  renewalDelayMs,
  retryAfterMs,
  retryDelayMs,
  untilExpiredMs,
} from './schedule.ts';

// When the next load is due, by the age of the list, the failures of this replica and of the
// others, and the provider's Retry-After; and whether another replica is to make it.

export interface NextLoadOptions {
  /** Longest time for one load. */
  readonly loadTimeoutMs: number;
  readonly ttlMs: number;
  readonly keeper: ListKeeper;
  readonly fleet: Fleet;
  readonly retryAfter: RetryAfter;
  readonly clock: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
}

/** When the next load is due, and what that follows from. */
interface Plan {
  /** The newest failure, if no success has followed it. */
  readonly failureNumber: number | undefined;
  /** Otherwise when the cached list was loaded, if there is one. */
  readonly loadedAtMs: MonotonicMs | undefined;
  readonly dueAtMs: MonotonicMs;
}

export type NextLoad = ReturnType<typeof createNextLoad>;

export const createNextLoad = (options: NextLoadOptions) => {
  const { ttlMs, keeper, fleet, retryAfter, clock, random } = options;
  const { cache, failures } = keeper;
  let planned: Plan = {
    failureNumber: undefined,
    loadedAtMs: undefined,
    dueAtMs: clock.monotonicMs(),
  };
  /** The last failure of this replica that the other ones have not been told of yet. */
  let untoldNumber: number | undefined;
  const othersTurn = createOthersTurn(options);

  /** Draws when the next load is due, once for each failure and each list. */
  const plan = (): void => {
    const { failing } = failures.current();
    const failureNumber = failing && failures.count();
    // A restored list may turn out to be older than its snapshot says.
    const loadedAtMs = failing ? undefined : cache.get()?.loadedAtMs;
    if (failureNumber === planned.failureNumber && loadedAtMs === planned.loadedAtMs) return;
    const delayMs = failing
      ? retryDelayMs(failing.attempts, ttlMs, random()) + fleet.handoverMs
      : renewalDelayMs(cache.freshForMs(), ttlMs, random());
    const dueAtMs = monotonic(clock.monotonicMs() + delayMs);
    planned = { failureNumber, loadedAtMs, dueAtMs };
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

  /** Another replica's failure counts as one of this replica: the next load waits as it does. */
  const adoptFailure = (
    { attempts, failingForMs }: SharedFailure,
    { heldUntilMs }: Lease,
    error: LoadError,
    spreadMs: number,
  ): void => {
    failures.addShared(error, attempts, failingForMs);
    const latestMs = clock.monotonicMs() + longestWaitMs(cache.servableForMs());
    planned = {
      failureNumber: failures.count(),
      loadedAtMs: undefined,
      dueAtMs: monotonic(Math.min(heldUntilMs, latestMs) + spreadMs),
    };
    keeper.onEvent({ type: 'list-load-failed-elsewhere', error, state: cache.state() });
  };

  return {
    plan,
    dueInMs,
    retryAfterCause: retryAfter.cause,
    /**
     * Notes when the lease of another replica is first seen, and follows the failure that is in it,
     * once: its `Retry-After` holds in any case, and it is adopted unless it is outdated.
     */
    followOthers: (): void => {
      othersTurn.note();
      const lease = fleet.lease();
      const failure = lease?.failure;
      if (!failure || failures.hasSeen(failure.id)) return;
      failures.noteSeen(failure.id);
      const error = new LoadError(failure.kind, 'the load of another replica failed');
      // So that not all replicas call at once.
      const spreadMs = random() * fleet.handoverMs;
      const { askedForMs, askedAtMs } = failure;
      retryAfter.note({ askedForMs, askedAtMs, spreadMs, cause: error });
      if (!isOutdated(failure)) adoptFailure(failure, lease, error, spreadMs);
    },
    /** Milliseconds for which the load of another replica is waited for. */
    othersTurnMs: othersTurn.leftMs,
    answered: retryAfter.answered,
    /** A load of this replica has failed. */
    failed: (failure: LoadError): void => {
      failures.add(failure);
      untoldNumber = failures.count();
      retryAfter.note({
        askedForMs: failure.retryAfterMs ?? 0,
        askedAtMs: clock.monotonicMs(),
        spreadMs: fleet.handoverMs,
        cause: failure,
      });
      plan();
    },
    /**
     * Tells the other replicas of a failure of this one, and when the next attempt is due, unless
     * they know, or one of theirs or a success has followed it.
     */
    shareFailure: async (): Promise<void> => {
      const { failure, failing } = failures.current();
      if (!failure || !failing || untoldNumber !== failures.count()) return;
      untoldNumber = undefined;
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
      if (others) {
        const { askedForMs, askedAtMs } = others;
        retryAfter.note({ askedForMs, askedAtMs, spreadMs: fleet.handoverMs, cause: failure });
      }
    },
  };
};

/** Whether another replica loads, and for how much longer that is waited for. */
const createOthersTurn = ({ loadTimeoutMs, keeper, fleet, clock }: NextLoadOptions) => {
  const { cache } = keeper;
  /** The newest lease of another replica, and when it was first seen. */
  let seen: { readonly id: string; readonly atMs: MonotonicMs } | undefined;

  /** How long the load of another replica is waited for, from the moment when it is first seen. */
  const waitedForMs = ({ failure }: Lease): number => {
    const servableForMs = cache.servableForMs();
    if (failure && (servableForMs > 0 || !isByGuard(failure))) return longestWaitMs(servableForMs);
    // Requests wait for a list: not for all of a load.
    return servableForMs > 0 ? Infinity : loadTimeoutMs / 2;
  };

  return {
    /** Notes when the lease of another replica is first seen. */
    note: (): void => {
      const lease = fleet.lease();
      if (lease && !lease.isOwn && seen?.id !== lease.id)
        seen = { id: lease.id, atMs: clock.monotonicMs() };
    },
    /**
     * Milliseconds for which its load is waited for. Where it waits after a failure, this replica
     * has adopted that, and waits for as long as is right here.
     */
    leftMs: (): number => {
      const lease = fleet.lease();
      if (!lease?.isLoading || lease.id !== seen?.id) return 0;
      const untilMs = Math.min(lease.heldUntilMs, seen.atMs + waitedForMs(lease));
      return Math.max(0, untilMs - clock.monotonicMs());
    },
  };
};

/**
 * Whether a list was refused because of the cached one. It says nothing to a replica with
 * nothing to serve, which would take that list.
 */
const isByGuard = (failure: { readonly kind: LoadErrorKind } | undefined): boolean =>
  isOverridable(failure?.kind);
