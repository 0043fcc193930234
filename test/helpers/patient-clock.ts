import { systemClock, type Clock } from '../../src/clock.ts';

// The clock for deadlines of real input and output: the system's, on which only time counts in
// which this process ran. A busy machine thus misses no deadline, and a program that never answers
// does.

const STEP_MS = 5;

export const patientClock: Clock = {
  ...systemClock,
  monotonicMs: () => 0,
  after: (delayMs, task) => {
    let leftMs = delayMs;
    // However late, a turn of the event loop takes one step.
    const timer = setInterval(() => {
      leftMs -= STEP_MS;
      if (leftMs > 0) return;
      clearInterval(timer);
      task();
    }, STEP_MS).unref();
    return () => clearInterval(timer);
  },
};
