import { expect, test } from '@jest/globals';
import { connect } from 'node:net';
import { LIMITS } from '../../src/http-front/limits.ts';
import { closeLater } from '../helpers/close-later.ts';
import { ALL_BANKS, emulate } from '../helpers/emulate.ts';
import { runProgram } from '../helpers/program.ts';
import { CONTAINER_MIB, connectMany, peakMib, startAsInImage } from './service-under-load.ts';

// What clients can make the service hold: every connection that it takes, with the worst shape of
// head, held in each way. The built service, with the image's heap, survives it and answers probes
// at once.

const PROBES = 10;
/** Some are left for probes. */
const CONNECTIONS = LIMITS.connections - 10;
const LONGEST_PROBE_MS = 200;

/** The headers of connection number `n`: different long names take most. */
const headersOf = (n: number): string =>
  Array.from(
    { length: 96 },
    (_unused, index) => `X-${index}-${n}-${'Name'.repeat(34)}: a\r\n`,
  ).join('');
const head = (path: string, n: number): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\n${headersOf(n)}`;
const pipeline = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(62_000 / (path.length + 28));

interface Way {
  /** All that connection number `n` sends. */
  readonly bytes: (n: number) => string;
  readonly connections?: number;
  readonly reads: boolean;
  /** Whether the provider never answers. */
  readonly isWaiting?: true;
}

const WAYS: Readonly<Record<string, Way>> = {
  'heads that never end': { bytes: (n) => head('/healthz', n), reads: true },
  'content that never ends, while there is no list': {
    bytes: (n) => `${head('/banks', n)}Content-Length: 1000000\r\n\r\n${'x'.repeat(40_000)}`,
    reads: true,
    isWaiting: true,
  },
  'endless chunk extensions': {
    bytes: (n) =>
      `${head('/banks', n)}Transfer-Encoding: chunked\r\n\r\n1;${'a=b;'.repeat(10_000)}`,
    reads: true,
    isWaiting: true,
  },
  'endless trailers': {
    bytes: (n) =>
      `${head('/banks', n)}Transfer-Encoding: chunked\r\n\r\n0\r\n${'a: b\r\n'.repeat(7_000)}`,
    reads: true,
    isWaiting: true,
  },
  'waiting for the first list': {
    bytes: (n) => `${head('/banks', n)}\r\n`,
    reads: true,
    isWaiting: true,
  },
  'waiting for the first list, with a pipeline behind it': {
    bytes: (n) => `${head('/banks', n)}\r\n${pipeline('/banks')}`,
    reads: true,
    isWaiting: true,
  },
  'idle after a response': { bytes: (n) => `${head('/healthz', n)}\r\n`, reads: true },
  'responses that are not read': { bytes: (n) => `${head('/openapi.json', n)}\r\n`, reads: false },
  'pipelines for the list that are not read': { bytes: () => pipeline('/banks'), reads: false },
  'pipelines for the list': { bytes: () => pipeline('/banks'), reads: true },
  'pipelines by node:http that are not read': {
    bytes: () => pipeline('/healthz'),
    reads: false,
  },
  '100 pipelines by node:http': {
    bytes: () => pipeline('/healthz'),
    connections: 100,
    reads: true,
  },
};

test.each(Object.entries(WAYS))('survives %s', async (name, way) => {
  const provider = await emulate({ banks: ALL_BANKS });
  const { bytes, reads, connections = CONNECTIONS, isWaiting = false } = way;
  if (isWaiting) provider.respondWith(() => undefined);
  const env = { PROVIDER_SANDBOX_BASE_URL: provider.baseUrl, PROVIDER_TIMEOUT: '60s' };
  const service = await startAsInImage(env);
  // On a connection that it keeps.
  const probe = async (): Promise<number> => {
    const startedMs = performance.now();
    const response = await fetch(`${service.url}/healthz`);
    expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
    return performance.now() - startedMs;
  };
  await probe();
  const filled = connectMany(service.url, connections, bytes, reads);
  const times = [];
  for (let count = 0; count < PROBES; count += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    times.push(await probe());
  }
  await filled;
  for (let count = 0; count < PROBES; count += 1) times.push(await probe());
  times.sort((a, b) => a - b);
  process.stdout.write(
    `Node ${process.versions.node}, ${name}: resident ${peakMib(service)} MiB, ` +
      `/healthz ${Math.round(times[PROBES] ?? 0)} ms, ${Math.round(times.at(-1) ?? 0)} ms at most\n`,
  );
  expect(service.child.exitCode ?? service.child.signalCode).toBeNull();
  expect(peakMib(service)).toBeLessThan(CONTAINER_MIB);
  // This process fills it at the same time, so the median counts.
  expect(times[PROBES]).toBeLessThan(LONGEST_PROBE_MS);
});

// The reason of docs/decisions/hot-path.md. If this fails, node:http has learnt to wait, and the
// front can be smaller.
test('node:http alone does not survive 20 clients that pipeline 64 kB of requests and do not read', async () => {
  const bare = runProgram(process.execPath, {
    args: [
      '--max-old-space-size=96',
      '-e',
      `const body = Buffer.alloc(30_000);
       const server = require('node:http').createServer((_req, res) => res.end(body));
       server.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port));`,
    ],
  });
  closeLater(() => bare.end());
  const [, port] = await bare.says(/port (\d+)/);
  const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
  for (let count = 0; count < 20; count += 1) {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
    closeLater(() => socket.destroy());
    socket.pause().write(request.repeat(64_000 / request.length));
  }
  expect(await bare.exit).not.toBe(0);
  expect(bare.output()).toContain('heap out of memory');
});
