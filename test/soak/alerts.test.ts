import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Behaviour } from '../../emulator/behaviours.ts';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import { findFreePort } from '../kit/free-port.ts';
import { startProcess, type ServiceProcess } from '../kit/process.ts';
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
    let provider: Emulator;
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
        CACHE_SNAPSHOT_FILE: join(snapshotFolder(), 'banks.json'),
      });
    };
    let managementPort: number;
    const target = (): string => `127.0.0.1:${managementPort}`;

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'banks-alerts-'));
      await mkdir(snapshotFolder());
      [provider, redis, managementPort] = await Promise.all([startEmulator(), startRedis(), findFreePort()]);
      await startService();
      prometheus = await startPrometheus(folder);
    });
    afterEach(async () => {
      await prometheus.close();
      await service.end('SIGKILL');
      await redis.kill();
      await provider.close();
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

    interface Incident {
      readonly begin: () => unknown;
      readonly end: () => unknown;
      /** Exactly those that fire. */
      readonly alerts: readonly string[];
    }
    const whileItDoes = (behaviour: Behaviour, ...alerts: readonly string[]): Incident => ({
      begin: () => provider.behave(behaviour),
      end: () => provider.behave('healthy'),
      alerts,
    });
    const snapshotFolder = (): string => join(folder, 'snapshot');
    /** Every cause of an alert. */
    const INCIDENTS: Readonly<Record<string, Incident>> = {
      'the provider fails for longer than the list may be served': whileItDoes(
        'unavailable',
        'BanksListNearItsEnd',
        'BanksListStale',
        'BanksNoList',
        'BanksProviderFailing',
      ),
      'the provider sends half of the list': whileItDoes('shrunk', 'BanksListRefused', 'BanksListStale'),
      'the provider renames a published field': whileItDoes(
        'renamed-field',
        'BanksListRefused',
        'BanksListStale',
      ),
      'some entries are unusable': whileItDoes('some-unusable', 'BanksEntriesRejected'),
      'the provider does not accept the token': whileItDoes(
        'unauthorized',
        'BanksListStale',
        'BanksTokenFailing',
      ),
      'Redis is gone': {
        begin: () => redis.kill(),
        end: () => redis.revive(),
        alerts: ['BanksRedisLost'],
      },
      'the directory of the snapshot is gone': {
        begin: () => rm(snapshotFolder(), { recursive: true }),
        end: () => mkdir(snapshotFolder()),
        alerts: ['BanksSnapshotFailing'],
      },
      'the target vanishes from the scrape configuration': {
        begin: () => prometheus.setTargets([]),
        end: () => prometheus.setTargets([target()]),
        alerts: ['BanksServiceDown'],
      },
      'the process is killed': {
        begin: () => service.end('SIGKILL'),
        end: startService,
        alerts: ['BanksReplicaDown', 'BanksServiceDown'],
      },
    };

    test('fires and clears every alert', async () => {
      expect(await seenUntil(['BanksServiceDown'])).toEqual(['BanksServiceDown']);
      await prometheus.setTargets([target()]);
      expect(await seenUntil([])).toEqual([]);

      const rehearsed = new Set<string>();
      for (const [name, { begin, end, alerts }] of Object.entries(INCIDENTS)) {
        await begin();
        const seen = await seenUntil(alerts);
        expect([name, ...seen]).toEqual([name, ...alerts]);
        await end();
        expect([name, ...(await seenUntil([]))]).toEqual([name]);
        for (const alert of seen) rehearsed.add(alert);
      }
      const rules = await readFile(ALERT_RULES, 'utf8');
      expect([...rehearsed].toSorted()).toEqual(
        [...rules.matchAll(/- alert: (\w+)/g)].map(([, alert = '']) => alert).toSorted(),
      );
    });
  }),
);
