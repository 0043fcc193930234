import { expect, test } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { createAlarm } from '../../../src/banks/loading/alarm.ts';
import { LoadError } from '../../../src/banks/load-error.ts';
import { createLoading, type LoadingOptions, type LoadOptions } from '../../../src/banks/loading/loading.ts';
import { createManualClock } from '../../kit/manual-clock.ts';

/** Loading whose loads end when the test says so. */
const start = (options: Partial<LoadingOptions> = {}) => {
  const clock = createManualClock();
  const loads: { readonly wanted: LoadOptions; readonly end: (failure?: LoadError) => void }[] = [];
  const loading = createLoading({
    load: (wanted) => new Promise((resolve) => void loads.push({ wanted, end: resolve })),
    waitForTurn: undefined,
    isDue: () => true,
    hasList: () => false,
    nextDelayMs: () => 1_000,
    loadTimeoutMs: 100,
    clock,
    ...options,
  });
  return { clock, loads, loading };
};

test('everyone who asks while a load is in flight shares it', async () => {
  const { loading, loads } = start();
  const waiting = Promise.all([loading.renew(), loading.renew(), loading.renew()]);
  expect([loads.length, loading.isUnderWay(), loading.nextLoadInMs()]).toEqual([1, true, 0]);
  loads[0]?.end();
  await waiting;
  expect([loads.length, loading.isUnderWay(), loading.nextLoadInMs()]).toEqual([1, false, 1_000]);
});

test('a load starts when the wait is over, and another one after it', async () => {
  const { clock, loading, loads } = start();
  loading.schedule();
  clock.advance(999);
  expect(loads).toHaveLength(0);
  clock.advance(1);
  expect(loads).toHaveLength(1);
  clock.advance(60_000);
  expect(loads).toHaveLength(1);
  loads[0]?.end();
  await setImmediate();
  clock.advance(1_000);
  expect(loads).toHaveLength(2);
});

test('a refresh follows the load under way, carries what is accepted, and reports its failure', async () => {
  const { loading, loads } = start();
  void loading.renew();
  const refreshes = Promise.all([loading.refresh(['shrunk']), loading.refresh([])]);
  loads[0]?.end();
  await setImmediate();
  expect(loads).toHaveLength(2);
  const failure = new LoadError('shrunk', 'the list shrank');
  loads[1]?.end(failure);
  await setImmediate();
  loads[2]?.end();
  expect(await refreshes).toEqual([failure, undefined]);
  expect(loads.map(({ wanted }) => wanted)).toEqual([
    { isForced: false, accept: [], limitMs: 100 },
    { isForced: true, accept: ['shrunk'], limitMs: 100 },
    { isForced: true, accept: [], limitMs: 100 },
  ]);
});

test('another replica that loads spares this one the call, and waiting for it takes from the time', async () => {
  const turns: ((mayLoad: boolean) => void)[] = [];
  let ends = 0;
  const patience: number[] = [];
  const { clock, loading, loads } = start({
    waitForTurn: ({ patienceMs }) =>
      new Promise((resolve) => {
        patience.push(patienceMs);
        turns.push((mayLoad) => resolve(mayLoad ? { mayLoad, end: () => (ends += 1) } : { mayLoad }));
      }),
  });
  const spared = loading.renew();
  turns[0]?.(false);
  await spared;
  expect([loads.length, patience]).toEqual([0, [50]]);

  const own = loading.renew();
  clock.advance(30);
  turns[1]?.(true);
  await setImmediate();
  expect(loads[0]?.wanted.limitMs).toBe(70);
  expect(ends).toBe(0);
  loads[0]?.end();
  await own;
  expect(ends).toBe(1);
});

test('a refresh does not wait for another replica', async () => {
  const signals: AbortSignal[] = [];
  const { loading, loads } = start({
    waitForTurn: ({ signal }) =>
      new Promise((resolve) => {
        signals.push(signal);
        signal.addEventListener('abort', () => resolve({ mayLoad: false }));
      }),
  });
  void loading.renew();
  const refreshed = loading.refresh([]);
  await setImmediate();
  loads[0]?.end();
  expect(await refreshed).toBeUndefined();
  // The next load waits for its turn again.
  void loading.renew();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
});

test('nothing starts by itself once it is stopped', async () => {
  const { clock, loading, loads } = start();
  void loading.renew();
  loading.stop();
  loads[0]?.end();
  await setImmediate();
  loading.schedule();
  clock.advance(10_000);
  expect(loads).toHaveLength(1);
});

test('an alarm rings when its time has come, however early its timer does', () => {
  const clock = createManualClock();
  let rung = 0;
  const hasty = { ...clock, after: (ms: number, task: () => void) => clock.after(Math.min(ms, 40), task) };
  const alarm = createAlarm(hasty, () => (rung += 1));
  alarm.set(100);
  clock.advance(99);
  expect([rung, alarm.leftMs()]).toEqual([0, 1]);
  clock.advance(1);
  expect([rung, alarm.leftMs()]).toEqual([1, 0]);
  alarm.set(50);
  alarm.set(200);
  clock.advance(150);
  expect(rung).toBe(1);
  alarm.cancel();
  clock.advance(100);
  expect(rung).toBe(1);
  alarm.set(0);
  expect(rung).toBe(2);
});
