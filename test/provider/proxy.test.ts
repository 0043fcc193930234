import { afterEach, expect, test } from '@jest/globals';
import type { IncomingMessage } from 'node:http';
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
import { listenOn } from '../kit/free-port.ts';
import { leaksIn } from '../kit/leaks.ts';
import { clientCredentialsEnv, eventually, nextLoad, startRig, type Rig } from '../kit/rig.ts';
import { startTlsFront, type TlsFront } from '../kit/tls-front.ts';
import { createTunnels } from '../kit/tunnel.ts';

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

  test('the lower-case spelling takes precedence, and neither HTTP_PROXY nor one that NO_PROXY excepts is used', async () => {
    await startProvider();
    const proxy = await startProxy();
    const variants: readonly [Environment, number][] = [
      [{ HTTPS_PROXY: 'http://127.0.0.1:9', https_proxy: proxy.url }, 1],
      [{ HTTP_PROXY: 'http://127.0.0.1:9' }, 0],
      ...['localhost', '.localhost', 'example.com, LOCALHOST', `localhost:${front.port}`, '*'].map(
        (NO_PROXY): [Environment, number] => [{ HTTPS_PROXY: proxy.url, NO_PROXY }, 0],
      ),
      ...['host', 'localhost:1', 'example.com'].map((NO_PROXY): [Environment, number] => [
        { HTTPS_PROXY: proxy.url, NO_PROXY },
        1,
      ]),
    ];
    for (const [env, tunnels] of variants) {
      const before = proxy.targets().length;
      await getBanks(await startService(env)).expect(200);
      expect({ env, tunnels: proxy.targets().length - before }).toEqual({ env, tunnels });
    }
  });

  test.each<[string, ForwardProxyOptions, (proxy: ForwardProxy) => Environment, string, RegExp]>([
    [
      'a wrong password',
      { credentials: CREDENTIALS },
      ({ port }) => ({ HTTPS_PROXY: `http://a-user:wrong-password@127.0.0.1:${port}` }),
      'proxy_refused',
      /proxy in HTTPS_PROXY does not accept the user and password .*\(401\)/,
    ],
    [
      'no password',
      { credentials: CREDENTIALS },
      ({ url }) => ({ HTTPS_PROXY: url }),
      'proxy_refused',
      /or requires them \(407\)/,
    ],
    [
      'the address',
      { onlyPort: 443 },
      ({ url }) => ({ HTTPS_PROXY: url }),
      'proxy_refused',
      /proxy in HTTPS_PROXY refuses to connect to this address \(403\)/,
    ],
    [
      'the address of the token endpoint',
      { onlyPort: 443 },
      ({ url }) => ({ ...clientCredentialsEnv(provider), HTTP_PROXY: url }),
      'proxy_refused',
      /the token endpoint: the proxy in HTTP_PROXY refuses/,
    ],
    [
      'an address that it cannot reach',
      {},
      ({ url }) => ({ HTTPS_PROXY: url, PROVIDER_SANDBOX_BASE_URL: 'https://localhost:9' }),
      'unreachable',
      /proxy in HTTPS_PROXY cannot connect any further \(500\)/,
    ],
  ])(
    'its refusal of %s is told, and the provider is not asked',
    async (_what, options, env, kind, message) => {
      await startProvider();
      const rig = await startService(env(await startProxy(options)));
      await expectFailure(rig, kind, message);
      expect([front.clients, provider.allCalls()]).toEqual([[], 0]);
      expect(leaksIn(rig.log(), new Map([['password', 'wrong-password']]))).toEqual([]);
    },
  );

  test('a proxy that hangs has half of PROVIDER_TIMEOUT, and recovers; one that is gone is named', async () => {
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
    await nextLoad(rig);
    expect(failureOf(rig)).toBeUndefined();
    await proxy.kill();
    await nextLoad(rig);
    expect(failureOf(rig)?.message).toBe('no connection to the proxy in HTTPS_PROXY (ECONNREFUSED)');
    await getBanks(rig).expect(200);
  });
});

test('the proxy gets the decoded user and password and a User-Agent, and nothing that is for the provider', async () => {
  await startProvider();
  const requests: IncomingMessage[] = [];
  const forbidden = 'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n';
  const proxy = createTunnels({ head: forbidden, onConnect: (request) => void requests.push(request) });
  closers.push(() => proxy.close());
  const user = encodeURIComponent('a user:é');
  const password = encodeURIComponent('p@ss/wörd%41');
  const rig = await startService({
    HTTPS_PROXY: `http://${user}:${password}@127.0.0.1:${await listenOn(proxy)}`,
  });
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

// A proxy that answers CONNECT like this, and then really is a tunnel.
test.each([
  ['HTTP/1.1 201 Tunnel Created\r\n\r\n', undefined],
  ['HTTP/1.1 204 No Content\r\n\r\n', undefined],
  ['HTTP/1.1 299 Fine\r\nVia: a proxy\r\n\r\n', undefined],
  ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n', /proxy in HTTPS_PROXY .* is an interim one/],
  ['HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n', /proxy in HTTPS_PROXY .* is an interim one/],
  ['SSH-2.0-OpenSSH_9.2\r\n', /the answer of the proxy in HTTPS_PROXY is not HTTP/],
])('every 2xx of a proxy opens the tunnel, and nothing else: %j', async (head, message) => {
  await startProvider();
  const proxy = createTunnels({ to: () => front.port, head });
  closers.push(() => proxy.close());
  const rig = await startService({ HTTPS_PROXY: `127.0.0.1:${await listenOn(proxy)}` });
  if (message) return expectFailure(rig, 'proxy_unreachable', message);
  await getBanks(rig).expect(200);
  expect(front.clients).toEqual(['the service']);
});
