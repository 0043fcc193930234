import { afterEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import supertest from 'supertest';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import type { Environment } from '../../src/config/reader.ts';
import { createAuthority } from '../kit/authority.ts';
import {
  describeWithProxy,
  startForwardProxy,
  type ForwardProxy,
  type ForwardProxyOptions,
} from '../kit/forward-proxy.ts';
import { leaksIn } from '../kit/leaks.ts';
import { clientCredentialsEnv, eventually, startRig, type Rig } from '../kit/rig.ts';
import { startSteadyLoad } from '../kit/steady-load.ts';
import { startTlsFront, type TlsFront } from '../kit/tls-front.ts';

// The way out through a forward proxy, a real one, to a provider that speaks TLS and requires a client certificate.

const authority = createAuthority();
const server = authority.issue('localhost');
const client = authority.issue('the service');
const MUTUAL_TLS = {
  PROVIDER_TLS_CA_FILE: authority.certFile,
  PROVIDER_TLS_CERT_FILE: client.certFile,
  PROVIDER_TLS_KEY_FILE: client.keyFile,
};
const CREDENTIALS = { user: 'a-user', password: 'canary-Pr0xy.password_1' };
const USER_INFO = `${CREDENTIALS.user}:${encodeURIComponent(CREDENTIALS.password)}`;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

let provider: Emulator;
let front: TlsFront;

const startProvider = async (): Promise<void> => {
  provider = await startEmulator();
  front = await startTlsFront({ to: provider.baseUrl, pair: server, clientAuthority: authority.cert });
  closers.push(
    () => provider.close(),
    () => front.close(),
  );
};

const startProxy = async (options?: ForwardProxyOptions): Promise<ForwardProxy> => {
  const proxy = await startForwardProxy(options);
  closers.push(() => proxy.kill());
  return proxy;
};

const startService = async (env: Environment): Promise<Rig> => {
  const rig = await startRig({
    provider,
    env: { PROVIDER_SANDBOX_BASE_URL: front.url, ...MUTUAL_TLS, ...env },
  });
  closers.push(() => rig.close());
  return rig;
};

const portOf = (listener: Server): number => {
  const address = listener.address();
  return typeof address === 'object' && address ? address.port : 0;
};

const getBanks = (rig: Rig) => supertest(rig.url).get('/banks');
const failureOf = (rig: Rig) => rig.service.list.status().failure;
const target = (): string => `localhost:${front.port}`;

/** Fails as `kind` with a message of this kind, and with 503 for users. */
const expectFailure = async (rig: Rig, kind: string, message: RegExp): Promise<void> => {
  await getBanks(rig).expect(503);
  expect(failureOf(rig)?.kind).toBe(kind);
  expect(rig.messages().join('\n')).toMatch(message);
};

describeWithProxy('through a forward proxy', () => {
  test.each([
    ['without credentials', undefined, (port: number) => `http://127.0.0.1:${port}`],
    ['without a scheme in its address', undefined, (port: number) => `127.0.0.1:${port}`],
    ['with credentials', CREDENTIALS, (port: number) => `http://${USER_INFO}@127.0.0.1:${port}`],
  ])('%s, the list arrives over mutual TLS', async (_how, credentials, address) => {
    await startProvider();
    const proxy = await startProxy(credentials && { credentials });
    const rig = await startService({ HTTPS_PROXY: address(proxy.port) });
    await getBanks(rig).expect(200);
    expect(proxy.targets()).toEqual([target()]);
    expect(front.clients).toEqual(['the service']);
    expect(leaksIn(rig.log(), new Map([['password', CREDENTIALS.password]]))).toEqual([]);
  });

  test('the token comes from its endpoint, and a plain http: address is tunnelled by HTTP_PROXY', async () => {
    await startProvider();
    const proxy = await startProxy();
    const rig = await startService({
      ...clientCredentialsEnv(provider),
      HTTPS_PROXY: proxy.url,
      http_proxy: proxy.url,
    });
    await getBanks(rig).expect(200);
    expect(proxy.targets()).toEqual([new URL(provider.tokenUrl).host, target()]);
  });

  test('the lower-case spelling takes precedence, and HTTP_PROXY does not stand in for HTTPS_PROXY', async () => {
    await startProvider();
    const proxy = await startProxy();
    const first = await startService({ HTTPS_PROXY: 'http://127.0.0.1:9', https_proxy: proxy.url });
    await getBanks(first).expect(200);
    expect(proxy.targets()).toHaveLength(1);
    const second = await startService({ HTTP_PROXY: 'http://127.0.0.1:9' });
    await getBanks(second).expect(200);
    expect(proxy.targets()).toHaveLength(1);
  });

  test.each(['localhost', '.localhost', 'example.com, LOCALHOST', 'localhost:PORT', '*'])(
    'NO_PROXY=%s bypasses it',
    async (exceptions) => {
      await startProvider();
      const proxy = await startProxy();
      const rig = await startService({
        HTTPS_PROXY: proxy.url,
        NO_PROXY: exceptions.replace('PORT', String(front.port)),
      });
      await getBanks(rig).expect(200);
      expect(proxy.targets()).toEqual([]);
    },
  );

  test.each(['host', 'localhost:1', 'example.com'])('NO_PROXY=%s does not', async (exceptions) => {
    await startProvider();
    const proxy = await startProxy();
    const rig = await startService({ HTTPS_PROXY: proxy.url, NO_PROXY: exceptions });
    await getBanks(rig).expect(200);
    expect(proxy.targets()).toEqual([target()]);
  });

  test('its refusal of the password is a failure of the proxy, and the provider is not asked', async () => {
    await startProvider();
    const proxy = await startProxy({ credentials: CREDENTIALS });
    const rig = await startService({ HTTPS_PROXY: `http://a-user:wrong-password@127.0.0.1:${proxy.port}` });
    await expectFailure(
      rig,
      'proxy_refused',
      /proxy in HTTPS_PROXY does not accept the user and password .*\(401\)/,
    );
    expect(front.clients).toEqual([]);
    expect(leaksIn(rig.log(), new Map([['password', 'wrong-password']]))).toEqual([]);
  });

  test('its 407, where it gets no password, is a failure of the proxy', async () => {
    await startProvider();
    const proxy = await startProxy({ credentials: CREDENTIALS });
    const rig = await startService({ HTTPS_PROXY: proxy.url });
    await expectFailure(rig, 'proxy_refused', /or requires them \(407\)/);
  });

  test('its 403 is a failure of the proxy, for the token endpoint too', async () => {
    await startProvider();
    const proxy = await startProxy({ onlyPort: 443 });
    const rig = await startService({ HTTPS_PROXY: proxy.url });
    await expectFailure(
      rig,
      'proxy_refused',
      /proxy in HTTPS_PROXY refuses to connect to this address \(403\)/,
    );
    const withToken = await startService({ ...clientCredentialsEnv(provider), HTTP_PROXY: proxy.url });
    await expectFailure(withToken, 'proxy_refused', /the token endpoint: the proxy in HTTP_PROXY refuses/);
    expect(provider.allCalls()).toBe(0);
  });

  test('its 5xx means that the provider is out of its reach', async () => {
    await startProvider();
    const proxy = await startProxy();
    const rig = await startService({
      HTTPS_PROXY: proxy.url,
      PROVIDER_SANDBOX_BASE_URL: 'https://localhost:9',
    });
    await expectFailure(rig, 'unreachable', /proxy in HTTPS_PROXY cannot connect any further \(500\)/);
  });

  test('a proxy that hangs has half of PROVIDER_TIMEOUT, and recovers', async () => {
    await startProvider();
    const proxy = await startProxy();
    proxy.stall();
    closers.push(() => proxy.resume());
    const rig = await startService({ HTTPS_PROXY: proxy.url });
    const answer = expectFailure(rig, 'proxy_unreachable', /opened no tunnel within 2500 ms/);
    await eventually(() => rig.clock.waits().includes(2_500));
    rig.clock.advance(2_500);
    await answer;
    proxy.resume();
    rig.clock.next();
    await eventually(() => failureOf(rig) === undefined);
    expect(front.clients).toEqual(['the service']);
  });

  test('killed under load: users get 200 from the cached list, and the failure names the proxy', async () => {
    await startProvider();
    const proxy = await startProxy();
    const rig = await startService({ HTTPS_PROXY: proxy.url, CACHE_TTL: '10s' });
    await getBanks(rig).expect(200);
    const stopLoad = startSteadyLoad(rig);
    await proxy.kill();
    for (let loads = 0; loads < 4; loads += 1) {
      rig.clock.next();
      // oxlint-disable-next-line no-await-in-loop -- one load after the other
      await eventually(() => rig.service.list.status().nextLoadInMs > 0);
    }
    expect(await stopLoad()).toEqual([200]);
    expect(failureOf(rig)?.kind).toBe('proxy_unreachable');
    expect(rig.messages().join('\n')).toContain('no connection to the proxy in HTTPS_PROXY (ECONNREFUSED)');
  });
});

test('the proxy gets the decoded user and password and a User-Agent, and nothing that is for the provider', async () => {
  await startProvider();
  const requests: IncomingMessage[] = [];
  const proxy = createHttpServer()
    .on('connect', (request: IncomingMessage, socket: Socket) => {
      requests.push(request);
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    })
    .listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  closers.push(() => proxy.close());
  const user = encodeURIComponent('a user:é');
  const password = encodeURIComponent('p@ss/wörd%41');
  const rig = await startService({ HTTPS_PROXY: `http://${user}:${password}@127.0.0.1:${portOf(proxy)}` });
  await getBanks(rig).expect(503);
  expect(requests.map(({ headers }) => headers)).toEqual([
    {
      host: target(),
      connection: 'close',
      'proxy-connection': 'keep-alive',
      'proxy-authorization': `Basic ${Buffer.from('a user:é:p@ss/wörd%41').toString('base64')}`,
      'user-agent': 'banks-bff/0.0.0-test',
    },
  ]);
});

/** A proxy that answers CONNECT with `head`, and then really is a tunnel. */
const startTunnel = async (head: string): Promise<number> => {
  const proxy = createHttpServer()
    .on('connect', (_request: IncomingMessage, socket: Socket) => {
      const onward = connect(front.port, '127.0.0.1');
      for (const end of [socket, onward]) end.on('error', () => undefined);
      socket.write(head);
      socket.pipe(onward).pipe(socket);
    })
    .listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  closers.push(() => proxy.close());
  return portOf(proxy);
};

test.each([
  'HTTP/1.1 201 Tunnel Created\r\n\r\n',
  'HTTP/1.1 204 No Content\r\n\r\n',
  'HTTP/1.1 299 Fine\r\nVia: a proxy\r\n\r\n',
])('every 2xx of a proxy opens the tunnel: %j', async (head) => {
  await startProvider();
  const rig = await startService({ HTTPS_PROXY: `127.0.0.1:${await startTunnel(head)}` });
  await getBanks(rig).expect(200);
  expect(front.clients).toEqual(['the service']);
});

test.each(['100 Continue', '103 Early Hints'])('an interim answer of a proxy is told: %s', async (status) => {
  await startProvider();
  const port = await startTunnel(`HTTP/1.1 ${status}\r\n\r\nHTTP/1.1 200 OK\r\n\r\n`);
  const rig = await startService({ HTTPS_PROXY: `127.0.0.1:${port}` });
  await expectFailure(
    rig,
    'proxy_unreachable',
    /answer of the proxy in HTTPS_PROXY is an interim one \(10[03]\)/,
  );
});

test('a proxy that answers something else than HTTP is a failure of the proxy', async () => {
  await startProvider();
  const impostor = createServer((socket) => {
    socket.on('error', () => undefined).end('SSH-2.0-OpenSSH_9.2\r\n');
  }).listen(0, '127.0.0.1');
  await once(impostor, 'listening');
  closers.push(() => impostor.close());
  const rig = await startService({ HTTPS_PROXY: `127.0.0.1:${portOf(impostor)}` });
  await expectFailure(rig, 'proxy_unreachable', /the answer of the proxy in HTTPS_PROXY is not HTTP/);
});
