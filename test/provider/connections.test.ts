import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parseConfig, type Config } from '../../src/config/config.ts';
import {
  createConnections,
  type Connections,
  type ConnectionsOptions,
} from '../../src/provider/connections.ts';
import { createProvider } from '../../src/provider/provider.ts';
import { listenOn } from '../kit/free-port.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { eventually } from '../kit/rig.ts';

// What a request leaves behind, whatever the server does: no connection, and nothing in memory.

let server: Server;
let url: URL;
let sockets: Set<Socket>;
let answer: RequestListener;
let events: string[];
beforeEach(async () => {
  sockets = new Set();
  events = [];
  answer = (_req, res) => res.end('[]');
  server = createServer((req, res) => answer(req, res));
  // It never closes a connection by itself.
  server.keepAliveTimeout = 0;
  server.on('connection', (socket) => sockets.add(socket));
  url = new URL(`http://127.0.0.1:${await listenOn(server)}`);
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const isAllClosed = (): boolean => sockets.size > 0 && [...sockets].every(({ destroyed }) => destroyed);

const NO_PROXIES: Config['provider']['proxies'] = { https: undefined, http: undefined, exceptions: '' };

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
  });
  const http = { url: new URL(`http://127.0.0.1:${await listenOn(proxy)}`), credentials: undefined };
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
});

const providerOf = (env: Record<string, string>, connectTo = createConnections) =>
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
      onEvent: ({ type }) => void events.push(type),
      connect: connectTo,
    },
  );

test('a request without an answer is given up with the load', async () => {
  const deadline = new AbortController();
  answer = () => deadline.abort(new Error('too late'));
  const load = providerOf({ PROVIDER_ACCESS_TOKEN: 'token' }).load(deadline.signal);
  await expect(load).rejects.toThrow('too late');
  expect(events).toEqual(['provider-called']);
  await eventually(isAllClosed);
});

test.each([200, 503])('an answer of %i whose body never ends is given up with the load', async (status) => {
  answer = (_req, res) => void res.writeHead(status).write('[');
  const deadline = new AbortController();
  const watched = (options: ConnectionsOptions): Connections => ({
    request: (request, read) =>
      createConnections(options).request(request, (response) => {
        setImmediate(() => deadline.abort(new Error('too late')));
        return read(response);
      }),
  });
  const load = providerOf({ PROVIDER_ACCESS_TOKEN: 'token' }, watched).load(deadline.signal);
  await expect(load).rejects.toThrow('too late');
  await eventually(isAllClosed);
});

test('after the end of the service no request is told', async () => {
  const deadline = new AbortController();
  const provider = providerOf({ PROVIDER_ACCESS_TOKEN: 'token' });
  answer = () => {
    provider.close();
    deadline.abort(new Error('too late'));
  };
  await expect(provider.load(deadline.signal)).rejects.toThrow('too late');
  expect(events).toEqual([]);
});

const fromEndpoint = () => ({
  PROVIDER_TOKEN_URL: `${url.href}token`,
  PROVIDER_CLIENT_ID: 'client',
  PROVIDER_CLIENT_SECRET: 'secret',
});

test('a load that ends while it waits for a token asks for no list', async () => {
  const deadline = new AbortController();
  answer = (_req, res) => {
    deadline.abort(new Error('too late'));
    res.setHeader('content-type', 'application/json').end('{"access_token":"a","token_type":"Bearer"}');
  };
  await expect(providerOf(fromEndpoint()).load(deadline.signal)).rejects.toThrow('too late');
  expect(events).toEqual(['token-renewed']);
});

test('the end of the service ends a request for a token', async () => {
  answer = () => undefined;
  const provider = providerOf(fromEndpoint());
  const load = provider.load(new AbortController().signal);
  await eventually(() => sockets.size === 1);
  provider.close();
  await expect(load).rejects.toMatchObject({ kind: 'unreachable' });
  expect(events).toEqual([]);
  await eventually(isAllClosed);
});

test.each([
  [1_024, 1],
  [1_025, 'too_large'],
] as const)('of PROVIDER_MAX_BODY=1kb, an answer of %i bytes is %s', async (bytes, expected) => {
  const [start, end] = ['[{"code":"', '"}]'];
  answer = (_req, res) => res.end(start + 'x'.repeat(bytes - start.length - end.length) + end);
  const load = providerOf({ PROVIDER_ACCESS_TOKEN: 'token' }).load(new AbortController().signal);
  const result = await load.then(
    (list) => list.count,
    (error: unknown) => (error instanceof Error && 'kind' in error ? error.kind : error),
  );
  expect(result).toBe(expected);
});
