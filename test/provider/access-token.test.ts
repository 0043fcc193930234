import { execFileSync } from 'node:child_process';
import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import supertest from 'supertest';
import type { TokenBehaviour } from '../../emulator/behaviours.ts';
import { createAccessToken } from '../../src/provider/access-token.ts';
import { createConnections } from '../../src/provider/connections.ts';
import { createTlsContextSource } from '../../src/secrets/tls-files.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { clientCredentialsEnv, eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

// The three ways to a token, seen from both ends: what clients get, and what the provider is asked.

let rig: Rig;
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'banks-bff-'));
});
afterEach(async () => {
  await rig.close();
  await rm(directory, { recursive: true });
});

const start = async (options?: RigOptions): Promise<void> => {
  rig = await startRig(options);
};
const startGranted = (options: RigOptions = {}): Promise<void> =>
  start({ envFor: (emulator) => ({ ...clientCredentialsEnv(emulator), CACHE_TTL: '10m' }), ...options });

const getBanks = () => supertest(rig.url).get('/banks');
const hasList = () => rig.service.list.served() !== undefined;
const lastKind = () => rig.service.list.status().failure?.kind;
/** The path and the status of every upstream exchange, such as `banks 200`. */
const upstream = (from = 0): string[] =>
  rig.emulator.calls.slice(from).map(({ path, status }) => `${path.split('/').at(-1)} ${status}`);
const tokensSent = (): (string | undefined)[] =>
  rig.emulator.calls
    .filter(({ path }) => path.endsWith('/banks'))
    .map(({ headers }) => headers.authorization?.replace('Bearer ', ''));

/** Moves time to the list's next load and waits until that has settled. */
const nextLoad = async (): Promise<void> => {
  const { list } = rig.service;
  const settled = (): string => JSON.stringify([list.status().held?.receivedAtMs, list.status().lastFailure]);
  const before = settled();
  rig.clock.advance(Math.ceil(list.status().nextLoadInMs));
  await eventually(() => settled() !== before && list.status().nextLoadInMs > 0);
};

/** Requests the banks repeatedly, a few at a time, until stopped; returns the statuses. */
const underLoad = async (during: () => Promise<void>): Promise<{ statuses: Set<number>; count: number }> => {
  const statuses = new Set<number>();
  let count = 0;
  const over = new AbortController();
  const client = async (): Promise<void> => {
    while (!over.signal.aborted) {
      // oxlint-disable-next-line no-await-in-loop -- one request after the other is what a client does
      const response = await fetch(`${rig.url}/banks`);
      // oxlint-disable-next-line no-await-in-loop
      await response.arrayBuffer();
      statuses.add(response.status);
      count += 1;
    }
  };
  const clients = Promise.all(Array.from({ length: 3 }, client));
  await during().finally(() => over.abort());
  await clients;
  return { statuses, count };
};

describe('a fixed token', () => {
  test('that the provider rejects is reported once with its variable, and not sent again during the back-off', async () => {
    await start({ env: { PROVIDER_ACCESS_TOKEN: 'a-wrong-token' } });
    await getBanks().expect(502);
    await Promise.all(Array.from({ length: 20 }, () => getBanks().expect(502)));
    expect(upstream()).toEqual(['banks 401']);
    await nextLoad();
    await nextLoad();
    expect(upstream()).toEqual(['banks 401', 'banks 401', 'banks 401']);
    const rejections = rig.messages().filter((message) => message.includes('401'));
    expect(rejections).toHaveLength(1);
    expect(rejections[0]).toContain('check PROVIDER_ACCESS_TOKEN;');
  });
});

describe('a token file', () => {
  const file = (): string => join(directory, 'token');
  const startWithFile = (options: RigOptions = {}): Promise<void> =>
    start({
      env: { PROVIDER_ACCESS_TOKEN: '', PROVIDER_ACCESS_TOKEN_FILE: file(), CACHE_TTL: '10m' },
      emulator: { accessTokens: ['token-0'] },
      ...options,
    });
  /** As orchestrators do: a new file, and a symbolic link that is replaced in one step. */
  const swap = async (token: string): Promise<void> => {
    await writeFile(join(directory, token), `${token}\n`);
    await symlink(token, join(directory, 'next'));
    await rename(join(directory, 'next'), file());
  };

  test('that is rotated in place is used from the next exchange on', async () => {
    await writeFile(file(), 'token-0\n');
    await startWithFile();
    await eventually(hasList);
    await writeFile(file(), 'token-1');
    rig.emulator.acceptTokens(['token-1']);
    await nextLoad();
    expect(tokensSent()).toEqual(['token-0', 'token-1']);
    expect(lastKind()).toBeUndefined();
  });

  test('may begin with a byte order mark', async () => {
    await writeFile(file(), '\ufefftoken-0\n');
    await startWithFile();
    await eventually(hasList);
    expect(tokensSent()).toEqual(['token-0']);
  });

  test.each([
    ['missing', () => rm(file())],
    ['empty', () => writeFile(file(), '')],
    ['only a line break', () => writeFile(file(), '\n')],
    ['no text that a header can carry', () => writeFile(file(), 'two words')],
    ['too long', () => writeFile(file(), 'x'.repeat(8_193))],
    ['a pipe', async () => (await rm(file()), execFileSync('mkfifo', [file()]))],
    ['not UTF-8', () => writeFile(file(), Buffer.from([0xff, 0xfe, 0x61, 0x00]))],
  ])('that is %s for a while leaves the last token in use', async (_what, spoil) => {
    await writeFile(file(), 'token-0');
    await startWithFile();
    await eventually(hasList);
    await spoil();
    await nextLoad();
    expect(tokensSent()).toEqual(['token-0', 'token-0']);
    expect(lastKind()).toBeUndefined();
  });

  test('that never was there answers 502, names its variable, and is found as soon as it appears', async () => {
    await startWithFile();
    await getBanks().expect(502);
    expect(rig.messages().join()).toContain('PROVIDER_ACCESS_TOKEN_FILE has no usable token');
    expect(upstream()).toEqual([]);
    await writeFile(file(), 'token-0');
    await nextLoad();
    await getBanks().expect(200);
  });

  test('whose token is rejected is read again, and without a newer token the provider is not asked again', async () => {
    await writeFile(file(), 'token-0');
    await startWithFile();
    await eventually(hasList);
    rig.emulator.acceptTokens([]);
    await nextLoad();
    expect(upstream(1)).toEqual(['banks 401']);
    expect(rig.messages().join()).toContain('check PROVIDER_ACCESS_TOKEN_FILE;');
  });

  test('swapped 50 times by symbolic link under load fails no call once the provider accepts the new token', async () => {
    await swap('token-0');
    await startWithFile();
    await eventually(hasList);
    let beforeRenewal = 0;
    const { statuses } = await underLoad(async () => {
      for (let rotation = 1; rotation <= 50; rotation += 1) {
        // oxlint-disable no-await-in-loop -- one rotation after the other
        await swap(`token-${rotation}`);
        rig.emulator.acceptTokens([`token-${rotation}`]);
        beforeRenewal = rig.emulator.calls.length;
        await nextLoad();
        expect(upstream(beforeRenewal)).toEqual(['banks 200']);
        // oxlint-enable no-await-in-loop
      }
    });
    expect([...statuses]).toEqual([200]);
    expect(new Set(tokensSent()).size).toBe(51);
  }, 30_000);

  test('swapped while a call with the old token is under way costs that call one retry', async () => {
    await swap('token-0');
    await startWithFile();
    await eventually(hasList);
    let first = true;
    rig.emulator.respondWith((_req, res) => {
      if (!first)
        return void res
          .setHeader('content-type', 'application/json')
          .end('[{"code":"1","ispb":"1","name":"One"}]');
      first = false;
      void swap('token-1').then(() => res.writeHead(401).end());
      return undefined;
    });
    rig.emulator.acceptTokens(['token-0', 'token-1']);
    const before = rig.emulator.calls.length;
    rig.clock.advance(Math.ceil(rig.service.list.status().nextLoadInMs));
    await eventually(() => rig.service.list.status().lastFailure !== undefined);
    expect(upstream(before)).toEqual(['banks 401', 'banks 200']);
    expect(lastKind()).toBe('shrunk');
  });
});

describe('the client-credentials grant', () => {
  const renewalFailures = (): string[] =>
    rig.messages().filter((message) => message.startsWith('token: renewal failed'));

  test('authenticates with an id and a secret of any characters', async () => {
    const client = { clientId: 'a client:é', clientSecret: ' s&c+r%t="\\:ü ' };
    await startGranted({
      emulator: client,
      envFor: (emulator) => ({
        ...clientCredentialsEnv(emulator),
        PROVIDER_CLIENT_ID: client.clientId,
        PROVIDER_CLIENT_SECRET: client.clientSecret,
      }),
    });
    await getBanks().expect(200);
    expect(upstream()).toEqual(['token 200', 'banks 200']);
    expect(rig.emulator.calls[0]?.headers.authorization).toMatch(/^Basic /);
    expect(rig.emulator.calls[0]?.headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/);
  });

  test.each<TokenBehaviour>(['string-expires-in', 'lowercase-type', 'no-expires-in'])(
    'takes an answer with %s',
    async (behaviour) => {
      await startGranted({ before: (emulator) => emulator.behaveToken(behaviour) });
      await getBanks().expect(200);
      expect(upstream()).toEqual(['token 200', 'banks 200']);
    },
  );

  test('is requested with JSON instead of a form if PROVIDER_TOKEN_FORMAT says so', async () => {
    await startGranted({
      envFor: (emulator) => ({ ...clientCredentialsEnv(emulator), PROVIDER_TOKEN_FORMAT: 'json' }),
      before: (emulator) => emulator.behaveToken('json-only'),
    });
    await getBanks().expect(200);
    expect(upstream()).toEqual(['token 200', 'banks 200']);
    expect(rig.emulator.calls[0]?.headers['content-type']).toBe('application/json');
  });

  test.each<[TokenBehaviour, number, string]>([
    ['reset', 503, 'no connection to the token endpoint'],
    ['server-error', 503, 'the token endpoint: it fails (500)'],
    ['rate-limited', 503, 'the token endpoint: the rate is limited (429)'],
    [
      'invalid-client',
      502,
      'the token endpoint refuses the client (invalid_client); check PROVIDER_CLIENT_ID',
    ],
    ['error-as-200', 502, 'the token endpoint refuses the client (invalid_client); check PROVIDER_CLIENT_ID'],
    ['html', 502, 'the token endpoint gives no usable grant; check PROVIDER_TOKEN_URL'],
    ['other-type', 502, 'the token endpoint: the granted token is not a bearer token'],
    ['huge-token', 502, 'the token endpoint: the granted token has more than 8192 bytes'],
    ['redirect', 502, 'the token endpoint: it answers with status 307'],
  ])('tells clients and operators apart what %s means', async (behaviour, status, message) => {
    await startGranted({ before: (emulator) => emulator.behaveToken(behaviour) });
    await getBanks().expect(status);
    expect(upstream()).toHaveLength(1);
    expect(rig.messages().join('\n')).toContain(message);
    rig.emulator.behaveToken('healthy');
    await nextLoad();
    await getBanks().expect(200);
  });

  test('waits no longer than PROVIDER_TIMEOUT for an endpoint that hangs, and recovers', async () => {
    await startGranted({ before: (emulator) => emulator.behaveToken('hang') });
    await eventually(() => rig.emulator.tokenCalls() === 1);
    const waiting = getBanks().expect(504);
    // Sent by the time the clock moves, or the request would come after the time-out and get the same answer.
    rig.clock.advance(5_000);
    await waiting;
    expect(lastKind()).toBe('timeout');
    rig.emulator.behaveToken('healthy');
    await nextLoad();
    await getBanks().expect(200);
  });

  test('obeys the Retry-After of a token endpoint that limits the rate', async () => {
    await startGranted({ before: (emulator) => emulator.behaveToken('rate-limited') });
    const { headers } = await getBanks().expect(503);
    expect(headers['retry-after']).toBe('30');
  });

  test('renews ahead of the expiry, so that no call is ever made with an expired token', async () => {
    await startGranted();
    await eventually(hasList);
    for (let loads = 0; loads < 30; loads += 1) {
      // oxlint-disable no-await-in-loop -- time passes step by step
      await nextLoad();
      // A renewal that it started ends too: a request under way has a deadline.
      await eventually(() => !rig.clock.waits().includes(5_000));
      // oxlint-enable no-await-in-loop
    }
    expect(rig.emulator.tokenCalls()).toBe(6);
    expect(new Set(upstream())).toEqual(new Set(['token 200', 'banks 200']));
  });

  test('uses a token without a lifetime until a 401', async () => {
    await startGranted({
      envFor: (emulator) => ({ ...clientCredentialsEnv(emulator), CACHE_TTL: '30d' }),
      emulator: { tokenLifetimeSeconds: null },
    });
    await eventually(hasList);
    await nextLoad();
    expect(rig.emulator.tokenCalls()).toBe(1);
    rig.emulator.revokeIssued();
    await nextLoad();
    expect(rig.emulator.tokenCalls()).toBe(2);
    expect(lastKind()).toBeUndefined();
  });

  test.each<TokenBehaviour>(['server-error', 'reset', 'hang'])(
    'stays with the valid token until its true end while the endpoint is away (%s); no client sees a difference',
    async (behaviour) => {
      await startGranted();
      await eventually(hasList);
      rig.emulator.behaveToken(behaviour);
      const { statuses } = await underLoad(async () => {
        // Of 3,600 s: loads come about every 596 s, the margin begins at 3,060 s, and the sixth load falls into it.
        for (let loads = 0; loads < 6; loads += 1) {
          // oxlint-disable-next-line no-await-in-loop
          await nextLoad();
        }
        if (behaviour === 'hang') rig.clock.advance(5_000);
        await eventually(() => renewalFailures().length > 0);
        expect(renewalFailures()[0]).toContain('the current token stays in use');
        expect(upstream().filter((call) => call === 'banks 200')).toHaveLength(7);
        // The token's true end: now the list cannot be renewed, and is served as it is.
        const before = rig.emulator.tokenCalls();
        rig.clock.advance(Math.ceil(rig.service.list.status().nextLoadInMs));
        await eventually(() => rig.emulator.tokenCalls() > before);
        if (behaviour === 'hang') rig.clock.advance(5_000);
        await eventually(() => lastKind() !== undefined);
      });
      expect([...statuses]).toEqual([200]);
      rig.emulator.behaveToken('healthy');
      await nextLoad();
      expect(rig.messages()).toContain('token: recovered');
      expect(lastKind()).toBeUndefined();
    },
  );

  test('backs off from an endpoint that fails while a valid token is in use', async () => {
    await startGranted({
      envFor: (emulator) => ({ ...clientCredentialsEnv(emulator), CACHE_TTL: '1s' }),
      emulator: { tokenLifetimeSeconds: 1_000 },
    });
    await eventually(hasList);
    rig.emulator.behaveToken('server-error');
    rig.clock.advance(845_000);
    for (let loads = 0; loads < 60; loads += 1) {
      // oxlint-disable-next-line no-await-in-loop
      await nextLoad();
    }
    // 1.25 s, 2, 3.5, 6.5, 12.5, 24.5 s: in a minute six or seven requests and not sixty.
    expect(rig.emulator.tokenCalls() - 1).toBeLessThanOrEqual(7);
    expect(rig.messages().filter((message) => message.startsWith('token:'))).toHaveLength(1);
  });

  test('a token revoked under load costs one 401, one token request and one retry; clients see only 200', async () => {
    await startGranted();
    await eventually(hasList);
    const before = rig.emulator.calls.length;
    rig.emulator.revokeIssued();
    const { statuses, count } = await underLoad(async () => {
      await nextLoad();
      await nextLoad();
    });
    expect([...statuses]).toEqual([200]);
    expect(count).toBeGreaterThan(0);
    expect(upstream(before)).toEqual(['banks 401', 'token 200', 'banks 200', 'banks 200']);
  });

  test('a provider that rejects its own tokens is asked once more per load, never in a loop', async () => {
    await startGranted({ before: (emulator) => emulator.behaveToken('rejected-token') });
    await getBanks().expect(502);
    expect(upstream()).toEqual(['token 200', 'banks 401', 'token 200', 'banks 401']);
    await nextLoad();
    expect(upstream(4)).toEqual(['banks 401', 'token 200', 'banks 401']);
    expect(rig.messages().join()).toContain('does not accept the token (401); check PROVIDER_TOKEN_URL');
  });

  test('a 403 renews nothing', async () => {
    await startGranted({ before: (emulator) => emulator.behave('forbidden') });
    await getBanks().expect(502);
    await nextLoad();
    expect(upstream()).toEqual(['token 200', 'banks 403', 'banks 403']);
  });

  test('reads a client secret from its file at each token request, and keeps the last one while it is missing', async () => {
    const file = join(directory, 'secret');
    await writeFile(file, 'emulator-secret\n');
    await startGranted({
      envFor: (emulator) => ({
        ...clientCredentialsEnv(emulator),
        PROVIDER_CLIENT_SECRET: '',
        PROVIDER_CLIENT_SECRET_FILE: file,
      }),
    });
    await eventually(hasList);
    await rm(file);
    rig.emulator.revokeIssued();
    await nextLoad();
    expect(lastKind()).toBeUndefined();
    await writeFile(file, 'another-secret');
    rig.emulator.revokeIssued();
    await nextLoad();
    expect(lastKind()).toBe('no_token');
  });
});

const NO_TLS_FILES = { ca: undefined, cert: undefined, key: undefined };

describe('the request for a token', () => {
  const clock = createManualClock();
  const sent: string[] = [];
  const addSecret = (): void => undefined;
  const grantFrom = (tokenUrl: string, environment: 'sandbox' | 'production' = 'sandbox') => {
    const connections = createConnections({
      peer: 'the token endpoint',
      url: new URL(tokenUrl),
      tls: createTlsContextSource(NO_TLS_FILES, { addSecret, clock }),
      proxies: { https: undefined, http: undefined, exceptions: '' },
      userAgent: 'banks-bff/0.0.0-test',
      timeoutMs: 5_000,
      clock,
      lookup: undefined,
    });
    return createAccessToken({
      source: {
        kind: 'client-credentials',
        url: new URL(tokenUrl),
        clientId: 'emulator-client',
        clientSecret: { reveal: () => 'emulator-secret' },
        scope: 'banks read',
        format: 'form',
      },
      environment,
      closing: new AbortController().signal,
      timeoutMs: 5_000,
      userAgent: 'banks-bff/0.0.0-test',
      connections: {
        ...connections,
        request: (request, read) => {
          if (typeof request.body === 'string') sent.push(request.body);
          return connections.request(request, read);
        },
      },
      clock,
      random: () => 0.5,
      addSecret,
      onEvent: () => undefined,
    });
  };
  beforeEach(() => start());

  test('1,000 simultaneous uses of an expired token cause one token request', async () => {
    const accessToken = grantFrom(rig.emulator.tokenUrl);
    const expired = await accessToken.current();
    clock.advance(3_600_000);
    const tokens = await Promise.all(Array.from({ length: 1_000 }, () => accessToken.current()));
    expect(new Set(tokens).size).toBe(1);
    expect(tokens[0]).not.toBe(expired);
    expect(rig.emulator.tokenCalls()).toBe(2);
  });

  test('the scope is asked for, and the secret is not in the form', async () => {
    await grantFrom(rig.emulator.tokenUrl).current();
    expect(sent.at(-1)).toBe('scope=banks+read&grant_type=client_credentials');
  });

  test('over plain http nothing is sent in production', async () => {
    await expect(grantFrom(rig.emulator.tokenUrl, 'production').current()).rejects.toMatchObject({
      kind: 'no_token',
    });
    expect(rig.emulator.tokenCalls()).toBe(0);
  });
});
