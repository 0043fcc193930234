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
  return { list, events, lastGoodList: createLastGoodList({ stores, ttlMs: TTL_MS, clock, onEvent }) };
};

const listOf = async (receivedAtMs: number): Promise<SavedList> => ({
  ...(await readBanks([{ code: '001' }])),
  receivedAtMs,
  changedAtMs: receivedAtMs,
});

test('a list that is passed on from one store to another keeps its age', async () => {
  const clock = createManualClock();
  const [from, to] = [createFleetStore(clock).seenBy(0), createFleetStore(clock).seenBy(0)];
  const { list, lastGoodList } = start([from, to], clock);
  await from.write(await listOf(clock.wallMs() - 600_000), 600_000);
  clock.advance(1_000);
  expect(await lastGoodList.takeFrom(from, list)).toMatchObject({ isTaken: true });
  await lastGoodList.onSettled();
  expect((await to.read())?.ageMs).toBe(601_000);
});

test('a store that can be read again, but not written, is told to work again once', async () => {
  let isReadable = false;
  const store: ListStore = {
    name: 'CACHE_REDIS_URL',
    read: async () => {
      if (!isReadable) throw new StoreError('cannot be read');
      return { list: await listOf(1), ageMs: 0 };
    },
    write: () => Promise.reject(new StoreError('cannot be written')),
  };
  const { list, events, lastGoodList } = start([store]);
  await lastGoodList.takeFrom(store, list);
  isReadable = true;
  for (let read = 0; read < 3; read += 1) await lastGoodList.takeFrom(store, list);
  lastGoodList.save(await listOf(2), 0);
  await lastGoodList.onSettled();
  await lastGoodList.takeFrom(store, list);
  expect(events).toEqual(['store-failed', 'store-recovered', 'store-failed']);
});

test('each list is saved, and of those that come while the store is writing only the newest', async () => {
  const written: number[] = [];
  const store: ListStore = {
    name: 'CACHE_SNAPSHOT_FILE',
    read: () => Promise.resolve(undefined),
    write: async ({ receivedAtMs }) => void written.push(receivedAtMs),
  };
  const { lastGoodList } = start([store]);
  const [one, two, three, four] = [await listOf(1), await listOf(2), await listOf(3), await listOf(4)];
  for (const list of [one, two, three]) lastGoodList.save(list, 0);
  await lastGoodList.onSettled();
  expect(written).toEqual([1, 3]);
  lastGoodList.save(four, 0);
  await lastGoodList.onSettled();
  expect(written).toEqual([1, 3, 4]);
});
