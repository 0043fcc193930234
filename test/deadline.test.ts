import { expect, test } from '@jest/globals';
import { getEventListeners } from 'node:events';
import { withDeadline } from '../src/deadline.ts';
import { createManualClock } from './helpers/manual-clock.ts';

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
