import { expect, test } from '@jest/globals';
import type { IncomingMessage } from 'node:http';
import supertest from 'supertest';
import type { Emulator } from '../../emulator/emulator.ts';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { describeWithHaproxy, startAlertingServer } from '../helpers/haproxy.ts';
import { createAuthority, type Pair } from '../helpers/authority.ts';
import { emulate, makeBanks } from '../helpers/emulate.ts';
import { describeWithProxy, startForwardProxy } from '../helpers/forward-proxy.ts';
import { runService } from '../helpers/process.ts';
import { clientCredentialsEnv, startRig, type Rig } from '../helpers/rig.ts';
import { serve } from '../helpers/serve.ts';
import { startTlsFront, type TlsFront, type TlsFrontOptions } from '../helpers/tls-front.ts';
import { createTunnels } from '../helpers/watched-proxy.ts';

// What stands between the service and a provider that speaks TLS: a private authority, client
// certificates, and a forward proxy, a real one. What is wrong with a certificate of the provider is
// in test/doctor, and rotated files are in test/secrets.

const authority = createAuthority();
const clientAuthority = createAuthority('authority of clients');
const server = authority.issue('localhost');
const TRUST = { PROVIDER_TLS_CA_FILE: authority.certFile };
const mutual = (pair: Pair): EnvironmentVariables => ({
  ...TRUST,
  PROVIDER_TLS_CERT_FILE: pair.certFile,
  PROVIDER_TLS_KEY_FILE: pair.keyFile,
});

let provider: Emulator;
let front: TlsFront;

const startProvider = async (options: Partial<TlsFrontOptions> = {}): Promise<void> => {
  provider = await emulate();
  front = await startTlsFront({ to: provider.baseUrl, pair: server, ...options });
};

const startService = (env: EnvironmentVariables): Promise<Rig> =>
  startRig({ provider, env: { PROVIDER_SANDBOX_BASE_URL: front.url, ...env } });

const getBanks = (rig: Rig) => supertest(rig.url).get('/banks');
const failureOf = (rig: Rig) => rig.service.list.status().failing?.error;
const messages = (rig: Rig): string => rig.messages().join('\n');

/** Fails as `kind` with a message of this kind, and with 503 for users. */
const expectFailure = async (rig: Rig, kind: string, message: RegExp): Promise<void> => {
  await getBanks(rig).expect(503);
  expect(failureOf(rig)?.kind).toBe(kind);
  expect(messages(rig)).toMatch(message);
};

test('a private authority is trusted by PROVIDER_TLS_CA_FILE, for the token endpoint too', async () => {
  await startProvider();
  const rig = await startService({
    ...TRUST,
    ...clientCredentialsEnv(provider),
    PROVIDER_TOKEN_URL: `${front.url}/oauth/token`,
  });
  await getBanks(rig).expect(200);
  expect(front.clients).toEqual(['none', 'none']);
  for (const { headers } of provider.calls)
    expect(headers['user-agent']).toBe('banks-bff/0.0.0-test');
});

const intermediate = createAuthority('an intermediate authority', authority);
const ofIntermediate = intermediate.issue('localhost');
const chained = { ...ofIntermediate, cert: ofIntermediate.cert + intermediate.cert };

test.each([
  ['an intermediate authority', 200, intermediate],
  ['the certificate of the provider', 200, ofIntermediate],
  ['another certificate of its authority', 503, intermediate.issue('another')],
])('%s alone in PROVIDER_TLS_CA_FILE: %d', async (_which, status, { certFile }) => {
  await startProvider({ pair: chained });
  await getBanks(await startService({ PROVIDER_TLS_CA_FILE: certFile })).expect(status);
});

test("the authority of PROVIDER_TLS_CA_FILE is trusted besides Node's own", async () => {
  const printAuthorities = `
    import { syncBuiltinESMExports } from 'node:module';
    import tls from 'node:tls';
    const { createSecureContext } = tls;
    tls.createSecureContext = (options) => {
      const own = tls.getCACertificates?.('default') ?? tls.rootCertificates;
      const isTrusted = (authority) => options.ca.includes(authority);
      console.log('own', own.length, 'trusted', own.filter(isTrusted).length, 'of', options.ca.length);
      return createSecureContext(options);
    };
    syncBuiltinESMExports();`;
  const program = runService(
    { ...TRUST, PROVIDER_SANDBOX_BASE_URL: 'https://localhost' },
    { preload: printAuthorities, programArgs: ['check-config'] },
  );
  expect(await program.exit).toBe(0);
  const [, own, trusted, all] = /own (\d+) trusted (\d+) of (\d+)/.exec(program.output()) ?? [];
  expect(Number(own)).toBeGreaterThan(100);
  expect([Number(trusted), Number(all)]).toEqual([Number(own), Number(own) + 1]);
});

describeWithHaproxy('a handshake that the provider refuses', () => {
  test.each<[string, 'TLSv1.2' | 'TLSv1.3', EnvironmentVariables, RegExp]>([
    ['without a client certificate', 'TLSv1.2', TRUST, /\(ERR_SSL_[\w/]+HANDSHAKE_FAILURE\)/],
    ['with one of another authority', 'TLSv1.3', mutual(server), /\(ERR_SSL_\w+UNKNOWN_CA\)/],
  ])('%s (%s) is explained by its alert', async (_what, newestVersion, env, message) => {
    await startProvider();
    const { certFile: clientAuthorityFile } = clientAuthority;
    const alerting = await startAlertingServer({
      pair: server,
      clientAuthorityFile,
      newestVersion,
    });
    const rig = await startService({ ...env, PROVIDER_SANDBOX_BASE_URL: alerting.url });
    await expectFailure(rig, 'unreachable', message);
    expect(messages(rig)).toMatch(/requires a client certificate; check PROVIDER_TLS_CERT_FILE/);
  });
});

describeWithProxy('through a forward proxy', () => {
  const CREDENTIALS = { user: 'a-user', password: 'canary-Pr0xy.password_1' };

  test('an http: provider is reached too, and its list may be large', async () => {
    provider = await emulate({ banks: makeBanks(5_000) });
    const proxy = await startForwardProxy();
    const rig = await startRig({ provider, env: { HTTP_PROXY: proxy.url } });
    expect((await getBanks(rig).expect(200)).body).toHaveLength(5_000);
    expect(proxy.targets()).toEqual([new URL(provider.baseUrl).host]);
  });

  test('the lower-case spelling takes precedence, and neither HTTP_PROXY nor one that NO_PROXY excepts is used', async () => {
    await startProvider();
    const proxy = await startForwardProxy();
    const variants: readonly [EnvironmentVariables, number][] = [
      [{ HTTPS_PROXY: 'http://127.0.0.1:9', https_proxy: proxy.url }, 1],
      [{ HTTP_PROXY: 'http://127.0.0.1:9' }, 0],
      // Excepted by its host, and not by another one.
      [{ HTTPS_PROXY: proxy.url, NO_PROXY: 'example.com, LOCALHOST' }, 0],
      [{ HTTPS_PROXY: proxy.url, NO_PROXY: 'example.com' }, 1],
    ];
    for (const [env, tunnels] of variants) {
      const before = proxy.targets().length;
      await getBanks(await startService({ ...TRUST, ...env })).expect(200);
      expect({ env, tunnels: proxy.targets().length - before }).toEqual({ env, tunnels });
    }
  });

  test('a refusal to reach the token endpoint is told with its variable, and nobody is asked', async () => {
    await startProvider();
    const { url } = await startForwardProxy({ credentials: CREDENTIALS, onlyPort: 443 });
    const HTTP_PROXY = url.replace('//', `//${CREDENTIALS.user}:${CREDENTIALS.password}@`);
    const narrow = await startService({ ...TRUST, ...clientCredentialsEnv(provider), HTTP_PROXY });
    await expectFailure(
      narrow,
      'unreachable',
      /HTTP_PROXY opens no connection to the token endpoint \(403\)/,
    );
    expect([front.clients, provider.calls]).toEqual([[], []]);
  });
});

test('the proxy gets the decoded user and password and a User-Agent, and nothing that is for the provider', async () => {
  await startProvider();
  const requests: IncomingMessage[] = [];
  const head = 'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n';
  const proxy = createTunnels({ head, onConnect: (request) => void requests.push(request) });
  const userInfo = `${encodeURIComponent('a user:é')}:${encodeURIComponent('p@ss/wörd%41')}`;
  const HTTPS_PROXY = `http://${userInfo}@127.0.0.1:${await serve(proxy)}`;
  const rig = await startService({ ...TRUST, HTTPS_PROXY });
  await getBanks(rig).expect(503);
  expect(requests.map(({ headers }) => headers)).toEqual([
    {
      host: `localhost:${front.port}`,
      connection: 'close',
      'proxy-connection': 'keep-alive',
      'proxy-authorization': `Basic ${Buffer.from('a user:é:p@ss/wörd%41').toString('base64')}`,
      'user-agent': 'banks-bff/0.0.0-test',
    },
  ]);
});
