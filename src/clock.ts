import { uptime } from 'node:os';

// The clock for everything that waits or measures ages. Tests pass one that they move by hand.

export interface Clock {
  /**
   * Milliseconds of this process, for measuring ages and waits: they never go back, continue while
   * the machine sleeps, and only their differences have a meaning.
   */
  monotonicMs(): number;
  /**
   * Milliseconds since 1970 by this machine's clock, which may be wrong, and may be corrected at any
   * time: for display, and for what is saved outside the process.
   */
  wallMs(): number;
  /**
   * Runs `task` once after `delayMs` and returns a function that cancels it. Never keeps the
   * process alive.
   */
  after(delayMs: number, task: () => void): () => void;
}

/** What a clock that counts sleep is made from. */
export interface TimeSources {
  /** Milliseconds that may stand still while the machine sleeps. */
  readonly running: () => number;
  /** Milliseconds since 1970. */
  readonly wall: () => number;
  /** Seconds since the machine was started, sleep included. */
  readonly upFor: () => number;
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
 * Milliseconds that go on while the machine sleeps. On Linux `performance.now()` is CLOCK_MONOTONIC,
 * which does not, and libuv has no other; `os.uptime()` does (CLOCK_BOOTTIME on Linux, the time
 * since `kern.boottime` on macOS, GetTickCount64 on Windows). It is read where the wall clock has
 * moved against the running one. A corrected wall clock alone adds nothing.
 */
export const countingSleep = ({ running, wall, upFor }: TimeSources): (() => number) => {
  let asleepMs = 0;
  let apartMs = wall() - running();
  const awakeSinceBootMs = upFor() * 1_000 - running();
  return () => {
    const runningMs = running();
    const nowApartMs = wall() - runningMs;
    if (Math.abs(nowApartMs - apartMs) > SUSPECT_MS) {
      apartMs = nowApartMs;
      const aheadMs = upFor() * 1_000 - runningMs - awakeSinceBootMs;
      if (aheadMs - asleepMs > SLEEP_MS) asleepMs = aheadMs;
    }
    return runningMs + asleepMs;
  };
};

/** The longest wait a Node timer can hold (2^31 - 1 ms); a longer one would fire at once. */
export const LONGEST_TIMER_MS = 2_147_483_647;

export const systemClock: Clock = {
  monotonicMs: countingSleep({
    running: () => performance.now(),
    wall: () => Date.now(),
    upFor: uptime,
  }),
  wallMs: () => Date.now(),
  after: (delayMs, task) => {
    // Rounded up, because a fraction makes V8 drop the compiled code of all timers.
    const timer = setTimeout(task, Math.min(Math.ceil(delayMs), LONGEST_TIMER_MS)).unref();
    return () => clearTimeout(timer);
  },
};

/** A wall-clock time as ISO 8601 writes it. */
export const toIso = (wallMs: number): string => new Date(wallMs).toISOString();

export interface Deadline {
  readonly limitMs: number;
  readonly clock: Clock;
  /** What the promise rejects with after `limitMs`. */
  readonly timeoutError: () => Error;
  /** Ends the work early; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs `work` and gives up on it after `limitMs` or when `signal` aborts, whether it obeys its own
 * signal or not. Work is not begun for a signal that has aborted already.
 * @throws what `work` rejects with, `timeoutError()`, or the reason of `signal`
 */
export const withDeadline = async <T>(
  work: (signal: AbortSignal) => Promise<T>,
  { limitMs, clock, timeoutError, signal }: Deadline,
): Promise<T> => {
  signal?.throwIfAborted();
  const controller = new AbortController();
  return new Promise((resolve, reject) => {
    const giveUp = (reason: unknown): void => {
      end();
      reject(reason);
      controller.abort(reason);
    };
    const onAbort = (): void => giveUp(signal?.reason);
    const cancel = clock.after(limitMs, () => giveUp(timeoutError()));
    signal?.addEventListener('abort', onAbort);
    const end = (): void => {
      cancel();
      signal?.removeEventListener('abort', onAbort);
    };
    // Also where the work throws before it returns a promise.
    void Promise.resolve(controller.signal).then(work).then(resolve, reject).finally(end);
  });
};
