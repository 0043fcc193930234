import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import {
  createServer as createTcpServer,
  type LookupFunction,
  type Server as TcpServer,
  type Socket,
} from 'node:net';
import { createGzip } from 'node:zlib';
import { LoadError } from '../../src/banks/load-error.ts';
import { parseConfig, type Config } from '../../src/config/config.ts';
import {
  createConnections,
  type Connections,
  type ConnectionsOptions,
} from '../../src/provider/connections.ts';
import { createProvider } from '../../src/provider/provider.ts';
import { listenOn } from '../helpers/free-port.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { createTestSecrets } from '../helpers/secret-files.ts';
import { createTunnels } from '../helpers/tunnel.ts';
import { eventually } from '../helpers/wait-until.ts';

// What a request leaves behind, whatever the server does: no connection.

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
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server.closeAllConnections();
  server.close();
});

const isAllClosed = (): boolean =>
  sockets.size > 0 && [...sockets].every(({ destroyed }) => destroyed);

const NO_PROXIES: Config['provider']['proxies'] = {
  https: undefined,
  http: undefined,
  exceptions: '',
};

const viaProxy = async (proxy: TcpServer): Promise<typeof NO_PROXIES> => ({
  ...NO_PROXIES,
  http: { url: new URL(`http://127.0.0.1:${await listenOn(proxy)}`), credentials: undefined },
});

const connect = (proxies = NO_PROXIES, lookup?: LookupFunction): Connections =>
  createConnections({
    peer: 'the provider',
    url,
    secrets: createTestSecrets(createManualClock()),
    proxies,
    userAgent: 'banks-bff/0.0.0-test',
    timeoutMs: 5_000,
    maxBodyBytes: 1_000,
    clock: createManualClock(),
    lookup,
  });
const ask = (connections: Connections): Promise<string> =>
  connections.request(
    { method: 'GET', path: '/', signal: new AbortController().signal },
    ({ body }) => body.text(),
  );

test.each([
  [20, '[]'],
  [21, 'malformed: the provider sends more than 20 interim responses (1xx)'],
  [100_000, 'malformed: the provider sends more than 20 interim responses (1xx)'],
])('after %d interim responses the outcome is %j', async (count, outcome) => {
  const interim = 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(count);
  const raw = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () =>
      socket.end(`${interim}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]`),
    );
  });
  url = new URL(`http://127.0.0.1:${await listenOn(raw)}`);
  const seen = ask(connect()).catch(
    (error: unknown) => error instanceof LoadError && `${error.kind}: ${error.message}`,
  );
  expect(await seen).toBe(outcome);
  raw.close();
});

/** A server, or a proxy, that answers with `start` and then sends `rest` without end. */
const createFlood = (start: string, rest: string): TcpServer =>
  createTcpServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    const block = Buffer.from(rest.repeat(10_000));
    const send = (): void => {
      let isTaken = true;
      while (isTaken && !socket.destroyed) isTaken = socket.write(block);
    };
    socket.on('drain', send).once('data', () => {
      socket.write(start);
      send();
    });
  });

test.each([
  ['a status line', 'HTTP/1.1 200 ', 'a'],
  ['empty lines', '', '\r\n'],
  ['a chunk extension', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;', 'a'],
])('%s without end is not read until the deadline', async (_what, start, rest) => {
  const flood = createFlood(start, rest);
  url = new URL(`http://127.0.0.1:${await listenOn(flood)}`);
  await expect(ask(connect())).rejects.toMatchObject({
    kind: 'too_large',
    message: 'the response has more than 532288 bytes',
  });
  await eventually(isAllClosed);
  flood.close();
});

test.each([
  ['a status line', 'HTTP/1.1 200 ', 'a'],
  ['empty lines', '', '\r\n'],
])('%s without end of a proxy is not read until the deadline', async (_what, start, rest) => {
  const proxy = createFlood(start, rest);
  const asked = ask(connect(await viaProxy(proxy)));
  await expect(asked).rejects.toMatchObject({
    kind: 'proxy_unreachable',
    message: 'the response of the proxy in HTTP_PROXY has more than 524288 bytes',
  });
  await eventually(isAllClosed);
  proxy.close();
});

test('through a proxy that sends something before the provider is asked, there is one attempt', async () => {
  const proxy = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\nunexpected\r\n\r\n')).resume();
  });
  const asked = ask(connect(await viaProxy(proxy)));
  await expect(asked).rejects.toMatchObject({
    kind: 'unreachable',
    message:
      'the connection to the provider through the proxy in HTTP_PROXY was closed before the request was sent, or received something other than HTTP',
  });
  expect(sockets.size).toBe(1);
  proxy.close();
});

test('a decoder that reads without end and gives nothing is stopped at the limit', async () => {
  answer = (_req, res) => {
    res.writeHead(200, { 'Content-Encoding': 'gzip', 'Content-Type': 'application/json' });
    // The beginning of gzip, with the flag for a file name, which ends with a zero.
    res.write(Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]));
    const name = Buffer.alloc(65_536, 'a');
    const send = (): void => {
      let isTaken = true;
      while (isTaken && !res.destroyed) isTaken = res.write(name);
    };
    send();
    res.on('drain', send);
  };
  const { load } = createLoads(
    { PROVIDER_ACCESS_TOKEN: 'token', PROVIDER_MAX_BODY: '300kb' },
    false,
  );
  await expect(load()).rejects.toMatchObject({
    kind: 'too_large',
    message: 'the response has more than 307200 bytes',
  });
  await eventually(isAllClosed);
});

test('a body is not read any further once it is too large, in whatever few bytes it came', async () => {
  answer = (_req, res) => {
    res.writeHead(200, { 'Content-Encoding': 'gzip', 'Content-Type': 'application/json' });
    const gzip = createGzip();
    gzip.pipe(res);
    // It never ends.
    gzip.write(`[${' '.repeat(400_000)}`);
    gzip.flush();
  };
  const { load } = createLoads(
    { PROVIDER_ACCESS_TOKEN: 'token', PROVIDER_MAX_BODY: '300kb' },
    false,
  );
  await expect(load()).rejects.toMatchObject({ kind: 'too_large' });
  await eventually(isAllClosed);
});

test('each request has a connection of its own, which is closed after it, also if the server would keep it', async () => {
  // Without this invitation undici closes an idle connection itself, after 4 s.
  answer = (_req, res) => res.setHeader('Keep-Alive', 'timeout=300').end('[]');
  const connections = connect();
  for (let request = 0; request < 3; request += 1) expect(await ask(connections)).toBe('[]');
  // Its encoding is refused before anything is read.
  answer = (_req, res) =>
    res.writeHead(200, { 'Keep-Alive': 'timeout=300', 'Content-Encoding': 'zstd' }).end('[]');
  const { load } = createLoads({ PROVIDER_ACCESS_TOKEN: 'token' }, false);
  await expect(load()).rejects.toMatchObject({ kind: 'malformed' });
  expect(sockets.size).toBe(4);
  await eventually(isAllClosed);
});

test('the connection to a proxy that refuses is closed, also if the proxy leaves it open', async () => {
  const proxy = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    socket
      .once('data', () => socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n'))
      .resume();
  });
  const asked = ask(connect(await viaProxy(proxy)));
  await expect(asked).rejects.toMatchObject({ kind: 'proxy_refused' });
  await eventually(() => [...sockets].every(({ readableEnded }) => readableEnded));
  proxy.close();
});

test.each([
  ['[::1]', ['::1', '[::1]', '[::1]:PORT', '0:0:0:0:0:0:0:1', 'a.example,*'], ['::2', '[::1]:1']],
  [
    'api.example.com',
    ['api.example.com.', 'API.example.com.:PORT', 'Example.com.', '*.example.com', 'a *,b'],
    ['pi.example.com', 'www.api.example.com', 'api.example.com.:1', '.', '*.', ':PORT', '*:1', ''],
  ],
  [
    'api.example.com.',
    ['api.example.com', 'api.example.com:PORT', '.example.com', 'api.example.com.'],
    ['.', 'api.example.com:1'],
  ],
  ['127.0.0.1', ['127.0.0.1', 'a.example , 127.0.0.1:PORT'], ['127.0.0.2', '::1']],
])('NO_PROXY excepts %s where it is %j, and not where it is %j', async (host, direct, proxied) => {
  const provider = createServer((_req, res) => res.end('[]'));
  const port = await listenOn(provider, 0, '::');
  url = new URL(`http://${host}:${port}`);
  const targets: string[] = [];
  const onConnect = (request: IncomingMessage): void => void targets.push(request.url ?? '');
  const proxy = createTunnels({ to: () => port, onConnect });
  const proxies = await viaProxy(proxy);
  const lookup: LookupFunction = (_host, _options, callback) =>
    callback(null, [{ address: '127.0.0.1', family: 4 }]);
  const outcomes: Record<string, number> = {};
  for (const entry of [...direct, ...proxied]) {
    targets.length = 0;
    const exceptions = entry.replace('PORT', `${port}`);
    expect(await ask(connect({ ...proxies, exceptions }, lookup))).toBe('[]');
    outcomes[entry] = targets.length;
  }
  expect(outcomes).toEqual(
    Object.fromEntries([...direct.map((each) => [each, 0]), ...proxied.map((each) => [each, 1])]),
  );
  proxy.close();
  provider.close();
});

/** A provider, and what it tells. Its loads may end, too late, as soon as an answer has begun. */
const createLoads = (env: Record<string, string>, isLate = true) => {
  const deadline = new AbortController();
  const giveUp = (): void => deadline.abort(new Error('too late'));
  const events: string[] = [];
  const watched = (options: ConnectionsOptions): Connections => ({
    request: (request, read) =>
      createConnections(options).request(request, (response) => {
        if (isLate) setImmediate(giveUp);
        return read(response);
      }),
  });
  const config = { PROVIDER_ENVIRONMENT: 'sandbox', PROVIDER_SANDBOX_BASE_URL: url.href, ...env };
  const clock = createManualClock();
  const provider = createProvider(parseConfig(config), {
    version: '0.0.0-test',
    clock,
    secrets: createTestSecrets(clock),
    addSecret: () => undefined,
    random: () => 0.5,
    onEvent: ({ type }) => void events.push(type),
    createConnections: watched,
  });
  return {
    provider,
    events,
    giveUp,
    load: async () => (await provider.load(deadline.signal))(deadline.signal),
  };
};

test.each([undefined, 200, 503])(
  'a response that never comes or never ends (%p) is given up with the load, and is told unless the service has ended',
  async (status) => {
    for (const hasEnded of [false, true]) {
      const { provider, events, giveUp, load } = createLoads({ PROVIDER_ACCESS_TOKEN: 'token' });
      answer = (_req, res) => {
        if (hasEnded) provider.close();
        if (status === undefined) giveUp();
        else res.writeHead(status).write('[');
      };
      await expect(load()).rejects.toThrow('too late');
      expect(events).toEqual(hasEnded ? [] : ['provider-called']);
      await eventually(isAllClosed);
    }
  },
);

test('a load that ends while it waits for a token asks for no list', async () => {
  const { events, giveUp, load } = createLoads({
    PROVIDER_TOKEN_URL: `${url.href}token`,
    PROVIDER_CLIENT_ID: 'client',
    PROVIDER_CLIENT_SECRET: 'secret',
  });
  answer = (_req, res) => {
    giveUp();
    res
      .setHeader('content-type', 'application/json')
      .end('{"access_token":"a","token_type":"Bearer"}');
  };
  await expect(load()).rejects.toThrow('too late');
  expect(events).toEqual(['token-renewed']);
});

test.each([
  [1_024, 'resolves'],
  [1_025, 'too_large'],
])('with PROVIDER_MAX_BODY=1kb, a load of %i bytes ends as %s', async (bytes, outcome) => {
  const [start, end] = ['[{"code":"', '"}]'];
  answer = (_req, res) => res.end(start + 'x'.repeat(bytes - start.length - end.length) + end);
  const { load } = createLoads({ PROVIDER_ACCESS_TOKEN: 'token', PROVIDER_MAX_BODY: '1kb' }, false);
  const ends = load().then(
    () => 'resolves',
    (error: unknown) => LoadError.from(error).kind,
  );
  expect(await ends).toBe(outcome);
});
