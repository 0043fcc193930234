// Time, as everything that waits or ages sees it. Tests hand in a clock that they move themselves.

export interface Clock {
  /** Milliseconds that only ever grow; differences mean something, the value does not. Ages are measured with it. */
  monotonicMs(): number;
  /** Milliseconds since 1970. For display and for what is stored: an operator may set this clock back. */
  wallMs(): number;
  /** Runs `task` once after `delayMs` and returns a function that cancels it. Never keeps the process alive. */
  after(delayMs: number, task: () => void): () => void;
}

/** The longest wait a Node timer can hold (2^31 - 1 ms); a longer one would fire at once. */
export const LONGEST_TIMER_MS = 2_147_483_647;

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  after: (delayMs, task) => {
    const timer = setTimeout(task, Math.min(delayMs, LONGEST_TIMER_MS)).unref();
    return () => clearTimeout(timer);
  },
};
