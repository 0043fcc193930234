import { expect, test } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { LoadError } from '../../../src/banks/load-error.ts';
import type { Decision } from '../../../src/banks/guard/guard.ts';
import {
  createLoading,
  WITHOUT_LEASE,
  type LoadingOptions,
  type Turn,
} from '../../../src/banks/loading/loading.ts';
import { createManualClock } from '../../kit/manual-clock.ts';

/** Loading whose turns and loads end when the test says so. */
const start = (options: Partial<LoadingOptions> = {}) => {
  const clock = createManualClock();
  const loads: { forced: Decision | undefined; signal: AbortSignal; end: (failure?: LoadError) => void }[] =
    [];
  const turns: { readonly signal: AbortSignal; readonly decide: (mayLoad: boolean) => void }[] = [];
  let turnsEnded = 0;
  const end = (): void => void (turnsEnded += 1);
  const loading = createLoading({
    load: (forced, signal) => new Promise((resolve) => void loads.push({ forced, signal, end: resolve })),
    takeTurn: ({ signal }) =>
      new Promise<Turn>((resolve) => {
        turns.push({ signal, decide: (mayLoad) => resolve({ mayLoad, end }) });
      }),
    isDue: () => true,
    hasList: () => false,
    nextDelayMs: () => 1_000,
    onRest: () => undefined,
    loadTimeoutMs: 100,
    clock,
    ...options,
  });
  return { clock, loads, turns, loading, turnsEnded: () => turnsEnded };
};

test('a turn that is granted is a load, one that is spared is none, and each is followed by the next', async () => {
  const { clock, loads, turns, loading, turnsEnded } = start();
  loading.on('start');
  expect([loading.state(), loading.nextLoadInMs()]).toEqual(['idle', 1_000]);
  clock.advance(999);
  expect(loading.state()).toBe('idle');
  clock.advance(1);
  expect([loading.state(), loading.nextLoadInMs()]).toEqual(['waiting', 0]);
  turns[0]?.decide(false);
  await setImmediate();
  expect([loading.state(), loads.length]).toEqual(['idle', 0]);
  clock.advance(1_000);
  turns[1]?.decide(true);
  await setImmediate();
  expect(loading.state()).toBe('loading');
  expect(loads[0]?.forced).toBeUndefined();
  clock.advance(60_000);
  expect(turnsEnded()).toBe(0);
  loads[0]?.end();
  await setImmediate();
  expect(loads).toHaveLength(1);
  expect([loading.state(), turnsEnded(), loading.nextLoadInMs()]).toEqual(['idle', 1, 1_000]);
});

test('with nothing to serve, as soon as the list is too old, another replica is waited for half of the time', () => {
  let hasList = true;
  let patience = (): number => 0;
  const takeTurn: LoadingOptions['takeTurn'] = ({ patienceMs }) => {
    patience = patienceMs;
    return Promise.resolve({ mayLoad: false, end: () => undefined });
  };
  start({ takeTurn, hasList: () => hasList }).loading.on('wanted');
  expect(patience()).toBe(200);
  hasList = false;
  expect(patience()).toBe(50);
});

test('a refresh does not wait for another replica, and gives back the turn that it did not wait for', async () => {
  const { loads, turns, loading, turnsEnded } = start();
  loading.on('start');
  loading.on('wanted');
  const refreshed = loading.refresh([]);
  expect([loading.state(), loading.nextLoadInMs(), turns[0]?.signal.aborted]).toEqual(['loading', 0, true]);
  turns[0]?.decide(true);
  await setImmediate();
  expect([loads.length, turnsEnded()]).toEqual([1, 1]);
  loads[0]?.end();
  expect(await refreshed).toBeUndefined();
  expect(loading.state()).toBe('idle');
});

test('a refresh follows the load under way, and those that accept the same share one', async () => {
  const { loads, loading } = start({ takeTurn: () => Promise.resolve(WITHOUT_LEASE) });
  loading.on('wanted');
  await setImmediate();
  const refreshes = Promise.all([
    loading.refresh(['shrunk', 'shrunk'], 'first'),
    loading.refresh([]),
    loading.refresh(['shrunk'], 'second'),
    loading.refresh(['shrunk', 'drifted']),
  ]);
  expect(loads).toHaveLength(1);
  loads[0]?.end();
  await setImmediate();
  const failure = new LoadError('shrunk', 'the list shrank');
  loads[1]?.end(failure);
  await setImmediate();
  loads[2]?.end();
  await setImmediate();
  loads[3]?.end();
  expect(await refreshes).toEqual([failure, undefined, failure, undefined]);
  expect(loads.map(({ forced }) => forced)).toEqual([
    undefined,
    { reasons: ['shrunk', 'shrunk'], requestId: 'first' },
    { reasons: [], requestId: '' },
    { reasons: ['shrunk', 'drifted'], requestId: '' },
  ]);
});

test('a stop ends the load, answers everyone who waits, and nothing starts afterwards', async () => {
  const { clock, loads, loading } = start({ takeTurn: () => Promise.resolve(WITHOUT_LEASE) });
  const [first, second] = [loading.refresh([]), loading.refresh(['drifted'])];
  loading.on('stop');
  expect(loads[0]?.signal.aborted).toBe(true);
  loads[0]?.end(new LoadError('unreachable', 'aborted'));
  const stopping = { kind: 'unreachable', message: 'the service is stopping' };
  expect([await first, await second]).toMatchObject([{ kind: 'unreachable' }, stopping]);
  expect(await loading.refresh([])).toMatchObject(stopping);
  for (const event of ['start', 'wanted', 'replaced'] as const) loading.on(event);
  clock.advance(10_000);
  expect([loading.state(), loads.length, clock.waits()]).toEqual(['stopped', 1, []]);
});

test('the next load comes when its time has come, however early its timer does, and a new list puts it off', () => {
  const clock = createManualClock();
  const hasty = { ...clock, after: (ms: number, task: () => void) => clock.after(Math.min(ms, 40), task) };
  const { loading } = start({ clock: hasty });
  loading.on('start');
  clock.advance(999);
  expect([loading.state(), loading.nextLoadInMs()]).toEqual(['idle', 1]);
  loading.on('replaced');
  clock.advance(999);
  expect(loading.state()).toBe('idle');
  clock.advance(1);
  expect([loading.state(), clock.waits()]).toEqual(['waiting', []]);
});
