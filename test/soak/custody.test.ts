import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { INTERNAL_DETAIL } from '../../emulator/answers.ts';
import {
  isBehaviour,
  isTokenBehaviour,
  listBehaviours,
  tokenBehaviours,
  type TokenBehaviour,
} from '../../emulator/behaviours.ts';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import type { Environment } from '../../src/config/reader.ts';
import { createAuthority } from '../kit/authority.ts';
import { describeWithProxy, startForwardProxy } from '../kit/forward-proxy.ts';
import { leaksIn } from '../kit/leaks.ts';
import { startProcess, type ServiceProcess } from '../kit/process.ts';
import { sendRaw } from '../kit/raw-http.ts';
import { eventually } from '../kit/rig.ts';
import { startTlsFront } from '../kit/tls-front.ts';

// The custody of secrets: the whole process meets everything that the provider can do, and every byte that it writes or
// sends is searched for the secrets, in every encoding.

const TOKEN = 'canary-token+/=%22"\\~<&>!(1)';
const MANAGEMENT_TOKEN = 'canary-management+/=%22"\\~';
const CLIENT = { clientId: 'a client:é', clientSecret: 'canary sécret "&+\\/%41 =' };

let emulator: Emulator;
let service: ServiceProcess | undefined;
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'banks-bff-'));
  await writeToken(TOKEN);
  await writeFile(inFolder('secret'), CLIENT.clientSecret);
  emulator = await startEmulator({ accessTokens: [TOKEN], ...CLIENT });
});
afterEach(async () => {
  service?.child.kill('SIGKILL');
  service = undefined;
  await emulator.close();
  await rm(directory, { recursive: true });
});

const inFolder = (name: string): string => join(directory, name);
/** In one step: the service must not read half of it. */
const writeToken = async (token: string): Promise<void> => {
  await writeFile(inFolder('next'), `${token}\n`);
  await rename(inFolder('next'), inFolder('token'));
};

const fromEndpoint = (): Environment => ({
  PROVIDER_ACCESS_TOKEN: '',
  PROVIDER_TOKEN_URL: emulator.tokenUrl,
  PROVIDER_CLIENT_ID: CLIENT.clientId,
});

/** Short enough that each failure happens with and without a cached list within a fraction of a second. */
const start = async (token: Environment, preload?: string): Promise<ServiceProcess> => {
  service = await startProcess(
    {
      PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
      LOG_LEVEL: 'trace',
      CACHE_TTL: '40ms',
      CACHE_MAX_STALE: '40ms',
      PROVIDER_TIMEOUT: '150ms',
      // Little more than the list has, so that a larger body is too large well before the deadline.
      PROVIDER_MAX_BODY: '200kb',
      SHUTDOWN_GRACE: '30ms',
      MANAGEMENT_TOKEN,
      CACHE_SNAPSHOT_FILE: inFolder('snapshot'),
      ...token,
    },
    preload,
  );
  return service;
};

/** Every secret: the configured ones, all that were issued, and what only the provider knows. */
const secrets = (): Map<string, string> => {
  const sent = emulator.calls
    .filter(({ path }) => path.endsWith('/banks'))
    .map(({ headers }) => headers.authorization?.replace('Bearer ', '') ?? '');
  return new Map([
    ['token', TOKEN],
    ['client secret', CLIENT.clientSecret],
    ['management token', MANAGEMENT_TOKEN],
    ['internal detail', INTERNAL_DETAIL],
    ...[...new Set(sent)].map((token, index): [string, string] => [`sent token ${index}`, token]),
  ]);
};

/** Sent with every request: it must not come back from any port either. */
const OPERATOR = { authorization: `Bearer ${MANAGEMENT_TOKEN}` };

/** The status, headers and body of the response to each request that could leak something, on both ports. */
const answers = async (urls: readonly string[]): Promise<string[]> => {
  const requests = urls.flatMap((url) =>
    ['/banks', '/healthz', '/readyz', '/openapi.json', '/metrics', '/', '/%zz', '/refresh'].flatMap((path) =>
      ['GET', 'POST', 'OPTIONS'].map(async (method) => {
        const response = await fetch(url + path, { method, headers: OPERATOR });
        return `${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`;
      }),
    ),
  );
  const malformed = urls.map(async (url) => {
    const [answer] = await sendRaw(url, 'GET / HTTP/1.1\r\nbad header\r\n\r\n');
    return JSON.stringify([...(answer?.headers ?? []), answer?.body]);
  });
  return Promise.all([...requests, ...malformed]);
};

/** Until the service reports that its last load failed as `kind`: not every failure is a call that the emulator sees. */
const failsAs = async (running: ServiceProcess, kind: string): Promise<void> => {
  let lastFailure: string | undefined;
  while (lastFailure !== kind) {
    // oxlint-disable-next-line no-await-in-loop -- bounded by the test's own time limit
    const health = await (await fetch(`${running.urls()[0]}/healthz`)).text();
    lastFailure = /"lastFailure":"(\w+)"/.exec(health)?.[1];
  }
};

const PER_REQUEST =
  /\["(?:date|x-request-id|etag|last-modified)","[^\]]*\]|"(?:lastSuccess|lastChanged|lastFailureAt|failingSince)":"[^"]*"/g;

/** Waits for two more loads: one that began after this call has then ended. */
const loads = async (): Promise<void> => {
  const before = emulator.listCalls();
  await eventually(() => emulator.listCalls() >= before + 2);
};

/** Makes the running process report everything about itself, and throws what a careless library might. */
const INSPECTOR = `
  const { readFileSync } = process.getBuiltinModule('node:fs');
  const { PROVIDER_ACCESS_TOKEN, PROVIDER_CLIENT_SECRET, MANAGEMENT_TOKEN, HTTPS_PROXY, PROVIDER_TLS_KEY_FILE } = process.env;
  const password = HTTPS_PROXY && new URL(HTTPS_PROXY).password;
  const key = PROVIDER_TLS_KEY_FILE && readFileSync(PROVIDER_TLS_KEY_FILE, 'utf8');
  const secrets = [PROVIDER_ACCESS_TOKEN, PROVIDER_CLIENT_SECRET, MANAGEMENT_TOKEN, password, HTTPS_PROXY, key].filter(Boolean);
  const words = secrets.flatMap((s) => [s, encodeURIComponent(s), JSON.stringify(s), Buffer.from('id:' + s).toString('base64')]);
  const fail = () => Object.assign(new Error('outer ' + words, { cause: new Error('inner ' + words) }), { words });
  process.on('SIGUSR2', () => {
    const { env, title, argv, execArgv } = process;
    console.log(JSON.stringify({ inspected: process.report.getReport(), env, title, argv, execArgv }));
  });
  process.on('SIGHUP', () => { throw fail(); });
  process.on('SIGURG', () => { Promise.reject(fail()); });
  process.on('SIGWINCH', () => { throw words; });
`;

/** Each way to a token is combined with an end of the process, because starting one is slow. */
const CASES: [way: string, what: string, token: () => Environment, signal: NodeJS.Signals][] = [
  ['a fixed token', 'an uncaught error', () => ({ PROVIDER_ACCESS_TOKEN: TOKEN }), 'SIGHUP'],
  [
    'a token file',
    'an uncaught error',
    () => ({ PROVIDER_ACCESS_TOKEN: '', PROVIDER_ACCESS_TOKEN_FILE: inFolder('token') }),
    'SIGHUP',
  ],
  [
    'client credentials, the secret in a variable',
    'an unhandled rejection',
    () => ({ ...fromEndpoint(), PROVIDER_CLIENT_SECRET: CLIENT.clientSecret }),
    'SIGURG',
  ],
  [
    'client credentials, the secret in a file',
    'a thrown value that is no error',
    () => ({ ...fromEndpoint(), PROVIDER_CLIENT_SECRET_FILE: inFolder('secret') }),
    'SIGWINCH',
  ],
];

test.each(CASES)(
  'with %s no byte that is written or sent has a secret, whatever the provider does, nor the last words after %s',
  async (way, _what, token, signal) => {
    const running = await start(token(), INSPECTOR);
    // Distinct responses only; otherwise a thousand dates and request ids would be searched.
    const seen = new Map<string, string>();
    const look = async (): Promise<void> => {
      for (const answer of await answers(running.urls()))
        seen.set(answer.replaceAll(PER_REQUEST, ''), answer);
    };
    await loads();
    for (const name of Object.keys(listBehaviours).filter(isBehaviour)) {
      await emulator.behave(name);
      if (name === 'refuse') await failsAs(running, 'unreachable');
      else await loads();
      await look();
    }
    await emulator.behave('healthy');
    // Last, because its Retry-After ends the loads for 30 s.
    const isLast = (name: TokenBehaviour): boolean => name === 'rate-limited';
    const names = Object.keys(tokenBehaviours).filter(isTokenBehaviour);
    for (const name of names.toSorted((a, b) => Number(isLast(a)) - Number(isLast(b)))) {
      emulator.behaveToken(name);
      // For a token that was rejected: a new one from the endpoint or the file, or none.
      emulator.revokeIssued();
      emulator.acceptTokens([`rotated-canary-${name}`]);
      await writeToken(`rotated-canary-${name}`);
      if (isLast(name) && way.startsWith('client credentials')) await failsAs(running, 'rate_limited');
      else await loads();
      await look();
    }
    running.child.kill('SIGUSR2');
    await eventually(() => /"inspected".*\n/.test(running.written()));
    expect(await running.end(signal)).toBe(1);

    const all = [...seen.values(), running.written(), await readFile(inFolder('snapshot'), 'utf8')].join(
      '\n',
    );
    // Each kind of failure was met, and each last word said, or the search would prove nothing.
    for (const kind of ['unreachable', 'timeout', 'malformed', 'too_large', 'unavailable', 'unauthorized'])
      expect(all).toContain(`"${kind}"`);
    expect(all).toContain('"environmentVariables"');
    expect(all).toContain('banks-bff: unexpected error');
    expect(leaksIn(all, secrets())).toEqual([]);
  },
  90_000,
);

describeWithProxy('behind a proxy, over mutual TLS', () => {
  const PASSWORD = 'canary-Pr0xy.password_1';
  const authority = createAuthority();
  const client = authority.issue('the service');
  /** All lines but the last, which is too short to be searched for. */
  const keyLines = client.key.trim().split('\n').slice(1, -2);

  test('no secret is in any byte written or answered, whatever the proxy and the handshake do', async () => {
    const pair = authority.issue('localhost');
    const front = await startTlsFront({ to: emulator.baseUrl, pair, clientAuthority: authority.cert });
    const proxy = await startForwardProxy({ credentials: { user: 'user', password: PASSWORD } });
    const env = (password: string): Environment => ({
      PROVIDER_SANDBOX_BASE_URL: front.url,
      PROVIDER_ACCESS_TOKEN: TOKEN,
      PROVIDER_TIMEOUT: '1s',
      PROVIDER_TLS_CA_FILE: authority.certFile,
      PROVIDER_TLS_CERT_FILE: client.certFile,
      PROVIDER_TLS_KEY_FILE: client.keyFile,
      HTTPS_PROXY: `http://user:${password}@127.0.0.1:${proxy.port}`,
    });
    const written: string[] = [];

    const refused = await start(env(`wrong-${PASSWORD}`));
    await failsAs(refused, 'proxy_refused');
    written.push(...(await answers(refused.urls())));
    expect(await refused.end('SIGTERM')).toBe(0);
    written.push(refused.written());

    const running = await start(env(PASSWORD), INSPECTOR);
    await loads();
    front.requireClientOf(createAuthority('another authority').cert);
    await failsAs(running, 'unreachable');
    written.push(...(await answers(running.urls())));
    proxy.stall();
    await failsAs(running, 'proxy_unreachable');
    proxy.resume();
    await failsAs(running, 'unreachable');
    await proxy.kill();
    await failsAs(running, 'proxy_unreachable');
    written.push(...(await answers(running.urls())));
    running.child.kill('SIGUSR2');
    await eventually(() => /"inspected".*\n/.test(running.written()));
    expect(await running.end('SIGHUP')).toBe(1);
    written.push(running.written());

    expect(front.clients).toContain('the service');
    const all = written.join('\n');
    expect(all).toContain('[redacted]');
    const keys = keyLines.map((line, index): [string, string] => [`line ${index} of the key`, line]);
    expect(leaksIn(all, new Map([...secrets(), ['proxy password', PASSWORD], ...keys]))).toEqual([]);
    await front.close();
  }, 60_000);
});
