import { createServer } from 'node:http';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import supertest from 'supertest';
import { INTERNAL_DETAIL } from '../../emulator/answers.ts';
import type { TokenBehaviour } from '../../emulator/behaviours.ts';
import { BANKS } from '../helpers/emulate.ts';
import { postRefresh } from '../helpers/management-port.ts';
import {
  clientCredentialsEnv,
  nextLoad,
  startRig,
  type Rig,
  type RigOptions,
  refresh,
} from '../helpers/rig.ts';
import { MANAGEMENT_TOKEN } from '../helpers/sandbox.ts';
import { serve } from '../helpers/serve.ts';
import { eventually } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// The three ways to a token, seen from both ends: what clients get, and what the provider is asked.

let rig: Rig;
let directory: string;
beforeEach(() => {
  directory = temporaryFolder();
});

const startGranted = async (options: RigOptions = {}): Promise<void> => {
  const envFor: RigOptions['envFor'] = (emulator) => ({
    ...clientCredentialsEnv(emulator),
    CACHE_TTL: '10m',
    ...options.envFor?.(emulator),
  });
  rig = await startRig({ ...options, envFor });
};

const getBanks = () => supertest(rig.url).get('/banks');
const hasList = () => rig.service.list.served() !== undefined;
const failure = () => rig.service.list.status().failing?.error;
/** The path and the status of every upstream exchange, such as `banks 200`. */
const upstream = (from = 0): string[] =>
  rig.emulator.calls.slice(from).map(({ path, status }) => `${path.split('/').at(-1)} ${status}`);
const tokensSent = (): (string | undefined)[] =>
  rig.emulator.calls
    .filter(({ path }) => path.endsWith('/banks'))
    .map(({ headers }) => headers.authorization?.replace('Bearer ', ''));

test('a fixed token that is rejected is sent once a load, and its variable is named', async () => {
  rig = await startRig({ env: { PROVIDER_ACCESS_TOKEN: 'a-wrong-token' } });
  await getBanks().expect(502);
  await Promise.all(Array.from({ length: 20 }, () => getBanks().expect(502)));
  expect(upstream()).toEqual(['banks 401']);
  await nextLoad(rig);
  await nextLoad(rig);
  expect(upstream()).toEqual(['banks 401', 'banks 401', 'banks 401']);
  expect(rig.messages().join()).toContain('(401); check PROVIDER_ACCESS_TOKEN;');
});

test('the request for the list has PROVIDER_QUERY and PROVIDER_HEADERS, which no line has', async () => {
  const keys = ['canary:key-number-1', 'canary-key:number-2', 'canary-key-number-3'];
  const file = join(directory, 'headers');
  await writeFile(file, keys.map((key, index) => `X-Key-${index}: ${key}\n`).join(''));
  rig = await startRig({
    env: {
      LOG_LEVEL: 'trace',
      PROVIDER_QUERY: 'pageSize=1000&key=canary-key-of-the-query',
      PROVIDER_HEADERS_FILE: file,
    },
  });
  let asked = '';
  // Each of them is a secret that a list must not contain.
  for (const name of [...keys, 'canary-key-of-the-query']) {
    rig.emulator.respondWith((req, res) => {
      asked = `${req.url} ${keys.map((_, index) => req.headers[`x-key-${index}`]).join()}`;
      res.end(JSON.stringify([{ code: '1', ispb: '1', name }]));
    });
    await nextLoad(rig);
    expect(failure()?.kind).toBe('echoed_secret');
  }
  expect(asked).toBe(`/api/v1/banks?pageSize=1000&key=canary-key-of-the-query ${keys.join()}`);
  expect(rig.log()).not.toContain('canary');
});

describe('the client-credentials grant', () => {
  const ANY = { clientId: 'a client', clientSecret: ' s&c+r%t="\\:ü%41 ' };
  const UUID = { clientId: '5f6c1f0e-6d1b-4b0a', clientSecret: 'aZ09-._~/=' };
  test.each<[TokenBehaviour, auth: string, format: string, typeof ANY]>([
    ['healthy', 'basic', 'form', ANY],
    // Of a UUID and Base64, Basic encodes nothing that a server has to decode.
    ['plain-basic', 'basic', 'form', UUID],
    ['plain-basic', 'basic_plain', 'form', ANY],
    ['post-only', 'post', 'form', ANY],
    ['json-post-only', 'post', 'json', ANY],
  ])(
    'authenticates at an endpoint that is %s with %s in %s',
    async (behaviour, auth, format, client) => {
      await startGranted({
        emulator: client,
        before: (emulator) => emulator.behaveToken(behaviour),
        envFor: () => ({
          PROVIDER_CLIENT_ID: client.clientId,
          PROVIDER_CLIENT_SECRET: client.clientSecret,
          PROVIDER_TOKEN_AUTH: auth,
          PROVIDER_TOKEN_FORMAT: format,
        }),
      });
      await getBanks().expect(200);
      expect(upstream()).toEqual(['token 200', 'banks 200']);
    },
  );

  test('that fails obeys Retry-After, reveals no text of the endpoint, and recovers', async () => {
    await startGranted({ before: (emulator) => emulator.behaveToken('rate-limited') });
    const { headers } = await getBanks().expect(503);
    expect(headers['retry-after']).toBe('30');
    expect(failure()?.message).toBe('the token endpoint limits the rate (429)');
    rig.emulator.behaveToken('invalid-client');
    await nextLoad(rig);
    await getBanks().expect(502);
    expect(failure()?.message).toBe('the token endpoint refuses the request (401 invalid_client)');
    expect(rig.log()).not.toContain(INTERNAL_DETAIL);
    rig.emulator.behaveToken('healthy');
    await nextLoad(rig);
    await getBanks().expect(200);
  });

  test.each<[why: RegExp, grant: object]>([
    [/a token that has a character that no token has/, { access_token: 'to ken-1' }],
    [/a token that has more than 8192 bytes/, { access_token: 'x'.repeat(8_193) }],
    [/a token whose token_type is not Bearer/, { access_token: 'token-01', token_type: 'DPoP' }],
  ])('one that cannot be used is refused: %s', async (why, grant) => {
    await startGranted({ before: (emulator) => emulator.behaveToken('healthy', () => grant) });
    await getBanks().expect(502);
    expect(failure()).toMatchObject({ kind: 'no_token', message: expect.stringMatching(why) });
    expect(upstream()).toEqual(['token 200']);
  });

  test.each([
    ['3600', 'token 200', 'banks 200'],
    ['PT1H', 'banks 401', 'token 200', 'banks 200'],
    [undefined, 'banks 401', 'token 200', 'banks 200'],
    [0, 'banks 401', 'token 200', 'banks 200'],
    [null, 'banks 401', 'token 200', 'banks 200'],
  ])(
    'a grant with expires_in %p beside the token is used for as long as it says, or until a 401',
    async (expires_in, ...requests) => {
      await startGranted({
        env: { PROVIDER_TOKEN_FIELD: 'data.access_token' },
        before: (emulator) =>
          emulator.behaveToken('healthy', (grant) => ({ data: { ...grant, expires_in } })),
      });
      await eventually(hasList);
      rig.clock.skip(3_600_001);
      expect(await refresh(rig)).toBeUndefined();
      // By then the provider has expired it in any case.
      expect(upstream(2)).toEqual(requests);
    },
  );

  test('for which the endpoint takes too long is given up with the load, and the next load asks again', async () => {
    await startGranted({ before: (emulator) => emulator.behaveToken('hang') });
    await eventually(() => rig.emulator.tokenCalls() === 1);
    rig.clock.advance(5_000);
    await eventually(() => failure()?.kind === 'timeout');
    rig.emulator.behaveToken('healthy');
    await nextLoad(rig);
    await getBanks().expect(200);
  });

  test('while the endpoint is away the valid token stays in use until its true end, and clients see no difference', async () => {
    await startGranted();
    await eventually(hasList);
    rig.emulator.behaveToken('server-error');
    // Of 3,600 s: loads come about every 596 s, the margin begins at 3,060 s, and the sixth load
    // falls into it.
    for (let loads = 0; loads < 6; loads += 1) await nextLoad(rig);
    const told = () => rig.messages().filter((message) => message.startsWith('token: '));
    await eventually(() => told().length > 0);
    expect(told()).toEqual([expect.stringContaining('the current token stays in use')]);
    expect(upstream().filter((call) => call === 'banks 200')).toHaveLength(7);
    await nextLoad(rig);
    await nextLoad(rig);
    expect(failure()?.kind).toBe('unavailable');
    await getBanks().expect(200);
    rig.emulator.behaveToken('healthy');
    await nextLoad(rig);
    expect(failure()).toBeUndefined();
    rig.emulator.revokeIssued();
    await nextLoad(rig);
    // One line for each change, and none for the attempts in between or the renewals after it.
    expect(told().slice(1)).toEqual([
      expect.stringContaining('there is no valid token'),
      'token: recovered',
    ]);
  });

  test('is renewed ahead of expiry by one request at a time, for which nobody waits', async () => {
    await startGranted();
    await eventually(hasList);
    rig.emulator.behaveToken('hang');
    // The token is renewed after 85 % of 3,600 s.
    rig.clock.skip(3_060_001);
    for (let load = 0; load < 2; load += 1) expect(await refresh(rig)).toBeUndefined();
    await eventually(() => rig.emulator.tokenCalls() === 2);
    expect(upstream().filter((call) => call === 'banks 200')).toHaveLength(3);
    expect(new Set(tokensSent()).size).toBe(1);
  });

  test('is asked with the query of its address and PROVIDER_TOKEN_PARAMS, and has the token at PROVIDER_TOKEN_FIELD', async () => {
    const asked = new Set<string>();
    const bodies: string[] = [];
    const endpoint = createServer((req, res) => {
      asked.add(`${req.method} ${req.url}`);
      req.setEncoding('utf8').on('data', (text: string) => bodies.push(text));
      req.on('end', () => res.end('{"data":{"token":"emulator-access-token"}}'));
    });
    const PROVIDER_TOKEN_URL = `http://127.0.0.1:${await serve(endpoint)}/token?key=canary&b=/?é`;
    const env = {
      PROVIDER_TOKEN_PARAMS: 'audience=https%3A%2F%2Fapi.example&key=canary-of-the-params',
      PROVIDER_TOKEN_FIELD: 'data.token',
    };
    for (const PROVIDER_TOKEN_FORMAT of ['form', 'json']) {
      await startGranted({ envFor: () => ({ ...env, PROVIDER_TOKEN_URL, PROVIDER_TOKEN_FORMAT }) });
      await getBanks().expect(200);
      expect(rig.log()).not.toContain('canary');
    }
    expect([...asked]).toEqual(['POST /token?key=canary&b=/?%C3%A9']);
    expect(bodies).toEqual([
      `grant_type=client_credentials&${env.PROVIDER_TOKEN_PARAMS}`,
      JSON.stringify({
        grant_type: 'client_credentials',
        audience: 'https://api.example',
        key: 'canary-of-the-params',
      }),
    ]);
  });

  test.each([
    [401, 'unauthorized', 'does not accept the token (401); check PROVIDER_TOKEN_URL'],
    [403, 'unexpected_status', 'responds with status 403 instead of 200'],
  ])(
    'after a %d a load asks for one token and tries once more, never in a loop, and not for a token of the last minute',
    async (status, kind, message) => {
      await startGranted();
      await eventually(hasList);
      const refused = tokensSent();
      rig.emulator.respondWith((req, res) => {
        const isRefused = refused.includes(req.headers.authorization?.replace('Bearer ', ''));
        res.writeHead(isRefused ? status : 200).end(JSON.stringify(BANKS));
      });
      await nextLoad(rig);
      expect(upstream(2)).toEqual([`banks ${status}`, 'token 200', 'banks 200']);
      rig.emulator.respondWith((_req, res) => res.writeHead(status).end());
      await nextLoad(rig);
      expect(upstream(5)).toEqual([`banks ${status}`, 'token 200', `banks ${status}`]);
      expect(failure()).toMatchObject({ kind, message: expect.stringContaining(message) });
      // The retry after about a second.
      await nextLoad(rig);
      expect(upstream(8)).toEqual([`banks ${status}`]);
      expect((await getBanks()).status).toBe(200);
    },
  );

  test('is asked by POST /refresh with the secret as it is now, also during a request with the old one', async () => {
    const file = join(directory, 'secret');
    await writeFile(file, 'emulator-secret');
    await startGranted({
      env: { MANAGEMENT_TOKEN },
      envFor: () => ({ PROVIDER_CLIENT_SECRET: '', PROVIDER_CLIENT_SECRET_FILE: file }),
      before: (emulator) => emulator.behaveToken('hang'),
    });
    await eventually(() => rig.emulator.tokenCalls() === 1);
    await writeFile(file, 'the-new-secret');
    rig.emulator.acceptSecrets(['the-new-secret']);
    rig.emulator.behaveToken('healthy');
    let status: number | undefined;
    void postRefresh(rig.managementUrl).then((response) => ({ status } = response));
    // In small steps: the refresh arrives before the request that hangs has ended.
    await eventually(() => {
      rig.clock.advance(100);
      return status !== undefined;
    });
    expect(status).toBe(200);
    expect(rig.emulator.tokenCalls()).toBe(2);
  });

  test('a token that is refused while the next one arrives is replaced by that one', async () => {
    await startGranted({ env: { LOG_LEVEL: 'debug' } });
    await eventually(hasList);
    const [old] = tokensSent();
    const renewals = () => rig.messages().filter((message) => message === 'token: renewed');
    rig.emulator.respondWith((req, res) => {
      const isRefused = req.headers.authorization === `Bearer ${old}`;
      void eventually(() => renewals().length === 2).then(() =>
        res.writeHead(isRefused ? 401 : 200).end(JSON.stringify(BANKS)),
      );
    });
    // The first load after the time of renewal.
    rig.clock.skip(3_060_001);
    expect(await refresh(rig)).toBeUndefined();
    expect(tokensSent()).toEqual([old, old, expect.any(String)]);
    expect(rig.emulator.tokenCalls()).toBe(2);
  });

  test('a 401 that was temporary ends with the next load, also while the endpoint is unavailable', async () => {
    await startGranted();
    await eventually(hasList);
    await rig.emulator.behave('unauthorized');
    rig.emulator.behaveToken('server-error');
    await nextLoad(rig);
    expect(failure()?.kind).toBe('unavailable');
    await rig.emulator.behave('healthy');
    await nextLoad(rig);
    expect(failure()).toBeUndefined();
    const requests = upstream(2).filter((request) => request.startsWith('banks'));
    expect(requests).toEqual(['banks 401', 'banks 200']);
  });
});
