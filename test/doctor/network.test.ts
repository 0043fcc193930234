import { expect, test } from '@jest/globals';
import { createServer } from 'node:net';
import type { EnvironmentVariables } from '../../src/config/reader.ts';
import { emulate } from '../helpers/emulate.ts';
import { runDoctor } from '../helpers/run-doctor.ts';
import { startAlertingServer } from '../helpers/alerting-server.ts';
import { createAuthority, type Pair } from '../helpers/authority.ts';
import { closeLater } from '../helpers/close-later.ts';
import {
  describeWithProxy,
  startForwardProxy,
  type ForwardProxyOptions,
} from '../helpers/forward-proxy.ts';
import { describeWithHaproxy } from '../helpers/haproxy.ts';
import { listenOn } from '../helpers/free-port.ts';
import { leaksIn } from '../helpers/leaks.ts';
import { startTlsFront } from '../helpers/tls-front.ts';

// The doctor about what stands between the service and the provider: proxies, mutual TLS, private
// authorities.

const authority = createAuthority();
const server = authority.issue('localhost');
const client = authority.issue('the service');
const stranger = createAuthority('another authority').issue('a stranger');
const PASSWORD = 'canary-Pr0xy.password_1';
const KEY_LINES = client.key.split('\n').slice(1, -2);

const doctor = async (env: EnvironmentVariables) => {
  const report = await runDoctor(env);
  const secrets = new Map([
    ['password', PASSWORD],
    ...KEY_LINES.map((line) => ['key', line] as const),
  ]);
  expect(leaksIn(report.text, secrets)).toEqual([]);
  return report;
};

const TRUSTING = { PROVIDER_TLS_CA_FILE: authority.certFile };
const mutual = (pair: Pair): EnvironmentVariables => ({
  ...TRUSTING,
  PROVIDER_TLS_CERT_FILE: pair.certFile,
  PROVIDER_TLS_KEY_FILE: pair.keyFile,
});

const startProvider = async (host = '127.0.0.1'): Promise<string> => {
  const { baseUrl } = await emulate();
  const front = await startTlsFront({
    to: baseUrl,
    pair: server,
    clientAuthority: authority.cert,
    host,
  });
  closeLater(() => front.close());
  return front.url;
};

describeWithProxy('a forward proxy', () => {
  const startProxy = async (options?: ForwardProxyOptions) => {
    const proxy = await startForwardProxy(options);
    closeLater(() => proxy.kill());
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
    expect(text).toMatch(
      /^ok +address +connected to the provider through the proxy at 127\.0\.0\.1 after/m,
    );
    expect(text).toMatch(/^ok +TLS +TLSv1\.3, the certificate is valid for/m);
  });

  const OTHER_PASSWORD = { credentials: { user: 'user', password: 'other' } };
  const NO_PROVIDER = { PROVIDER_SANDBOX_BASE_URL: 'https://localhost:9' };
  const NO_PROXY_THERE = { HTTPS_PROXY: 'http://127.0.0.1:9' };
  const NO_AUTHORITY = { PROVIDER_TLS_CA_FILE: '' };
  test.each<
    [
      what: string,
      step: string,
      said: RegExp,
      options: ForwardProxyOptions,
      env?: EnvironmentVariables,
    ]
  >([
    [
      'with another password',
      'address',
      /not accept the user[^]*password in HTTPS_PROXY/,
      OTHER_PASSWORD,
    ],
    [
      'that does not allow the port',
      'address',
      /\(403\)[^]*ask who runs the proxy to/,
      { onlyPort: 443 },
    ],
    [
      'that cannot reach the provider',
      'address',
      /\(500\)[^]*or reach localhost:9/,
      {},
      NO_PROVIDER,
    ],
    [
      'that is not there',
      'address',
      /\(ECONNREFUSED\)[^]*check HTTPS_PROXY or/,
      {},
      NO_PROXY_THERE,
    ],
    ['behind which the handshake fails', 'TLS', /set PROVIDER_TLS_CA_FILE/, {}, NO_AUTHORITY],
  ])('%s is told apart', async (_what, step, said, options, env = {}) => {
    const proxy = await startProxy(options);
    const { status, text, steps } = await doctor({
      ...TRUSTING,
      PROVIDER_SANDBOX_BASE_URL: await startProvider(),
      HTTPS_PROXY: `http://user:${PASSWORD}@127.0.0.1:${proxy.port}`,
      ...env,
    });
    expect([status, steps('FAIL'), text]).toEqual([1, [step], expect.stringMatching(said)]);
  });
});

const NO_FILE = { PROVIDER_TLS_CA_FILE: '/missing' };
const TOKEN_AT_NOBODY = {
  PROVIDER_ACCESS_TOKEN: '',
  PROVIDER_TOKEN_URL: 'https://127.0.0.1:9/token',
  PROVIDER_CLIENT_ID: 'a-client',
};
test.each<[variable: string, EnvironmentVariables, passed: string[], step: string]>([
  [
    'PROVIDER_TLS_CA_FILE',
    { ...NO_FILE, ...TOKEN_AT_NOBODY, PROVIDER_CLIENT_SECRET: 'a-client-secret' },
    ['configuration'],
    'token',
  ],
  [
    'PROVIDER_CLIENT_SECRET_FILE',
    { ...TOKEN_AT_NOBODY, PROVIDER_CLIENT_SECRET_FILE: '/missing' },
    ['configuration'],
    'token',
  ],
])(
  'a file of %s that cannot be used is named, and nothing said of an address that was not asked',
  async (variable, env, passed, step) => {
    const report = await doctor({ PROVIDER_SANDBOX_BASE_URL: 'https://127.0.0.1:9', ...env });
    expect({ ok: report.steps('ok'), failed: report.steps('FAIL') }).toEqual({
      ok: passed,
      failed: [step],
    });
    expect(report.linesOf(step).split(/\n {6}/)).toEqual([
      expect.stringMatching(
        new RegExp(`^FAIL +${step} +${variable} cannot be read \\(ENOENT\\); name a regular file`),
      ),
      expect.stringMatching(/^likely +no request was made, because a file that it needs/),
      'next           correct the file of the variable that is named',
    ]);
  },
);

test('a certificate for another name is a failure', async () => {
  const address = (await startProvider('127.0.0.2')).replace('localhost', '127.0.0.2');
  const { text, steps } = await doctor({ ...mutual(client), PROVIDER_SANDBOX_BASE_URL: address });
  expect(steps('FAIL')).toEqual(['TLS']);
  expect(text).toContain('for another name than 127.0.0.2');
});

test.each([
  [13.5, /^note +TLS .* the certificate is valid for 13 more days$/m],
  [14.5, /^ok +TLS .* the certificate is valid for 14 more days$/m],
])(
  'a certificate is noted in the last two weeks before it expires: %d days',
  async (daysLeft, said) => {
    const { baseUrl } = await emulate();
    const end = new Date(Date.now() + daysLeft * 86_400_000).toISOString();
    const dates = { from: '20200101000000Z', until: `${end.slice(0, 19).replaceAll(/\D/g, '')}Z` };
    const front = await startTlsFront({ to: baseUrl, pair: authority.issue('localhost', dates) });
    closeLater(() => front.close());
    const report = await doctor({ ...TRUSTING, PROVIDER_SANDBOX_BASE_URL: front.url });
    expect(report).toMatchObject({ status: 0, text: expect.stringMatching(said) });
  },
);

test('an alert by which the provider ends the handshake is explained', async () => {
  const trial = async (alert: number, likely: RegExp): Promise<void> => {
    const provider = createServer((socket) =>
      socket.once('data', () => socket.end(Buffer.from([21, 3, 3, 0, 2, 2, alert]))),
    );
    const port = await listenOn(provider);
    const { text } = await doctor({ PROVIDER_SANDBOX_BASE_URL: `https://127.0.0.1:${port}` });
    provider.close();
    expect([alert, text]).toEqual([alert, expect.stringMatching(likely)]);
  };
  // The numbers of RFC 8446 section 6.
  const causes: readonly (readonly [RegExp, readonly number[]])[] = [
    [/likely +the server requires a client certificate/, [40, 116]],
    [/likely +the server does not accept the client/, [42, 43, 44, 45, 46, 48, 49, 51]],
    [/likely +the server has no TLS version or cipher/, [70]],
  ];
  // One after the other: each has the working directory for itself.
  for (const [likely, alerts] of causes) for (const alert of alerts) await trial(alert, likely);
});

describeWithHaproxy('a handshake that the provider refuses', () => {
  test.each<['TLSv1.2' | 'TLSv1.3', string, EnvironmentVariables, RegExp]>([
    ['TLSv1.2', 'no', TRUSTING, /requires a client certificate \(mutual TLS\)/],
    ['TLSv1.3', 'another authority’s', mutual(stranger), /does not accept the client certificate/],
  ])(
    'in %s, with %s client certificate, is explained',
    async (newestVersion, _what, env, advice) => {
      const alerting = await startAlertingServer({
        pair: server,
        clientAuthorityFile: authority.certFile,
        newestVersion,
      });
      closeLater(() => alerting.close());
      const { text, steps } = await doctor({ ...env, PROVIDER_SANDBOX_BASE_URL: alerting.url });
      expect(steps('FAIL')).toEqual(['TLS']);
      expect(text).toMatch(advice);
      expect(text).toMatch(/^ {6}next +.*PROVIDER_TLS_CERT_FILE/m);
    },
  );
});
