import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { setTimeout } from 'node:timers/promises';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import { p99 } from '../kit/p99.ts';
import { startProcess, type ServiceProcess } from '../kit/process.ts';
import { describeWithRedis, startRedis, type RedisServer } from '../kit/redis-server.ts';
import { eventually } from '../kit/rig.ts';

// Replicas as processes, a real Redis and load on all of them, in real time: exactly how often they call the provider, and
// what the clients notice when Redis is killed.

const TTL_MS = 2_000;
/** A renewal is up to 1 % early: with these, the calls of one phase stay clear of its ends, which are between two renewals. */
const LIFETIMES = 4;
/** Without Redis each replica makes its own exchanges, on the processors that the clients use too. */
const MOST_OF_P99 = 2;
const MARGIN_MS = 20;

describeWithRedis('replicas that share Redis', () => {
  let redis: RedisServer;
  let provider: Emulator;
  let replicas: ServiceProcess[];
  beforeEach(async () => {
    [redis, provider, replicas] = [await startRedis(), await startEmulator(), []];
  });
  afterEach(async () => {
    for (const { child } of replicas) child.kill('SIGKILL');
    await redis.kill();
    await provider.close();
  });

  /** Starts a replica for each module's source, which runs in it before the service. */
  const start = async (preloads: readonly string[]): Promise<void> => {
    const env = {
      MANAGEMENT_PORT: 'off',
      PROVIDER_ENVIRONMENT: 'sandbox',
      PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
      PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
      BANK_FIELDS: 'code,ispb,name',
      CACHE_TTL: `${TTL_MS}ms`,
      CACHE_REDIS_URL: redis.url,
    };
    replicas = await Promise.all(preloads.map((preload) => startProcess(env, preload)));
  };

  /** Half a lifetime after the next renewal of all. */
  const betweenRenewals = async (): Promise<void> => {
    const before = provider.listCalls();
    await eventually(() => provider.listCalls() > before);
    await setTimeout(TTL_MS / 2);
  };

  /** Sends requests to every replica meanwhile, and counts the calls to the provider. */
  const run = async (what: string) => {
    const before = provider.listCalls();
    const answers = new Set<string>();
    const durationsMs: number[] = [];
    const untilMs = performance.now() + LIFETIMES * TTL_MS;
    const ask = async (replica: ServiceProcess): Promise<void> => {
      while (performance.now() < untilMs) {
        const startedAtMs = performance.now();
        const answer = await fetch(`${replica.urls()[0]}/banks`);
        await answer.arrayBuffer();
        durationsMs.push(performance.now() - startedAtMs);
        answers.add(`${answer.status} ${answer.headers.get('etag')}`);
        await setTimeout(20);
      }
    };
    await Promise.all(replicas.map(ask));
    const calls = provider.listCalls() - before;
    const p99Ms = p99(durationsMs);
    process.stdout.write(`${LIFETIMES} lifetimes ${what}: ${calls} calls, ${durationsMs.length} answers, `);
    process.stdout.write(`p99 ${p99Ms.toFixed(1)} ms\n`);
    expect([...answers]).toEqual([expect.stringMatching(/^200 "/)]);
    return { calls, p99Ms };
  };

  test('five make one call per lifetime together, one each when Redis is killed, and one together again', async () => {
    await start(['', '', '', '', '']);
    await betweenRenewals();
    const together = await run('with Redis');
    await betweenRenewals();
    await redis.kill();
    const apart = await run('without Redis');
    await redis.revive();
    // The longest wait before a replica tries to connect again, and one lifetime to agree.
    await setTimeout(3 * TTL_MS);
    await betweenRenewals();
    const again = await run('with Redis again');

    expect(together.calls).toBe(LIFETIMES);
    expect(apart.calls).toBe(LIFETIMES * replicas.length);
    expect(again.calls).toBe(LIFETIMES);
    expect(apart.p99Ms).toBeLessThan(MOST_OF_P99 * together.p99Ms + MARGIN_MS);
  }, 90_000);

  test('three make one call per lifetime, though two have clocks that are ten minutes wrong', async () => {
    const wrongBy = (offsetMs: number): string =>
      `const { now } = Date; Date.now = () => now() + ${offsetMs};`;
    await start([wrongBy(600_000), wrongBy(-600_000), '']);
    await betweenRenewals();
    expect((await run('with wrong clocks')).calls).toBe(LIFETIMES);
  }, 60_000);
});
