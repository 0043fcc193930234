import type { Clock } from '../../src/clock.ts';

// A clock that stands still until a test moves it.

export interface ManualClock extends Clock {
  /** Moves time forward and runs the timers that are due, in order. */
  advance(ms: number): void;
  /** Moves time forward as on a suspended machine: timers that were due meanwhile run late. */
  skip(ms: number): void;
  /**
   * Moves time to the next timer and no further: a load that it starts still has its whole
   * deadline.
   */
  next(): void;
  /** The pending timers, in milliseconds from now, shortest first. */
  waits(): number[];
}

export const createManualClock = (): ManualClock => {
  let nowMs = 1_000_000;
  const wallOffsetMs = Date.UTC(2026, 0, 1);
  const timers = new Set<{ atMs: number; task: () => void }>();

  const waits = (): number[] =>
    [...timers].map(({ atMs }) => atMs - nowMs).toSorted((a, b) => a - b);
  const clock: ManualClock = {
    monotonicMs: () => nowMs,
    wallMs: () => wallOffsetMs + nowMs,
    after: (delayMs, task) => {
      const timer = { atMs: nowMs + delayMs, task };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance: (ms) => {
      const untilMs = nowMs + ms;
      for (;;) {
        const [next] = [...timers]
          .filter(({ atMs }) => atMs <= untilMs)
          .toSorted((a, b) => a.atMs - b.atMs);
        if (!next) break;
        timers.delete(next);
        nowMs = Math.max(nowMs, next.atMs);
        next.task();
      }
      nowMs = untilMs;
    },
    skip: (ms) => void (nowMs += ms),
    // A timer may be late already.
    next: () => clock.advance(Math.max(0, waits()[0] ?? 0)),
    waits,
  };
  return clock;
};
