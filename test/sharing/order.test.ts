import { beforeEach, expect, test } from '@jest/globals';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import supertest from 'supertest';
import type { Emulator } from '../../emulator/emulator.ts';
import { wall } from '../../src/clock.ts';
import type { Environment } from '../../src/config/reader.ts';
import { makeBanks } from '../helpers/banks.ts';
import { closeLater } from '../helpers/close-later.ts';
import { emulate } from '../helpers/emulate.ts';
import { listenOn } from '../helpers/free-port.ts';
import { createManualClock, type ManualClock } from '../helpers/manual-clock.ts';
import { describeWithRedis, redisOfTest, type RedisServer } from '../helpers/redis-server.ts';
import {
  advanceOnceIdle,
  advanceToLoad,
  nextLoad,
  openRig,
  plannedInMs,
  startLoadedRig,
  startRig,
  stopAtOnce,
  type Rig,
  type RigOptions,
} from '../helpers/rig.ts';
import { eventually, waitUntil } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// Which list and which decision goes on, in orders of events that depend on nothing but what Redis
// took, and when: services with a real Redis on clocks that the test moves.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let redis: RedisServer;
let provider: Emulator;
let clock: ManualClock;

const envOf = (env: Environment = {}): Environment => ({ CACHE_REDIS_URL: redis.url, ...env });
const start = ({ env, ...options }: RigOptions = {}): Promise<Rig> =>
  startLoadedRig({ provider, clock, storeClock: clock, ...options, env: envOf(env) });
const countIn = (rig: Rig): number | undefined => rig.service.list.status().cached?.count;
const snapshot = (): string => join(temporaryFolder(), 'list');
/** What the names of all values in Redis begin with; nothing where there is no list. */
const namesFound = async (): Promise<readonly string[]> =>
  (await redis.command('KEYS banks-bff:2:*')).match(/banks-bff:\S+(?=:list)/) ?? [];
/** The same; there must be a list. */
const namesOfValues = async (): Promise<string> => {
  const [names] = await namesFound();
  if (names === undefined) throw new Error('Redis has no list');
  return names;
};
/** Until somebody has written a list to a Redis without one. */
const writtenAgain = (): Promise<unknown> =>
  waitUntil('a list in Redis', namesFound, (found) => found.length > 0);
/** A clock whose wall time differs from that of Redis. */
const wrongBy = (ms: number): ManualClock => ({
  ...clock,
  wallMs: () => wall(clock.wallMs() + ms),
});

/** An address of Redis that can be cut off. */
const connectionToCut = async () => {
  const sockets = new Set<Socket>();
  let isCut = false;
  let received = 0;
  /** What the replica has sent since it is held back. */
  let heldBack: [Socket, Buffer][] | undefined;
  const front = createServer((client) => {
    const server = connect(redis.port, '127.0.0.1');
    for (const socket of [client, server]) sockets.add(socket.on('error', () => undefined));
    if (isCut) client.destroy();
    client.on('data', (bytes) => {
      if (heldBack) heldBack.push([server, Buffer.from(bytes)]);
      else server.write(bytes);
    });
    client.on('close', () => server.destroy());
    server.on('data', ({ length }) => (received += length));
    server.pipe(client);
  });
  const cut = (): void => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  const url = `redis://127.0.0.1:${await listenOn(front)}`;
  closeLater(() => front.close(), cut);
  return {
    url,
    cut,
    mend: () => (isCut = false),
    hold: () => (heldBack = []),
    /** The bytes that Redis has sent. */
    received: (): number => received,
    isHolding: (): boolean => heldBack !== undefined && heldBack.length > 0,
    release: (): void => {
      for (const [server, bytes] of heldBack ?? []) server.write(bytes);
      heldBack = undefined;
    },
  };
};

describeWithRedis('with a real Redis', () => {
  beforeEach(async () => {
    redis = await redisOfTest();
    provider = await emulate();
    clock = createManualClock();
  });

  test('an expired list of a snapshot refuses no successor', async () => {
    const env = { CACHE_TTL: '10m', CACHE_MAX_STALE: '1h' };
    const kept = { ...env, CACHE_SNAPSHOT_FILE: snapshot() };
    provider.setBanks(makeBanks(100));
    const first = await openRig({ provider, clock, env: envOf(kept) });
    await eventually(() => countIn(first) === 100);
    await first.close();
    clock.skip(10 * HOUR);
    provider.setBanks(makeBanks(70));
    await start({ env });
    const again = await start({ env: kept });
    expect([countIn(again), again.service.list.status().state]).toEqual([70, 'fresh']);
    provider.setBanks(makeBanks(69));
    expect(await again.service.list.refresh()).toBeUndefined();
  });

  test('a list of a snapshot from before Redis lost its data refuses no successor', async () => {
    const kept = { CACHE_SNAPSHOT_FILE: snapshot() };
    provider.setBanks(makeBanks(100));
    const first = await openRig({ provider, clock, storeClock: clock, env: envOf(kept) });
    await eventually(() => first.service.list.status().isShared === true);
    await first.close();
    await redis.command('FLUSHALL');
    provider.setBanks(makeBanks(70));
    const other = await start();
    await eventually(() => other.service.list.status().isShared === true);
    const again = await start({ env: kept });
    await eventually(() => countIn(again) === 70);
    provider.setBanks(makeBanks(69));
    expect(await again.service.list.refresh()).toBeUndefined();
  });

  test('an expired list in Redis replaces none that can be served', async () => {
    const env = { CACHE_TTL: '10m', CACHE_MAX_STALE: '1h' };
    const kept = { ...env, CACHE_SNAPSHOT_FILE: snapshot() };
    provider.setBanks(makeBanks(100));
    const first = await openRig({ provider, clock, storeClock: clock, env: envOf(env) });
    await eventually(() => first.service.list.status().isShared === true);
    await first.close();
    clock.skip(10 * HOUR);
    provider.setBanks(makeBanks(99));
    const alone = await openRig({ provider, clock, env: kept });
    await eventually(() => countIn(alone) === 99);
    await alone.close();
    await provider.behave('unavailable');
    const again = await start({ env: kept });
    await eventually(() => again.service.list.status().isShared === true);
    const { body } = await supertest(again.url).get('/banks').expect(200);
    expect(body).toHaveLength(99);
    const late = await start({ env });
    expect([countIn(late), late.service.list.status().state]).toEqual([99, 'fresh']);
  });

  test('a decision that never reached the others is not theirs six days later', async () => {
    provider.setBanks(makeBanks(100));
    const connection = await connectionToCut();
    const kept = { CACHE_SNAPSHOT_FILE: snapshot(), CACHE_REDIS_URL: connection.url };
    const one = await openRig({ provider, clock, env: kept });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start();
    connection.cut();
    provider.setBanks(makeBanks(50));
    clock.advance(5_000);
    await one.service.list.refresh(['shrunk'], 'alone');
    expect([countIn(one), countIn(two)]).toEqual([50, 100]);
    await one.close();
    provider.setBanks(makeBanks(100));
    for (let day = 0; day < 6; day += 1) {
      clock.skip(DAY);
      await two.service.list.refresh();
    }
    connection.mend();
    expect(countIn(await start({ env: kept }))).toBe(100);
    expect(countIn(two)).toBe(100);
  });

  test('a restored list is renewed by its age in Redis, not by a clock that was set back', async () => {
    const connection = await connectionToCut();
    const kept = {
      CACHE_TTL: '1h',
      CACHE_SNAPSHOT_FILE: snapshot(),
      CACHE_REDIS_URL: connection.url,
    };
    const one = await openRig({ provider, clock, storeClock: clock, env: kept });
    await eventually(() => one.service.list.status().isShared === true);
    await one.close();
    clock.skip(50 * MINUTE);
    connection.cut();
    const again = await start({ env: kept, clock: wrongBy(-50 * MINUTE) });
    expect(again.service.list.status().nextLoadInMs).toBeGreaterThan(55 * MINUTE);
    connection.mend();
    const nextLoadInMs = (): number => again.service.list.status().nextLoadInMs;
    await eventually(() => nextLoadInMs() > 0 && nextLoadInMs() < 11 * MINUTE);
  });

  test('what came before a restored list is as old as Redis says, not a clock that was set right', async () => {
    const kept = { CACHE_SNAPSHOT_FILE: snapshot() };
    provider.setBanks(makeBanks(100));
    const options = { clock: wrongBy(-300 * DAY), storeClock: clock, env: envOf(kept) };
    const one = await openRig({ provider, ...options });
    await eventually(() => one.service.list.status().isShared === true);
    provider.setBanks(makeBanks(85));
    expect(await one.service.list.refresh()).toBeUndefined();
    await one.close();
    const again = await start({ env: kept });
    provider.setBanks(makeBanks(70));
    expect(await again.service.list.refresh()).toMatchObject({ kind: 'shrunk' });
  });

  test('POST /refresh says whether Redis has the list', async () => {
    const connection = await connectionToCut();
    const MANAGEMENT_TOKEN = 'operator-token-for-tests';
    const { service, managementUrl } = await start({
      env: { CACHE_REDIS_URL: connection.url, MANAGEMENT_TOKEN },
    });
    await eventually(() => service.list.status().isShared === true);
    const refresh = async (): Promise<unknown> => {
      const headers = { Authorization: `Bearer ${MANAGEMENT_TOKEN}` };
      return (await fetch(`${managementUrl}/refresh`, { method: 'POST', headers })).json();
    };
    expect(await refresh()).toMatchObject({ shared: true });
    connection.cut();
    expect(await refresh()).toMatchObject({ shared: false });
  });

  test('one Retry-After holds for all, and all know the reason', async () => {
    const one = await start();
    const two = await start();
    await provider.behave('rate-limited', { retryAfter: '600' });
    const before = provider.listCalls();
    await one.service.list.refresh();
    await eventually(() => two.service.list.status().failure?.kind === 'rate_limited');
    for (const rig of [one, two]) expect(Math.round((await plannedInMs(rig)) / MINUTE)).toBe(10);
    // Who made the attempt counts it; both are failing.
    const metric = async (rig: Rig, name: string): Promise<string | undefined> => {
      const text = await (await fetch(`${rig.managementUrl}/metrics`)).text();
      return new RegExp(`^banks_${name}="rate_limited"} (\\d)$`, 'm').exec(text)?.[1];
    };
    for (const [rig, attempts] of [
      [one, '1'],
      [two, '0'],
    ] as const)
      expect([
        await metric(rig, 'refreshes_total{outcome'),
        await metric(rig, 'refresh_failing{kind'),
      ]).toEqual([attempts, '1']);
    expect(two.messages()).toContain(
      'list: load failed: the load of another replica failed; the cached list is still fresh',
    );
    for (let seconds = 0; seconds < 120; seconds += 5) await advanceOnceIdle(5_000, one, two);
    expect(provider.listCalls() - before).toBe(1);
  });

  test('a Retry-After that was obeyed does not bind who joins during the next attempt', async () => {
    await provider.behave('rate-limited', { retryAfter: '600' });
    // With a clock of its own, of which the end does not move that of the other one.
    const own = createManualClock();
    const one = await openRig({ provider, clock: own, storeClock: clock, env: envOf() });
    await plannedInMs(one);
    await provider.behave('stall');
    await advanceToLoad(one);
    await eventually(() => provider.listCalls() === 2);
    const late = await startRig({ provider, clock, storeClock: clock, env: envOf() });
    await eventually(() => late.service.list.status().failure?.kind === 'rate_limited');
    await stopAtOnce(one);
    await provider.behave('healthy');
    // Longer than the right to the attempt that the other replica had begun.
    clock.advance(12_000);
    await eventually(() => countIn(late) !== undefined);
    expect(provider.listCalls()).toBe(3);
  });

  test('a Retry-After that comes while another replica loads holds for that one too', async () => {
    const [one, two] = [await start(), await start()];
    await eventually(() => two.service.list.status().isShared === true);
    await provider.behave('stall');
    const before = provider.listCalls();
    const stalled = two.service.list.refresh();
    await eventually(() => provider.listCalls() > before);
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    clock.advance(15_000);
    expect(await stalled).toMatchObject({ kind: 'timeout' });
    await eventually(() => two.service.list.status().nextLoadInMs > 9 * MINUTE);
  });

  /** The first of these is the first to renew its list. */
  const startThree = async (env: Environment = {}): Promise<readonly [Rig, Rig, Rig]> => [
    await start({ env, random: () => 0.9 }),
    await start({ env, random: () => 0 }),
    await start({ env, random: () => 0 }),
  ];
  /** Moves time on, as fast as these replicas look at Redis in between, and at the end. */
  const pass = async (seconds: number, ...rigs: readonly [Rig, ...Rig[]]): Promise<void> => {
    for (let passed = 0; passed < seconds; passed += 1) await advanceOnceIdle(1_000, ...rigs);
    await advanceOnceIdle(0, ...rigs);
  };
  /** The same, where some of them load or wait for one that does. */
  const passDuringALoad = async (seconds: number): Promise<void> => {
    for (let passed = 0; passed < seconds; passed += 1) {
      clock.advance(1_000);
      for (let exchange = 0; exchange < 5; exchange += 1) await redis.command('PING');
    }
  };

  test('a list that names a next page is reported as incomplete by who takes it from Redis or from a snapshot too', async () => {
    await provider.behave('paginated');
    const kept = { CACHE_SNAPSHOT_FILE: snapshot() };
    const one = await openRig({ provider, clock, env: envOf(kept) });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start();
    await one.close();
    const restored = await startLoadedRig({ provider, clock, env: kept });
    for (const rig of [two, restored]) {
      expect(rig.messages().filter((message) => message.includes('incomplete'))).toEqual([
        'list: incomplete: the response names a next page, which is not requested',
      ]);
      const metrics = await (await fetch(`${rig.managementUrl}/metrics`)).text();
      expect(metrics).toMatch(/^banks_list_incomplete 1$/m);
    }
    await provider.behave('healthy');
    expect(await restored.service.list.refresh()).toBeUndefined();
    expect(restored.messages().at(-1)).toBe('list: no longer incomplete');
  });

  test('a replica with nothing to serve does not wait after a refusal by one that has a list', async () => {
    provider.setBanks(makeBanks(100));
    const one = await start({ env: { CACHE_TTL: '1h' } });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start({ env: { CACHE_TTL: '30m', CACHE_MAX_STALE: '40s' } });
    clock.skip(30 * MINUTE + 39_000);
    provider.setBanks(makeBanks(50));
    // As many failures as make the next wait a minute long.
    for (let failed = 0; failed < 7; failed += 1) {
      expect(await one.service.list.refresh()).toMatchObject({ kind: 'shrunk' });
      await eventually(() => two.service.list.status().failing?.attempts === failed + 1);
    }
    expect([countIn(one), countIn(two)]).toEqual([100, 100]);
    clock.advance(2_000);
    await eventually(() => countIn(one) === 50 && countIn(two) === 50);
  });

  test("while one replica loads, no other one does, also after an operator's load has failed", async () => {
    const [one, two, three] = await startThree();
    await eventually(() => three.service.list.status().isShared === true);
    await provider.behave('stall');
    const calls = provider.listCalls();
    await advanceToLoad(one);
    await eventually(() => provider.listCalls() === calls + 1);
    await provider.behave('unavailable');
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    await eventually(() => three.service.list.status().failure?.kind === 'unavailable');
    await passDuringALoad(4);
    expect(provider.listCalls()).toBe(calls + 2);
    clock.advance(1_000);
    await eventually(() => one.service.list.status().failure?.kind === 'timeout');
    await eventually(() => three.service.list.status().failure?.kind === 'timeout');
    await waitUntil(
      'another attempt',
      async () => {
        clock.advance(500);
        await clock.turn();
        return provider.listCalls();
      },
      (made) => made === calls + 3,
    );
  });

  test('a failure to replace another list than the fresh one is none', async () => {
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const names = await namesOfValues();
    const fail = async (kind: string, listId = ''): Promise<void> => {
      const failure = { id: kind, kind, attempts: 1, failingForMs: 0, listId, askedUntilMs: 0 };
      const heldUntilMs = clock.wallMs() + MINUTE;
      const lease = { id: kind, owner: 'x', heldUntilMs, isLoading: false, failure };
      await redis.command(`SET ${names}:lease '${JSON.stringify(lease)}'`);
      await pass(5, one);
    };
    await fail('unavailable', 'another');
    expect(one.service.list.status().failure).toBeUndefined();
    await fail('timeout', one.service.list.status().cached?.id);
    await eventually(() => one.service.list.status().failure?.kind === 'timeout');
    expect(one.messages().filter((message) => message.includes('load failed'))).toHaveLength(1);
  });

  test('a list that an operator has loaded ends no load of another replica', async () => {
    const [one, two, three] = await startThree({ CACHE_TTL: '1s' });
    await eventually(() => three.service.list.status().isShared === true);
    await provider.behave('stall');
    const calls = provider.listCalls();
    await advanceToLoad(one);
    await eventually(() => provider.listCalls() === calls + 1);
    await provider.behave('healthy');
    expect(await two.service.list.refresh()).toBeUndefined();
    await eventually(() => three.service.list.status().ageMs === 0);
    await passDuringALoad(4);
    expect(provider.listCalls()).toBe(calls + 2);
  });

  /** Of three replicas, `two` is rate limited for 10 minutes during a load of `one`, which goes on. */
  const rateLimitedDuringALoad = async (env: Environment = {}, heldForMs = 0) => {
    const [one, two, three] = await startThree({ CACHE_TTL: '30s', ...env });
    await eventually(() => three.service.list.status().isShared === true);
    clock.skip(heldForMs);
    await provider.behave('slow', { delayMs: 300 });
    const calls = provider.listCalls();
    const slow = one.service.list.refresh();
    await eventually(() => provider.listCalls() === calls + 1);
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    return { one, two, three, slow };
  };

  test('a Retry-After is obeyed by all, also if a list that was requested before it arrives', async () => {
    const { one, two, three, slow } = await rateLimitedDuringALoad();
    clock.advance(1);
    expect(await slow).toBeUndefined();
    for (const rig of [one, two, three])
      await eventually(() => Math.round(rig.service.list.status().nextLoadInMs / MINUTE) === 10);
    // What is requested later ends it.
    clock.advance(30_000);
    await provider.behave('healthy');
    expect(await two.service.list.refresh()).toBeUndefined();
    for (const rig of [one, two, three])
      await eventually(() => {
        const { nextLoadInMs, failure } = rig.service.list.status();
        return failure === undefined && nextLoadInMs > 0 && nextLoadInMs < 30_000;
      });
  });

  test('a Retry-After that comes just before a list is written holds for who starts later too', async () => {
    const env = { CACHE_TTL: '30s' };
    const connection = await connectionToCut();
    const one = await start({ env: { ...env, CACHE_REDIS_URL: connection.url } });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start({ env });
    let answer: (() => void) | undefined;
    provider.respondWith((_req, res) => {
      provider.respondWith(undefined);
      answer = () => {
        res.setHeader('content-type', 'application/json');
        res.end(JSON.stringify(makeBanks(500)));
      };
    });
    const refreshed = one.service.list.refresh();
    await eventually(() => answer !== undefined);
    connection.hold();
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    // The message of it arrives, and what Redis has is asked for before the list can be written.
    await eventually(connection.isHolding);
    answer?.();
    for (let exchange = 0; exchange < 1_000; exchange += 1) await redis.command('PING');
    connection.release();
    expect(await refreshed).toBeUndefined();
    await eventually(() => countIn(two) === 500);
    const late = await start({ env });
    for (const rig of [one, two, late])
      await eventually(() => Math.round(rig.service.list.status().nextLoadInMs / MINUTE) === 10);
  });

  test('nobody loads at the end of a Retry-After that another list outlasts', async () => {
    const connection = await connectionToCut();
    const one = await start({ env: { CACHE_REDIS_URL: connection.url } });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start();
    connection.cut();
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    clock.advance(1_000);
    await provider.behave('healthy');
    provider.setBanks(makeBanks(500));
    expect(await one.service.list.refresh()).toBeUndefined();
    connection.mend();
    clock.advance(5_000);
    await eventually(() => countIn(two) === 500);
    const late = await start();
    for (const rig of [one, two, late]) {
      await eventually(() => rig.service.list.status().nextLoadInMs > 50 * MINUTE);
      expect(rig.service.list.status().failing).toBeUndefined();
    }
  });

  test('requests are answered at once if the list expires before a Retry-After is over', async () => {
    const { one, two, three, slow } = await rateLimitedDuringALoad({ CACHE_MAX_STALE: '20s' });
    clock.advance(1);
    expect(await slow).toBeUndefined();
    for (const { service } of [one, two, three])
      await eventually(() => service.list.status().nextLoadInMs > 50_000);
    clock.advance(55_000);
    for (const { url } of [one, two, three]) {
      const { status, headers } = await fetch(`${url}/banks`);
      expect(status).toBe(503);
      expect(Number(headers.get('retry-after'))).toBeLessThan(7);
    }
  });

  test('a Retry-After that comes when a list is about to expire holds on with the next list', async () => {
    const { one, two, three, slow } = await rateLimitedDuringALoad({ CACHE_MAX_STALE: '1h' }, HOUR);
    clock.advance(1);
    expect(await slow).toBeUndefined();
    for (const { service } of [one, two, three])
      await eventually(() => Math.round(service.list.status().nextLoadInMs / MINUTE) === 10);
  });

  test('a Retry-After that a later failure does not repeat holds, also for who joins after another list', async () => {
    const { one, two, three, slow } = await rateLimitedDuringALoad();
    await provider.behave('unavailable');
    expect(await three.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    clock.advance(1);
    expect(await slow).toBeUndefined();
    const late = await start({ env: { CACHE_TTL: '30s' } });
    for (const rig of [one, two, three, late])
      await eventually(() => Math.round(rig.service.list.status().nextLoadInMs / MINUTE) === 10);
  });

  test('all replicas know since when loads have been failing, and how often', async () => {
    const [one, two] = [await start(), await start()];
    await provider.behave('unavailable');
    const failing = ({ service }: Rig) => service.list.status().failing;
    for (const attempts of [1, 2]) {
      expect(await one.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
      await eventually(() => failing(two)?.attempts === attempts);
      expect(failing(two)).toEqual(failing(one));
      clock.skip(5 * MINUTE);
    }
    const health = await (await fetch(`${two.url}/healthz`)).json();
    expect(health).toMatchObject({
      list: { failingSince: new Date(clock.wallMs() - 10 * MINUTE).toISOString() },
    });
  });

  test('who loads a list right after a Retry-After knows that it is over', async () => {
    const one = await start({ env: { CACHE_TTL: '30s' } });
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    const nextLoadInMs = (): number => one.service.list.status().nextLoadInMs;
    await eventually(() => nextLoadInMs() > 9 * MINUTE);
    clock.advance(1);
    await provider.behave('healthy');
    expect(await one.service.list.refresh()).toBeUndefined();
    await eventually(() => nextLoadInMs() > 0 && nextLoadInMs() < 30_000);
    expect(one.service.list.status().failure).toBeUndefined();
  });

  test('a stale list of another replica ends no failure', async () => {
    const one = await openRig({ provider, clock, storeClock: clock, env: envOf() });
    await eventually(() => one.service.list.status().isShared === true);
    const front = await connectionToCut();
    const two = await start({ env: { CACHE_REDIS_URL: front.url } });
    front.cut();
    await provider.behave('some-unusable');
    await one.service.list.refresh();
    await one.close();
    clock.skip(HOUR);
    await provider.behave('unavailable');
    await two.service.list.refresh();
    const failing = two.service.list.status().failing;
    expect(failing?.attempts).toBe(1);
    clock.skip(MINUTE);
    front.mend();
    await eventually(() => countIn(two) === 487);
    expect(two.service.list.status()).toMatchObject({
      state: 'stale',
      failing: { sinceMs: failing?.sinceMs },
    });
    // Nor does it for the log, which told of the failure once.
    const told = () => two.messages().filter((message) => message.includes('load failed'));
    expect(told()).toHaveLength(1);
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    expect(told()).toHaveLength(1);
    await provider.behave('healthy');
    expect(await two.service.list.refresh()).toBeUndefined();
    await eventually(() => two.messages().includes('list: recovered'));
  });

  test('who joins during another attempt knows the failure before it, and answers at once', async () => {
    await provider.behave('unavailable');
    const one = await start();
    await provider.behave('stall');
    await advanceToLoad(one);
    await eventually(() => provider.listCalls() === 2);
    const late = await startRig({ provider, clock, storeClock: clock, env: envOf() });
    await eventually(() => late.service.list.status().failure?.kind === 'unavailable');
    expect((await fetch(`${late.url}/banks`)).status).toBe(503);
    expect(provider.listCalls()).toBe(2);
  });

  test.each([
    [503, ''],
    [200, JSON.stringify(makeBanks(1))],
  ])(
    'requests that wait are answered at once (%i), also while Redis does not answer',
    async (status, body) => {
      const front = await connectionToCut();
      let answer: (() => void) | undefined;
      provider.respondWith((_req, res) => (answer = () => res.writeHead(status).end(body)));
      const env = envOf({ CACHE_REDIS_URL: front.url });
      const rig = await startRig({ provider, clock, storeClock: clock, env });
      const response = fetch(`${rig.url}/banks`);
      await eventually(() => answer !== undefined);
      front.hold();
      answer?.();
      expect((await response).status).toBe(status);
      expect(rig.messages().filter((message) => message.startsWith('CACHE_REDIS_URL'))).toEqual([
        'CACHE_REDIS_URL: no saved list yet',
      ]);
      await eventually(() => front.isHolding());
      front.release();
    },
  );

  test('a request waits for the load of a replica that hangs for half of its time only', async () => {
    await provider.behave('stall');
    // Its clock stands still.
    await startRig({ provider, clock: createManualClock(), storeClock: clock, env: envOf() });
    await eventually(() => provider.listCalls() === 1);
    await provider.behave('healthy');
    const two = await startRig({ provider, clock, storeClock: clock, env: envOf() });
    const answer = fetch(`${two.url}/banks`);
    await eventually(() => clock.waits().includes(5_000) && clock.waits().includes(2_500));
    clock.advance(2_499);
    await clock.turn();
    expect(provider.listCalls()).toBe(1);
    clock.advance(1);
    expect((await answer).status).toBe(200);
    expect(provider.listCalls()).toBe(2);
  });

  test('who joins when a replica has stopped during an attempt knows the failure before it', async () => {
    await provider.behave('unavailable');
    // With a clock of its own, of which the end does not move that of the other one.
    const own = createManualClock();
    const one = await openRig({ provider, clock: own, storeClock: clock, env: envOf() });
    await plannedInMs(one);
    await provider.behave('stall');
    await advanceToLoad(one);
    clock.advance(2_000);
    await eventually(() => provider.listCalls() === 2);
    await stopAtOnce(one);
    const late = await startRig({ provider, clock, storeClock: clock, env: envOf() });
    await eventually(() => late.service.list.status().failing?.attempts === 1);
    expect(late.service.list.status().failure?.kind).toBe('unavailable');
  });

  test('the load of a replica that stops is left to the others at once', async () => {
    await provider.behave('stall');
    const env = envOf({ PROVIDER_TIMEOUT: '30s' });
    // With a clock of its own, of which the end does not move that of the other one.
    const own = createManualClock();
    const one = await openRig({ provider, clock: own, storeClock: clock, env });
    await eventually(() => provider.listCalls() === 1);
    const two = await startRig({ provider, clock, storeClock: clock, env });
    await stopAtOnce(one);
    await eventually(() => provider.listCalls() === 2);
    expect(two.service.list.status()).toMatchObject({ nextLoadInMs: 0, lastFailure: undefined });
  });

  test('the first list ends the right to load it, so that a replica that hangs delays no renewal', async () => {
    const env = envOf({ CACHE_TTL: '2s', PROVIDER_TIMEOUT: '30s' });
    // Its clock stands still.
    const hanging = await startLoadedRig({
      provider,
      clock: createManualClock(),
      storeClock: clock,
      env,
    });
    await eventually(() => hanging.service.list.status().isShared === true);
    await start({ env });
    expect(provider.listCalls()).toBe(1);
    clock.advance(2_000);
    await eventually(() => provider.listCalls() === 2);
  });

  test('a Retry-After that a replica with a longer CACHE_TTL obeys holds for the others too', async () => {
    const one = await start({ env: { CACHE_TTL: '6h' } });
    const two = await start({ env: { CACHE_TTL: '3h' } });
    await provider.behave('rate-limited', { retryAfter: '20000' });
    await one.service.list.refresh();
    const calls = provider.listCalls();
    await eventually(() => two.service.list.status().failure?.kind === 'rate_limited');
    expect(Math.round((await plannedInMs(two)) / HOUR)).toBe(6);
    expect(provider.listCalls()).toBe(calls);
  });

  test.each([
    ['is longer than any that is meant', { heldForMs: 3_650 * DAY, isLoading: true }],
    ['does not say whether its owner loads', { heldForMs: 12 * HOUR }],
  ])('a lease that %s delays no load', async (_, { heldForMs, ...told }) => {
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const names = await namesOfValues();
    const lease = { id: 'x', owner: 'x', heldUntilMs: clock.wallMs() + heldForMs, ...told };
    expect(await redis.command(`SET ${names}:lease '${JSON.stringify(lease)}'`)).toBe('+OK\r\n');
    await nextLoad(one);
    expect(provider.listCalls()).toBe(2);
  });

  test('the bound of a Retry-After counts from when it came, also for a replica that starts later', async () => {
    const one = await start({ env: { CACHE_TTL: '30m' } });
    await provider.behave('rate-limited', { retryAfter: '20000' });
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    clock.skip(45 * MINUTE);
    const late = await start({ env: { CACHE_TTL: '30m' } });
    expect(Math.round(late.service.list.status().nextLoadInMs / MINUTE)).toBe(15);
  });

  test('a Retry-After that comes to nobody with a list is over after a minute, also for who starts later', async () => {
    await provider.behave('rate-limited', { retryAfter: '600' });
    const one = await start();
    expect(Math.round(one.service.list.status().nextLoadInMs / 1_000)).toBe(60);
    clock.skip(40_000);
    const late = await start();
    expect(Math.round(late.service.list.status().nextLoadInMs / 1_000)).toBe(20);
  });

  test('an earlier Retry-After of another replica does not end a later one, without a list', async () => {
    await provider.behave('rate-limited', { retryAfter: '600' });
    await start();
    const connection = await connectionToCut();
    connection.cut();
    clock.skip(50_000);
    const late = await start({ env: { CACHE_REDIS_URL: connection.url } });
    const failingSinceMs = (): number | undefined => late.service.list.status().failing?.sinceMs;
    const ownMs = failingSinceMs();
    connection.mend();
    clock.advance(5_000);
    await eventually(() => failingSinceMs() !== ownMs);
    expect(Math.round((await plannedInMs(late)) / 1_000)).toBe(55);
  });

  test('a decision that the others have counts as theirs, also after a restart without Redis', async () => {
    provider.setBanks(makeBanks(100));
    const connection = await connectionToCut();
    const kept = { CACHE_SNAPSHOT_FILE: snapshot(), CACHE_REDIS_URL: connection.url };
    const one = await openRig({ provider, clock, storeClock: clock, env: kept });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start();
    connection.cut();
    provider.setBanks(makeBanks(50));
    expect(await one.service.list.refresh(['shrunk'], 'alone')).toBeUndefined();
    connection.mend();
    await eventually(() => countIn(two) === 50 && one.service.list.status().isShared === true);
    await one.close();
    connection.cut();
    clock.advance(1_000);
    expect(await two.service.list.refresh()).toBeUndefined();
    const again = await start({ env: kept });
    clock.advance(1_000);
    provider.setBanks(makeBanks(60));
    expect(await again.service.list.refresh()).toBeUndefined();
    connection.mend();
    await eventually(() => countIn(two) === 60);
    expect(countIn(again)).toBe(60);
  });

  /**
   * The first of two replicas has accepted a list of 50 banks, which is in Redis; its snapshot does
   * not say so, as if it had been killed before it could write it again. It is started again, and
   * cannot reach Redis.
   */
  const restartedBeforeTheSnapshot = async (whileDown?: (two: Rig) => Promise<void>) => {
    provider.setBanks(makeBanks(100));
    const connection = await connectionToCut();
    const file = snapshot();
    const kept = { CACHE_SNAPSHOT_FILE: file, CACHE_REDIS_URL: connection.url };
    const one = await openRig({ provider, clock, storeClock: clock, env: kept });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start();
    connection.cut();
    provider.setBanks(makeBanks(50));
    expect(await one.service.list.refresh(['shrunk'], 'alone')).toBeUndefined();
    const id = one.service.list.status().cached?.id;
    const saved = await waitUntil(
      'the snapshot',
      () => (existsSync(file) ? readFileSync(file) : ''),
      (bytes) => bytes.includes(`{"id":"${id}"`),
    );
    connection.mend();
    await eventually(() => countIn(two) === 50);
    await one.close();
    connection.cut();
    await whileDown?.(two);
    writeFileSync(file, saved);
    const again = await start({ env: kept });
    clock.advance(1_000);
    provider.setBanks(makeBanks(60));
    return { again, two, connection };
  };
  const decisionsOf = ({ service }: Rig) => service.list.status().cached?.decisions;

  test.each([
    ['an accepted list', undefined],
    [
      'a list after an accepted one',
      async ({ service }: Rig) => {
        clock.advance(1_000);
        expect(await service.list.refresh()).toBeUndefined();
      },
    ],
  ])(
    '%s that a snapshot does not know to be in Redis replaces no younger one',
    async (_, whileDown) => {
      const { again, two, connection } = await restartedBeforeTheSnapshot(whileDown);
      expect(await again.service.list.refresh()).toBeUndefined();
      connection.mend();
      await eventually(() => again.service.list.status().isShared === true);
      expect(countIn(again)).toBe(60);
      await eventually(() => countIn(two) === 60);
      for (const rig of [again, two])
        expect(decisionsOf(rig)).toMatchObject([{ requestId: 'alone' }]);
    },
  );

  test('a list goes on with a decision that Redis confirms while it is loaded', async () => {
    const { again, two, connection } = await restartedBeforeTheSnapshot();
    let answer: (() => void) | undefined;
    provider.respondWith((_req, res) => {
      answer = () => {
        res.setHeader('content-type', 'application/json');
        res.end(JSON.stringify(makeBanks(60)));
      };
    });
    const refreshed = again.service.list.refresh();
    await eventually(() => answer !== undefined);
    connection.mend();
    await eventually(() => again.service.list.status().isShared === true);
    answer?.();
    expect(await refreshed).toBeUndefined();
    await eventually(() => countIn(two) === 60);
    for (const rig of [again, two])
      expect(decisionsOf(rig)).toMatchObject([{ requestId: 'alone' }]);
  });

  test('of two lists the one that was requested later stays, however slowly the other one is written', async () => {
    provider.setBanks(makeBanks(100));
    const connection = await connectionToCut();
    const slow = await start({ env: { CACHE_REDIS_URL: connection.url } });
    await eventually(() => slow.service.list.status().isShared === true);
    const quick = await start();
    const calls = provider.listCalls();
    provider.respondWith((_req, res) => {
      provider.respondWith(undefined);
      connection.hold();
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify(makeBanks(90)));
    });
    const refreshed = slow.service.list.refresh();
    await eventually(connection.isHolding);
    provider.setBanks(makeBanks(95));
    expect(await quick.service.list.refresh()).toBeUndefined();
    expect(countIn(quick)).toBe(95);
    connection.release();
    expect(await refreshed).toBeUndefined();
    await eventually(() => countIn(slow) === 95);
    expect(countIn(quick)).toBe(95);
    // The slow one has asked again: what it was told to make is the newest list.
    expect(provider.listCalls() - calls).toBe(3);
  });

  test('a list from Redis is saved after a list of its own could not be, however little later it is', async () => {
    const path = join(snapshot(), 'list');
    const kept = { CACHE_SNAPSHOT_FILE: path };
    const one = await start({ env: kept });
    await eventually(() => one.messages().some((message) => message.includes('cannot be written')));
    await eventually(() => one.service.list.status().isShared === true);
    mkdirSync(dirname(path));
    const two = await start();
    expect(await two.service.list.refresh()).toBeUndefined();
    await eventually(() => one.messages().includes('CACHE_SNAPSHOT_FILE: works again'));
    const id = two.service.list.status().cached?.id;
    // The list of its own may have been under way once more.
    await eventually(() => readFileSync(path, 'utf8').includes(`{"id":"${id}"`));
    expect(one.service.list.status().cached?.id).toBe(id);
  });

  test('a list of unknown age counts as older than one that is known, where both meet', async () => {
    const connection = await connectionToCut();
    const kept = { CACHE_TTL: '10m', CACHE_SNAPSHOT_FILE: snapshot() };
    provider.setBanks(makeBanks(100));
    const one = await openRig({ provider, clock, storeClock: clock, env: envOf(kept) });
    await eventually(() => one.service.list.status().isShared === true);
    const env = { CACHE_TTL: '10m', CACHE_REDIS_URL: connection.url };
    const two = await start({ env });
    await one.close();
    clock.skip(MINUTE);
    provider.setBanks(makeBanks(101));
    expect(await two.service.list.refresh()).toBeUndefined();
    clock.skip(20 * MINUTE);
    await provider.behave('unavailable');
    connection.cut();
    await redis.command('FLUSHALL');
    const again = await start({ env: kept, clock: wrongBy(-2 * HOUR) });
    await eventually(() => again.service.list.status().isShared === true);
    // It would count as younger than that of the second one.
    expect(again.service.list.status()).toMatchObject({ state: 'stale', ageMs: 10 * MINUTE + 1 });
    connection.mend();
    await eventually(() => countIn(again) === 101);
    expect(countIn(two)).toBe(101);
  });

  test('the life of the key makes no list young', async () => {
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    clock.skip(50 * MINUTE);
    for (const key of (await redis.command('KEYS banks-bff:2:*')).match(/banks-bff:\S+/g) ?? [])
      await redis.command(`PEXPIRE ${key} 999999999999`);
    const late = await start();
    expect(late.service.list.status()).toMatchObject({ state: 'fresh', ageMs: 50 * MINUTE });
  });

  test.each([-30_000, 30_000, 2 * DAY, 3_650 * DAY])(
    'of two decisions the later one stays, and the list its age, where one clock is wrong by %i ms',
    async (wrongMs) => {
      provider.setBanks(makeBanks(100));
      const one = await start({ clock: wrongBy(wrongMs) });
      await eventually(() => one.service.list.status().isShared === true);
      const two = await start();
      expect(two.service.list.status()).toMatchObject({ state: 'fresh', ageMs: 0 });
      provider.setBanks(makeBanks(50));
      await one.service.list.refresh(['shrunk'], 'first');
      await eventually(() => countIn(two) === 50);
      clock.advance(10_000);
      provider.setBanks(makeBanks(30));
      await two.service.list.refresh(['shrunk'], 'second');
      await eventually(() => countIn(one) === 30);
      provider.setBanks(makeBanks(20));
      await one.service.list.refresh(['shrunk'], 'third');
      await eventually(() => countIn(two) === 20);
      expect(countIn(one)).toBe(20);
    },
  );

  test('two decisions at one moment: both replicas end with the same list, and one of both is theirs', async () => {
    provider.setBanks(makeBanks(100));
    const [one, two] = [await start(), await start()];
    provider.setBanks(makeBanks(50));
    const failures = await Promise.all(
      [one, two].map((rig) => rig.service.list.refresh(['shrunk'], 'both')),
    );
    expect(failures).toEqual([undefined, undefined]);
    const id = (rig: Rig) => rig.service.list.status().cached?.id;
    await eventually(() => id(one) === id(two));
    expect(countIn(one)).toBe(50);
  });

  test('a replica that gets no messages has an accepted list with the next poll', async () => {
    provider.setBanks(makeBanks(100));
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const deaf = await start({ isDeaf: true });
    provider.setBanks(makeBanks(50));
    await one.service.list.refresh(['shrunk'], 'heard by none');
    expect(countIn(deaf)).toBe(100);
    await advanceOnceIdle(5_000, deaf);
    await eventually(() => countIn(deaf) === 50);
  });

  test('fields that slowly lose their values are refused, as lists that slowly shrink are', async () => {
    const withNames = (share: number) =>
      makeBanks(100).map((bank, index) => (index < share * 100 ? bank : { ...bank, name: null }));
    provider.setBanks(withNames(1));
    const one = await start();
    provider.setBanks(withNames(0.85));
    expect(await one.service.list.refresh()).toBeUndefined();
    provider.setBanks(withNames(0.7));
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'drifted', fields: ['name'] });
  });

  /** One that loads its first list without Redis, which it can reach afterwards. */
  const startedWithoutRedis = async (): Promise<Rig> => {
    const connection = await connectionToCut();
    connection.cut();
    clock.advance(10);
    const rig = await start({ env: { CACHE_REDIS_URL: connection.url } });
    connection.mend();
    clock.advance(5_000);
    return rig;
  };

  test('a replica that loads its first list without Redis has the others forget nothing', async () => {
    provider.setBanks(makeBanks(100));
    const one = await start();
    provider.setBanks(makeBanks(85));
    expect(await one.service.list.refresh()).toBeUndefined();
    const two = await startedWithoutRedis();
    await eventually(() => two.service.list.status().isShared === true);
    provider.setBanks(makeBanks(70));
    for (const { service } of [one, two])
      expect(await service.list.refresh()).toMatchObject({ kind: 'shrunk' });
  });

  test('a first list that was loaded without Redis, and that the others refuse, does not come back', async () => {
    provider.setBanks(makeBanks(100));
    const one = await start();
    provider.setBanks(makeBanks(70));
    const two = await startedWithoutRedis();
    await eventually(() => countIn(two) === 100);
    for (const { service } of [one, two])
      expect(await service.list.refresh()).toMatchObject({ kind: 'shrunk' });
  });

  test('a replica remembers what it served before a first list of another one took its place', async () => {
    provider.setBanks(makeBanks(100));
    const connection = await connectionToCut();
    const one = await start({ env: { CACHE_REDIS_URL: connection.url } });
    provider.setBanks(makeBanks(85));
    expect(await one.service.list.refresh()).toBeUndefined();
    connection.cut();
    await redis.command('FLUSHALL');
    const loadedAtMs = (): number | undefined => one.service.list.status().cached?.loadedAtWallMs;
    const beforeMs = loadedAtMs();
    clock.advance(10);
    await start();
    connection.mend();
    clock.advance(5_000);
    await eventually(() => loadedAtMs() !== beforeMs);
    provider.setBanks(makeBanks(70));
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'shrunk' });
  });

  test('with a key, nothing that was written to Redis without it is served, or delays a load', async () => {
    provider.setBanks(makeBanks(60));
    const key = { CACHE_SIGNING_KEY: 'a key of more than thirty-two characters' };
    // What a service without the key writes, under the names that belong to the key.
    const forger = await start();
    await eventually(() => forger.service.list.status().isShared === true);
    const forged = (await redis.command('KEYS banks-bff:2:*')).match(/banks-bff:\S+/g) ?? [];
    provider.setBanks(makeBanks(100));
    const one = await start({ env: key });
    await eventually(() => one.service.list.status().isShared === true);
    const signed =
      (await redis.command('KEYS banks-bff:2:*')).match(/banks-bff:\S+\.\S+:head/) ?? [];
    const prefix = (signed[0] ?? '').replace(/:head$/, '');
    for (const name of forged)
      await redis.command(`COPY ${name} ${prefix}:${name.split(':').at(-1)} REPLACE`);
    const lease = { id: 'x', owner: 'x', heldUntilMs: clock.wallMs() + 3_000_000, isLoading: true };
    const written = await redis.command(`SET ${prefix}:lease '${JSON.stringify(lease)}'`);
    expect(written).toBe('+OK\r\n');
    const two = await start({ env: key });
    expect([countIn(one), countIn(two)]).toEqual([100, 100]);
    provider.setBanks(makeBanks(101));
    const before = provider.listCalls();
    await nextLoad(one);
    // One call for those with the key, and one of the forger.
    await eventually(() => provider.listCalls() - before === 2);
    await eventually(() => countIn(one) === 101 && countIn(two) === 101);
  });

  test('a Redis that comes back empty gets the list that the replicas have', async () => {
    provider.setBanks(makeBanks(100));
    const [one, two] = [await start(), await start()];
    provider.setBanks(makeBanks(50));
    await one.service.list.refresh(['shrunk'], 'before the loss');
    await eventually(() => countIn(two) === 50);
    await redis.command('FLUSHALL');
    await advanceOnceIdle(5_000, one, two);
    await writtenAgain();
    const calls = provider.listCalls();
    const fresh = await start();
    expect([countIn(fresh), provider.listCalls()]).toEqual([50, calls]);
  });

  test('a list grows by nothing in a Redis that comes back empty again and again', async () => {
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const key = `${await namesOfValues()}:list`;
    const size = async (): Promise<number> =>
      Number((await redis.command(`STRLEN ${key}`)).slice(1));
    const sizes: number[] = [];
    for (let losses = 1; losses <= 12; losses += 1) {
      await redis.command('FLUSHALL');
      await advanceOnceIdle(5_000, one);
      sizes.push(await waitUntil('a list in Redis', size, (bytes) => bytes > 0));
    }
    // As much as eight losses and growing ages take.
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThan(800);
  });

  test('a Redis that comes back empty twice does not bring an older list back', async () => {
    provider.setBanks(makeBanks(100));
    const [first, second] = [await connectionToCut(), await connectionToCut()];
    const one = await start({ env: { CACHE_REDIS_URL: first.url } });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start({ env: { CACHE_REDIS_URL: second.url } });
    await eventually(() => two.service.list.status().isShared === true);
    // The first one writes again what is lost.
    second.cut();
    await redis.command('FLUSHALL');
    await advanceOnceIdle(5_000, one);
    await writtenAgain();
    second.mend();
    await eventually(() => two.messages().includes('CACHE_REDIS_URL: works again'));
    first.cut();
    provider.setBanks(makeBanks(95));
    expect(await two.service.list.refresh()).toBeUndefined();
    await redis.command('FLUSHALL');
    // The first one writes its older list before the second one looks.
    first.mend();
    await eventually(() => countIn(one) === 95);
    expect(countIn(two)).toBe(95);
  });

  test('the order of Redis decides after a loss, also for a replica that would refuse the list', async () => {
    provider.setBanks(makeBanks(100));
    const one = await start({ env: { GUARD_MAX_SHRINK: '5%' } });
    await eventually(() => one.service.list.status().isShared === true);
    const connection = await connectionToCut();
    const two = await start({ env: { CACHE_REDIS_URL: connection.url } });
    // The first one writes again what is lost, and the second one finds it.
    connection.cut();
    await redis.command('FLUSHALL');
    await advanceOnceIdle(5_000, one);
    await writtenAgain();
    connection.mend();
    await eventually(() => two.messages().includes('CACHE_REDIS_URL: works again'));
    provider.setBanks(makeBanks(90));
    expect(await two.service.list.refresh()).toBeUndefined();
    await eventually(() => countIn(one) === 90);
    expect(countIn(two)).toBe(90);
  });

  test('a snapshot outlives an older list of a Redis that was emptied and then fails over', async () => {
    provider.setBanks(makeBanks(100));
    const kept = { CACHE_SNAPSHOT_FILE: snapshot() };
    const one = await openRig({ provider, clock, env: envOf(kept) });
    await eventually(() => one.service.list.status().isShared === true);
    const names = await namesOfValues();
    for (const value of ['head', 'list'])
      await redis.command(`COPY ${names}:${value} replica:${value}`);
    await redis.command(`DEL ${names}:head ${names}:list`);
    await advanceOnceIdle(5_000, one);
    await writtenAgain();
    provider.setBanks(makeBanks(95));
    expect(await one.service.list.refresh()).toBeUndefined();
    await one.close();
    for (const value of ['head', 'list'])
      await redis.command(`COPY replica:${value} ${names}:${value} REPLACE`);
    expect(countIn(await start({ env: kept }))).toBe(95);
    expect(countIn(await start())).toBe(95);
  });

  test.each([
    ['a damaged list', (key: string) => `SETRANGE ${key}:list 200 spoilt`],
    ['a lost list', (key: string) => `DEL ${key}:list`],
    ['a list with a damaged head', (key: string) => `SET ${key}:head spoilt`],
  ])('%s is written again, and no start puts a smaller one in its place', async (_, spoil) => {
    provider.setBanks(makeBanks(40));
    const env = { CACHE_SIGNING_KEY: 'a key of more than thirty-two characters' };
    const one = await start({ env });
    await eventually(() => one.service.list.status().isShared === true);
    const names = await namesOfValues();
    provider.setBanks(makeBanks(20));
    const calls = provider.listCalls();
    await redis.command(spoil(names));
    // The first one has nothing to serve, and asks; the second one finds the list as it was.
    for (const rig of [await start({ env }), await start({ env })]) {
      expect([countIn(one), countIn(rig), provider.listCalls()]).toEqual([40, 40, calls]);
      expect(rig.service.list.status().isShared).toBe(true);
    }
  });

  test('who asks for a damaged list has it with the message that it is written again', async () => {
    provider.setBanks(makeBanks(40));
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    provider.setBanks(makeBanks(20));
    await redis.command(`SETRANGE ${await namesOfValues()}:list 200 spoilt`);
    // Its wait for the others does not end by time.
    const two = await start({ ioClock: createManualClock() });
    expect([countIn(one), countIn(two)]).toEqual([40, 40]);
  });

  test('a list that only one replica refuses is fetched once, and its own lists go on beside it', async () => {
    provider.setBanks(makeBanks(400));
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const connection = await connectionToCut();
    const env = { GUARD_MIN_BANKS: '390', CACHE_REDIS_URL: connection.url };
    const strict = await start({ env });
    const problem = (): boolean => strict.service.list.status().isShared === false;
    provider.setBanks(makeBanks(380));
    expect(await one.service.list.refresh()).toBeUndefined();
    await eventually(() => strict.messages().some((message) => message.includes('380')));
    const before = connection.received();
    await pass(30, one, strict);
    expect(connection.received() - before).toBeLessThan(10_000);
    expect([countIn(one), countIn(strict), problem()]).toEqual([380, 400, true]);
    provider.setBanks(makeBanks(395));
    expect(await strict.service.list.refresh()).toBeUndefined();
    expect([countIn(one), countIn(strict)]).toEqual([380, 395]);
    provider.setBanks(makeBanks(396));
    clock.advance(1);
    expect(await one.service.list.refresh()).toBeUndefined();
    await eventually(() => countIn(strict) === 396);
  });

  test('each connection that has been used begins the pauses before the next one anew', async () => {
    const ioClock = createManualClock();
    const one = await start({ ioClock });
    await eventually(() => one.service.list.status().isShared === true);
    const told = (line: RegExp): number => one.messages().filter((text) => line.test(text)).length;
    for (let losses = 1; losses <= 3; losses += 1) {
      await redis.command('CLIENT KILL TYPE pubsub');
      await redis.command('CLIENT KILL TYPE normal');
      // Shorter than the deadline of an operation.
      const pauses = (): number[] => ioClock.waits().filter((waitMs) => waitMs < 500);
      await eventually(() => pauses().length > 0);
      expect(pauses()).toEqual([75]);
      ioClock.advance(75);
      await eventually(() => told(/^CACHE_REDIS_URL: works again/) === losses);
    }
  });

  test('a stale list that is written again ends no wait after a failure', async () => {
    const one = await start({ env: { CACHE_TTL: '1m' } });
    await eventually(() => one.service.list.status().isShared === true);
    clock.skip(2 * MINUTE);
    await provider.behave('unavailable', { retryAfter: '600' });
    await one.service.list.refresh();
    const names = await namesOfValues();
    await redis.command(`DEL ${names}:head ${names}:list`);
    await pass(6, one);
    await writtenAgain();
    const calls = provider.listCalls();
    const late = await start({ env: { CACHE_TTL: '1m' } });
    expect(late.service.list.status().failure?.kind).toBe('unavailable');
    expect(provider.listCalls()).toBe(calls);
  });

  test('a replica whose list expires waits no longer for a Retry-After of the fleet', async () => {
    const one = await start({ env: { CACHE_TTL: '1h' } });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start({ env: { CACHE_TTL: '30m', CACHE_MAX_STALE: '2m' } });
    clock.skip(30 * MINUTE);
    await provider.behave('unavailable', { retryAfter: '1800' });
    await one.service.list.refresh();
    await eventually(() => two.service.list.status().failure?.kind === 'unavailable');
    const calls = provider.listCalls();
    await pass(119, one, two);
    expect([countIn(two), provider.listCalls() - calls]).toEqual([513, 0]);
    await provider.behave('healthy');
    clock.advance(3_000);
    await eventually(() => two.service.list.status().state === 'fresh');
    expect(provider.listCalls() - calls).toBe(1);
  });

  test('a byte that is damaged in the head of a list spoils none of the lists after it', async () => {
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const names = await namesOfValues();
    await redis.command(`SETRANGE ${names}:head 5 "\\xa1"`);
    for (let renewal = 0; renewal < 3; renewal += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await one.service.list.refresh()).toBeUndefined();
    }
    expect(await redis.command(`GET ${names}:head`)).toMatch(
      /^\$\d+\r\n[\w-]{36}:\d+:[\w-]{36}\r\n$/,
    );
  });

  test('a list restored from a snapshot is written over a damaged one in Redis', async () => {
    provider.setBanks(makeBanks(40));
    const kept = { CACHE_SNAPSHOT_FILE: snapshot() };
    const one = await openRig({ provider, clock, env: envOf(kept) });
    await eventually(() => one.service.list.status().isShared === true);
    await one.close();
    await redis.command(`SETRANGE ${await namesOfValues()}:list 200 spoilt`);
    const again = await start({ env: kept });
    await eventually(() => again.service.list.status().isShared === true);
    provider.setBanks(makeBanks(20));
    const calls = provider.listCalls();
    expect([countIn(await start()), provider.listCalls()]).toEqual([40, calls]);
  });

  test('a damaged list that nobody has is loaded anew, after a second', async () => {
    const one = await openRig({ provider, clock, env: envOf() });
    await eventually(() => one.service.list.status().isShared === true);
    await one.close();
    await redis.command(`SETRANGE ${await namesOfValues()}:list 200 spoilt`);
    provider.setBanks(makeBanks(20));
    const again = await start();
    await eventually(() => again.service.list.status().isShared === true);
    const messages = again.messages().filter((message) => /CACHE_REDIS_URL/.test(message));
    expect(messages).toEqual([
      'CACHE_REDIS_URL: contains a damaged list; ignored',
      'CACHE_REDIS_URL: works again',
    ]);
    expect(countIn(again)).toBe(20);
  });
});
