import { monotonic, type Clock, type MonotonicMs } from '../../clock.ts';
import type { ListKeeper } from '../list-keeper.ts';
import type { LoadError } from '../load-error.ts';
import { longestWaitMs, retryAfterMs, untilExpiredMs } from './schedule.ts';

// For how long the provider wants to be left alone: its `Retry-After`, whichever replica got it.

export interface RetryAfterOptions {
  /** Longest time for one load. */
  readonly loadTimeoutMs: number;
  readonly ttlMs: number;
  readonly keeper: ListKeeper;
  readonly clock: Clock;
}

/** A `Retry-After` as it came. */
export interface RetryAfterWish {
  /** 0: none came. */
  readonly askedForMs: number;
  /** When it came, to this replica or to another one. */
  readonly askedAtMs: MonotonicMs;
  /** Is added, so that not all replicas call at once. */
  readonly spreadMs: number;
  /** The failure that it came with. */
  readonly cause: LoadError;
}

/** What is obeyed of it, and of those before it. */
interface Asked {
  /** When the last one came. */
  readonly sinceMs: MonotonicMs;
  readonly untilMs: MonotonicMs;
  /** Until when it is obeyed while nothing can be served. */
  readonly emptyUntilMs: MonotonicMs;
  /** The failure that the last one came with. */
  readonly cause: LoadError;
}

export type RetryAfter = ReturnType<typeof createRetryAfter>;

export const createRetryAfter = ({ loadTimeoutMs, ttlMs, keeper, clock }: RetryAfterOptions) => {
  const { cache } = keeper;
  let asked: Asked | undefined;

  /** A list that was certainly requested after it came ends it. */
  const isEnded = (sinceMs: MonotonicMs): boolean =>
    (cache.get()?.loadedAtMs ?? -Infinity) - loadTimeoutMs > sinceMs;

  /** Milliseconds for which the provider is still to be left alone. */
  const leftMs = (): number => {
    if (!asked || isEnded(asked.sinceMs)) return 0;
    const nowMs = clock.monotonicMs();
    const boundMs = Math.max(untilExpiredMs(cache.servableForMs()), asked.emptyUntilMs - nowMs);
    return Math.max(0, Math.min(asked.untilMs - nowMs, boundMs));
  };

  return {
    isEnded,
    leftMs,
    /** Why the provider is left alone, also after a later success; undefined where it is not. */
    cause: (): LoadError | undefined => (leftMs() > 0 ? asked?.cause : undefined),
    /** What was asked for before holds on beside it. */
    note: ({ askedForMs, askedAtMs, spreadMs, cause }: RetryAfterWish): void => {
      if (askedForMs === 0) return;
      const waitMs = retryAfterMs(askedForMs, ttlMs, Infinity);
      const untilMs = monotonic(clock.monotonicMs() + waitMs + spreadMs);
      const minuteEndMs = askedAtMs + longestWaitMs(0) + spreadMs;
      const emptyUntilMs = monotonic(Math.min(untilMs, minuteEndMs));
      const next: Asked = { sinceMs: askedAtMs, untilMs, emptyUntilMs, cause };
      asked = asked && !isEnded(asked.sinceMs) ? obeyBoth(next, asked) : next;
    },
    /** A load of this replica that began at `requestedAtMs` has brought a list. */
    answered: (requestedAtMs: MonotonicMs): void => {
      if (asked && asked.sinceMs < requestedAtMs) asked = undefined;
    },
  };
};

/** Of each time, the later one. */
const obeyBoth = (next: Asked, before: Asked): Asked => ({
  sinceMs: later(next.sinceMs, before.sinceMs),
  untilMs: later(next.untilMs, before.untilMs),
  emptyUntilMs: later(next.emptyUntilMs, before.emptyUntilMs),
  cause: next.cause,
});

const later = (some: MonotonicMs, other: MonotonicMs): MonotonicMs => (some > other ? some : other);
