import { expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import { closeLater } from '../helpers/close-later.ts';
import { startProcess, type ServiceProcess } from '../helpers/process.ts';
import { describeWithRedis, redisOfTest, type RedisServer } from '../helpers/redis-server.ts';

// Eight replicas as processes of their own, with a real Redis: how often the provider is called,
// and what requests get, in health, with each fault of Redis, with clocks that are wrong by minutes
// and years, and while the provider fails.

const REPLICAS = 8;
const TTL_MS = 2_000;
const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1';
/** On these replicas the clock is wrong by so much, where the library for it is installed. */
const WRONG_CLOCKS = ['+10m', '-10m', '+10y'];

/** The calls in a while, and how often each status was given meanwhile. */
interface Watched {
  readonly calls: number;
  /** How long it took: on a busy machine the last responses come late. */
  readonly ttls: number;
  readonly statuses: Readonly<Record<number, number>>;
}

interface Fleet {
  readonly redis: RedisServer;
  readonly emulator: Emulator;
  readonly replicas: readonly ServiceProcess[];
  /**
   * Calls in `ms`, and the statuses of all responses meanwhile. Each replica is asked every 100 ms.
   */
  readonly watch: (ms: number) => Promise<Watched>;
}

const wrongClock = (offset: string | undefined) =>
  offset === undefined || !existsSync(FAKETIME)
    ? {}
    : {
        LD_PRELOAD: FAKETIME,
        FAKETIME: offset,
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
        DONT_FAKE_MONOTONIC: '1',
      };

const startFleet = async (clocks: readonly string[] = []): Promise<Fleet> => {
  const redis = await redisOfTest();
  const emulator = await startEmulator();
  closeLater(() => emulator.close());
  const replicas: ServiceProcess[] = [];
  for (let index = 0; index < REPLICAS; index += 1)
    replicas.push(
      // oxlint-disable-next-line no-await-in-loop -- on a small machine one after the other is quicker
      await startProcess({
        PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
        CACHE_REDIS_URL: redis.url,
        CACHE_TTL: `${TTL_MS}ms`,
        MANAGEMENT_TOKEN: 'operator-token-for-tests',
        ...wrongClock(clocks[index]),
      }),
    );
  const watch: Fleet['watch'] = async (ms) => {
    const before = emulator.listCalls();
    const startedAtMs = performance.now();
    const statuses: Record<number, number> = {};
    const untilMs = startedAtMs + ms;
    const ask = async ({ url }: ServiceProcess): Promise<void> => {
      while (performance.now() < untilMs) {
        const { status } = await fetch(`${url}/banks`, { method: 'HEAD' });
        statuses[status] = (statuses[status] ?? 0) + 1;
        await setTimeout(100);
      }
    };
    await Promise.all(replicas.map(ask));
    const calls = emulator.listCalls() - before;
    return { calls, statuses, ttls: (performance.now() - startedAtMs) / TTL_MS };
  };
  return { redis, emulator, replicas, watch };
};

const print = (phase: string, { calls, statuses, ttls }: Watched): void =>
  void process.stdout.write(
    `${phase}: ${calls} calls in ${ttls.toFixed(1)} TTLs, responses ${JSON.stringify(statuses)}\n`,
  );

/** The codes of all responses are 200. */
const expectServed = ({ statuses }: Watched): void =>
  expect(Object.keys(statuses)).toEqual(['200']);

describeWithRedis('eight replicas', () => {
  test.each([
    ['with right clocks', []],
    ['with three wrong clocks', WRONG_CLOCKS],
  ])(
    '%s make one call for each TTL, and go on by themselves while Redis is away',
    async (name, clocks) => {
      const { redis, watch } = await startFleet(clocks);
      const health = await watch(10_000);
      print(`${name}, in health`, health);
      expectServed(health);
      expect(health.calls).toBeGreaterThan(health.ttls / 2);
      expect(health.calls).toBeLessThanOrEqual(Math.ceil(health.ttls));

      await redis.kill();
      const killed = await watch(4_000);
      print(`${name}, Redis killed`, killed);
      expectServed(killed);
      // At most one call per replica and TTL.
      expect(killed.calls).toBeLessThanOrEqual(REPLICAS * (killed.ttls + 1));
      await redis.revive();
      // Sharing resumes within the longest pause between two attempts to connect.
      print(`${name}, Redis empty`, await watch(4_000));
      const again = await watch(6_000);
      print(`${name}, sharing again`, again);
      expectServed(again);
      expect(again.calls).toBeLessThanOrEqual(Math.ceil(again.ttls));
    },
  );

  test('outlive a replica that stops and a Redis that sleeps or stalls, and fail as one client', async () => {
    const { redis, emulator, replicas, watch } = await startFleet();
    // The owner is the replica whose call the provider holds back.
    await emulator.behave('slow');
    const slow = await watch(4_000);
    expectServed(slow);
    const [owner] = replicas;
    owner?.child.kill('SIGSTOP');
    await emulator.behave('healthy');
    await setTimeout(7_000);
    owner?.child.kill('SIGCONT');
    const after = await watch(6_000);
    print('after a replica was stopped for 7 s', after);
    expectServed(after);
    expect(after.calls).toBeLessThanOrEqual(Math.ceil(after.ttls) + 1);
    void redis.command('DEBUG SLEEP 2');
    const asleep = await watch(6_000);
    print('DEBUG SLEEP 2', asleep);
    expectServed(asleep);
    redis.stall();
    const stalled = watch(4_000);
    await setTimeout(3_000);
    redis.resume();
    print('Redis stalled for 3 s', await stalled);
    expectServed(await stalled);
    await watch(4_000);

    await emulator.behave('unavailable');
    const failing = await watch(10_000);
    print('503', failing);
    expectServed(failing);
    // The back-off is capped by the TTL: 2 s.
    expect(failing.calls).toBeLessThanOrEqual(failing.ttls + 2);
    await emulator.behave('unavailable', { retryAfter: '60' });
    await watch(3_000);
    const waiting = await watch(10_000);
    print('503 with Retry-After: 60', waiting);
    expectServed(waiting);
    expect(waiting.calls).toBe(0);
  });
});
