import { expect, test } from '@jest/globals';
import { createBankList } from '../../src/banks/bank-list.ts';
import type { SavedList } from '../../src/banks/cached-list.ts';
import { WITHOUT_LEASE } from '../../src/banks/loading/loading.ts';
import type { Clock } from '../../src/clock.ts';
import { createLastGoodList } from '../../src/sharing/last-good-list.ts';
import { StoreError, type ListStore } from '../../src/sharing/list-store.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { readBanks } from '../kit/read-banks.ts';

// What is read from the stores and written to them, in orders of events that real stores only have by chance.

const listOf = async (receivedAtMs: number, count = 1): Promise<SavedList> => ({
  ...(await readBanks(Array.from({ length: count }, (_, code) => ({ code })))),
  receivedAtMs,
  changedAtMs: receivedAtMs,
});

/** A store in memory, whose clock is the lists' own. */
const createStore = (clock: Clock, name: ListStore['name']): ListStore => {
  let held: { readonly list: SavedList; readonly sentAtMs: number } | undefined;
  return {
    name,
    read: () => Promise.resolve(held && { list: held.list, ageMs: clock.monotonicMs() - held.sentAtMs }),
    write: (list, ageMs) => {
      held = { list, sentAtMs: clock.monotonicMs() - ageMs };
      return Promise.resolve();
    },
  };
};

type Alter = (own: ListStore) => Partial<ListStore>;

/**
 * A replica with a snapshot and with a Redis that `alter` and `alterFile` make unusual; otherwise they work. `shared` is what
 * is in Redis.
 */
const start = (alter: Alter = () => ({}), alterFile: Alter = () => ({})) => {
  const clock = createManualClock();
  const [kept, shared] = [createStore(clock, 'CACHE_SNAPSHOT_FILE'), createStore(clock, 'CACHE_REDIS_URL')];
  const file: ListStore = { ...kept, ...alterFile(kept) };
  const redis: ListStore = { ...shared, ...alter(shared) };
  const events: string[] = [];
  const list = createBankList({
    load: () => Promise.reject(new Error('nothing is loaded here')),
    takeTurn: () => Promise.resolve(WITHOUT_LEASE),
    policy: { ttlMs: 3_600_000, maxStaleMs: 3_600_000 },
    guard: { minBanks: 1, maxShrink: 0.2, maxDrift: 0.2, fields: undefined },
    loadTimeoutMs: 5_000,
    clock,
    random: () => 0.5,
    onEvent: () => undefined,
  });
  const lastGoodList = createLastGoodList({
    stores: [file, redis],
    list,
    clock,
    onEvent: ({ store, type }) => void (store === redis.name && events.push(type)),
  });
  return {
    clock,
    list,
    file,
    shared,
    /** What is told of Redis. */
    events,
    /** Caches a list that the provider sent so long ago, and begins to save it. */
    save: async (agoMs = 0, count = 1): Promise<void> => {
      await list.restore(await listOf(clock.wallMs() - agoMs, count), agoMs);
      lastGoodList.save();
    },
    settle: () => lastGoodList.onSettled(),
    /** Resolves with the store that had the list, once nothing is being written any more. */
    restore: async () => {
      const name = await lastGoodList.restore();
      await lastGoodList.onSettled();
      return name;
    },
    /** Looks at a store, and lets all writing end. */
    pull: async (store: 'file' | 'redis' = 'redis'): Promise<void> => {
      await lastGoodList.pull(store === 'file' ? file : redis);
      await lastGoodList.onSettled();
    },
  };
};

test.each([
  ['the store says', 600_000, 601_000],
  // But for the second by which clocks may differ.
  ['the clocks say, where they say more', 0, 600_000],
])(
  'the store that had the list is named, and not one that only gets it now, with the age that %s',
  async (_what, reportedAgeMs, ageMs) => {
    const { clock, file, shared, restore } = start();
    await shared.write(await listOf(clock.wallMs() - 600_000), reportedAgeMs);
    expect(await restore()).toBe('CACHE_REDIS_URL');
    clock.advance(1_000);
    expect((await file.read())?.ageMs).toBe(ageMs);
  },
);

test('a store that could not be read is written when another one has news', async () => {
  const { clock, file, shared, restore, pull } = start(() => ({
    read: () => Promise.reject(new StoreError('cannot be read')),
  }));
  await file.write(await listOf(clock.wallMs()), 0);
  await restore();
  expect(await shared.read()).toBeUndefined();
  await pull('file');
  expect(await shared.read()).toBeDefined();
});

test('a file whose list seems to be of the future, since the clock is behind, is written once another replica has news', async () => {
  const { clock, file, shared, restore, pull } = start(
    () => ({}),
    (own) => ({ read: () => own.read().then((held) => held && { list: held.list }) }),
  );
  await file.write(await listOf(clock.wallMs() + 1_800_000), 0);
  await shared.write(await listOf(clock.wallMs()), 0);
  await restore();
  clock.advance(10_000);
  await shared.write(await listOf(clock.wallMs()), 0);
  await pull();
  expect((await file.read())?.list.receivedAtMs).toBe(clock.wallMs());
});

test('a list that the clocks say is older is not written over one that another replica would write back without end', async () => {
  const { clock, shared, restore, pull } = start();
  const laterMs = clock.wallMs() - 3_000_000;
  await shared.write(await listOf(laterMs), 10_000);
  await restore();
  const earlierMs = clock.wallMs() - 60_000;
  await shared.write(await listOf(earlierMs), 60_000);
  await pull();
  expect((await shared.read())?.list.receivedAtMs).toBe(earlierMs);
});

test('a store that is still being read is not written before it is known to have an older list', async () => {
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const { clock, file, shared, restore, pull } = start(
    () => ({}),
    (own) => ({ read: () => answered.then(() => own.read()) }),
  );
  await file.write(await listOf(clock.wallMs()), 0);
  await shared.write(await listOf(clock.wallMs() - 10_000), 10_000);
  const restored = restore();
  await pull();
  answer();
  expect(await restored).toBe('CACHE_SNAPSHOT_FILE');
  for (const store of [file, shared]) expect((await store.read())?.list.receivedAtMs).toBe(clock.wallMs());
});

test('a list of which only the answer to its write was lost is written again, so that the other replicas learn of it', async () => {
  let writes = 0;
  const { save, settle, pull } = start((shared) => ({
    write: async (list, ageMs) => {
      await shared.write(list, ageMs);
      writes += 1;
      if (writes === 1) throw new StoreError('does not answer in time');
    },
  }));
  await save();
  await settle();
  await pull();
  await pull();
  expect(writes).toBe(2);
});

test('after a failed write no older list is written over one that this replica does not take', async () => {
  let writes = 0;
  const { clock, list, shared, save, settle, pull } = start(() => ({
    write: () => {
      writes += 1;
      return Promise.reject(new StoreError('does not answer in time'));
    },
  }));
  await save();
  await settle();
  clock.advance(10_000);
  // By the clock of another replica, which is an hour ahead.
  await shared.write(await listOf(clock.wallMs() + 3_600_000), 0);
  await pull();
  expect([writes, list.status().ageMs]).toEqual([1, 10_000]);
});

test('a store whose connection is lost while its list is encoded is not said to work again', async () => {
  let reads = 0;
  const states = [false, true];
  const { clock, shared, events, pull } = start((own) => ({
    read: () => {
      reads += 1;
      return reads === 1 ? Promise.reject(new StoreError('contains a damaged list')) : own.read();
    },
    isConnected: () => states.shift() ?? true,
  }));
  await shared.write(await listOf(clock.wallMs()), 0);
  await pull();
  await pull();
  expect(events).toEqual(['store-failed']);
  await pull();
  expect(events).toEqual(['store-failed', 'store-recovered']);
});

test.each([
  ['is written again where it is younger', 1, 1_000],
  ['is no failure of the store where it is refused', 2, 11_000],
] as const)('a list that is overwritten while it is being read %s', async (_what, count, keptAgoMs) => {
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const { clock, shared, events, save, settle, restore } = start((own) => ({
    read: async () => {
      const stored = await own.read();
      await answered;
      return stored;
    },
  }));
  await shared.write(await listOf(clock.wallMs() - 1_000), 1_000);
  const restored = restore();
  await save(11_000, count);
  await settle();
  answer();
  await restored;
  expect((await shared.read())?.list.receivedAtMs).toBe(clock.wallMs() - keptAgoMs);
  expect(events).not.toContain('store-failed');
});

test('each list is saved, and of those that come while the store is writing only the newest', async () => {
  const written: number[] = [];
  let endWrite = (): void => {};
  const firstWrite = new Promise<void>((resolve) => (endWrite = resolve));
  const { save, settle } = start(() => ({
    write: async ({ count }) => {
      written.push(count);
      await firstWrite;
    },
  }));
  for (const count of [1, 2, 3]) await save(10_000 - count, count);
  endWrite();
  await settle();
  expect(written).toEqual([1, 3]);
  await save(0, 4);
  await settle();
  expect(written).toEqual([1, 3, 4]);
});
