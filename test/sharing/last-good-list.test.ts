import { expect, test } from '@jest/globals';
import { createBankList } from '../../src/banks/bank-list.ts';
import type { SavedList } from '../../src/banks/cached-list.ts';
import { createLastGoodList } from '../../src/sharing/last-good-list.ts';
import { StoreError, type ListStore, type StoreEvent } from '../../src/sharing/list-store.ts';
import { createFleetStore } from '../kit/fleet-store.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { readBanks } from '../kit/read-banks.ts';

const TTL_MS = 3_600_000;

const start = (stores: readonly ListStore[], clock = createManualClock()) => {
  const events: StoreEvent['type'][] = [];
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
  const onEvent = ({ type }: StoreEvent): void => void events.push(type);
  return {
    clock,
    list,
    events,
    lastGoodList: createLastGoodList({ stores, list, clock, onEvent }),
  };
};

const listOf = async (receivedAtMs: number): Promise<SavedList> => ({
  ...(await readBanks([{ code: '001' }])),
  receivedAtMs,
  changedAtMs: receivedAtMs,
});

test('a list that is passed on from one store to another keeps its age', async () => {
  const clock = createManualClock();
  const [from, to] = [createFleetStore(clock).seenBy(0), createFleetStore(clock).seenBy(0)];
  const { lastGoodList } = start([from, to], clock);
  await from.write(await listOf(clock.wallMs() - 600_000), 600_000);
  clock.advance(1_000);
  expect(await lastGoodList.restore()).toBe(from.name);
  await lastGoodList.onSettled();
  expect((await to.read())?.ageMs).toBe(601_000);
});

test('a store that can be read again, but not written, is told to work again once', async () => {
  let isReadable = false;
  const clock = createManualClock();
  const store: ListStore = {
    name: 'CACHE_REDIS_URL',
    read: async () => {
      if (!isReadable) throw new StoreError('cannot be read');
      return { list: await listOf(clock.wallMs()), ageMs: 0 };
    },
    write: () => Promise.reject(new StoreError('cannot be written')),
  };
  const { events, lastGoodList } = start([store], clock);
  await lastGoodList.pull(store);
  isReadable = true;
  for (let read = 0; read < 3; read += 1) await lastGoodList.pull(store);
  lastGoodList.save();
  await lastGoodList.onSettled();
  await lastGoodList.pull(store);
  expect(events).toEqual(['store-failed', 'store-recovered', 'store-failed']);
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
