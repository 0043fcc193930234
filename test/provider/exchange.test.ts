import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { getEventListeners, getMaxListeners } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import {
  createServer as createTcpServer,
  type LookupFunction,
  type Server as TcpServer,
  type Socket,
} from 'node:net';
import { createSecureContext } from 'node:tls';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { toSecret } from '../../src/secrets/secret.ts';
import { createExchange, type ExchangeOptions } from '../../src/provider/exchange.ts';
import { closeLater } from '../helpers/close-later.ts';
import { listenOn } from '../helpers/free-port.ts';
import { eventually } from '../helpers/wait-until.ts';

// One exchange with servers that a real provider may be, or should not be: what is read, what the
// failure is, and that no connection is left.

const MAX_BODY_BYTES = 1_500_000;

let server: Server;
let url: URL;
let sockets: Set<Socket>;
let answer: RequestListener;
beforeEach(async () => {
  sockets = new Set();
  answer = (_req, res) => res.end('[]');
  server = createServer((req, res) => answer(req, res));
  // It never closes a connection by itself.
  server.keepAliveTimeout = 0;
  server.on('connection', (socket) => sockets.add(socket));
  url = new URL(`http://127.0.0.1:${await listenOn(server)}`);
});
afterEach(async () => {
  await eventually(() => [...sockets].every(({ destroyed }) => destroyed));
  server.close();
});

const NO_PROXIES: ExchangeOptions['proxies'] = {
  HTTPS_PROXY: undefined,
  HTTP_PROXY: undefined,
  NO_PROXY: undefined,
};

interface Setting {
  readonly proxies?: ExchangeOptions['proxies'];
  readonly lookup?: LookupFunction;
  readonly signal?: AbortSignal;
}

const ask = async ({
  proxies = NO_PROXIES,
  lookup,
  signal = new AbortController().signal,
}: Setting = {}) => {
  const exchange = createExchange({
    userAgent: 'banks-bff/0.0.0-test',
    tls: () => Promise.resolve(createSecureContext()),
    proxies,
    lookup,
  });
  const response = await exchange({
    peer: 'the provider',
    url,
    headers: {},
    maxBodyBytes: MAX_BODY_BYTES,
    needsBody: (status) => status === 200,
    signal,
  });
  return { ...response, body: response.body.toString() };
};

const startTcp = async (onSocket: (socket: Socket) => void): Promise<TcpServer> => {
  const tcp = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    onSocket(socket);
  });
  url = new URL(`http://127.0.0.1:${await listenOn(tcp)}`);
  closeLater(() => tcp.close());
  return tcp;
};

describe('a compressed body', () => {
  // Hardly compressible: the compressed bytes are nearly as many.
  const text = JSON.stringify(
    Array.from({ length: 60_000 }, (_, index) => Math.sin(index).toString(36)),
  );
  test('in br is read up to the limit', async () => {
    let body = brotliCompressSync(text);
    answer = (_req, res) => res.writeHead(200, { 'content-encoding': 'br' }).end(body);
    expect((await ask()).body === text).toBe(true);
    body = brotliCompressSync(Buffer.alloc(5_000_000));
    await expect(ask()).rejects.toMatchObject({
      kind: 'too_large',
      message: `the response of the provider has more than ${MAX_BODY_BYTES} bytes`,
    });
  });

  test('that is cut short is malformed', async () => {
    const body = gzipSync(text).subarray(0, 1_000);
    answer = (_req, res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end(body);
    await expect(ask()).rejects.toMatchObject({ kind: 'malformed' });
  });

  test('that is encoded twice was not requested', async () => {
    answer = (_req, res) => res.setHeader('content-encoding', ['gzip', 'gzip']).end('[]');
    await expect(ask()).rejects.toMatchObject({
      kind: 'malformed',
      message: 'the response of the provider has an encoding that was not requested',
    });
  });
});

test('a body of one byte more than the limit is not read any further, in however few bytes it comes', async () => {
  answer = (_req, res) => res.end(Buffer.alloc(MAX_BODY_BYTES, ' '));
  expect((await ask()).body).toHaveLength(MAX_BODY_BYTES);
  answer = (_req, res) => void res.write(Buffer.alloc(MAX_BODY_BYTES + 1, ' '));
  await expect(ask()).rejects.toMatchObject({ kind: 'too_large' });
  await startTcp((socket) =>
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.write('1\r\n \r\n'.repeat(MAX_BODY_BYTES + 1));
    }),
  );
  await expect(ask()).rejects.toMatchObject({ kind: 'too_large' });
});

test('each exchange has a connection of its own, which is closed after it, also if the server would keep it', async () => {
  // Without this invitation undici closes an idle connection itself, after 4 s.
  answer = (_req, res) => res.setHeader('Keep-Alive', 'timeout=300').end('[]');
  for (let request = 0; request < 3; request += 1) expect((await ask()).body).toBe('[]');
  expect(sockets.size).toBe(3);
});

test('an exchange that is ended in the middle of the TLS handshake leaves no connection', async () => {
  const ending = new AbortController();
  await startTcp(() => ending.abort(new Error('ended')));
  url = new URL(url.href.replace('http:', 'https:'));
  await expect(ask({ signal: ending.signal })).rejects.toThrow('ended');
});

describe('a host with several addresses', () => {
  /** Resolves `api.example` to these addresses of loopback. */
  const lookupTo =
    (...addresses: string[]): LookupFunction =>
    (_host, _options, callback) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
  beforeEach(() => {
    url.hostname = 'api.example';
  });

  // Nothing listens at ::1 and 127.0.0.2.
  test.each([[['127.0.0.1', '::1']], [['::1', '127.0.0.2', '127.0.0.1']]])(
    'is reached at %j',
    async (addresses) => {
      expect((await ask({ lookup: lookupTo(...addresses) })).body).toBe('[]');
      expect(sockets.size).toBe(1);
    },
  );

  test('may have as many as load balancers have, without a warning of Node', async () => {
    const { signal } = new AbortController();
    await ask({ lookup: lookupTo(...Array.from({ length: 8 }, () => '127.0.0.1')), signal });
    expect(getMaxListeners(signal)).toBeGreaterThan(getEventListeners(signal, 'abort').length);
  });

  test('keeps no connection to those that were slower', async () => {
    expect((await ask({ lookup: lookupTo('127.0.0.1', '127.0.0.1') })).body).toBe('[]');
    await eventually(() => [...sockets].every((socket) => socket.destroyed));
  });

  test('of which none answers is reported once', async () => {
    await expect(ask({ lookup: lookupTo('::1', '127.0.0.2') })).rejects.toMatchObject({
      kind: 'unreachable',
      message: 'no connection to the provider (ECONNREFUSED)',
    });
  });
});

describe('through a proxy', () => {
  const viaProxy = async (onSocket: (socket: Socket) => void): Promise<Setting> => {
    const origin = url;
    await startTcp(onSocket);
    const proxy = toSecret(url.href);
    url = origin;
    return { proxies: { ...NO_PROXIES, HTTP_PROXY: proxy } };
  };

  const CLOSED = /closed the connection .*, through the proxy in HTTP_PROXY/;
  test.each<[head: string, kind: string, message: RegExp]>([
    ['SSH-2.0-OpenSSH_9.2\r\n', 'malformed', /cannot be read as HTTP.*, through the proxy in/],
    ['', 'unreachable', CLOSED],
    ['HTTP/1.1 200 OK\r\n\r\nunexpected\r\n\r\n', 'unreachable', CLOSED],
  ])('that answers %j there is one attempt, which is %s', async (head, kind, message) => {
    const setting = await viaProxy((socket) => socket.once('data', () => socket.end(head)));
    await expect(ask(setting)).rejects.toMatchObject({
      kind,
      message: expect.stringMatching(message),
    });
    expect(sockets.size).toBe(1);
  });

  test('that nothing listens at is named', async () => {
    const proxies = { ...NO_PROXIES, HTTP_PROXY: toSecret('http://127.0.0.2:9') };
    await expect(ask({ proxies })).rejects.toMatchObject({
      kind: 'unreachable',
      message: 'no connection to the proxy in HTTP_PROXY (ECONNREFUSED)',
    });
    // It is not blamed where it is not used.
    answer = (req) => req.socket.destroy();
    await expect(ask({ proxies: { ...proxies, NO_PROXY: '127.0.0.1' } })).rejects.toMatchObject({
      message: expect.not.stringContaining('proxy'),
    });
  });
});
