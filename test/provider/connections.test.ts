import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parseConfig } from '../../src/config/config.ts';
import type { Proxies } from '../../src/config/provider.ts';
import { createConnections, type Connections } from '../../src/provider/connections.ts';
import { createProvider } from '../../src/provider/provider.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { eventually } from '../kit/rig.ts';

// What a request leaves behind, whatever the server does: no connection, and nothing in memory.

let server: Server;
let url: URL;
let sockets: Set<Socket>;
let answer: RequestListener;
beforeEach(async () => {
  sockets = new Set();
  answer = (_req, res) => res.end('[]');
  server = createServer((req, res) => answer(req, res)).listen(0, '127.0.0.1');
  // It never closes a connection by itself.
  server.keepAliveTimeout = 0;
  server.on('connection', (socket) => sockets.add(socket));
  await once(server, 'listening');
  const address = server.address();
  url = new URL(`http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`);
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const isAllClosed = (): boolean => sockets.size > 0 && [...sockets].every(({ destroyed }) => destroyed);

const NO_PROXIES: Proxies = { https: undefined, http: undefined, exceptions: '' };

const connect = (secureContext: () => SecureContext, proxies = NO_PROXIES): Connections =>
  createConnections({
    peer: 'the provider',
    url,
    tls: { current: () => Promise.resolve(secureContext()), problem: () => undefined },
    proxies,
    userAgent: 'banks-bff/0.0.0-test',
    timeoutMs: 5_000,
    clock: createManualClock(),
    lookup: undefined,
  });
const ask = (connections: Connections): Promise<string> =>
  connections.request({ method: 'GET', path: '/', signal: new AbortController().signal }, ({ body }) =>
    body.text(),
  );

test('a connection is closed after its request, also if the server would keep it for long', async () => {
  // Without this invitation undici closes an idle connection itself, after 4 s.
  answer = (_req, res) => res.setHeader('Keep-Alive', 'timeout=300').end('[]');
  expect(await ask(connect(() => createSecureContext()))).toBe('[]');
  await eventually(isAllClosed);
});

test('the connection to a proxy that refuses is closed, also if the proxy leaves it open', async () => {
  const proxy = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    socket.once('data', () => socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n')).resume();
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const http = { url: new URL(`http://127.0.0.1:${port}`), credentials: undefined };
  const asked = ask(connect(() => createSecureContext(), { https: undefined, http, exceptions: '' }));
  await expect(asked).rejects.toMatchObject({ kind: 'proxy_refused' });
  await eventually(() => [...sockets].every(({ readableEnded }) => readableEnded));
  proxy.close();
});

test('a client is not kept in memory after its request', async () => {
  const contexts: WeakRef<SecureContext>[] = [];
  const connections = connect(() => {
    const context = createSecureContext();
    contexts.push(new WeakRef(context));
    return context;
  });
  for (let request = 0; request < 3; request += 1) expect(await ask(connections)).toBe('[]');
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  await eventually(() => {
    if (typeof collect === 'function') collect();
    return contexts.every((context) => context.deref() === undefined);
  });
  await connections.destroy();
});

const providerOf = (env: Record<string, string>) =>
  createProvider(
    parseConfig({
      PROVIDER_ENVIRONMENT: 'sandbox',
      PROVIDER_SANDBOX_BASE_URL: url.href,
      PROVIDER_MAX_BODY: '1kb',
      ...env,
    }),
    {
      version: '0.0.0-test',
      clock: createManualClock(),
      random: () => 0.5,
      addSecret: () => undefined,
      onEvent: () => undefined,
    },
  );

test('a refused answer whose body never ends is given up with the load', async () => {
  answer = (_req, res) => void res.writeHead(503).write('x');
  const deadline = new AbortController();
  const load = providerOf({ PROVIDER_ACCESS_TOKEN: 'token' }).load(deadline.signal, undefined);
  await eventually(() => sockets.size === 1 && [...sockets].every(({ bytesWritten }) => bytesWritten > 0));
  deadline.abort(new Error('too late'));
  await expect(load).rejects.toThrow('too late');
  await eventually(isAllClosed);
});

test('the end of the service ends a request for a token', async () => {
  answer = () => undefined;
  const provider = providerOf({
    PROVIDER_TOKEN_URL: `${url.href}token`,
    PROVIDER_CLIENT_ID: 'client',
    PROVIDER_CLIENT_SECRET: 'secret',
  });
  const load = provider.load(new AbortController().signal, undefined);
  await eventually(() => sockets.size === 1);
  await provider.close();
  await expect(load).rejects.toMatchObject({ kind: 'unreachable' });
  await eventually(isAllClosed);
});

test.each([
  [1_024, 1],
  [1_025, 'too_large'],
] as const)('of PROVIDER_MAX_BODY=1kb, an answer of %i bytes is %s', async (bytes, expected) => {
  const [start, end] = ['[{"code":"', '"}]'];
  answer = (_req, res) => res.end(start + 'x'.repeat(bytes - start.length - end.length) + end);
  const load = providerOf({ PROVIDER_ACCESS_TOKEN: 'token' }).load(new AbortController().signal, undefined);
  const result = await load.then(
    (list) => (list === 'not_modified' ? list : list.count),
    (error: unknown) => (error instanceof Error && 'kind' in error ? error.kind : error),
  );
  expect(result).toBe(expected);
});

test('a date that cannot be sent is not sent back', async () => {
  const asked: (string | undefined)[] = [];
  answer = (req, res) => {
    asked.push(req.headers['if-modified-since']);
    res.end('[]');
  };
  const { load } = providerOf({ PROVIDER_ACCESS_TOKEN: 'token' });
  const { signal } = new AbortController();
  for (const lastModified of ['Thu, 01 Jan 2026 00:00:00 GMT', 'jeudi 1er février', 'x'.repeat(2_000)])
    await load(signal, { etag: undefined, lastModified });
  expect(asked).toEqual(['Thu, 01 Jan 2026 00:00:00 GMT', undefined, undefined]);
});
