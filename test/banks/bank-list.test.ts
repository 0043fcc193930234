import { expect, test } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { createBankList } from '../../src/banks/bank-list.ts';
import type { LoadedList, SavedList } from '../../src/banks/cached-list.ts';
import { LoadError } from '../../src/banks/load-error.ts';
import { makeBanks } from '../kit/banks.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { readBanks } from '../kit/read-banks.ts';
import { eventually } from '../kit/rig.ts';

// The list with its loads and a store's lists: what comes from where, and from when it counts.

const HOUR = 3_600_000;

/** Its compression takes many turns of the event loop. */
const LONG: LoadedList = { ...(await readBanks(makeBanks(5_000))), validators: undefined };
const SHORT: LoadedList = { ...(await readBanks([{ code: '001' }])), validators: undefined };

/** A list whose loads end when the test says so, with a list or a failure. */
const start = () => {
  const clock = createManualClock();
  const loads: { readonly end: (list: LoadedList) => void; readonly fail: (error: LoadError) => void }[] = [];
  const list = createBankList({
    load: () => new Promise((end, fail) => void loads.push({ end, fail })),
    takeTurn: undefined,
    policy: { ttlMs: HOUR, maxStaleMs: HOUR },
    guard: { minBanks: 1, maxShrink: 1, maxDrift: 1, fields: undefined },
    loadTimeoutMs: 5_000,
    clock,
    random: () => 0.5,
    onEvent: () => undefined,
  });
  const saved = (banks: LoadedList, ageMs: number): SavedList => {
    const receivedAtMs = clock.wallMs() - ageMs;
    return { ...banks, receivedAtMs, changedAtMs: receivedAtMs };
  };
  return { clock, loads, list, saved };
};

test('the age counts from when the provider had sent the list, not from when it was encoded', async () => {
  const { clock, loads, list } = start();
  list.start();
  loads[0]?.end(LONG);
  await setImmediate();
  expect(list.state()).toBe('empty');
  clock.skip(700);
  await eventually(() => list.state() === 'fresh');
  expect(list.status().ageMs).toBe(700);
  list.stop();
});

test('a saved list that is older does not replace the one that was loaded while it was encoded', async () => {
  const { loads, list, saved } = start();
  const restored = list.restore(saved(LONG, 1_000), 1_000);
  list.start();
  loads[0]?.end(SHORT);
  await eventually(() => list.state() === 'fresh');
  expect(list.status().held?.count).toBe(1);
  expect(await restored).toBe(false);
  expect(list.status().held?.count).toBe(1);
  list.stop();
});

test('a saved list ends the failures of the loads only if it is fresh', async () => {
  const { loads, list, saved } = start();
  list.start();
  loads[0]?.fail(new LoadError('unavailable', 'the provider fails (503)'));
  await eventually(() => list.status().failing !== undefined);
  expect(await list.restore(saved(SHORT, 1.5 * HOUR), 1.5 * HOUR)).toBe(true);
  expect(list.status()).toMatchObject({ state: 'stale', failing: { attempts: 1 } });
  expect(await list.restore(saved(SHORT, 0), 0)).toBe(true);
  expect(list.status()).toMatchObject({ state: 'fresh', failing: undefined });
  list.stop();
});

test('a list that another replica loaded puts off the next load', async () => {
  const { clock, loads, list, saved } = start();
  list.start();
  loads[0]?.end(SHORT);
  await eventually(() => list.state() === 'fresh');
  clock.advance(HOUR / 2);
  expect(await list.restore(saved(LONG, 0), 0)).toBe(true);
  expect(list.status().nextLoadInMs).toBeCloseTo(HOUR * 0.994, -1);
  clock.advance(HOUR * 0.9);
  expect([loads.length, clock.waits().length]).toEqual([1, 1]);
  list.stop();
});

test('a stale list from a store does not put off the next attempt', async () => {
  const { clock, loads, list, saved } = start();
  list.start();
  loads[0]?.fail(new LoadError('unavailable', 'the provider fails (503)'));
  await eventually(() => list.status().failing !== undefined);
  clock.advance(1_000);
  const { nextLoadInMs } = list.status();
  expect(await list.restore(saved(SHORT, 1.5 * HOUR), 1.5 * HOUR)).toBe(true);
  expect(list.status().nextLoadInMs).toBe(nextLoadInMs);
  list.stop();
});
