import { expect, test } from '@jest/globals';
import { getEventListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { createBankList, type BankList } from '../../src/banks/bank-list.ts';
import type { LoadedList, SavedList } from '../../src/banks/cached-list.ts';
import type { Turn } from '../../src/banks/loading/loading.ts';
import type { Clock } from '../../src/clock.ts';
import { createFleet } from '../../src/sharing/fleet.ts';
import { createLastGoodList } from '../../src/sharing/last-good-list.ts';
import type { SharedStore } from '../../src/sharing/list-store.ts';
import { createFleetStore } from '../kit/fleet-store.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { readBanks } from '../kit/read-banks.ts';
import { eventually } from '../kit/rig.ts';

// Whose turn it is, among replicas that share a store in memory, on a clock that the tests move.

const TTL_MS = 3_600_000;
const LOAD_TIMEOUT_MS = 5_000;
const LIST: LoadedList = { ...(await readBanks([{ code: '001' }])), validators: undefined };

const startReplica = (store: SharedStore, clock: Clock) => {
  const list: BankList = createBankList({
    load: () => Promise.resolve(LIST),
    takeTurn: (wanted) => fleet.takeTurn(wanted),
    policy: { ttlMs: TTL_MS, maxStaleMs: TTL_MS },
    guard: { minBanks: 1, maxShrink: 0.2, maxDrift: 0.2, fields: undefined },
    loadTimeoutMs: LOAD_TIMEOUT_MS,
    clock,
    random: () => 0.5,
    onEvent: () => undefined,
  });
  const lastGoodList = createLastGoodList({
    stores: [store],
    list,
    clock,
    onEvent: () => undefined,
  });
  const fleet = createFleet({ store, lastGoodList, loadTimeoutMs: LOAD_TIMEOUT_MS, clock });
  const { signal } = new AbortController();
  const takeTurn = (patienceMs: number): Promise<Turn> =>
    fleet.takeTurn({ isDue: () => list.state() !== 'fresh', patienceMs, signal });
  return { list, fleet, lastGoodList, signal, takeTurn };
};

/** A list that the provider sends now. */
const sentNow = (clock: Clock): SavedList => ({
  ...LIST,
  receivedAtMs: clock.wallMs(),
  changedAtMs: clock.wallMs(),
});

/** Lets time pass until `turn` is decided; the milliseconds that it took. */
const timeOf = async (turn: Promise<Turn>, clock: ReturnType<typeof createManualClock>): Promise<number> => {
  const startedAtMs = clock.monotonicMs();
  const decided = turn.then(() => clock.monotonicMs() - startedAtMs);
  for (;;) {
    const waitedMs = await Promise.race([decided, setImmediate(undefined)]);
    if (waitedMs !== undefined) return waitedMs;
    clock.next();
  }
};

test('a replica that is killed during its load holds the others up for the longest load, and not much longer', async () => {
  const clock = createManualClock();
  const shared = createFleetStore(clock);
  const [killed, other] = [0, 1].map((replica) => startReplica(shared.seenBy(replica), clock));
  expect(await killed?.takeTurn(60_000)).toMatchObject({ mayLoad: true });
  const turn = other?.takeTurn(60_000) ?? Promise.reject(new Error('no replica'));
  const waitedMs = await timeOf(turn, clock);
  expect(await turn).toMatchObject({ mayLoad: true });
  expect(waitedMs).toBeGreaterThan(LOAD_TIMEOUT_MS);
  expect(waitedMs).toBeLessThanOrEqual(LOAD_TIMEOUT_MS + 1_000);
});

test('the lease lasts until the list is written', async () => {
  const clock = createManualClock();
  const shared = createFleetStore(clock);
  let endWrite = (): void => {};
  const written = new Promise<void>((resolve) => (endWrite = resolve));
  const slow: SharedStore = {
    ...shared.seenBy(0),
    write: (...args) => written.then(() => shared.seenBy(0).write(...args)),
  };
  const writer = startReplica(slow, clock);
  const turn = await writer.takeTurn(0);
  await writer.list.restore(sentNow(clock), 0);
  writer.lastGoodList.save();
  turn.end();
  await setImmediate();
  expect(await shared.seenBy(1).claim(1)).toBeUndefined();
  endWrite();
  await setImmediate();
  expect(await shared.seenBy(1).claim(1)).toBeDefined();
});

test('a replica that missed the message of a new list takes that list instead of loading another', async () => {
  const clock = createManualClock();
  const shared = createFleetStore(clock);
  const { list, fleet, takeTurn } = startReplica(shared.seenBy(0), clock);
  shared.setFault(0, 'deaf');
  fleet.start();
  await shared.seenBy(1).write(sentNow(clock), 0);
  expect(await takeTurn(0)).toMatchObject({ mayLoad: false });
  expect(list.state()).toBe('fresh');
  // The lease is free again.
  await setImmediate();
  expect(await shared.seenBy(1).claim(1)).toBeDefined();
});

test('waiting leaves no timer and no listener behind', async () => {
  const clock = createManualClock();
  const shared = createFleetStore(clock);
  let cancels = 0;
  const counting: Clock = {
    ...clock,
    after: (delayMs, task) => {
      const cancel = clock.after(delayMs, task);
      return () => {
        cancels += 1;
        cancel();
      };
    },
  };
  const { fleet, signal, takeTurn } = startReplica(shared.seenBy(0), counting);
  fleet.start();
  await shared.seenBy(1).claim(60_000);
  const turn = takeTurn(60_000);
  for (let wait = 0; wait < 20; wait += 1) {
    await setImmediate();
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    clock.next();
  }
  await setImmediate();
  // Whoever waits is woken once, and so is nobody who waited before.
  const before = cancels;
  await shared.seenBy(1).write(sentNow(clock), 0);
  expect(await turn).toMatchObject({ mayLoad: false });
  expect([cancels - before, clock.waits(), getEventListeners(signal, 'abort')]).toEqual([1, [], []]);
});

test('each of many messages is heeded, and one about the list that it has costs no write', async () => {
  const clock = createManualClock();
  const shared = createFleetStore(clock);
  let writes = 0;
  const seen = shared.seenBy(0);
  const { list, fleet } = startReplica(
    {
      ...seen,
      write: (...args) => {
        writes += 1;
        return seen.write(...args);
      },
    },
    clock,
  );
  fleet.start();
  for (let message = 0; message < 3; message += 1) {
    clock.advance(1_000);
    const next = sentNow(clock);
    for (let repetition = 0; repetition < 3; repetition += 1) {
      await shared.seenBy(1).write(next, 0);
      await eventually(() => list.status().held?.receivedAtMs === next.receivedAtMs);
    }
  }
  expect(writes).toBe(0);
});
