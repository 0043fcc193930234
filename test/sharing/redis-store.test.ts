import { beforeEach, expect, test } from '@jest/globals';
import type { SavedList } from '../../src/banks/cached-list.ts';
import { systemClock, type Clock } from '../../src/clock.ts';
import { createEnvelope } from '../../src/sharing/envelope.ts';
import type { SharedStore, StoreEvent } from '../../src/sharing/list-store.ts';
import { createRedisStore } from '../../src/sharing/redis-store.ts';
import { closeLater } from '../kit/close-later.ts';
import { createManualClock, type ManualClock } from '../kit/manual-clock.ts';
import { EVERY_FIELD, readBanks } from '../kit/read-banks.ts';
import { describeWithRedis, redisOfTest, type RedisServer } from '../kit/redis-server.ts';
import { eventually } from '../kit/rig.ts';

// What lies in a real Redis and for how long, and when an outage ends. What it leaves behind is judged by the simulation.

const LIFE_MS = 60_000;
const kept = async (...banks: readonly unknown[]): Promise<SavedList> => {
  const { json, count, profile, entryDigests, earlier } = await readBanks(banks);
  return { json, count, profile, entryDigests, earlier, receivedAtMs: 2, changedAtMs: 1 };
};
const [LIST, EMPTY] = [await kept({ code: '001', name: 'Ação "1"\n' }), await kept()];

describeWithRedis('the store in Redis', () => {
  let server: RedisServer;
  let events: StoreEvent['type'][];
  let connections: number;
  beforeEach(async () => {
    server = await redisOfTest();
    events = [];
    connections = 0;
  });

  /** Resolves once it is connected. */
  const open = async (clock: Clock = systemClock, provenance = 'provenance'): Promise<SharedStore> => {
    const store = createRedisStore({
      url: () => Promise.resolve(server.url),
      envelope: createEnvelope({ provenance, contract: EVERY_FIELD }),
      lifeMs: LIFE_MS,
      clock,
      random: () => 0.5,
      onEvent: ({ type }) => void events.push(type),
    });
    closeLater(() => store.close());
    const before = connections;
    store.open(() => (connections += 1));
    await eventually(() => connections > before);
    return store;
  };
  /** Waits until an attempt has failed; the milliseconds to the next. The other wait that there can be is an attempt's own deadline. */
  const nextAttempt = async (clock: ManualClock): Promise<number> => {
    await eventually(() => clock.waits().length === 1 && clock.waits()[0] !== 2_000);
    return clock.waits()[0] ?? 0;
  };
  const disconnect = () => server.command('CLIENT KILL TYPE pubsub');
  const secondsLeft = async (key: string): Promise<number> =>
    Number((await server.command(`PTTL banks-bff:1:provenance:${key}`)).slice(1)) / 1_000;

  test('the others with the same fields hear of a list and read it, byte for byte; the writer and those with other fields do not', async () => {
    const [one, two, another] = [await open(), await open(), await open(systemClock, 'other fields')];
    await another.write(EMPTY, 0);
    expect(await two.read()).toBeUndefined();
    await one.write(EMPTY, 0);
    await one.write({ ...LIST, acceptedAtMs: 7 }, 0);
    // What is heard counts as a connection here.
    await eventually(() => connections === 5);
    expect((await two.read())?.list).toMatchObject({ ...LIST, acceptedAtMs: 7 });
    expect((await another.read())?.list).toMatchObject(EMPTY);
    expect(connections).toBe(5);
  });

  test('one replica at a time has the lease, for as long as it claimed it, and only its owner can end it', async () => {
    const [one, two] = [await open(), await open()];
    const ofOne = await one.claim(50_000);
    expect(await secondsLeft('lease')).toBeLessThanOrEqual(50);
    expect(await secondsLeft('lease')).toBeGreaterThan(5);
    expect([ofOne, await two.claim(60_000)]).toEqual([expect.any(Function), undefined]);
    await ofOne?.();
    expect(await two.claim(60_000)).toBeDefined();
    await ofOne?.();
    expect(await one.claim(60_000)).toBeUndefined();
  });

  test('a value of another type under its key is told, and is overwritten', async () => {
    const store = await open();
    await server.command('HSET banks-bff:1:provenance:list field value');
    await expect(store.read()).rejects.toThrow('does not contain a saved list; ignored');
    await store.write(LIST, 0);
    expect((await store.read())?.list).toMatchObject(LIST);
  });

  test('a list expires when it would be too old to be served, and tells every reader its age', async () => {
    const [one, two] = [await open(), await open()];
    await one.write(LIST, 45_000);
    expect(await secondsLeft('list')).toBeLessThanOrEqual(15);
    expect(await secondsLeft('list')).toBeGreaterThan(5);
    const { ageMs = 0 } = (await two.read()) ?? {};
    expect(ageMs).toBeGreaterThanOrEqual(45_000);
    expect(ageMs).toBeLessThan(55_000);
  });

  test('each outage is reported, and the first attempt after it comes as soon as ever', async () => {
    const clock = createManualClock();
    await open(clock);
    expect(clock.waits()).toEqual([5_000]);
    await server.kill();
    await eventually(() => events.length === 1);
    const waits: number[] = [];
    for (let attempt = 0; attempt < 7; attempt += 1) {
      waits.push(await nextAttempt(clock));
      if (attempt === 6) await server.revive();
      clock.next();
    }
    expect(waits).toEqual([75, 150, 300, 600, 1_200, 1_500, 1_500]);
    await eventually(() => connections === 2 && clock.waits().length === 1);
    // It has recovered once it has answered a ping.
    clock.next();
    await eventually(() => clock.waits().join() === '5000');
    await disconnect();
    await eventually(() => events.length === 3);
    expect(clock.waits()).toEqual([75]);
    clock.next();
    await eventually(() => connections === 3);
    // Lost before it has answered one: the next attempt comes later.
    await disconnect();
    await eventually(() => events.length === 5);
    expect(clock.waits()).toEqual([150]);
    const outage = ['store-failed', 'store-recovered'];
    expect(events).toEqual([...outage, ...outage, 'store-failed']);
  });

  test('a stall is left to the caller to tell, or told here if a ping or the end of a lease noticed it', async () => {
    const clock = createManualClock();
    const store = await open(clock);
    const release = await store.claim(1_000);
    const notice: readonly [() => unknown, readonly StoreEvent['type'][]][] = [
      [() => expect(store.read()).rejects.toThrow('does not answer in time'), ['store-recovered']],
      [() => release?.(), ['store-failed', 'store-recovered']],
      // The ping is due.
      [() => clock.next(), ['store-failed', 'store-recovered']],
    ];
    for (const [work, told] of notice) {
      server.stall();
      const noticed = work();
      clock.next();
      await noticed;
      server.resume();
      await nextAttempt(clock);
      const before = connections;
      clock.next();
      await eventually(() => connections > before && clock.waits().join() === '5000');
      expect(events.splice(0)).toEqual(told);
    }
  });
});
