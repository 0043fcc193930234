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

interface Asked {
  readonly sinceMs: MonotonicMs;
  readonly untilMs: MonotonicMs;
  /** Until when it is obeyed while nothing can be served. */
  readonly emptyUntilMs: MonotonicMs;
  /** The failure that it came with. */
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
    /**
     * The provider asks for this wait, now or, where another replica was asked, at `askedAtMs`;
     * 0: it does not.
     * @param spreadMs is added, so that not all replicas call at once
     */
    note: (
      cause: LoadError,
      askedForMs: number,
      spreadMs: number,
      askedAtMs = clock.monotonicMs(),
    ): void => {
      if (askedForMs === 0) return;
      const waitMs = retryAfterMs(askedForMs, ttlMs, Infinity);
      const untilMs = clock.monotonicMs() + waitMs + spreadMs;
      const minuteEndMs = askedAtMs + longestWaitMs(0) + spreadMs;
      // What was asked for before holds on.
      const before = asked && !isEnded(asked.sinceMs) ? asked : undefined;
      const latest = (ms: number, beforeMs = -Infinity): MonotonicMs =>
        monotonic(Math.max(ms, beforeMs));
      asked = {
        sinceMs: latest(askedAtMs, before?.sinceMs),
        untilMs: latest(untilMs, before?.untilMs),
        emptyUntilMs: latest(Math.min(untilMs, minuteEndMs), before?.emptyUntilMs),
        cause,
      };
    },
    /** A load of this replica that began at `requestedAtMs` has brought a list. */
    answered: (requestedAtMs: MonotonicMs): void => {
      if (asked && asked.sinceMs < requestedAtMs) asked = undefined;
    },
  };
};
