import { randomUUID } from 'node:crypto';
import { monotonic, type Clock, type MonotonicMs } from '../../clock.ts';
import { ACCEPTANCES } from '../guard/guard.ts';
import type { ListKeeper } from '../list-keeper.ts';
import { LoadError, type LoadErrorKind } from '../load-error.ts';
import type { Fleet, Lease, SharedFailure } from './fleet.ts';
import { longestWaitMs, renewalDelayMs, retryAfterMs, retryDelayMs } from './schedule.ts';

// When the next load is due, by the age of the list, the failures of this replica and of the
// others, and the provider's Retry-After; and whether another replica is to make it.

export interface NextLoadOptions {
  /** Longest time for one load. */
  readonly loadTimeoutMs: number;
  readonly ttlMs: number;
  readonly keeper: ListKeeper;
  readonly fleet: Fleet;
  readonly clock: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
}

/** For as long as its cause is the same failure, or a list of the same age. */
interface Plan {
  readonly cause: LoadError | MonotonicMs | undefined;
  readonly dueAtMs: MonotonicMs;
}

export type NextLoad = ReturnType<typeof createNextLoad>;

export const createNextLoad = (options: NextLoadOptions) => {
  const { loadTimeoutMs, ttlMs, keeper, fleet, clock, random } = options;
  const { cached, failures } = keeper;
  let plan: Plan = { cause: undefined, dueAtMs: clock.monotonicMs() };
  /** The provider wants to be left alone: since when, and until when. */
  let retryAfter: { readonly sinceMs: MonotonicMs; readonly untilMs: MonotonicMs } | undefined;
  /** The newest failure, of this replica or taken over from another one. */
  let failureId = '';
  /** The newest lease of another replica, and when it was first seen. */
  let othersLease: { readonly id: string; readonly seenAtMs: MonotonicMs } | undefined;

  /** Milliseconds for which the provider is still to be left alone. */
  const retryAfterLeftMs = (): number => {
    if (!retryAfter) return 0;
    const { sinceMs, untilMs } = retryAfter;
    // A list that was certainly requested after it ends it.
    const isEnded = (cached.get()?.sentAtMs ?? -Infinity) - loadTimeoutMs > sinceMs;
    return isEnded ? 0 : Math.max(0, untilMs - clock.monotonicMs());
  };

  /** The provider, or another replica, asks for this wait. */
  const noteRetryAfter = (askedForMs: number, spreadMs: number): void => {
    if (askedForMs === 0) return;
    const sinceMs = clock.monotonicMs();
    const waitMs = retryAfterMs(askedForMs, ttlMs, cached.servableForMs()) + spreadMs;
    const untilMs = monotonic(sinceMs + Math.max(waitMs, retryAfterLeftMs()));
    retryAfter = { sinceMs, untilMs };
  };

  /** Milliseconds until there is nothing to serve any more. */
  const whileServedMs = (): number => {
    const servableForMs = cached.servableForMs();
    // At its last millisecond a list is still served.
    return servableForMs > 0 ? servableForMs + 1 : 0;
  };

  /** Milliseconds until a load is due. */
  const dueInMs = (): number => {
    const { failure, failing } = failures.current();
    // A restored list may turn out to be older than its snapshot says.
    const cause = failure ?? cached.get()?.sentAtMs;
    if (cause !== plan.cause) {
      const delayMs = failure
        ? retryDelayMs(failing?.attempts ?? 1, ttlMs, random()) + fleet.handoverMs
        : renewalDelayMs(cached.freshForMs(), ttlMs, random());
      plan = { cause, dueAtMs: monotonic(clock.monotonicMs() + delayMs) };
    }
    const planMs = plan.dueAtMs - clock.monotonicMs();
    const dueMs = isByGuard(failure) ? Math.min(planMs, whileServedMs()) : planMs;
    return Math.max(0, dueMs, retryAfterLeftMs());
  };

  /** Another list than the one that the failed load was to replace is fresh. */
  const isOutdated = ({ listId, askedForMs }: SharedFailure): boolean =>
    listId !== undefined &&
    askedForMs === 0 &&
    cached.state() === 'fresh' &&
    listId !== cached.get()?.id;

  const takeOver = (
    { heldUntilMs }: Lease,
    { id, kind, attempts, failingForMs, askedForMs }: SharedFailure,
  ): void => {
    failureId = id;
    const error = new LoadError(kind, 'the load of another replica failed');
    failures.addShared(error, attempts, failingForMs);
    const spreadMs = random() * fleet.handoverMs;
    noteRetryAfter(askedForMs, spreadMs);
    const latestMs = clock.monotonicMs() + longestWaitMs(cached.servableForMs());
    plan = { cause: error, dueAtMs: monotonic(Math.min(heldUntilMs, latestMs) + spreadMs) };
    keeper.onEvent({ type: 'list-load-failed-elsewhere', error, state: cached.state() });
  };

  /** How long another replica's lease is respected. */
  const patienceMs = ({ isLoading, failure }: Lease): number => {
    const servableForMs = cached.servableForMs();
    if (failure && (servableForMs > 0 || !isByGuard(failure))) return longestWaitMs(servableForMs);
    if (servableForMs > 0) return Infinity;
    // Requests wait for a list: not for all of a load.
    return isLoading ? loadTimeoutMs / 2 : 0;
  };

  return {
    dueInMs,
    retryAfterLeftMs,
    /** Takes over the failure that another replica has shared, once. */
    followOthers: (): void => {
      const lease = fleet.lease();
      if (!lease?.failure || lease.failure.id === failureId || isOutdated(lease.failure)) return;
      takeOver(lease, lease.failure);
    },
    /** Milliseconds for which another replica has the right to make the next request. */
    othersTurnMs: (): number => {
      const lease = fleet.lease();
      if (!lease || lease.isOwn) return 0;
      const nowMs = clock.monotonicMs();
      if (othersLease?.id !== lease.id) othersLease = { id: lease.id, seenAtMs: nowMs };
      const untilMs = Math.min(lease.heldUntilMs, othersLease.seenAtMs + patienceMs(lease));
      return Math.max(0, untilMs - nowMs);
    },
    /** A load of this replica that began at `requestedAtMs` has brought a list. */
    answered: (requestedAtMs: MonotonicMs): void => {
      if (retryAfter && retryAfter.sinceMs < requestedAtMs) retryAfter = undefined;
    },
    /** A load of this replica has failed. */
    failed: (failure: LoadError): void => {
      failures.add(failure);
      noteRetryAfter(failure.retryAfterMs ?? 0, fleet.handoverMs);
    },
    /** Tells the other replicas of a failure of this one, and when the next attempt is due. */
    shareFailure: async (failure: LoadError): Promise<void> => {
      const { failing } = failures.current();
      if (!failing) return;
      failureId = randomUUID();
      const shared: SharedFailure = {
        id: failureId,
        kind: failure.kind,
        attempts: failing.attempts,
        failingForMs: Math.max(0, Math.round(clock.wallMs() - failing.sinceMs)),
        askedForMs: retryAfterMs(failure.retryAfterMs ?? 0, ttlMs, Infinity),
      };
      const waitMs = Math.max(0, dueInMs() - fleet.handoverMs);
      noteRetryAfter(await fleet.fail(shared, waitMs), fleet.handoverMs);
    },
  };
};

/**
 * Whether a list was refused because of the one that was held. It says nothing to a replica with
 * nothing to serve, which would take that list.
 */
const isByGuard = (failure: { readonly kind: LoadErrorKind } | undefined): boolean =>
  ACCEPTANCES.some((reason) => reason === failure?.kind);
