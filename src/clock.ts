import { setImmediate } from 'node:timers/promises';

// The clock for everything that waits or measures ages. Tests pass one that they move by hand.

export interface Clock {
  /** Milliseconds that never go back, for measuring ages; only differences have a meaning. */
  monotonicMs(): number;
  /** Milliseconds since 1970, for display and storage; this clock can be set back. */
  wallMs(): number;
  /** Runs `task` once after `delayMs` and returns a function that cancels it. Never keeps the process alive. */
  after(delayMs: number, task: () => void): () => void;
  /** Lets other work of the event loop have its turn: for long work, in slices. */
  turn(): Promise<void>;
}

/** The longest wait a Node timer can hold (2^31 - 1 ms); a longer one would fire at once. */
export const LONGEST_TIMER_MS = 2_147_483_647;

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  after: (delayMs, task) => {
    // Node's timers ignore fractions, but the first one costs all compiled code that uses timers: V8 drops it.
    const timer = setTimeout(task, Math.min(Math.ceil(delayMs), LONGEST_TIMER_MS)).unref();
    return () => clearTimeout(timer);
  },
  turn: () => setImmediate(),
};

/** The date of a wall-clock time. A clock, or a saved time, can be beyond the years that a Date can hold: then the last one. */
export const toDate = (wallMs: number): Date =>
  new Date(Math.max(-LARGEST_DATE_MS, Math.min(LARGEST_DATE_MS, wallMs)));

/** ECMA-262, section 21.4.1.1: about 273,790 years before and after 1970. */
const LARGEST_DATE_MS = 8.64e15;
