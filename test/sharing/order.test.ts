import { beforeEach, expect, test } from '@jest/globals';
import { mkdirSync, readFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
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
  nextLoad,
  openRig,
  startLoadedRig,
  startRig,
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
const held = (rig: Rig): number | undefined => rig.service.list.status().held?.count;
const snapshot = (): string => join(temporaryFolder(), 'list');
/** What the names of all values in Redis begin with; there must be a list. */
const namesOfValues = async (): Promise<string> => {
  const keys = await redis.command('KEYS banks-bff:2:*');
  const [names] = keys.match(/banks-bff:\S+(?=:list)/) ?? [];
  if (names === undefined) throw new Error(`Redis has no list, but: ${keys}`);
  return names;
};
/** Stops a service with a clock of its own, of which the end moves no other clock. */
const stopAtOnce = async ({ service }: Rig, own: ManualClock): Promise<void> => {
  const stopped = service.stop({ noticeMs: 0 });
  own.advance(0);
  await stopped;
};
/** A clock whose wall time differs from that of Redis. */
const wrongBy = (ms: number): ManualClock => ({
  ...clock,
  wallMs: () => wall(clock.wallMs() + ms),
});

/** An address of Redis that can be cut off. */
const connectionToCut = async () => {
  const sockets = new Set<Socket>();
  let isCut = false;
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
    await eventually(() => held(first) === 100);
    await first.close();
    clock.skip(10 * HOUR);
    provider.setBanks(makeBanks(70));
    await start({ env });
    const again = await start({ env: kept });
    expect([held(again), again.service.list.status().state]).toEqual([70, 'fresh']);
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
    expect([held(one), held(two)]).toEqual([50, 100]);
    await one.close();
    provider.setBanks(makeBanks(100));
    for (let day = 0; day < 6; day += 1) {
      clock.skip(DAY);
      await two.service.list.refresh();
    }
    connection.mend();
    expect(held(await start({ env: kept }))).toBe(100);
    expect(held(two)).toBe(100);
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

  test('POST /refresh says whether Redis has the list', async () => {
    const connection = await connectionToCut();
    const MANAGEMENT_TOKEN = 'operator-token-for-tests';
    const { service, operatorsUrl } = await start({
      env: { CACHE_REDIS_URL: connection.url, MANAGEMENT_TOKEN },
    });
    await eventually(() => service.list.status().isShared === true);
    const refresh = async (): Promise<unknown> => {
      const headers = { Authorization: `Bearer ${MANAGEMENT_TOKEN}` };
      return (await fetch(`${operatorsUrl}/refresh`, { method: 'POST', headers })).json();
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
    for (const rig of [one, two])
      expect(Math.round(rig.service.list.status().nextLoadInMs / MINUTE)).toBe(10);
    // Who made the attempt counts it; both are failing.
    const metric = async (rig: Rig, name: string): Promise<string | undefined> => {
      const text = await (await fetch(`${rig.operatorsUrl}/metrics`)).text();
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
    for (let seconds = 0; seconds < 120; seconds += 5) {
      clock.advance(5_000);
      await clock.turn();
    }
    expect(provider.listCalls() - before).toBe(1);
  });

  test('a Retry-After that was obeyed does not bind who joins during the next attempt', async () => {
    await provider.behave('rate-limited', { retryAfter: '600' });
    // With a clock of its own, of which the end does not move that of the other one.
    const own = createManualClock();
    const one = await openRig({ provider, clock: own, storeClock: clock, env: envOf() });
    await eventually(() => one.service.list.status().nextLoadInMs > 0);
    await provider.behave('stall');
    own.advance(Math.ceil(one.service.list.status().nextLoadInMs));
    await eventually(() => provider.listCalls() === 2);
    const late = await startRig({ provider, clock, storeClock: clock, env: envOf() });
    await eventually(() => late.service.list.status().failure?.kind === 'rate_limited');
    await stopAtOnce(one, own);
    await provider.behave('healthy');
    // Longer than the right to the attempt that the other replica had begun.
    clock.advance(12_000);
    await eventually(() => held(late) !== undefined);
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
  /** Moves time on, and lets every replica have looked at Redis in between. */
  const pass = async (seconds: number): Promise<void> => {
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
      const metrics = await (await fetch(`${rig.operatorsUrl}/metrics`)).text();
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
    expect([held(one), held(two)]).toEqual([100, 100]);
    clock.advance(2_000);
    await eventually(() => held(one) === 50 && held(two) === 50);
  });

  test("while one replica loads, no other one does, also after an operator's load has failed", async () => {
    const [one, two, three] = await startThree();
    await eventually(() => three.service.list.status().isShared === true);
    await provider.behave('stall');
    const calls = provider.listCalls();
    clock.advance(Math.ceil(one.service.list.status().nextLoadInMs));
    await eventually(() => provider.listCalls() === calls + 1);
    await provider.behave('unavailable');
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    await eventually(() => three.service.list.status().failure?.kind === 'unavailable');
    await pass(4);
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
      await pass(5);
    };
    await fail('unavailable', 'another');
    await fail('timeout', one.service.list.status().held?.id);
    await eventually(() => one.service.list.status().failure?.kind === 'timeout');
    expect(one.messages().filter((message) => message.includes('load failed'))).toHaveLength(1);
  });

  test('a list that an operator has loaded ends no load of another replica', async () => {
    const [one, two, three] = await startThree({ CACHE_TTL: '1s' });
    await eventually(() => three.service.list.status().isShared === true);
    await provider.behave('stall');
    const calls = provider.listCalls();
    clock.advance(Math.ceil(one.service.list.status().nextLoadInMs));
    await eventually(() => provider.listCalls() === calls + 1);
    await provider.behave('healthy');
    expect(await two.service.list.refresh()).toBeUndefined();
    await eventually(() => three.service.list.status().ageMs === 0);
    await pass(4);
    expect(provider.listCalls()).toBe(calls + 2);
  });

  test('a Retry-After is obeyed by all, also if a list that was requested before it arrives', async () => {
    const [one, two, three] = await startThree({ CACHE_TTL: '30s' });
    await eventually(() => three.service.list.status().isShared === true);
    await provider.behave('slow', { delayMs: 300 });
    const calls = provider.listCalls();
    const slow = one.service.list.refresh();
    await eventually(() => provider.listCalls() === calls + 1);
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
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
    await eventually(() => held(two) === 487);
    expect(two.service.list.status()).toMatchObject({
      state: 'stale',
      failing: { sinceMs: failing?.sinceMs },
    });
  });

  test('who joins during another attempt knows the failure before it, and answers at once', async () => {
    await provider.behave('unavailable');
    const one = await start();
    await provider.behave('stall');
    clock.advance(Math.ceil(one.service.list.status().nextLoadInMs));
    await eventually(() => provider.listCalls() === 2);
    const late = await startRig({ provider, clock, storeClock: clock, env: envOf() });
    await eventually(() => late.service.list.status().failure?.kind === 'unavailable');
    expect((await fetch(`${late.url}/banks`)).status).toBe(503);
    expect(provider.listCalls()).toBe(2);
  });

  test('the load of a replica that stops is left to the others at once', async () => {
    await provider.behave('stall');
    const env = envOf({ PROVIDER_TIMEOUT: '30s' });
    // With a clock of its own, of which the end does not move that of the other one.
    const own = createManualClock();
    const one = await openRig({ provider, clock: own, storeClock: clock, env });
    await eventually(() => provider.listCalls() === 1);
    const two = await startRig({ provider, clock, storeClock: clock, env });
    await stopAtOnce(one, own);
    await eventually(() => provider.listCalls() === 2);
    expect(two.service.list.status()).toMatchObject({ nextLoadInMs: 0, lastFailure: undefined });
  });

  test('a Retry-After that a replica with a longer CACHE_TTL obeys holds for the others too', async () => {
    const one = await start({ env: { CACHE_TTL: '6h' } });
    const two = await start({ env: { CACHE_TTL: '3h' } });
    await provider.behave('rate-limited', { retryAfter: '20000' });
    await one.service.list.refresh();
    const calls = provider.listCalls();
    await eventually(() => two.service.list.status().failure?.kind === 'rate_limited');
    expect(Math.round(two.service.list.status().nextLoadInMs / HOUR)).toBe(6);
    expect(provider.listCalls()).toBe(calls);
  });

  test('a lease that is longer than any that is meant delays no load', async () => {
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const names = await namesOfValues();
    const lease = { id: 'x', owner: 'x', heldUntilMs: clock.wallMs() + 3_650 * DAY };
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
    await eventually(() => held(two) === 50 && one.service.list.status().isShared === true);
    await one.close();
    connection.cut();
    clock.advance(1_000);
    expect(await two.service.list.refresh()).toBeUndefined();
    const again = await start({ env: kept });
    clock.advance(1_000);
    provider.setBanks(makeBanks(60));
    expect(await again.service.list.refresh()).toBeUndefined();
    connection.mend();
    await eventually(() => held(two) === 60);
    expect(held(again)).toBe(60);
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
    expect(held(quick)).toBe(95);
    connection.release();
    expect(await refreshed).toBeUndefined();
    await eventually(() => held(slow) === 95);
    expect(held(quick)).toBe(95);
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
    const id = two.service.list.status().held?.id;
    // The list of its own may have been under way once more.
    await eventually(() => readFileSync(path, 'utf8').includes(`{"id":"${id}"`));
    expect(one.service.list.status().held?.id).toBe(id);
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
    await eventually(() => held(again) === 101);
    expect(held(two)).toBe(101);
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
      await eventually(() => held(two) === 50);
      clock.advance(10_000);
      provider.setBanks(makeBanks(30));
      await two.service.list.refresh(['shrunk'], 'second');
      await eventually(() => held(one) === 30);
      provider.setBanks(makeBanks(20));
      await one.service.list.refresh(['shrunk'], 'third');
      await eventually(() => held(two) === 20);
      expect(held(one)).toBe(20);
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
    const id = (rig: Rig) => rig.service.list.status().held?.id;
    await eventually(() => id(one) === id(two));
    expect(held(one)).toBe(50);
  });

  test('a replica that gets no messages has an accepted list with the next poll', async () => {
    provider.setBanks(makeBanks(100));
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const deaf = await start({ isDeaf: true });
    provider.setBanks(makeBanks(50));
    await one.service.list.refresh(['shrunk'], 'heard by none');
    expect(held(deaf)).toBe(100);
    clock.advance(5_000);
    await eventually(() => held(deaf) === 50);
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
    const lease = { id: 'x', owner: 'x', heldUntilMs: clock.wallMs() + 3_000_000 };
    const written = await redis.command(`SET ${prefix}:lease '${JSON.stringify(lease)}'`);
    expect(written).toBe('+OK\r\n');
    const two = await start({ env: key });
    expect([held(one), held(two)]).toEqual([100, 100]);
    provider.setBanks(makeBanks(101));
    const before = provider.listCalls();
    await nextLoad(one);
    // One call for those with the key, and one of the forger.
    await eventually(() => provider.listCalls() - before === 2);
    clock.advance(5_000);
    await eventually(() => held(one) === 101 && held(two) === 101);
  });

  test('a Redis that comes back empty gets the list that the replicas have', async () => {
    provider.setBanks(makeBanks(100));
    const [one, two] = [await start(), await start()];
    provider.setBanks(makeBanks(50));
    await one.service.list.refresh(['shrunk'], 'before the loss');
    await eventually(() => held(two) === 50);
    await redis.command('FLUSHALL');
    clock.advance(5_000);
    await eventually(() => one.service.list.status().isShared === true);
    const calls = provider.listCalls();
    const fresh = await start();
    expect([held(fresh), provider.listCalls()]).toEqual([50, calls]);
  });

  test('a Redis that comes back empty twice does not bring an older list back', async () => {
    provider.setBanks(makeBanks(100));
    const [first, second] = [await connectionToCut(), await connectionToCut()];
    const one = await start({ env: { CACHE_REDIS_URL: first.url } });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start({ env: { CACHE_REDIS_URL: second.url } });
    const head = (): Promise<string> => redis.command('KEYS banks-bff:2:*:head');
    await eventually(() => two.service.list.status().isShared === true);
    // The first one writes again what is lost.
    second.cut();
    await redis.command('FLUSHALL');
    clock.advance(5_000);
    await waitUntil('a list in Redis', head, (keys) => keys.includes(':head'));
    second.mend();
    await eventually(() => two.messages().includes('CACHE_REDIS_URL: works again'));
    first.cut();
    provider.setBanks(makeBanks(95));
    expect(await two.service.list.refresh()).toBeUndefined();
    await redis.command('FLUSHALL');
    // The first one writes its older list before the second one looks.
    first.mend();
    await eventually(() => held(one) === 95);
    expect(held(two)).toBe(95);
  });

  test.each([
    ['a spoilt list', (key: string) => `SETRANGE ${key}:list 200 spoilt`],
    ['a lost list', (key: string) => `DEL ${key}:list`],
    ['a list with a spoilt head', (key: string) => `SET ${key}:head spoilt`],
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
      expect([held(one), held(rig), provider.listCalls()]).toEqual([40, 40, calls]);
      expect(rig.service.list.status().isShared).toBe(true);
    }
  });

  test('a byte that is spoilt in the head of a list spoils none of the lists after it', async () => {
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

  test('a list restored from a snapshot is written over a spoilt one in Redis', async () => {
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
    expect([held(await start()), provider.listCalls()]).toEqual([40, calls]);
  });

  test('a spoilt list that nobody has is loaded anew, after a second', async () => {
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
    expect(held(again)).toBe(20);
  });
});
