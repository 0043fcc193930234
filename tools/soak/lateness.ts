import { readFileSync } from 'node:fs';

// How late everything may be because other programs use the machine: taken from the kernel's
// account of the time for which this process and the service were ready to run and had to wait, so
// that a slow service is not taken for a busy machine.

export type Lateness = ReturnType<typeof createLateness>;

const SLACK_MS = 1_500;
const EVERY_MS = 250;
/** A delay has effects for some time. */
const REMEMBERED = 24;
/** Of one step: threads of a process wait at the same time. */
const MAX_WAIT_MS = 2 * EVERY_MS;
const STARVED_MS = 1_500;

export const createLateness = () => {
  const pids = [process.pid];
  const before = new Map<number, number>();
  const steps: number[] = [];
  let lastMs = performance.now();
  const look = (): void => {
    const nowMs = performance.now();
    const waits = pids.map((pid) => {
      const waitedMs = waitedMsOf(pid);
      const waitMs = waitedMs - (before.get(pid) ?? waitedMs);
      before.set(pid, waitedMs);
      return Math.min(waitMs, MAX_WAIT_MS + nowMs - lastMs);
    });
    // A stop of the whole machine is in nobody's account.
    steps.push(Math.max(...waits, nowMs - lastMs - EVERY_MS));
    lastMs = nowMs;
    if (steps.length > REMEMBERED) steps.shift();
  };
  const waitedMs = (): number => steps.reduce((sum, step) => sum + step, 0);
  const timer = setInterval(look, EVERY_MS);
  return {
    /** What to allow now, in milliseconds. */
    slackMs: () => SLACK_MS + waitedMs(),
    /** Whether the machine is so busy that the service misses its own deadlines. */
    isStarved: (): boolean => waitedMs() > STARVED_MS,
    watch: (pid: number) => void pids.push(pid),
    end: () => clearInterval(timer),
  };
};

/**
 * For how long the main thread of a process was ready to run and did not (schedstat, second field,
 * in nanoseconds).
 */
const waitedMsOf = (pid: number): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
};
