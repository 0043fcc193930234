import { monotonic, type Clock, type MonotonicMs } from '../../clock.ts';
import type { ListKeeper } from '../list-keeper.ts';
import type { LoadError } from '../load-error.ts';
import { causeOf, type RetryAfterLeft, type SharedFailure } from './fleet.ts';
import { boundedRetryAfterMs, minimumRetryAfterMs } from './schedule.ts';

// Until when the provider's `Retry-After` forbids a load, whichever replica received it.

export interface RetryAfterOptions {
  /** Longest time for one load. */
  readonly loadTimeoutMs: number;
  readonly ttlMs: number;
  readonly keeper: ListKeeper;
  readonly clock: Clock;
}

/** The wait that follows from all that were received. */
interface Wait {
  /** When the last one was received. */
  readonly receivedAtMs: MonotonicMs;
  readonly untilMs: MonotonicMs;
  /** Until when it holds without a list to serve. */
  readonly minimumUntilMs: MonotonicMs;
  /** The failure that the last one came with. */
  readonly cause: LoadError;
}

export type RetryAfter = ReturnType<typeof createRetryAfter>;

export const createRetryAfter = ({ loadTimeoutMs, ttlMs, keeper, clock }: RetryAfterOptions) => {
  const { cache } = keeper;
  let wait: Wait | undefined;

  /**
   * Whether the cached list ends a `Retry-After`: it was certainly requested after that was
   * received.
   */
  const isEnded = (receivedAtMs: MonotonicMs): boolean =>
    (cache.get()?.loadedAtMs ?? -Infinity) - loadTimeoutMs > receivedAtMs;

  /** The wait, unless the cached list has ended it. */
  const lasting = (): Wait | undefined => (wait && !isEnded(wait.receivedAtMs) ? wait : undefined);

  /** Milliseconds until the wait ends; 0 where there is none. */
  const leftMs = (): number => {
    const current = lasting();
    if (!current) return 0;
    const nowMs = clock.monotonicMs();
    // Not beyond the expiry of the list; but at least for a minute.
    const boundMs = Math.max(cache.expiresInMs(), current.minimumUntilMs - nowMs);
    return Math.max(0, Math.min(current.untilMs - nowMs, boundMs));
  };

  /** Lengthens the wait, and never shortens it. */
  const lengthen = (
    { retryAfterMs, retryAfterMinimumMs, retryAfterReceivedAtMs: receivedAtMs }: RetryAfterLeft,
    spreadMs: number,
    cause: LoadError,
  ): void => {
    if (retryAfterMs === 0) return;
    const after = (waitMs: number): MonotonicMs =>
      monotonic(clock.monotonicMs() + waitMs + spreadMs);
    const untilMs = after(boundedRetryAfterMs(retryAfterMs, ttlMs));
    const next: Wait = { receivedAtMs, untilMs, minimumUntilMs: after(retryAfterMinimumMs), cause };
    const current = lasting();
    wait = current ? longerOf(next, current) : next;
  };

  return {
    isEnded,
    leftMs,
    /** What the others need to know: they may have a list to serve where this replica has none. */
    left: (): RetryAfterLeft => {
      const nowMs = clock.monotonicMs();
      const { untilMs, minimumUntilMs, receivedAtMs } = lasting() ?? {
        untilMs: nowMs,
        minimumUntilMs: nowMs,
        receivedAtMs: nowMs,
      };
      return {
        retryAfterMs: Math.max(0, untilMs - nowMs),
        retryAfterMinimumMs: Math.max(0, minimumUntilMs - nowMs),
        retryAfterReceivedAtMs: receivedAtMs,
      };
    },
    /** The failure that the wait follows from, also after a success; undefined without a wait. */
    cause: (): LoadError | undefined => (leftMs() > 0 ? wait?.cause : undefined),
    /**
     * A load of this replica has failed, perhaps with a `Retry-After`.
     * @param spreadMs is added, so that the replicas do not make their next attempts at once
     */
    add: (failure: LoadError, spreadMs: number): void => {
      const retryAfterMs = failure.retryAfterMs ?? 0;
      const received = {
        retryAfterMs,
        retryAfterMinimumMs: minimumRetryAfterMs(retryAfterMs),
        retryAfterReceivedAtMs: clock.monotonicMs(),
      };
      lengthen(received, spreadMs, failure);
    },
    /** The same of another replica. */
    addShared: (failure: SharedFailure, spreadMs: number): void =>
      lengthen(failure, spreadMs, causeOf(failure)),
    /** This replica has loaded a list: that ends what was received before the request for it. */
    endBefore: (requestedAtMs: MonotonicMs): void => {
      if (wait && wait.receivedAtMs < requestedAtMs) wait = undefined;
    },
  };
};

/** Of each time, the later one. */
const longerOf = (next: Wait, before: Wait): Wait => ({
  receivedAtMs: later(next.receivedAtMs, before.receivedAtMs),
  untilMs: later(next.untilMs, before.untilMs),
  minimumUntilMs: later(next.minimumUntilMs, before.minimumUntilMs),
  cause: next.cause,
});

const later = (some: MonotonicMs, other: MonotonicMs): MonotonicMs => (some > other ? some : other);
