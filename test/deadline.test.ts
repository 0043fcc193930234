import { expect, test } from '@jest/globals';
import { getEventListeners } from 'node:events';
import { withDeadline } from '../src/deadline.ts';
import { createManualClock } from './kit/manual-clock.ts';

const never = (): Promise<string> => new Promise(() => undefined);
const timeoutError = (): Error => new Error('too late');

test('work that settles in time gives its result, and leaves no timer and no listener behind', async () => {
  const clock = createManualClock();
  const { signal } = new AbortController();
  const deadline = { limitMs: 100, clock, timeoutError, signal };
  expect(await withDeadline(() => Promise.resolve('done'), deadline)).toBe('done');
  await expect(withDeadline(() => Promise.reject(new Error('broken')), deadline)).rejects.toThrow('broken');
  expect([clock.waits(), getEventListeners(signal, 'abort')]).toEqual([[], []]);
});

test('work that ignores its signal is given up all the same', async () => {
  const clock = createManualClock();
  let seen: AbortSignal | undefined;
  const work = withDeadline(
    (signal) => {
      seen = signal;
      return never();
    },
    { limitMs: 100, clock, timeoutError },
  );
  clock.advance(99);
  expect(seen?.aborted).toBe(false);
  clock.advance(1);
  await expect(work).rejects.toThrow('too late');
  expect(seen?.aborted).toBe(true);
});

test('nothing is begun for a signal that has aborted already', async () => {
  const clock = createManualClock();
  let calls = 0;
  const work = (): Promise<string> => {
    calls += 1;
    return never();
  };
  const signal = AbortSignal.abort(new Error('stopped before'));
  await expect(withDeadline(work, { limitMs: 100, clock, timeoutError, signal })).rejects.toThrow(
    'stopped before',
  );
  expect([calls, clock.waits()]).toEqual([0, []]);
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
