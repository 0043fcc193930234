import { getEventListeners } from 'node:events';
import { expect, test } from '@jest/globals';
import { countingSleep, withDeadline } from '../src/clock.ts';
import { createManualClock } from './helpers/manual-clock.ts';

/** The clocks of a machine, moved by the test. */
const machine = ({ uptimeStepMs = 1 } = {}) => {
  let [runningMs, wallMs, uptimeMs] = [5_000, Date.UTC(2026, 0, 1), 900_000];
  const now = countingSleep({
    running: () => runningMs,
    wall: () => wallMs,
    upFor: () => (uptimeMs - (uptimeMs % uptimeStepMs)) / 1_000,
  });
  return {
    now,
    run: (ms: number): void => {
      runningMs += ms;
      wallMs += ms;
      uptimeMs += ms;
    },
    sleep: (ms: number): void => {
      wallMs += ms;
      uptimeMs += ms;
    },
    correct: (ms: number): void => void (wallMs += ms),
  };
};

test('the time in which the machine sleeps counts', () => {
  const { now, run, sleep } = machine();
  const beganMs = now();
  sleep(172_800_000);
  expect(now() - beganMs).toBe(172_800_000);
  run(500);
  sleep(3_600_000);
  expect(now() - beganMs).toBe(172_800_500 + 3_600_000);
});

test.each([600_000, -600_000, 10 * 365 * 86_400_000])(
  'a wall clock that is corrected by %i ms changes nothing',
  (byMs) => {
    const { now, run, correct, sleep } = machine();
    const beganMs = now();
    correct(byMs);
    run(100);
    expect(now() - beganMs).toBe(100);
    sleep(60_000);
    expect(now() - beganMs).toBe(60_100);
  },
);

test('time does not go back where the uptime is in whole seconds, as on macOS and Windows', () => {
  const { now, run, sleep, correct } = machine({ uptimeStepMs: 1_000 });
  sleep(60_000);
  const beganMs = now();
  run(900);
  correct(5_000);
  expect(now() - beganMs).toBe(900);
});

const never = (): Promise<string> => new Promise(() => undefined);
const timeoutError = (): Error => new Error('too late');

test('nothing is begun for a signal that has aborted already', async () => {
  const clock = createManualClock();
  const signal = AbortSignal.abort(new Error('stopped before'));
  const deadline = { limitMs: 100, clock, timeoutError, signal };
  const begun = (): Promise<never> => Promise.reject(new Error('begun'));
  await expect(withDeadline(begun, deadline)).rejects.toThrow('stopped before');
  expect(clock.waits()).toEqual([]);
});

test('a signal ends it early, with its own reason, and no timer and no listener is left', async () => {
  const clock = createManualClock();
  const controller = new AbortController();
  const { signal } = controller;
  const work = withDeadline(never, { limitMs: 100, clock, timeoutError, signal });
  controller.abort(new Error('stopping'));
  await expect(work).rejects.toThrow('stopping');
  expect([clock.waits(), getEventListeners(signal, 'abort')]).toEqual([[], []]);
});

test('work that throws at once leaves no timer and no listener', async () => {
  const clock = createManualClock();
  const { signal } = new AbortController();
  const fail = (): never => {
    throw new Error('at once');
  };
  const work = withDeadline(fail, { limitMs: 100, clock, timeoutError, signal });
  await expect(work).rejects.toThrow('at once');
  expect([clock.waits(), getEventListeners(signal, 'abort')]).toEqual([[], []]);
});
