import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { LIMITS } from '../../src/http-front/limits.ts';
import { closeLater } from '../helpers/close-later.ts';
import { ALL_BANKS, emulate } from '../helpers/emulate.ts';
import { imageOptions } from '../helpers/image.ts';
import { startProcess, type ServiceProcess } from '../helpers/process.ts';
import { runProgram } from '../helpers/program.ts';

// What clients can make the service hold: every connection that it takes, with each shape of head,
// held in each way. The built service, with the image's heap, survives it and answers probes;
// SECURITY.md has the figures that this prints. They are those of all cases (MEMORY_CASES=all,
// ten minutes); without it, each way is tried with the shape that takes most.

/** As in the Dockerfile. */
const ENV = { MALLOC_ARENA_MAX: '1' };
const CONTAINER_MIB = 256;
const PROBES = 5;
/** Some are left for probes. */
const CONNECTIONS = LIMITS.connections - 10;

const headers = (count: number, header: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => `${header(index)}\r\n`).join('');

/** The headers of connection number `n`; all but the first two take 15 kB. */
const SHAPES: Readonly<Record<string, (n: number) => string>> = {
  'an ordinary head': () => headers(1, () => 'User-Agent: Mozilla/5.0 (X11; Linux x86_64)'),
  '96 short headers': () => headers(96, (index) => `x${index}: a`),
  'one long header': () => headers(1, () => `X: ${'x'.repeat(15_500)}`),
  '96 different names': (n) => headers(96, (index) => `X-${index}-${n}: ${'x'.repeat(140)}`),
  '96 long different names': (n) =>
    headers(96, (index) => `X-${index}-${n}-${'Name'.repeat(34)}: a`),
  'one header 96 times': () => headers(96, () => `cookie: ${'x'.repeat(148)}`),
};

interface Way {
  /** All that each connection sends; `head` lacks its empty line. */
  readonly bytes: (head: (path: string) => string) => string;
  readonly reads: boolean;
  /** Whether the provider never answers. */
  readonly isWaiting?: true;
}

const WAYS: Readonly<Record<string, Way>> = {
  'a head that never ends': { bytes: (head) => head('/healthz'), reads: true },
  'content that never ends': {
    bytes: (head) => `${head('/banks')}Content-Length: 1000000\r\n\r\nhalf`,
    reads: true,
    isWaiting: true,
  },
  'waiting for the first list': {
    bytes: (head) => `${head('/banks')}\r\n`,
    reads: true,
    isWaiting: true,
  },
  'idle after a response': { bytes: (head) => `${head('/healthz')}\r\n`, reads: true },
  'a response that is not read': { bytes: (head) => `${head('/openapi.json')}\r\n`, reads: false },
  'pipelined and not read': {
    bytes: (head) => {
      const request = `${head('/openapi.json')}\r\n`;
      return request.repeat(Math.ceil(130_000 / request.length));
    },
    reads: false,
  },
};

/** Opens all connections, each after its `bytes` have been given to the system. */
const fill = async (
  url: string,
  addresses: readonly string[],
  way: Way,
  shape: (n: number) => string,
) => {
  const port = Number(new URL(url).port);
  for (let n = 0; n < CONNECTIONS; n += 1) {
    const localAddress = addresses[n % addresses.length] ?? '127.0.0.1';
    const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
    closeLater(() => socket.destroy());
    if (way.reads) socket.resume();
    else socket.pause();
    const bytes = way.bytes((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n${shape(n)}`);
    await new Promise<void>((resolve) => {
      socket
        .once('connect', () => resolve(void socket.write(bytes, 'latin1')))
        .once('close', resolve);
    });
  }
};

const bodyOf = async (url: string): Promise<string> => {
  // The connection is not kept: the service would close it to make room.
  const response = await fetch(url, { headers: { Connection: 'close' } });
  return `${response.status} ${await response.text()}`;
};

const residentMib = ({ child }: ServiceProcess): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1_024;

// oxlint-disable-next-line node/no-process-env -- an option of this file
const isComplete = process.env['MEMORY_CASES'] === 'all';
const FROM = ['TRUST_PROXY=1', 'two addresses', 'TRUST_PROXY=1 and HOT_PATH=off'];
const CASES = Object.keys(WAYS).flatMap((way) =>
  (isComplete ? Object.keys(SHAPES) : ['96 long different names']).flatMap((shape) =>
    (isComplete ? FROM : FROM.slice(0, 1)).map((from) => [way, shape, from] as const),
  ),
);

test.each(CASES)('survives %s, %s, %s', async (wayName, shapeName, from) => {
  const [way, shape] = [WAYS[wayName], SHAPES[shapeName]];
  if (!way || !shape) throw new Error('not in the tables');
  const provider = await emulate({ banks: ALL_BANKS });
  if (way.isWaiting) provider.respondWith(() => undefined);
  const isOneAddress = from.includes('TRUST_PROXY=1');
  const env = {
    ...ENV,
    PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
    PROVIDER_TIMEOUT: '60s',
    ...(isOneAddress && { TRUST_PROXY: '1' }),
    ...(from.includes('HOT_PATH=off') && { HOT_PATH: 'off' }),
  };
  const service = await startProcess(env, '', imageOptions());
  await fill(service.url, isOneAddress ? ['127.0.0.1'] : ['127.0.0.2', '127.0.0.3'], way, shape);
  let heapMb = 0;
  for (let probe = 0; probe < PROBES; probe += 1) {
    expect(await bodyOf(`${service.url}/healthz`)).toMatch(/^200 /);
    const metrics = await bodyOf(`${service.managementUrl}/metrics`);
    heapMb = Math.max(
      heapMb,
      Number(/^nodejs_heap_size_used_bytes (\S+)/m.exec(metrics)?.[1]) / 1e6,
    );
  }
  const figures = `heap ${Math.round(heapMb)} MB, resident ${Math.round(residentMib(service))} MiB`;
  process.stdout.write(
    `Node ${process.versions.node}, ${wayName}, ${shapeName}, ${from}: ${figures}\n`,
  );
  expect(service.child.exitCode ?? service.child.signalCode).toBeNull();
  expect(residentMib(service)).toBeLessThan(CONTAINER_MIB);
});

// The reason of docs/decisions/hot-path.md. If this fails, node:http has learnt to wait, and the
// server can be smaller.
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
