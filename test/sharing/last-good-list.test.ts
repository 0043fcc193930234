import { expect, test } from '@jest/globals';
import { createBankList } from '../../src/banks/bank-list.ts';
import type { SavedList } from '../../src/banks/cached-list.ts';
import type { Clock } from '../../src/clock.ts';
import { createLastGoodList } from '../../src/sharing/last-good-list.ts';
import { StoreError, type ListStore, type StoreEvent } from '../../src/sharing/list-store.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { readBanks } from '../kit/read-banks.ts';

const TTL_MS = 3_600_000;

const start = (
  stores: readonly ListStore[],
  clock = createManualClock(),
  onEvent: (event: StoreEvent) => void = () => undefined,
) => {
  const list = createBankList({
    load: () => Promise.reject(new Error('nothing is loaded here')),
    takeTurn: undefined,
    policy: { ttlMs: TTL_MS, maxStaleMs: TTL_MS },
    guard: { minBanks: 1, maxShrink: 0.2, maxDrift: 0.2, fields: undefined },
    loadTimeoutMs: 5_000,
    clock,
    random: () => 0.5,
    onEvent: () => undefined,
  });
  return {
    clock,
    list,
    lastGoodList: createLastGoodList({ stores, list, clock, onEvent }),
  };
};

const listOf = async (receivedAtMs: number): Promise<SavedList> => ({
  ...(await readBanks([{ code: '001' }])),
  receivedAtMs,
  changedAtMs: receivedAtMs,
});

/** A store in memory, whose clock is the lists' own. */
const createStore = (clock: Clock, name: ListStore['name'] = 'CACHE_REDIS_URL'): ListStore => {
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

test('the store that had the list is named, and not one that only gets it now', async () => {
  const clock = createManualClock();
  const [file, redis] = [createStore(clock, 'CACHE_SNAPSHOT_FILE'), createStore(clock)];
  const { lastGoodList } = start([file, redis], clock);
  await redis.write(await listOf(clock.wallMs()), 0);
  expect(await lastGoodList.restore()).toBe('CACHE_REDIS_URL');
});

test('a list that is passed on from one store to another keeps its age', async () => {
  const clock = createManualClock();
  const [from, to] = [createStore(clock), createStore(clock)];
  const { lastGoodList } = start([from, to], clock);
  await from.write(await listOf(clock.wallMs() - 600_000), 600_000);
  clock.advance(1_000);
  expect(await lastGoodList.restore()).toBe(from.name);
  await lastGoodList.onSettled();
  expect((await to.read())?.ageMs).toBe(601_000);
});

test('a store that could not be read is written when another one has news', async () => {
  const clock = createManualClock();
  const [shared, own] = [createStore(clock), createStore(clock)];
  const unreadable: ListStore = { ...own, read: () => Promise.reject(new StoreError('cannot be read')) };
  const { lastGoodList } = start([unreadable, shared], clock);
  await shared.write(await listOf(clock.wallMs()), 0);
  await lastGoodList.restore();
  await lastGoodList.pull(shared);
  await lastGoodList.onSettled();
  expect(await own.read()).toBeDefined();
});

test('a list of which only the answer to its write was lost is written again, so that the other replicas learn of it', async () => {
  const clock = createManualClock();
  const shared = createStore(clock);
  let writes = 0;
  const forgetful: ListStore = {
    ...shared,
    write: async (list, ageMs) => {
      await shared.write(list, ageMs);
      writes += 1;
      if (writes === 1) throw new StoreError('does not answer in time');
    },
  };
  const { list, lastGoodList } = start([forgetful], clock);
  await list.restore(await listOf(clock.wallMs()), 0);
  lastGoodList.save();
  await lastGoodList.onSettled();
  for (let look = 0; look < 2; look += 1) {
    await lastGoodList.pull(forgetful);
    await lastGoodList.onSettled();
  }
  expect(writes).toBe(2);
});

test('after a failed write no older list is written over one that this replica does not take', async () => {
  const clock = createManualClock();
  const shared = createStore(clock);
  let writes = 0;
  const failing: ListStore = {
    ...shared,
    write: () => {
      writes += 1;
      return Promise.reject(new StoreError('does not answer in time'));
    },
  };
  const { list, lastGoodList } = start([failing], clock);
  await list.restore(await listOf(clock.wallMs()), 0);
  lastGoodList.save();
  await lastGoodList.onSettled();
  clock.advance(10_000);
  // By the clock of another replica, which is an hour ahead.
  await shared.write(await listOf(clock.wallMs() + 3_600_000), 0);
  await lastGoodList.pull(failing);
  await lastGoodList.onSettled();
  expect([writes, list.status().ageMs]).toEqual([1, 10_000]);
});

test('a store whose connection is lost while its list is encoded is not said to work again', async () => {
  const clock = createManualClock();
  const shared = createStore(clock);
  let reads = 0;
  const states = [false, true];
  const store: ListStore = {
    ...shared,
    read: () => {
      reads += 1;
      return reads === 1 ? Promise.reject(new StoreError('contains a damaged list')) : shared.read();
    },
    isConnected: () => states.shift() ?? true,
  };
  const events: string[] = [];
  const { lastGoodList } = start([store], clock, ({ type }) => events.push(type));
  await shared.write(await listOf(clock.wallMs()), 0);
  await lastGoodList.pull(store);
  await lastGoodList.pull(store);
  expect(events).toEqual(['store-failed']);
  await lastGoodList.pull(store);
  expect(events).toEqual(['store-failed', 'store-recovered']);
});

/** A store that answers a read only when it is told to, with what it had at the beginning. */
const createSlowReader = (store: ListStore) => {
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const read: ListStore['read'] = async () => {
    const stored = await store.read();
    await answered;
    return stored;
  };
  return { store: { ...store, read }, answer };
};

test('a list that is overwritten while it is being read is written again', async () => {
  const clock = createManualClock();
  const disk = createStore(clock);
  const slow = createSlowReader(disk);
  const { list, lastGoodList } = start([slow.store], clock);
  await disk.write(await listOf(clock.wallMs() - 1_000), 1_000);
  const restored = lastGoodList.restore();
  await list.restore(await listOf(clock.wallMs() - 11_000), 11_000);
  lastGoodList.save();
  await lastGoodList.onSettled();
  slow.answer();
  await restored;
  await lastGoodList.onSettled();
  expect((await disk.read())?.list.receivedAtMs).toBe(clock.wallMs() - 1_000);
});

test('a list that is refused after it has been overwritten is no failure of the store', async () => {
  const clock = createManualClock();
  const disk = createStore(clock);
  const slow = createSlowReader(disk);
  const events: string[] = [];
  const { list, lastGoodList } = start([slow.store], clock, ({ type }) => events.push(type));
  await disk.write(await listOf(clock.wallMs()), 0);
  const restored = lastGoodList.restore();
  const two = await readBanks([{ code: '001' }, { code: '002' }]);
  await list.restore({ ...two, receivedAtMs: clock.wallMs() - 11_000, changedAtMs: 0 }, 11_000);
  lastGoodList.save();
  await lastGoodList.onSettled();
  slow.answer();
  await restored;
  expect(events).toEqual(['store-recovered']);
});

test('each list is saved, and of those that come while the store is writing only the newest', async () => {
  const written: number[] = [];
  let endWrite = (): void => {};
  const firstWrite = new Promise<void>((resolve) => (endWrite = resolve));
  const store: ListStore = {
    name: 'CACHE_SNAPSHOT_FILE',
    read: () => Promise.resolve(undefined),
    write: async ({ receivedAtMs }) => {
      written.push(receivedAtMs);
      await firstWrite;
    },
  };
  const { clock, list, lastGoodList } = start([store]);
  const startMs = clock.wallMs();
  const save = async (): Promise<void> => {
    clock.advance(1);
    await list.restore(await listOf(clock.wallMs()), 0);
    lastGoodList.save();
  };
  await save();
  await save();
  await save();
  endWrite();
  await lastGoodList.onSettled();
  expect(written).toEqual([startMs + 1, startMs + 3]);
  await save();
  await lastGoodList.onSettled();
  expect(written).toEqual([startMs + 1, startMs + 3, startMs + 4]);
});
