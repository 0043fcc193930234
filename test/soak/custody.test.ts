import { once } from 'node:events';
import { mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
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
import { eventually, startRig } from '../kit/rig.ts';
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
  emulator = await startEmulator({ accessTokens: [TOKEN], ...CLIENT });
});
afterEach(async () => {
  service?.child.kill('SIGKILL');
  service = undefined;
  await emulator.close();
  await rm(directory, { recursive: true });
});

const tokenFile = (): string => join(directory, 'token');
const snapshotFile = (): string => join(directory, 'snapshot');
const writeToken = async (token: string): Promise<void> => {
  await writeFile(join(directory, 'data'), `${token}\n`);
  await symlink('data', join(directory, 'next'));
  await rename(join(directory, 'next'), tokenFile());
};

const WAYS: Record<string, () => Promise<Environment>> = {
  'a fixed token': () => Promise.resolve({ PROVIDER_ACCESS_TOKEN: TOKEN }),
  'a token file': async () => {
    await writeToken(TOKEN);
    return { PROVIDER_ACCESS_TOKEN_FILE: tokenFile() };
  },
  'client credentials, the secret in a variable': () =>
    Promise.resolve({
      PROVIDER_TOKEN_URL: emulator.tokenUrl,
      PROVIDER_CLIENT_ID: CLIENT.clientId,
      PROVIDER_CLIENT_SECRET: CLIENT.clientSecret,
    }),
  'client credentials, the secret in a file': async () => {
    await writeFile(join(directory, 'secret'), CLIENT.clientSecret);
    return {
      PROVIDER_TOKEN_URL: emulator.tokenUrl,
      PROVIDER_CLIENT_ID: CLIENT.clientId,
      PROVIDER_CLIENT_SECRET_FILE: join(directory, 'secret'),
    };
  },
};

/** Short enough that each failure happens with and without a cached list within a fraction of a second. */
const start = async (token: Environment, preload?: string): Promise<ServiceProcess> => {
  service = await startProcess(
    {
      PROVIDER_ENVIRONMENT: 'sandbox',
      PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
      BANK_FIELDS: 'code,ispb,name',
      LOG_LEVEL: 'trace',
      CACHE_TTL: '40ms',
      CACHE_MAX_STALE: '40ms',
      PROVIDER_TIMEOUT: '150ms',
      // Little more than the list has, so that a larger body is too large well before the deadline.
      PROVIDER_MAX_BODY: '200kb',
      SHUTDOWN_GRACE: '30ms',
      MANAGEMENT_TOKEN,
      CACHE_SNAPSHOT_FILE: snapshotFile(),
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
  return Promise.all([...requests, ...urls.map(malformedRequest)]);
};

const malformedRequest = async (url: string): Promise<string> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const chunks: string[] = [];
  socket.setEncoding('utf8').on('data', (chunk: string) => chunks.push(chunk));
  socket.write('GET / HTTP/1.1\r\nbad header\r\n\r\n');
  await once(socket, 'close');
  return chunks.join('');
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

describe('no byte that is written or sent contains a secret, whatever the provider does', () => {
  // The secret in a variable differs from the one in a file by the start alone, which is looked at below.
  test.each(Object.entries(WAYS).filter(([way]) => !way.endsWith('in a variable')))(
    'with %s',
    async (way, configure) => {
      const running = await start(await configure());
      // Distinct responses only; otherwise a thousand dates and request ids would be searched.
      const seen = new Map<string, string>();
      const look = async (): Promise<void> => {
        for (const answer of await answers(running.urls()))
          seen.set(answer.replaceAll(PER_REQUEST, ''), answer);
      };
      // oxlint-disable no-await-in-loop -- one behaviour after the other
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
      // oxlint-enable no-await-in-loop
      expect(await running.end('SIGTERM')).toBe(0);

      // Each kind of failure was met, or the search would prove nothing.
      const snapshot = await readFile(snapshotFile(), 'utf8');
      const all = [...seen.values(), running.written(), snapshot].join('\n');
      const missed = [
        'unreachable',
        'timeout',
        'malformed',
        'too_large',
        'unavailable',
        'unauthorized',
        'provider_timeout',
      ].filter((kind) => !all.includes(`"${kind}"`));
      expect(missed).toEqual([]);
      expect(leaksIn(all, secrets())).toEqual([]);
    },
    60_000,
  );
});

describe('the search itself', () => {
  const PLANTS: Record<string, string> = {
    'as it is': 'secret',
    'JSON-escaped': 'JSON.stringify(JSON.stringify({ secret }))',
    'percent-encoded': 'encodeURIComponent(secret)',
    'form-encoded': 'new URLSearchParams({ secret }).toString()',
    'in Base64': 'btoa(unescape(encodeURIComponent(secret)))',
    'in base64url': 'Buffer.from(secret).toString("base64url")',
    'in Basic credentials': 'btoa("id:" + encodeURIComponent(secret))',
    'in Basic credentials, shifted by one': 'btoa("idx:" + encodeURIComponent(secret))',
    'in Basic credentials, shifted by two': 'btoa("idxy:" + encodeURIComponent(secret))',
    'in Basic credentials, inside JSON': 'JSON.stringify([btoa("id:" + encodeURIComponent(secret))])',
  };

  test('finds a leak that is planted in the process, in each encoding', async () => {
    const plants = Object.entries(PLANTS).map(
      ([form, plant]) => `console.log('planted ${form}: ' + ${plant});`,
    );
    const configure = WAYS['client credentials, the secret in a variable'];
    const running = await start(
      (await configure?.()) ?? {},
      `const secret = process.env.PROVIDER_CLIENT_SECRET; ${plants.join('\n')}`,
    );
    const lines = running.written().split('\n');
    const found = lines.filter((line) => line.startsWith('planted') && leaksIn(line, secrets()).length > 0);
    expect(found.map((line) => line.slice('planted '.length, line.indexOf(':')))).toEqual(
      Object.keys(PLANTS),
    );
  });
});

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

/** Each way is combined with another end, because starting a process is slow. */
const ENDS: [way: string, what: string, signal: NodeJS.Signals][] = [
  ['a fixed token', 'an uncaught error', 'SIGHUP'],
  ['a token file', 'an uncaught error', 'SIGHUP'],
  ['client credentials, the secret in a variable', 'an unhandled rejection', 'SIGURG'],
  ['client credentials, the secret in a file', 'a thrown value that is no error', 'SIGWINCH'],
];

test.each(ENDS)(
  'with %s no secret is in the environment, the diagnostic report, or the last words after %s',
  async (way, _what, signal) => {
    const running = await start((await WAYS[way]?.()) ?? {}, INSPECTOR);
    await loads();
    running.child.kill('SIGUSR2');
    await eventually(() => /"inspected".*\n/.test(running.written()));
    expect(running.written()).toContain('"environmentVariables"');
    expect(await running.end(signal)).toBe(1);
    expect(running.written()).toContain('banks-bff: unexpected error');
    expect(leaksIn(running.written(), secrets())).toEqual([]);
  },
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

describe('the token goes to the configured origin only', () => {
  test.each([301, 302, 303, 307, 308])('a redirect is not followed (%d)', async (status) => {
    const received: string[] = [];
    const elsewhere = createServer((req, res) => {
      received.push(String(req.url));
      res.setHeader('content-type', 'application/json').end('[{"code":"1","ispb":"1","name":"One"}]');
    });
    await once(elsewhere.listen(0, '127.0.0.1'), 'listening');
    const address = elsewhere.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const rig = await startRig({
      before: (provider) =>
        provider.respondWith((_req, res) =>
          res.writeHead(status, { location: `http://127.0.0.1:${port}/api/v1/banks` }).end(),
        ),
    });
    expect((await fetch(`${rig.url}/banks`)).status).toBe(502);
    expect(received).toEqual([]);
    await rig.close();
    elsewhere.close();
  });

  test('a base path that looks like another host stays a path', async () => {
    const rig = await startRig({
      envFor: (provider) => ({ PROVIDER_SANDBOX_BASE_URL: `${provider.baseUrl}//127.0.0.1:9/` }),
    });
    expect((await fetch(`${rig.url}/banks`)).status).toBe(502);
    expect(rig.emulator.calls.map(({ path }) => path)).toEqual(['//127.0.0.1:9/api/v1/banks']);
    await rig.close();
  });
});
