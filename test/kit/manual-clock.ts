import type { Clock } from '../../src/clock.ts';

// A clock that stands still until a test moves it.

export interface ManualClock extends Clock {
  /** Moves time forward, running what falls due on the way, in order. */
  advance(ms: number): void;
  /** Moves time forward as a suspended machine sees it: nothing runs on the way, and waits that fell due run late. */
  skip(ms: number): void;
  /** Moves time to the next wait's end and no further: an exchange that it starts still has its whole deadline. */
  next(): void;
  /** The waits under way, in milliseconds from now, shortest first. */
  waits(): number[];
}

export const createManualClock = (): ManualClock => {
  let nowMs = 1_000_000;
  const wallOffsetMs = Date.UTC(2026, 0, 1);
  const timers = new Set<{ atMs: number; task: () => void }>();

  const waits = (): number[] => [...timers].map(({ atMs }) => atMs - nowMs).toSorted((a, b) => a - b);
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
        const [next] = [...timers].filter(({ atMs }) => atMs <= untilMs).toSorted((a, b) => a.atMs - b.atMs);
        if (!next) break;
        timers.delete(next);
        nowMs = Math.max(nowMs, next.atMs);
        next.task();
      }
      nowMs = untilMs;
    },
    skip: (ms) => void (nowMs += ms),
    next: () => clock.advance(waits()[0] ?? 0),
    waits,
  };
  return clock;
};
