import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { setTimeout } from 'node:timers/promises';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import { startProcess, type ServiceProcess } from '../kit/process.ts';
import { describeWithRedis, startRedis, type RedisServer } from '../kit/redis-server.ts';

// Five replicas as processes, a real Redis and load on all of them: what the provider and the clients see. This takes real
// time: 20 times CACHE_TTL, 5 without Redis, and 5 with it again.

const REPLICAS = 5;
const TTL_MS = 500;

const p99 = (durations: readonly number[]): string =>
  `${durations.toSorted((a, b) => a - b)[Math.floor(durations.length * 0.99)]?.toFixed(1)} ms`;

describeWithRedis('five replicas', () => {
  let redis: RedisServer;
  let provider: Emulator;
  let replicas: ServiceProcess[];
  beforeEach(async () => {
    redis = await startRedis();
    provider = await startEmulator();
    replicas = [];
  });
  afterEach(async () => {
    for (const { child } of replicas) child.kill('SIGKILL');
    await redis.kill();
    await provider.close();
  });

  test('make one call per lifetime together, one each without Redis, and one together again', async () => {
    const env = {
      MANAGEMENT_PORT: 'off',
      PROVIDER_ENVIRONMENT: 'sandbox',
      PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
      PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
      BANK_FIELDS: 'code,ispb,name',
      CACHE_TTL: `${TTL_MS}ms`,
      CACHE_REDIS_URL: redis.url,
    };
    replicas = await Promise.all(Array.from({ length: REPLICAS }, () => startProcess(env)));

    /** Sends requests to every replica meanwhile, and counts the calls to the provider. */
    const run = async (lifetimes: number) => {
      const before = provider.listCalls();
      const etags = new Set<string | null>();
      const statuses = new Set<number>();
      const durations: number[] = [];
      const untilMs = performance.now() + lifetimes * TTL_MS;
      const ask = async (replica: ServiceProcess): Promise<void> => {
        while (performance.now() < untilMs) {
          const startedAtMs = performance.now();
          const answer = await fetch(`${replica.urls()[0]}/banks`);
          await answer.arrayBuffer();
          durations.push(performance.now() - startedAtMs);
          statuses.add(answer.status);
          etags.add(answer.headers.get('etag'));
          await setTimeout(10);
        }
      };
      await Promise.all(replicas.map(ask));
      return { calls: provider.listCalls() - before, statuses: [...statuses], etags: etags.size, durations };
    };
    const report: string[] = [];
    const note = (what: string, { calls, durations }: Awaited<ReturnType<typeof run>>): void =>
      void report.push(`${what}: ${calls} calls, ${durations.length} answers, p99 ${p99(durations)}`);

    // The first list is one additional call.
    await run(1);
    const together = await run(20);
    note('20 lifetimes with Redis', together);
    await redis.kill();
    const apart = await run(5);
    note('5 lifetimes without Redis', apart);
    await redis.revive();
    // The longest wait before a replica tries to connect again, and one lifetime to agree.
    await run(5);
    const again = await run(5);
    note('5 lifetimes with Redis again', again);
    process.stdout.write(`${report.join('\n')}\n`);

    expect(together.calls).toBeLessThanOrEqual(21);
    expect(apart.calls).toBeLessThanOrEqual(REPLICAS * 6);
    expect(again.calls).toBeLessThanOrEqual(6);
    for (const { statuses, etags } of [together, apart, again]) {
      expect(statuses).toEqual([200]);
      expect(etags).toBe(1);
    }
  }, 60_000);
});
