import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { setTimeout } from 'node:timers/promises';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import { startProcess, type ServiceProcess } from '../kit/process.ts';
import { describeWithRedis, startRedis, type RedisServer } from '../kit/redis-server.ts';

// Three replicas as processes, one with a wrong clock: together they still make the calls of one.

const TTL_MS = 500;
const LIFETIMES = 10;

describeWithRedis('three replicas', () => {
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

  test.each([
    ['ten minutes ahead', 600_000],
    ['ten minutes behind', -600_000],
  ])(
    'of which one has a clock that is %s make one call per lifetime',
    async (_name, offsetMs) => {
      const env = {
        MANAGEMENT_PORT: 'off',
        PROVIDER_ENVIRONMENT: 'sandbox',
        PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
        PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
        BANK_FIELDS: 'code,ispb,name',
        CACHE_TTL: `${TTL_MS}ms`,
        CACHE_REDIS_URL: redis.url,
      };
      const wrongClock = `const { now } = Date; Date.now = () => now() + ${offsetMs};`;
      replicas = await Promise.all([wrongClock, '', ''].map((preload) => startProcess(env, preload)));
      await setTimeout(2 * TTL_MS);
      const before = provider.listCalls();
      await setTimeout(LIFETIMES * TTL_MS);
      const calls = provider.listCalls() - before;
      process.stdout.write(`${offsetMs} ms off: ${calls} calls in ${LIFETIMES} lifetimes\n`);
      // Each renewal is up to 1 % early, and one may fall on either edge.
      expect(calls).toBeLessThanOrEqual(LIFETIMES + 2);
      expect(calls).toBeGreaterThan(LIFETIMES / 2);
    },
    60_000,
  );
});
