import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import type { Environment } from '../../src/config/reader.ts';
import { LIMITS } from '../../src/http/server/limits.ts';
import { startProcess, type ServiceProcess } from '../kit/process.ts';
import { runProgram, type Program } from '../kit/program.ts';
import { describeWithRedis, startRedis } from '../kit/redis-server.ts';

// As many clients as the service takes, each of which costs it as much memory as one can: the built service, with its
// container's heap, fits the container and answers others (docs/limits.md).

/** As in the Dockerfile and in deploy/. */
const HEAP_MB = 96;
const CONTAINER_MIB = 256;

let service: ServiceProcess;
let provider: Emulator;
const clients: Program[] = [];
beforeEach(async () => {
  provider = await startEmulator();
});
afterEach(async () => {
  for (const { child } of clients.splice(0)) child.kill('SIGKILL');
  await service.end('SIGKILL');
  await provider.close();
});

/** Resolves when it has a list. `TRUST_PROXY`: all connections here come from one address. */
const start = async (env: Environment = {}): Promise<string> => {
  service = await startProcess({
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
    PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
    TRUST_PROXY: '1',
    ...env,
  });
  const [url = ''] = service.urls();
  while ((await statusOf(`${url}/readyz`)) !== 200);
  return url;
};

/** The connection is not kept: the service would close it to make room, and a later request might still use it. */
const statusOf = async (url: string): Promise<number> => {
  const response = await fetch(url, { headers: { Connection: 'close' } });
  await response.arrayBuffer();
  return response.status;
};

/** Opens the connections in a child process of low priority, and resolves when all are open and have sent `bytes`. */
const connectAll = async (url: string, connections: number, bytes: string, reads: boolean): Promise<void> => {
  const program = `
    const { connect } = require('node:net');
    const bytes = Buffer.from(${JSON.stringify(bytes)}, 'latin1');
    let opened = 0;
    const open = () => {
      const socket = connect(${new URL(url).port}, '127.0.0.1', () => {
        socket.write(bytes);
        if ((opened += 1) === ${connections}) console.log('open');
      });
      socket.on('error', () => undefined);
      if (${reads}) socket.resume();
      else socket.pause();
    };
    for (let count = 0; count < ${connections}; count += 1) setTimeout(open, Math.floor(count / 20) * 10);
  `;
  const opening = runProgram('nice', { args: ['-n', '19', process.execPath, '-e', program] });
  clients.push(opening);
  await opening.says(/open/);
};

const rssMib = (): number => {
  const status = readFileSync(`/proc/${service.child.pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024);
};

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const fields = Array.from({ length: 95 }, (_, index) => `X-${index}: ${'x'.repeat(150)}\r\n`).join('');

test.each([
  ['that have sent nothing', '', true],
  ['idle after an ordinary request', get('/banks'), true],
  ['idle after a request by node:http', get('/healthz'), true],
  ['idle after 15 KiB of header', get('/healthz').replace('\r\n\r\n', `\r\n${fields}\r\n`), true],
  ['in the middle of 15 KiB of header', `GET /healthz HTTP/1.1\r\nHost: a\r\n${fields}`, true],
  ['with 62 kB of pipelined requests for the list, unread', get('/banks').repeat(1_800), false],
  ['with 62 kB of pipelined requests by node:http, unread', get('/healthz').repeat(1_800), false],
])(`${LIMITS.connections} connections %s fit the container`, async (what, bytes, reads) => {
  const url = await start();
  const beforeMib = rssMib();
  await connectAll(url, LIMITS.connections - 1, bytes, reads);
  let peakMib = 0;
  for (const untilMs = performance.now() + 2_000; performance.now() < untilMs;) {
    expect(await statusOf(`${url}/banks`)).toBe(200);
    peakMib = Math.max(peakMib, rssMib());
  }
  process.stdout.write(`${LIMITS.connections} connections ${what}: ${beforeMib} -> ${peakMib} MiB\n`);
  expect(peakMib).toBeLessThan(CONTAINER_MIB - 30);
});

/** As many entries as a list may have, of as many bytes as PROVIDER_MAX_BODY allows, and other ones in each round. */
const largestList = (round: number): string =>
  `[${Array.from({ length: 49_999 }, (_, index) => {
    const entry = `{"code":"${index}","ispb":"${round}","name":"`;
    return `${entry}${'x'.repeat(100 - entry.length)}"}`;
  }).join(',')}]`;

/** Renewals: each replaces every entry, encodes it three times and saves it in both stores. */
const ROUNDS = 6;

describeWithRedis('everything at its bound at once', () => {
  test(`fits the container: the largest list, renewed ${ROUNDS} times, both stores, and connections on both ports`, async () => {
    let rounds = 0;
    provider.respondWith((_req, res) => {
      rounds += 1;
      res.writeHead(200, { 'content-type': 'application/json' }).end(largestList(rounds));
    });
    const redis = await startRedis();
    const url = await start({
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MB} --max-semi-space-size=2`,
      MALLOC_ARENA_MAX: '1',
      PROVIDER_TIMEOUT: '60s',
      MANAGEMENT_TOKEN: 'operator-of-the-soak-test-0123456789',
      CACHE_REDIS_URL: redis.url,
      CACHE_SNAPSHOT_FILE: join(mkdtempSync(join(tmpdir(), 'banks-bff-')), 'snapshot'),
    });
    const [, operatorsUrl = ''] = service.urls();
    let peakMib = rssMib();
    const watch = setInterval(() => (peakMib = Math.max(peakMib, rssMib())), 20);
    const post = `POST /banks HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n${fields}\r\n${'x'.repeat(32_768)}`;
    await connectAll(
      url,
      LIMITS.connections / 2,
      get('/healthz').replace('\r\n\r\n', `\r\n${fields}\r\n`),
      true,
    );
    await connectAll(url, LIMITS.connections / 2 - 10, post, true);
    await connectAll(operatorsUrl, 20, `${get('/').slice(0, -2)}${fields}`, true);
    const headers = { authorization: 'Bearer operator-of-the-soak-test-0123456789', connection: 'close' };
    for (let round = 0; round < ROUNDS; round += 1) {
      const renewal = await fetch(`${operatorsUrl}/refresh`, { method: 'POST', headers });
      expect([renewal.status, await renewal.json()]).toEqual([
        200,
        expect.objectContaining({ count: 49_999 }),
      ]);
      expect(await statusOf(`${url}/banks`)).toBe(200);
    }
    clearInterval(watch);
    await redis.kill();
    process.stdout.write(`everything at its bound, Node ${process.versions.node}: ${peakMib} MiB at most\n`);
    expect(peakMib).toBeLessThan(CONTAINER_MIB);
  });
});
