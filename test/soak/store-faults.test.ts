import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import type { EnvironmentVariables } from '../../src/config/reader.ts';
import { closeLater } from '../helpers/close-later.ts';
import { findFreePort, listenOn } from '../helpers/free-port.ts';
import { runService, startProcess } from '../helpers/process.ts';
import { startPrometheus, type Prometheus } from '../helpers/prometheus.ts';
import { describeWithPromtool } from '../helpers/promtool.ts';
import { describeWithRedis, redisOfTest } from '../helpers/redis-server.ts';
import { runDoctor } from '../helpers/run-doctor.ts';
import { waitUntil } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// What an operator is told of a store or a port that cannot be used: a real service, and all that
// can tell, printed as a table. Some of it keeps the service from starting: then only the process
// and the doctor can tell.

const STORES = { redis: 'CACHE_REDIS_URL', snapshot: 'CACHE_SNAPSHOT_FILE' };

/** A Redis whose replies take longer than the second that an operation may take. */
const slowRedis = async (): Promise<string> => {
  const { port } = await redisOfTest();
  const sockets = new Set<Socket>();
  const front = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    for (const socket of [client, server]) sockets.add(socket.on('error', () => undefined));
    client.pipe(server);
    server.on('data', (reply) => void setTimeout(1_500).then(() => client.write(reply)));
  });
  closeLater(
    () => front.close(),
    () => sockets.forEach((socket) => socket.destroy()),
  );
  return `redis://127.0.0.1:${await listenOn(front)}`;
};

describeWithPromtool('told with Prometheus', () =>
  describeWithRedis('and Redis', () => {
    let folder: string;
    let emulator: Emulator;
    let prometheus: Prometheus;
    let provider: EnvironmentVariables;
    beforeAll(async () => {
      folder = temporaryFolder('banks-told-');
      emulator = await startEmulator();
      prometheus = await startPrometheus(folder);
      provider = { PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl };
    });
    afterAll(async () => {
      await prometheus.close();
      await emulator.close();
    });

    const print = (fault: string, told: Readonly<Record<string, string>>): void => {
      process.stdout.write(`\n${fault}\n`);
      for (const [where, text] of Object.entries(told))
        process.stdout.write(`  ${where.padEnd(8)} ${text}\n`);
    };
    const textOf = (url: string): Promise<string> => fetch(url).then((response) => response.text());

    const storeAlert = async (): Promise<string> =>
      (await prometheus.firing()).filter((name) => /Redis|Snapshot/.test(name)).join(', ');

    /** The doctor's lines about `step`, on one. */
    const askDoctor = async (env: EnvironmentVariables, step: string): Promise<string> => {
      const { status, linesOf } = await runDoctor({ ...provider, ...env });
      return `exit ${status}: ${linesOf(step).replaceAll(/\s+/g, ' ')}`;
    };

    const told = async (
      store: keyof typeof STORES,
      value: string,
    ): Promise<Record<string, string>> => {
      const name = STORES[store];
      const env = { [name]: value, MANAGEMENT_PORT: String(await findFreePort()) };
      const { managementUrl, written } = await startProcess({ ...provider, ...env });
      await waitUntil(
        'a failing store in /healthz',
        () => textOf(`${managementUrl}/healthz`),
        (text) => /"state":"fresh".*"works":false/.test(text),
      );
      // That of the fault before clears because its service was killed.
      await waitUntil('no alert on a store', storeAlert, (alert) => alert === '', 30_000);
      await prometheus.setTargets([`127.0.0.1:${env.MANAGEMENT_PORT}`]);
      await waitUntil('an alert on a store', storeAlert, (alert) => alert !== '', 30_000);
      const page = (await textOf(managementUrl)).replaceAll(/(?:<[^>]*>|[\s\u00A0])+/g, ' ');
      const metrics = await textOf(`${managementUrl}/metrics`);
      const health = await textOf(`${managementUrl}/healthz`);
      return {
        page: `${/Users get[^.]*fails\./.exec(page)?.[0]} … ${/Details: [^.]*\./.exec(page)?.[0]}`,
        health: `${/"status":"\w+"/.exec(health)?.[0]} … ${/"stores":\{.*?\}\}/.exec(health)?.[0]}`,
        doctor: await askDoctor(env, store),
        log: /"level":40.*"msg":"(CACHE_[^"]*)"/.exec(written())?.[1] ?? 'nothing',
        metric:
          new RegExp(`^banks_store_up\\{store="${store}"\\}.*`, 'm').exec(metrics)?.[0] ??
          'nothing',
        alert: await storeAlert(),
      };
    };

    test.each<[string, keyof typeof STORES, () => Promise<string> | string, RegExp]>([
      [
        'Redis refused',
        'redis',
        async () => `redis://127.0.0.1:${await findFreePort()}`,
        /ECONNREFUSED/,
      ],
      [
        'Redis, a wrong password',
        'redis',
        async () =>
          (await redisOfTest('--requirepass', 'SECRET-right')).url.replace(
            '//',
            '//:SECRET-wrong@',
          ),
        /WRONGPASS/,
      ],
      [
        'Redis, read-only',
        'redis',
        async () => {
          const { port } = await redisOfTest();
          return (await redisOfTest('--dir', folder, '--replicaof', '127.0.0.1', String(port))).url;
        },
        /READONLY/,
      ],
      ['Redis, slow', 'redis', slowRedis, /does not answer in time/],
      // Nobody can create files there, root included.
      ['Snapshot, its directory read-only', 'snapshot', () => '/sys/list', /cannot be written/],
      [
        'Snapshot, its directory missing',
        'snapshot',
        () => join(folder, 'missing/list'),
        /cannot be written/,
      ],
    ])('%s', async (fault, store, prepare, reason) => {
      const lines = await told(store, await prepare());
      print(fault, lines);
      const expected =
        store === 'redis'
          ? ['Redis', 'BanksRedisLost']
          : ['the snapshot file', 'BanksSnapshotFailing'];
      expect(lines).toEqual({
        page: expect.stringContaining(`Users get the current list, but ${expected[0]} fails.`),
        health: expect.stringMatching(/"warn".*"works":false/),
        doctor: expect.stringMatching(new RegExp(`^exit 1: FAIL .*${reason.source}.* variables `)),
        log: expect.stringContaining(STORES[store]),
        metric: expect.stringMatching(/ 0$/),
        alert: expected[1],
      });
      expect(JSON.stringify(lines)).not.toContain('SECRET');
    });

    const SNAPSHOT = 'CACHE_SNAPSHOT_FILE';
    test.each([
      ['Snapshot, a directory', SNAPSHOT, 'data', 'cannot be read (not a regular file)'],
      ['Snapshot, another file', SNAPSHOT, 'rules.yml', 'is not a list that this service saved'],
      ['PORT taken', 'PORT', undefined, 'another program uses port'],
      ['MANAGEMENT_PORT taken', 'MANAGEMENT_PORT', undefined, 'another program uses port'],
    ])('%s: the service does not start', async (fault, name, file, reason) => {
      const other = createServer();
      closeLater(() => other.close());
      const port = await listenOn(other);
      const env = { [name]: file === undefined ? String(port) : join(folder, file) };
      const { exit, output } = runService({ ...provider, ...env });
      const status = await exit;
      const step = { PORT: 'port', MANAGEMENT_PORT: 'management' }[name] ?? 'configuration';
      const lines = {
        process: `exit ${status}: ${output().trim()}`,
        doctor: await askDoctor(env, step),
      };
      print(fault, lines);
      expect(status).toBe(1);
      expect(lines.process).toContain(`${name}: ${reason}`);
      expect(lines.doctor).toMatch(/^exit 1: FAIL (?:configuration .*; |.* next )/);
    });
  }),
);
