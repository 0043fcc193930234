import { afterEach, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import { DEFAULT_ACCESS_TOKEN } from '../../emulator/emulator.ts';
import { LIMITS } from '../../src/http/server/limits.ts';
import { p99 } from '../kit/p99.ts';
import {
  startEmulatorProcess,
  startProcess,
  type EmulatorProcess,
  type ServiceProcess,
} from '../kit/process.ts';
import { runProgram, type Program } from '../kit/program.ts';

// Hostile clients, in a separate process, against the built service with its container's heap.

/** As in the Dockerfile and in deploy/. */
const HEAP_MB = 128;
const CONTAINER_MIB = 256;

let service: ServiceProcess | undefined;
let emulator: EmulatorProcess | undefined;
let attacker: Program | undefined;
afterEach(() => {
  attacker?.child.kill('SIGKILL');
  service?.child.kill('SIGKILL');
  emulator?.end();
});

/** `TRUST_PROXY`: all connections here come from one address. */
const start = async (): Promise<string> => {
  emulator = await startEmulatorProcess();
  service = await startProcess({
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
    PROVIDER_ENVIRONMENT: 'sandbox',
    PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
    PROVIDER_ACCESS_TOKEN: DEFAULT_ACCESS_TOKEN,
    BANK_FIELDS: 'code,ispb,name',
    TRUST_PROXY: '1',
  });
  const [url = ''] = service.urls();
  // The connection is not kept: the service would close it to make room, and a later request might still use it.
  const isReady = async (): Promise<boolean> =>
    (await fetch(`${url}/readyz`, { headers: { Connection: 'close' } })).ok;
  while (!(await isReady()));
  return url;
};

interface Attack {
  readonly connections: number;
  /** What each connection sends. */
  readonly bytes: string;
  readonly reads: boolean;
}

/** Opens the connections in a child process of low priority, and resolves when all are open and have sent. */
const attack = async (url: string, { connections, bytes, reads }: Attack): Promise<void> => {
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
  attacker = runProgram('nice', { args: ['-n', '19', process.execPath, '-e', program] });
  await attacker.says(/open/);
};

const rssMib = (): number => {
  const status = readFileSync(`/proc/${service?.child.pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024);
};

/** Asks for the list one request after the other for some seconds, and now and then for /healthz. */
const measure = async (url: string, ms: number) => {
  const clients = new Agent({ connections: 1 });
  const latencies: number[] = [];
  let slowestHealthMs = 0;
  let peakMib = 0;
  const ask = async (path: string): Promise<number> => {
    const startedAtMs = performance.now();
    const { statusCode, body } = await request(`${url}${path}`, { dispatcher: clients });
    await body.dump();
    expect(statusCode).toBe(200);
    return performance.now() - startedAtMs;
  };
  const endMs = performance.now() + ms;
  while (performance.now() < endMs) {
    for (let count = 0; count < 20; count += 1) latencies.push(await ask('/banks'));
    slowestHealthMs = Math.max(slowestHealthMs, await ask('/healthz'));
    peakMib = Math.max(peakMib, rssMib());
  }
  await clients.close();
  return { p99Ms: p99(latencies), slowestHealthMs, peakMib };
};

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

describe.each([
  ['read nothing', false],
  ['read', true],
])('200 connections that each pipeline 2,000 requests and %s', (_how, reads) => {
  test.each(['/banks', '/healthz'])(
    'for %s: others are served, within the heap of the container',
    async (path) => {
      const url = await start();
      await measure(url, 1_000);
      const quiet = await measure(url, 2_000);
      await attack(url, { connections: 200, bytes: get(path).repeat(2_000), reads });
      const beside = await measure(url, 5_000);
      process.stdout.write(
        `${path}, ${_how}: p99 ${quiet.p99Ms.toFixed(1)} ms alone, ${beside.p99Ms.toFixed(1)} ms beside; ` +
          `/healthz at most ${beside.slowestHealthMs.toFixed(0)} ms; ${beside.peakMib} MiB\n`,
      );
      expect(service?.child.exitCode).toBeNull();
      expect(beside.slowestHealthMs).toBeLessThan(1_000);
      // The attackers' process and the reader of the log use part of a small machine.
      expect(beside.p99Ms).toBeLessThan(Math.max(2 * quiet.p99Ms, 50));
      expect(beside.peakMib).toBeLessThan(CONTAINER_MIB);
    },
  );
});

const fields = Array.from({ length: 95 }, (_, index) => `X-${index}: ${'x'.repeat(150)}\r\n`).join('');
const SHAPES: readonly (readonly [what: string, bytes: string])[] = [
  ['that have sent nothing', ''],
  ['idle after an ordinary request', get('/banks')],
  ['idle after a request by node:http', get('/healthz')],
  ['idle after a request with 15 KiB of header', get('/healthz').replace('\r\n\r\n', `\r\n${fields}\r\n`)],
  ['in the middle of 15 KiB of header', `GET /healthz HTTP/1.1\r\nHost: a\r\n${fields}`],
  ['with 62 kB of pipelined requests for the list, unread', get('/banks').repeat(1_800)],
  ['with 62 kB of pipelined requests by node:http, unread', get('/healthz').repeat(1_800)],
];

test.each(SHAPES)(`${LIMITS.connections} connections %s fit the container`, async (what, bytes) => {
  const url = await start();
  const beforeMib = rssMib();
  const reads = !what.endsWith('unread');
  await attack(url, { connections: LIMITS.connections - 1, bytes, reads });
  const { peakMib } = await measure(url, 2_000);
  process.stdout.write(`${LIMITS.connections} connections ${what}: ${beforeMib} -> ${peakMib} MiB\n`);
  expect(peakMib).toBeLessThan(CONTAINER_MIB - 30);
});

test('while every connection has a request in progress, probes are answered, and others get a 503', async () => {
  const url = await start();
  const bytes = 'GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ';
  // A connection that the service has accepted and not yet read counts as idle and gives way to the next: with some more
  // than there are places, every place is taken by one that has been read.
  const connections = LIMITS.connections + LIMITS.spareConnections / 2;
  await attack(url, { connections, bytes, reads: true });
  const ask = async (path: string): Promise<[number, string | null]> => {
    const response = await fetch(`${url}${path}`, { headers: { Connection: 'close' } });
    await response.arrayBuffer();
    return [response.status, response.headers.get('Retry-After')];
  };
  expect(await ask('/healthz')).toEqual([200, null]);
  expect(await ask('/readyz')).toEqual([200, null]);
  expect(await ask('/banks')).toEqual([503, '1']);
  // They time out, and new connections are accepted again.
  while ((await ask('/banks'))[0] !== 200);
});
