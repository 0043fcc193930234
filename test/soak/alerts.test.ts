import { expect, test } from '@jest/globals';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Behaviour } from '../../emulator/behaviours.ts';
import { BANKS, emulate } from '../helpers/emulate.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { startProcess } from '../helpers/process.ts';
import { describeWithPrometheus, startPrometheus } from '../helpers/prometheus.ts';
import { ALERT_RULES } from '../helpers/repository.ts';
import { describeWithRedis, redisOfTest } from '../helpers/redis-server.ts';
import { MANAGEMENT_TOKEN } from '../helpers/sandbox.ts';
import { eventually } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// The rehearsal of all alerts: a real Prometheus with the deployed rules scrapes the built service
// while each cause of an alert begins and ends. Only waiting times are shortened: `for`, the window
// of the token alert, and CACHE_TTL.

/** What the provider does, and the alerts that fire. */
const OF_THE_PROVIDER: readonly (readonly [Behaviour, ...alerts: string[]])[] = [
  ['unavailable', 'BanksListNearItsEnd', 'BanksListStale', 'BanksNoList', 'BanksProviderFailing'],
  ['shrunk', 'BanksListRefused', 'BanksListStale'],
  ['renamed-field', 'BanksListRefused', 'BanksListStale'],
  ['replaced', 'BanksListChanged'],
  ['some-unusable', 'BanksEntriesRejected'],
  ['unauthorized', 'BanksListStale', 'BanksTokenFailing'],
];

describeWithPrometheus('Prometheus', () =>
  describeWithRedis('and Redis', () =>
    test('fires and clears every alert', async () => {
      const folder = temporaryFolder();
      const snapshots = join(folder, 'snapshots');
      await mkdir(snapshots);
      const tokenFile = join(folder, 'token');
      await writeFile(tokenFile, MANAGEMENT_TOKEN);
      const [provider, redis, port] = await Promise.all([emulate(), redisOfTest(), findFreePort()]);
      const prometheus = await startPrometheus(folder);
      const start = () =>
        startProcess({
          MANAGEMENT_PORT: String(port),
          PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
          CACHE_TTL: '3s',
          CACHE_MAX_STALE: '4s',
          CACHE_REDIS_URL: redis.url,
          CACHE_SNAPSHOT_FILE: join(snapshots, 'banks.json'),
          MANAGEMENT_TOKEN_FILE: tokenFile,
        });
      let service = await start();

      const rehearsed = new Set<string>();
      /** All of `alerts` fire after `begin`, and none after `end`. */
      const rehearse = async (
        begin: () => unknown,
        end: () => unknown,
        ...alerts: readonly string[]
      ): Promise<void> => {
        await begin();
        const seen = new Set<string>();
        await eventually(async () => {
          for (const name of await prometheus.firing()) seen.add(name);
          return alerts.every((name) => seen.has(name));
        });
        await end();
        await eventually(async () => (await prometheus.firing()).length === 0);
        for (const name of alerts) rehearsed.add(name);
      };

      const scrape = () => prometheus.setTargets([`127.0.0.1:${port}`]);
      await rehearse(() => undefined, scrape, 'BanksServiceDown');
      for (const [behaviour, ...alerts] of OF_THE_PROVIDER)
        await rehearse(
          () => provider.behave(behaviour),
          () => provider.behave('healthy'),
          ...alerts,
        );
      await rehearse(
        () =>
          provider.respondWith((_req, res) =>
            res.setHeader('Link', '</2>; rel="next"').end(JSON.stringify(BANKS)),
          ),
        () => provider.respondWith(undefined),
        'BanksListIncomplete',
      );
      await rehearse(redis.kill, redis.revive, 'BanksRedisLost');
      await rehearse(
        () => rm(snapshots, { recursive: true }),
        () => mkdir(snapshots),
        'BanksSnapshotFailing',
      );
      await rehearse(
        () => writeFile(tokenFile, ''),
        () => writeFile(tokenFile, MANAGEMENT_TOKEN),
        'BanksSecretFileUnusable',
      );
      await rehearse(() => prometheus.setTargets([]), scrape, 'BanksServiceDown');
      await rehearse(
        () => service.end('SIGKILL'),
        async () => (service = await start()),
        'BanksReplicaDown',
        'BanksServiceDown',
      );
      const rules = [...(await readFile(ALERT_RULES, 'utf8')).matchAll(/- alert: (\w+)/g)];
      expect(rehearsed).toEqual(new Set(rules.map(([, alert]) => alert)));
    }),
  ),
);
