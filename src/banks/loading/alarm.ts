import type { Clock } from '../../clock.ts';

// One wait at a time, as long as it may be.

export interface Alarm {
  /** Runs the task once after `delayMs`, in a turn of its own or at once where nothing is to be waited for. */
  set(delayMs: number): void;
  cancel(): void;
  /** Milliseconds until the task is due. */
  leftMs(): number;
}

export const createAlarm = (clock: Clock, task: () => void): Alarm => {
  let dueAtMs = 0;
  let cancel = (): void => {};
  const leftMs = (): number => Math.max(0, dueAtMs - clock.monotonicMs());
  // A timer may fire early, or be shorter than the wait (see LONGEST_TIMER_MS): the clock decides, not the timer.
  const wait = (): void => {
    const delayMs = leftMs();
    if (delayMs > 0) cancel = clock.after(Math.ceil(delayMs), wait);
    else task();
  };
  return {
    set: (delayMs) => {
      cancel();
      dueAtMs = clock.monotonicMs() + delayMs;
      wait();
    },
    cancel: () => cancel(),
    leftMs,
  };
};
