import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import type { Environment } from '../../src/config/reader.ts';
import { closeLater } from '../kit/close-later.ts';
import { findFreePort, listenOn } from '../kit/free-port.ts';
import { startProcess } from '../kit/process.ts';
import { runNode } from '../kit/program.ts';
import { startPrometheus, type Prometheus } from '../kit/prometheus.ts';
import { describeWithPromtool } from '../kit/promtool.ts';
import { describeWithRedis, startRedis } from '../kit/redis-server.ts';
import { runDoctor } from '../kit/run-doctor.ts';
import { SANDBOX } from '../kit/sandbox.ts';

// What an operator is told of a store or a port that cannot be used: a real service, and all that can tell, printed as a
// table. Some of it keeps the service from starting: then only the process and the doctor can tell.

const STORES = { redis: 'CACHE_REDIS_URL', snapshot: 'CACHE_SNAPSHOT_FILE' };

const redis = async (...options: string[]): Promise<string> => {
  const server = await startRedis(options);
  closeLater(() => server.kill());
  return server.url;
};

/** A Redis whose replies take longer than the 500 ms that an operation may take. */
const slowRedis = async (): Promise<string> => {
  const { port } = new URL(await redis());
  const sockets = new Set<Socket>();
  const front = createServer((client) => {
    const server = connect(Number(port), '127.0.0.1');
    for (const socket of [client, server]) sockets.add(socket.on('error', () => undefined));
    client.pipe(server);
    server.on('data', (reply) => void setTimeout(700).then(() => client.write(reply)));
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
    let provider: Environment;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'banks-told-'));
      emulator = await startEmulator();
      prometheus = await startPrometheus(folder);
      provider = { ...SANDBOX, PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl };
    });
    afterAll(async () => {
      await prometheus.close();
      await emulator.close();
      rmSync(folder, { recursive: true });
    });

    const print = (fault: string, told: Readonly<Record<string, string>>): void => {
      const rows = Object.entries(told).map(([where, text]) => `  ${where.padEnd(8)} ${text}\n`);
      process.stdout.write(`\n${fault}\n${rows.join('')}`);
    };
    const textOf = (url: string): Promise<string> => fetch(url).then((response) => response.text());

    const storeAlert = async (): Promise<string> =>
      (await prometheus.firing()).filter((name) => /Redis|Snapshot/.test(name)).join(', ');

    /** The doctor's lines about `step`, on one. */
    const askDoctor = async (env: Environment, step: string): Promise<string> => {
      const { status, text } = await runDoctor({ ...provider, ...env });
      const lines = new RegExp(`^FAIL +${step} .*(?:\\n {6}.*)*`, 'm').exec(text)?.[0] ?? 'nothing';
      return `exit ${status}: ${lines.replaceAll(/\s+/g, ' ')}`;
    };

    const told = async (store: keyof typeof STORES, value: string): Promise<Record<string, string>> => {
      const name = STORES[store];
      const env = { [name]: value, MANAGEMENT_PORT: String(await findFreePort()) };
      const service = await startProcess({ ...provider, ...env });
      closeLater(() => service.end('SIGKILL'));
      const [url = '', managementUrl = ''] = service.urls();
      while (!/"state":"fresh".*"works":false/.test(await textOf(`${url}/healthz`))) await setTimeout(50);
      // That of the fault before clears because its service was killed.
      while ((await storeAlert()) !== '') await setTimeout(100);
      await prometheus.setTargets([`127.0.0.1:${env.MANAGEMENT_PORT}`]);
      while ((await storeAlert()) === '') await setTimeout(100);
      const page = (await textOf(managementUrl))
        .replaceAll(/<[^>]*>|\s+/g, ' ')
        .replaceAll(/[\s\u00A0]+/g, ' ');
      const metrics = await textOf(`${managementUrl}/metrics`);
      const health = await textOf(`${url}/healthz`);
      return {
        page: `${/Users get[^.]*fails\./.exec(page)?.[0]} … ${/Details: [^.]*\./.exec(page)?.[0]}`,
        health: `${/"status":"\w+"/.exec(health)?.[0]} … ${/"stores":\{.*?\}\}/.exec(health)?.[0]}`,
        doctor: await askDoctor(env, store),
        log: /"level":40.*"msg":"(CACHE_[^"]*)"/.exec(service.written())?.[1] ?? 'nothing',
        metric: new RegExp(`^banks_store_up\\{store="${store}"\\}.*`, 'm').exec(metrics)?.[0] ?? 'nothing',
        alert: await storeAlert(),
      };
    };

    test.each<[string, keyof typeof STORES, () => Promise<string> | string, RegExp]>([
      ['Redis refused', 'redis', async () => `redis://127.0.0.1:${await findFreePort()}`, /ECONNREFUSED/],
      [
        'Redis, a wrong password',
        'redis',
        async () => (await redis('--requirepass', 'SECRET-right')).replace('//', '//:SECRET-wrong@'),
        /WRONGPASS/,
      ],
      [
        'Redis, read-only',
        'redis',
        async () => redis('--dir', folder, '--replicaof', '127.0.0.1', new URL(await redis()).port),
        /READONLY/,
      ],
      ['Redis, slow', 'redis', slowRedis, /TIMEOUT/],
      // Nobody can create files there, root included.
      ['Snapshot, its directory read-only', 'snapshot', () => '/sys/list', /cannot be written/],
    ])('%s', async (fault, store, prepare, reason) => {
      const lines = await told(store, await prepare());
      print(fault, lines);
      const expected =
        store === 'redis' ? ['Redis', 'BanksRedisLost'] : ['the snapshot file', 'BanksSnapshotFailing'];
      expect(lines).toEqual({
        page: expect.stringContaining(`Users get the current list, but ${expected[0]} fails.`),
        health: expect.stringMatching(/"warn".*"works":false/),
        doctor: expect.stringMatching(new RegExp(`^exit 1: FAIL .*${reason.source}.* likely .* next `)),
        log: expect.stringContaining(STORES[store]),
        metric: expect.stringMatching(/ 0$/),
        alert: expected[1],
      });
      expect(JSON.stringify(lines)).not.toContain('SECRET');
    });

    test.each<[string, (port: number) => Environment, string, RegExp]>([
      [
        'Snapshot, its directory missing',
        () => ({ CACHE_SNAPSHOT_FILE: join(folder, 'missing', 'list') }),
        'configuration',
        /CACHE_SNAPSHOT_FILE: its directory cannot be written \(ENOENT\)/,
      ],
      [
        'Snapshot, a directory',
        () => ({ CACHE_SNAPSHOT_FILE: join(folder, 'data') }),
        'configuration',
        /CACHE_SNAPSHOT_FILE: cannot be read \(not a regular file\)/,
      ],
      [
        'Snapshot, another file',
        () => ({ CACHE_SNAPSHOT_FILE: join(folder, 'rules.yml') }),
        'configuration',
        /CACHE_SNAPSHOT_FILE: is not a list that this service saved/,
      ],
      ['PORT taken', (port) => ({ PORT: String(port) }), 'port', /\. PORT: another program uses port \d+/],
      [
        'MANAGEMENT_PORT taken',
        (port) => ({ MANAGEMENT_PORT: String(port) }),
        'management',
        /MANAGEMENT_PORT: another program uses port \d+/,
      ],
    ])('%s: the service does not start', async (fault, envFor, step, reason) => {
      const other = createServer();
      closeLater(() => other.close());
      const env = envFor(await listenOn(other));
      const { child, exit, output } = runNode(resolve('dist/src/main.js'), {
        cwd: folder,
        env: { ...provider, ...env },
      });
      closeLater(() => child.kill('SIGKILL'));
      const status = await exit;
      const lines = { process: `exit ${status}: ${output().trim()}`, doctor: await askDoctor(env, step) };
      print(fault, lines);
      expect(status).toBe(1);
      expect(lines.process).toMatch(reason);
      expect(lines.doctor).toMatch(/^exit 1: FAIL (?:configuration .*; |.* likely .* next )/);
    });
  }),
);
