import { uptime } from 'node:os';
import { setImmediate } from 'node:timers/promises';

// The clock for everything that waits or measures ages. Tests pass one that they move by hand.
//
// There are two kinds of time, and each has its own type, so that the compiler keeps them apart:
// the difference of two times of one kind is a number of milliseconds; two kinds have no
// difference.

declare const kind: unique symbol;

/** Milliseconds of this process. They never go back, and continue while the machine sleeps. */
export type MonotonicMs = number & { readonly [kind]: 'monotonic' };
/**
 * Milliseconds since 1970 by this machine's clock, which may be wrong, and may be corrected at any
 * time.
 */
export type WallMs = number & { readonly [kind]: 'wall' };

// The only places where a number becomes a time.
export function monotonic(ms: number): MonotonicMs;
export function monotonic(ms: number): number {
  return ms;
}
export function wall(ms: number): WallMs;
export function wall(ms: number): number {
  return ms;
}

export interface Clock {
  /** For measuring ages and waits; only differences have a meaning. */
  monotonicMs(): MonotonicMs;
  /** For display and for what is saved outside the process. */
  wallMs(): WallMs;
  /**
   * Runs `task` once after `delayMs` and returns a function that cancels it. Never keeps the
   * process alive.
   */
  after(delayMs: number, task: () => void): () => void;
  /** Lets other work of the event loop have its turn: for long work, in slices. */
  turn(): Promise<void>;
}

/** What the system's clock is made from. */
export interface TimeSources {
  /** Milliseconds that may stand still while the machine sleeps (CLOCK_MONOTONIC). */
  readonly running: () => number;
  /** Milliseconds since 1970. */
  readonly wall: () => number;
  /** Seconds since the machine was started, sleep included. */
  readonly uptime: () => number;
  readonly setTimer: (delayMs: number, task: () => void) => () => void;
}

/**
 * Below this, a difference between two clocks is rounding: macOS and Windows count the uptime in
 * seconds.
 */
const SLEEP_MS = 1_500;
/**
 * The wall clock and the running clock part by at least this before the uptime is read, which costs
 * a system call.
 */
const SUSPECT_MS = 1_000;
/**
 * A timer stands still while the machine sleeps, so a long wait is made of waits of this length.
 */
const TIMER_SLICE_MS = 1_000;

/**
 * A clock that goes on while the machine sleeps. On Linux `performance.now()` is CLOCK_MONOTONIC,
 * which does not, and libuv has no other; `os.uptime()` does (CLOCK_BOOTTIME on Linux, the time
 * since `kern.boottime` on macOS, GetTickCount64 on Windows). It is read where the wall clock has
 * moved against the running one. A corrected wall clock alone adds nothing.
 */
export const createSystemClock = ({
  running,
  wall: wallClock,
  uptime: upFor,
  setTimer,
}: TimeSources): Clock => {
  let asleepMs = 0;
  let apartMs = wallClock() - running();
  const awakeSinceBootMs = upFor() * 1_000 - running();
  const monotonicMs = (): MonotonicMs => {
    const runningMs = running();
    const nowApartMs = wallClock() - runningMs;
    if (Math.abs(nowApartMs - apartMs) > SUSPECT_MS) {
      apartMs = nowApartMs;
      const aheadMs = upFor() * 1_000 - runningMs - awakeSinceBootMs;
      if (aheadMs - asleepMs > SLEEP_MS) asleepMs = aheadMs;
    }
    return monotonic(runningMs + asleepMs);
  };
  return {
    monotonicMs,
    wallMs: () => wall(wallClock()),
    after: (delayMs, task) => {
      const dueMs = monotonicMs() + delayMs;
      let cancel = (): void => {};
      const wait = (leftMs: number): void => {
        cancel = setTimer(Math.min(leftMs, TIMER_SLICE_MS), () => {
          const stillMs = leftMs > TIMER_SLICE_MS ? dueMs - monotonicMs() : 0;
          if (stillMs > 0) wait(stillMs);
          else task();
        });
      };
      wait(delayMs);
      return () => cancel();
    },
    turn: () => setImmediate(),
  };
};

export const systemClock: Clock = createSystemClock({
  running: () => performance.now(),
  wall: () => Date.now(),
  uptime,
  setTimer: (delayMs, task) => {
    // Node's timers ignore fractions, but the first one costs all compiled code that uses timers:
    // V8 drops it.
    const timer = setTimeout(task, Math.ceil(delayMs)).unref();
    return () => clearTimeout(timer);
  },
});

/** The longest wait a Node timer can hold (2^31 - 1 ms); a longer one would fire at once. */
export const LONGEST_TIMER_MS = 2_147_483_647;

/**
 * The date of a wall-clock time. A clock, or a saved time, can be beyond the years that a Date can
 * hold: then the last one.
 */
export const toDate = (wallMs: number): Date =>
  new Date(Math.max(-LARGEST_DATE_MS, Math.min(LARGEST_DATE_MS, wallMs)));

/** A wall-clock time as ISO 8601 writes it, within the years of {@link toDate}. */
export const toIso = (wallMs: number): string => toDate(wallMs).toISOString();

/**
 * A moment in the past, as it may be shown at `nowMs`, both in wall-clock milliseconds: a clock
 * that was set back would put it into the future.
 */
export const notAfter = (nowMs: number, wallMs: number): number => Math.min(wallMs, nowMs);

/** ECMA-262, section 21.4.1.1: about 273,790 years before and after 1970. */
const LARGEST_DATE_MS = 8.64e15;
