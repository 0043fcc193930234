import { afterEach, expect, test } from '@jest/globals';
import { startEmulator } from '../../emulator/emulator.ts';
import type { Environment } from '../../src/config/reader.ts';
import { runDoctor } from '../kit/run-doctor.ts';
import { startAlertingServer } from '../kit/alerting-server.ts';
import { createAuthority, type Pair } from '../kit/authority.ts';
import { describeWithProxy, startForwardProxy } from '../kit/forward-proxy.ts';
import { describeWithHaproxy } from '../kit/haproxy.ts';
import { leaksIn } from '../kit/leaks.ts';
import { startTlsFront } from '../kit/tls-front.ts';

// The doctor about what stands between the service and the provider: proxies, mutual TLS, private authorities.

const authority = createAuthority();
const server = authority.issue('localhost');
const client = authority.issue('the service');
const stranger = createAuthority('another authority').issue('a stranger');
const PASSWORD = 'canary-Pr0xy.password_1';
const KEY_LINES = client.key.split('\n').slice(1, -2);

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const doctor = async (env: Environment) => {
  const report = await runDoctor(env);
  const secrets = new Map([['password', PASSWORD], ...KEY_LINES.map((line) => ['key', line] as const)]);
  expect(leaksIn(report.text, secrets)).toEqual([]);
  return report;
};

const mutual = (pair: Pair): Environment => ({
  PROVIDER_TLS_CA_FILE: authority.certFile,
  PROVIDER_TLS_CERT_FILE: pair.certFile,
  PROVIDER_TLS_KEY_FILE: pair.keyFile,
});

const startProvider = async (): Promise<string> => {
  const emulator = await startEmulator();
  const front = await startTlsFront({ to: emulator.baseUrl, pair: server, clientAuthority: authority.cert });
  closers.push(
    () => emulator.close(),
    () => front.close(),
  );
  return front.url;
};

describeWithProxy('a forward proxy', () => {
  const startProxy = async (options = {}) => {
    const proxy = await startForwardProxy(options);
    closers.push(() => proxy.kill());
    return proxy;
  };
  const credentials = { user: 'user', password: PASSWORD };

  test('is passed over mutual TLS, and named', async () => {
    const proxy = await startProxy({ credentials });
    const { status, text } = await doctor({
      ...mutual(client),
      PROVIDER_SANDBOX_BASE_URL: await startProvider(),
      HTTPS_PROXY: `http://user:${PASSWORD}@127.0.0.1:${proxy.port}`,
    });
    expect(status).toBe(0);
    expect(text).toMatch(/^ok +address +connected to the provider through the proxy at 127\.0\.0\.1 after/m);
    expect(text).toMatch(/^ok +TLS +TLSv1\.3, the certificate is valid for/m);
  });

  test.each<[string, object, string, ...said: RegExp[]]>([
    [
      'wants another password',
      { credentials: { user: 'user', password: 'other' } },
      '',
      /proxy in HTTPS_PROXY does not accept the user/,
      /check the user and password in HTTPS_PROXY/,
    ],
    [
      'does not allow the port',
      { onlyPort: 443 },
      '',
      /proxy in HTTPS_PROXY refuses to connect .* \(403\)/,
      /ask who runs the proxy to allow this host/,
    ],
    [
      'cannot reach the provider',
      {},
      'https://localhost:9',
      /proxy in HTTPS_PROXY cannot connect any further \(500\)/,
      /the proxy cannot find or reach localhost:9/,
    ],
  ])('that %s is named', async (_what, options, address, ...said) => {
    const proxy = await startProxy(options);
    const { status, text, steps } = await doctor({
      ...mutual(client),
      PROVIDER_SANDBOX_BASE_URL: address || (await startProvider()),
      HTTPS_PROXY: `http://user:${PASSWORD}@127.0.0.1:${proxy.port}`,
    });
    expect({ status, failed: steps('FAIL') }).toEqual({ status: 1, failed: ['address'] });
    for (const words of said) expect(text).toMatch(words);
  });

  test('that hangs, and one that is not there, are named', async () => {
    const proxy = await startProxy();
    proxy.stall();
    closers.push(() => proxy.resume());
    const env = {
      ...mutual(client),
      PROVIDER_SANDBOX_BASE_URL: await startProvider(),
      PROVIDER_TIMEOUT: '2s',
    };
    const hanging = await doctor({ ...env, https_proxy: proxy.url });
    expect(hanging.text).toMatch(/FAIL +address +the proxy in HTTPS_PROXY opened no tunnel within 1000 ms/);
    const missing = await doctor({ ...env, https_proxy: 'http://127.0.0.1:9' });
    expect(missing.text).toMatch(/FAIL +address +no connection to the proxy in HTTPS_PROXY \(ECONNREFUSED\)/);
    for (const { text } of [hanging, missing]) expect(text).toContain('check HTTPS_PROXY or HTTP_PROXY; if');
  });

  test('behind which the handshake fails is not blamed', async () => {
    const proxy = await startProxy();
    const { text, steps } = await doctor({
      PROVIDER_SANDBOX_BASE_URL: await startProvider(),
      HTTPS_PROXY: proxy.url,
    });
    expect(steps('FAIL')).toEqual(['TLS']);
    expect(text).toContain('set PROVIDER_TLS_CA_FILE');
  });
});

test('a certificate is noted in the last two weeks before it expires, and not before', async () => {
  const emulator = await startEmulator();
  closers.push(() => emulator.close());
  for (const [daysLeft, verdict] of [
    [13.5, 'note'],
    [14.5, 'ok'],
  ] as const) {
    const end = new Date(Date.now() + daysLeft * 86_400_000).toISOString();
    const dates = { from: '20200101000000Z', until: `${end.slice(0, 19).replaceAll(/\D/g, '')}Z` };
    const front = await startTlsFront({ to: emulator.baseUrl, pair: authority.issue('localhost', dates) });
    closers.push(() => front.close());
    const { status, text } = await doctor({
      PROVIDER_TLS_CA_FILE: authority.certFile,
      PROVIDER_SANDBOX_BASE_URL: front.url,
    });
    expect(status).toBe(0);
    const days = Math.floor(daysLeft);
    expect(text).toMatch(
      new RegExp(`^${verdict} +TLS .* the certificate is valid for ${days} more days$`, 'm'),
    );
  }
});

describeWithHaproxy('a handshake that the provider refuses', () => {
  test.each<['TLSv1.2' | 'TLSv1.3', string, Environment, RegExp]>([
    [
      'TLSv1.2',
      'no',
      { PROVIDER_TLS_CA_FILE: authority.certFile },
      /requires a client certificate \(mutual TLS\)/,
    ],
    ['TLSv1.3', 'another authority’s', mutual(stranger), /does not accept the client certificate/],
  ])('in %s, with %s client certificate, is explained', async (newestVersion, _what, env, advice) => {
    const alerting = await startAlertingServer({
      pair: server,
      clientAuthorityFile: authority.certFile,
      newestVersion,
    });
    closers.push(() => alerting.close());
    const { text, steps } = await doctor({ ...env, PROVIDER_SANDBOX_BASE_URL: alerting.url });
    expect(steps('FAIL')).toEqual(['TLS']);
    expect(text).toMatch(advice);
    expect(text).toMatch(/^ {6}next +.*PROVIDER_TLS_CERT_FILE/m);
  });
});
