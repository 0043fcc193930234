import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { findFreePort } from '../kit/free-port.ts';
import {
  startEmulatorProcess,
  startProcess,
  type EmulatorProcess,
  type ServiceProcess,
} from '../kit/process.ts';
import { ALERT_RULES, startPrometheus, type Prometheus } from '../kit/prometheus.ts';
import { describeWithPromtool } from '../kit/promtool.ts';
import { describeWithRedis, startRedis, type RedisServer } from '../kit/redis-server.ts';

// The rehearsal of all alerts: a real Prometheus with the deployed rules scrapes the built service
// while each cause of an alert begins and ends. Only waiting times are shortened: `for`, the window of the token alert, and
// CACHE_TTL.

/** Longest wait for alerts to fire or to clear, in milliseconds. */
const PATIENCE_MS = 30_000;

describeWithPromtool('Prometheus', () =>
  describeWithRedis('and Redis', () => {
    let folder: string;
    let prometheus: Prometheus;
    let provider: EmulatorProcess;
    let redis: RedisServer;
    let service: ServiceProcess;

    const startService = async (): Promise<void> => {
      service = await startProcess({
        MANAGEMENT_PORT: String(managementPort),
        PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
        BANK_FIELDS: 'code,name',
        CACHE_TTL: '3s',
        CACHE_MAX_STALE: '4s',
        CACHE_REDIS_URL: redis.url,
        CACHE_SNAPSHOT_FILE: join(folder, 'snapshot', 'banks.json'),
      });
    };
    let managementPort: number;
    const target = (): string => `127.0.0.1:${managementPort}`;

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'banks-alerts-'));
      await mkdir(join(folder, 'snapshot'));
      [provider, redis, managementPort] = await Promise.all([
        startEmulatorProcess(),
        startRedis(),
        findFreePort(),
      ]);
      await startService();
      prometheus = await startPrometheus(folder);
    });
    afterEach(async () => {
      await prometheus.close();
      await service.end('SIGKILL');
      await redis.kill();
      provider.end();
      await rm(folder, { recursive: true });
    });

    /** Waits until all `wanted` alerts have fired, or, if none is wanted, until none fires; returns all that fired. */
    const seenUntil = async (wanted: readonly string[]): Promise<string[]> => {
      const seen = new Set<string>();
      const giveUpAtMs = performance.now() + PATIENCE_MS;
      while (performance.now() < giveUpAtMs) {
        const now = await prometheus.firing();
        for (const name of now) seen.add(name);
        if (wanted.length === 0 ? now.length === 0 : wanted.every((name) => seen.has(name))) break;
        await setTimeout(100);
      }
      if (wanted.length === 0) return await prometheus.firing();
      return [...seen].toSorted();
    };

    /** Every cause of an alert: what begins it, what ends it, and exactly which alerts fire. */
    const INCIDENTS: readonly {
      readonly name: string;
      readonly begin: () => Promise<unknown>;
      readonly end: () => Promise<unknown>;
      readonly alerts: readonly string[];
    }[] = [
      {
        name: 'the provider fails for longer than the list may be served',
        begin: () => provider.behave('unavailable'),
        end: () => provider.behave('healthy'),
        alerts: ['BanksListNearItsEnd', 'BanksListStale', 'BanksNoList', 'BanksProviderFailing'],
      },
      {
        name: 'the provider sends half of the list',
        begin: () => provider.behave('shrunk'),
        end: () => provider.behave('healthy'),
        alerts: ['BanksListRefused', 'BanksListStale'],
      },
      {
        name: 'the provider renames a published field',
        begin: () => provider.behave('renamed-field'),
        end: () => provider.behave('healthy'),
        alerts: ['BanksListRefused', 'BanksListStale'],
      },
      {
        name: 'some entries are unusable',
        begin: () => provider.behave('some-unusable'),
        end: () => provider.behave('healthy'),
        alerts: ['BanksEntriesRejected'],
      },
      {
        name: 'the provider does not accept the token',
        begin: () => provider.behave('unauthorized'),
        end: () => provider.behave('healthy'),
        alerts: ['BanksListStale', 'BanksTokenFailing'],
      },
      {
        name: 'Redis is gone',
        begin: () => redis.kill(),
        end: () => redis.revive(),
        alerts: ['BanksRedisLost'],
      },
      {
        name: 'the directory of the snapshot is gone',
        begin: () => rm(join(folder, 'snapshot'), { recursive: true }),
        end: () => mkdir(join(folder, 'snapshot')),
        alerts: ['BanksSnapshotFailing'],
      },
      {
        name: 'the target vanishes from the scrape configuration',
        begin: () => prometheus.setTargets([]),
        end: () => prometheus.setTargets([target()]),
        alerts: ['BanksServiceDown'],
      },
      {
        name: 'the process is killed',
        begin: () => service.end('SIGKILL'),
        end: startService,
        alerts: ['BanksReplicaDown', 'BanksServiceDown'],
      },
    ];

    test('fires and clears every alert', async () => {
      expect(await seenUntil(['BanksServiceDown'])).toEqual(['BanksServiceDown']);
      await prometheus.setTargets([target()]);
      expect(await seenUntil([])).toEqual([]);

      const rehearsed = new Set<string>();
      for (const { name, begin, end, alerts } of INCIDENTS) {
        const beganMs = performance.now();
        await begin();
        const seen = await seenUntil(alerts);
        process.stdout.write(`${name}: ${seen.join(', ')} after ${seconds(beganMs)}`);
        expect({ name, seen }).toEqual({ name, seen: alerts });
        const endedMs = performance.now();
        await end();
        expect({ name, left: await seenUntil([]) }).toEqual({ name, left: [] });
        process.stdout.write(`, clear ${seconds(endedMs)} after the end\n`);
        for (const alert of seen) rehearsed.add(alert);
      }
      const rules = await readFile(ALERT_RULES, 'utf8');
      expect([...rehearsed].toSorted()).toEqual(
        [...rules.matchAll(/- alert: (\w+)/g)].map(([, alert = '']) => alert).toSorted(),
      );
    });

    const seconds = (sinceMs: number): string => `${((performance.now() - sinceMs) / 1_000).toFixed(1)} s`;
  }),
);
