import { expect } from '@jest/globals';
import { setTimeout } from 'node:timers/promises';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import type { EnvironmentVariables } from '../../src/config/reader.ts';
import { closeLater } from './close-later.ts';
import { startProcess, type ServiceProcess } from './process.ts';
import { redisOfTest, type RedisServer } from './redis-server.ts';

// Eight replicas as processes of their own, with a real Redis and one emulator.

export const REPLICAS = 8;
const TTL_MS = 2_000;

/** The calls in a while, and how often each status was given meanwhile. */
interface Watched {
  readonly calls: number;
  /** How long it took: on a busy machine the last responses come late. */
  readonly ttls: number;
  readonly statuses: Readonly<Record<number, number>>;
}

export interface Fleet {
  readonly redis: RedisServer;
  readonly emulator: Emulator;
  readonly replicas: readonly ServiceProcess[];
  /**
   * Calls in `ms`, and the statuses of all responses meanwhile. Each replica is asked every 100 ms.
   */
  readonly watch: (ms: number) => Promise<Watched>;
}

/** Starts it; the replica at `index` has the variables `envOf(index)` too. */
export const startFleet = async (
  envOf: (index: number) => EnvironmentVariables = () => ({}),
): Promise<Fleet> => {
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
        ...envOf(index),
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

/** Prints what a phase of a test saw. */
export const print = (phase: string, { calls, statuses, ttls }: Watched): void =>
  void process.stdout.write(
    `${phase}: ${calls} calls in ${ttls.toFixed(1)} TTLs, responses ${JSON.stringify(statuses)}\n`,
  );

/** The codes of all responses are 200. */
export const expectServed = ({ statuses }: Watched): void =>
  expect(Object.keys(statuses)).toEqual(['200']);
