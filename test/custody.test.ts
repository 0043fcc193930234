import { expect, test } from '@jest/globals';
import { createServer, type TLSSocket } from 'node:tls';
import { INTERNAL_DETAIL } from '../emulator/answers.ts';
import type { Behaviour } from '../emulator/behaviours.ts';
import type { Emulator } from '../emulator/emulator.ts';
import type { EnvironmentVariables } from '../src/config/variables.ts';
import { createAuthority } from './helpers/authority.ts';
import { emulate } from './helpers/emulate.ts';
import { leaksIn } from './helpers/leaks.ts';
import { startProcess, type ServiceProcess } from './helpers/process.ts';
import { serve } from './helpers/serve.ts';
import { startTlsFront, type TlsFront } from './helpers/tls-front.ts';
import { createTunnels } from './helpers/watched-proxy.ts';
import { eventually } from './helpers/wait-until.ts';
import { temporaryFile } from './helpers/temporary-folder.ts';

// The custody of secrets, where only the built process can show it: what Node itself reads from the
// environment, what is left there, and every byte that the process writes and sends until its last
// words. What each failure of the provider says: failures.test.ts, provider/token.test.ts and the
// soak.

const TOKEN = 'canary-token+/=%22~<&>!(1)';
const MANAGEMENT_TOKEN = 'canary-management+/=%22~';
const CLIENT = { clientId: 'a client:é', clientSecret: 'canary sécret "&+\\/%41 =' };
const PASSWORD = 'canary-Pr0xy@password_1';
const QUERY_KEY = 'canary-Query.key_1';
const trusted = createAuthority('trusted');
const client = trusted.issue('the service');
const [good, bad] = [trusted.issue('localhost'), createAuthority('unknown').issue('localhost')];
const CLIENT_CERTIFICATE = {
  PROVIDER_TLS_CERT_FILE: client.certFile,
  PROVIDER_TLS_KEY_FILE: client.keyFile,
};

let emulator: Emulator;
let front: TlsFront;

const startProvider = async (pair = good, clientAuthority?: string): Promise<void> => {
  emulator = await emulate({ accessTokens: [TOKEN], ...CLIENT });
  front = await startTlsFront({
    to: emulator.baseUrl,
    pair,
    ...(clientAuthority !== undefined && { clientAuthority }),
  });
};

/**
 * A proxy that speaks TLS and asks for a client certificate. @returns where it is, and whose
 * certificates it got
 */
const startTlsProxy = async (pair = good): Promise<{ at: string; clients: string[] }> => {
  const clients: string[] = [];
  const proxy = createTunnels({ to: () => front.port });
  const { cert, key } = pair;
  const outer = createServer(
    { cert, key, ca: trusted.cert, requestCert: true, rejectUnauthorized: false },
    (socket: TLSSocket) => {
      clients.push(String(socket.getPeerCertificate().subject?.CN ?? 'none'));
      socket.on('error', () => undefined);
      proxy.emit('connection', socket);
    },
  );
  return { at: `localhost:${await serve(outer)}`, clients };
};

const start = (env: EnvironmentVariables, preload?: string): Promise<ServiceProcess> =>
  startProcess(
    {
      PROVIDER_SANDBOX_BASE_URL: front.url,
      PROVIDER_ACCESS_TOKEN: TOKEN,
      PROVIDER_TLS_CA_FILE: trusted.certFile,
      NODE_EXTRA_CA_CERTS: trusted.certFile,
      ...env,
    },
    preload,
  );

test.each([
  ['of the provider behind a proxy', bad, good],
  ['of the proxy', good, bad],
])(
  'a certificate %s is checked, also with NODE_TLS_REJECT_UNAUTHORIZED=0',
  async (_whose, ofProvider, ofProxy) => {
    await startProvider(ofProvider);
    const proxy = await startTlsProxy(ofProxy);
    const running = await start({
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
      HTTPS_PROXY: `https://${proxy.at}`,
    });
    await eventually(() => /loads are failing|load failed|unreachable/.test(running.written()));
    expect(emulator.listCalls()).toBe(0);
  },
);

/**
 * Makes the running process report everything about itself, and throws what a careless library
 * might.
 */
const INSPECTOR = `
  const { readFileSync } = process.getBuiltinModule('node:fs');
  const { env } = process;
  const read = (path) => path && readFileSync(path, 'utf8').trim();
  const files = [read(env.PROVIDER_ACCESS_TOKEN_FILE), read(env.PROVIDER_TLS_KEY_FILE)];
  const password = env.HTTPS_PROXY && new URL(env.HTTPS_PROXY).password;
  const variables = [env.PROVIDER_ACCESS_TOKEN, env.PROVIDER_CLIENT_SECRET, env.MANAGEMENT_TOKEN, env.HTTPS_PROXY];
  const secrets = [...files, password, ...variables].filter(Boolean);
  const words = secrets.flatMap((s) => [s, encodeURIComponent(s), JSON.stringify(s), Buffer.from('id:' + s).toString('base64')]);
  const fail = () => Object.assign(new Error('outer ' + words, { cause: new Error('inner ' + words) }), { words });
  process.on('SIGUSR2', () => {
    const { title, argv, execArgv } = process;
    console.log(JSON.stringify({ inspected: process.report.getReport(), env, title, argv, execArgv }));
  });
  process.on('SIGHUP', () => { throw fail(); });
  process.on('SIGURG', () => { Promise.reject(fail()); });
  process.on('SIGWINCH', () => { throw words; });
`;

/** What both ports answer to each request that could leak something. */
const answers = (urls: readonly string[]): Promise<string[]> => {
  const headers = { authorization: `Bearer ${MANAGEMENT_TOKEN}` };
  const paths = [
    '/banks',
    '/healthz',
    '/readyz',
    '/openapi.json',
    '/metrics',
    '/',
    '/%zz',
    '/refresh',
  ];
  const ask = async (method: string, url: string): Promise<string> => {
    const response = await fetch(url, { method, headers });
    return `${JSON.stringify([...response.headers])} ${await response.text()}`;
  };
  const all = urls.flatMap((url) => paths.map((path) => url + path));
  return Promise.all(['GET', 'POST'].flatMap((method) => all.map((url) => ask(method, url))));
};

const fromEndpoint = (): EnvironmentVariables => ({
  PROVIDER_ACCESS_TOKEN: '',
  PROVIDER_TOKEN_URL: `${emulator.tokenUrl}?key=${QUERY_KEY}`,
  PROVIDER_CLIENT_ID: CLIENT.clientId,
  PROVIDER_CLIENT_SECRET: CLIENT.clientSecret,
});

/** Each way to a token is combined with an end of the process, because starting one is slow. */
test.each<
  [
    way: string,
    what: string,
    token: () => EnvironmentVariables,
    proxy: string,
    signal: NodeJS.Signals,
  ]
>([
  ['a fixed token', 'a thrown value that is no error', () => ({}), 'HTTPS_PROXY', 'SIGWINCH'],
  [
    'a token file',
    'an uncaught error',
    () => ({ PROVIDER_ACCESS_TOKEN: '', PROVIDER_ACCESS_TOKEN_FILE: temporaryFile(TOKEN) }),
    'HTTPS_PROXY',
    'SIGHUP',
  ],
  ['client credentials', 'an unhandled rejection', fromEndpoint, 'https_proxy', 'SIGURG'],
])(
  'with %s no byte that is written or sent has a secret, nor has the environment, nor the last words after %s',
  async (_way, _what, token, proxyVariable, signal) => {
    await startProvider(good, trusted.cert);
    const proxy = await startTlsProxy();
    const env = {
      // Each failure happens within a fraction of a second.
      CACHE_TTL: '40ms',
      LOG_LEVEL: 'trace',
      MANAGEMENT_TOKEN,
      [proxyVariable]: `https://user:${encodeURIComponent(PASSWORD)}@${proxy.at}`,
      ...CLIENT_CERTIFICATE,
    };
    const { url, managementUrl, written, child, end } = await start(
      { ...env, ...token() },
      INSPECTOR,
    );
    const failures: readonly Behaviour[] = ['html', 'unavailable', 'unauthorized'];
    for (const behaviour of failures) {
      await emulator.behave(behaviour);
      const before = emulator.listCalls();
      await eventually(() => emulator.listCalls() >= before + 2);
    }
    emulator.behaveToken('invalid-client');
    const answered = await answers([url, managementUrl]);
    child.kill('SIGUSR2');
    await eventually(() => /"inspected".*\n/.test(written()));
    expect(await end(signal)).toBe(1);
    // The client certificate is for the provider only.
    expect(new Set(front.clients)).toEqual(new Set(['the service']));
    expect(new Set(proxy.clients)).toEqual(new Set(['none']));

    const all = [...answered, written()].join('\n');
    // Each was met, or the search would prove nothing.
    const met = [
      '"malformed"',
      '"unavailable"',
      '"environmentVariables"',
      'banks-bff: unexpected error',
    ];
    expect(met.filter((text) => !all.includes(text))).toEqual([]);
    const sent = emulator.calls.map(
      ({ headers }) => headers.authorization?.replace(/^\w+ /, '') ?? '',
    );
    const secrets = new Map([
      ['token', TOKEN],
      ['client secret', CLIENT.clientSecret],
      ['management token', MANAGEMENT_TOKEN],
      ['password of the proxy', PASSWORD],
      ['query of the token endpoint', QUERY_KEY],
      ['internal detail', INTERNAL_DETAIL],
      ...[...new Set(sent)].map((text, index) => [`credentials ${index}`, text] as const),
      // All lines but the last, which is too short to be searched for.
      ...client.key
        .split('\n')
        .slice(1, -3)
        .map((line) => ['key', line] as const),
    ]);
    expect(leaksIn(all, secrets)).toEqual([]);
  },
);
