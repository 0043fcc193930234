import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AccessToken } from '../../src/provider/access-token.ts';
import { createClientCredentials } from '../../src/provider/client-credentials.ts';
import { createConnections } from '../../src/provider/connections.ts';
import { listenOn } from '../helpers/free-port.ts';
import { createManualClock, type ManualClock } from '../helpers/manual-clock.ts';
import { createTestSecrets } from '../helpers/secret-files.ts';
import { eventually } from '../helpers/wait-until.ts';

// When the token endpoint is asked, and what a token is used for, on a clock that the tests move.

const LIFETIME_MS = 1_000_000;
/** With a random number of 0.5. */
const RENEW_AT_MS = 850_000;

let clock: ManualClock;
let server: Server;
let calls: number;
let events: string[];
let secrets: string[];
let answer: RequestListener;
let url: URL;
let accessToken: AccessToken;

const grant =
  (token: string): RequestListener =>
  (_req, res) => {
    const lifetime = { expires_in: LIFETIME_MS / 1_000 };
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ access_token: token, token_type: 'Bearer', ...lifetime }));
  };
const grantFor =
  (lifetime: unknown): RequestListener =>
  (_req, res) =>
    res.end(JSON.stringify({ access_token: 'token-1', expires_in: lifetime }));
const fail =
  (headers: Record<string, string> = {}): RequestListener =>
  (_req, res) =>
    res.writeHead(503, headers).end();

beforeEach(async () => {
  clock = createManualClock();
  calls = 0;
  events = [];
  secrets = [];
  answer = grant('token-1');
  server = createServer((req, res) => {
    calls += 1;
    answer(req, res);
  });
  url = new URL(`http://127.0.0.1:${await listenOn(server)}/token`);
  accessToken = createToken();
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

const createToken = (): AccessToken => {
  const [timeoutMs, userAgent] = [60_000, 'banks-bff/0.0.0-test'];
  const addSecret = (_variable: string, secret: string) => void secrets.push(secret);
  const secretFiles = createTestSecrets(clock);
  const source = {
    kind: 'client-credentials',
    endpoint: { url, query: undefined },
    clientId: 'emulator-client',
    clientSecret: { reveal: () => 'emulator-secret' },
    scope: undefined,
    format: 'form',
    auth: 'basic',
    params: undefined,
    field: 'access_token',
  } as const;
  return createClientCredentials(source, {
    environment: 'sandbox',
    closing: new AbortController().signal,
    timeoutMs,
    userAgent,
    connections: createConnections({
      peer: 'the token endpoint',
      url,
      secrets: secretFiles,
      proxies: { https: undefined, http: undefined, exceptions: '' },
      userAgent,
      timeoutMs,
      maxBodyBytes: 65_536,
      clock,
      lookup: undefined,
    }),
    clock,
    random: () => 0.5,
    secrets: secretFiles,
    addSecret,
    onEvent: ({ type }) => void events.push(type),
  });
};

/** Uses the token, and lets the renewal that this may start end. */
const use = async (): Promise<string> => {
  const [callsBefore, eventsBefore] = [calls, events.length];
  const token = await accessToken.current();
  await eventually(() => clock.waits().length === 0);
  expect(events.length - eventsBefore).toBe(calls - callsBefore);
  return token;
};
/** Uses the token after `afterMs`; whether the endpoint was asked. */
const isAsked = async (afterMs: number): Promise<boolean> => {
  clock.advance(afterMs);
  const before = calls;
  await use();
  return calls > before;
};

test.each([0, -1, '0', '-1', '', 'never', 'PT1H', true, {}])(
  'a token whose expires_in is %j is used until a 401, and one call is made for it',
  async (lifetime) => {
    answer = grantFor(lifetime);
    expect(await use()).toBe('token-1');
    expect(await isAsked(0)).toBe(false);
    expect(await isAsked(1_000 * LIFETIME_MS)).toBe(false);
    answer = grant('token-2');
    expect(await accessToken.newerThan('token-1')).toBe('token-2');
    expect([calls, ...events]).toEqual([2, 'token-renewed', 'token-renewed']);
  },
);

test('an expires_in as text counts as a number', async () => {
  answer = grantFor(String(LIFETIME_MS / 1_000));
  await use();
  expect(await isAsked(RENEW_AT_MS - 1)).toBe(false);
  expect(await isAsked(1)).toBe(true);
});

test('one byte order mark before a grant is dropped; with two it is not JSON', async () => {
  const body = JSON.stringify({ access_token: 'token-1' });
  answer = (_req, res) => res.end(`\ufeff\ufeff${body}`);
  await expect(accessToken.current()).rejects.toThrow('is not a JSON object');
  answer = (_req, res) => res.end(`\ufeff${body}`);
  expect(await accessToken.current()).toBe('token-1');
});

test('failed renewals back off while the token is good, obey Retry-After, and begin anew after a success', async () => {
  await use();
  answer = fail();
  expect(await isAsked(RENEW_AT_MS - 1)).toBe(false);
  expect(await isAsked(1)).toBe(true);
  for (const waitMs of [1_250, 2_000, 3_500]) {
    expect(await isAsked(waitMs - 1)).toBe(false);
    expect(await isAsked(1)).toBe(true);
  }
  answer = grant('token-2');
  expect(await isAsked(6_500)).toBe(true);
  answer = fail({ 'retry-after': '30' });
  expect(await isAsked(RENEW_AT_MS)).toBe(true);
  expect(await isAsked(29_999)).toBe(false);
  answer = fail();
  expect(await isAsked(1)).toBe(true);
  answer = grant('token-3');
  expect(await isAsked(2_000)).toBe(true);
  answer = fail();
  expect(await isAsked(RENEW_AT_MS)).toBe(true);
  expect(await isAsked(1_249)).toBe(false);
  expect(await isAsked(1)).toBe(true);
});

test.each([-600_000, 600_000])(
  'a Retry-After date counts from the Date of the endpoint, whose clock is %d ms ahead',
  async (aheadMs) => {
    await use();
    const now = clock.wallMs() + RENEW_AT_MS + aheadMs;
    answer = fail({
      date: new Date(now).toUTCString(),
      'retry-after': new Date(now + 30_000).toUTCString(),
    });
    expect(await isAsked(RENEW_AT_MS)).toBe(true);
    expect(await isAsked(29_999)).toBe(false);
    expect(await isAsked(1)).toBe(true);
  },
);

test('a renewal that hangs makes nobody wait', async () => {
  await use();
  answer = () => undefined;
  clock.advance(RENEW_AT_MS);
  expect([await accessToken.current(), await accessToken.current()]).toEqual([
    'token-1',
    'token-1',
  ]);
  await eventually(() => calls === 2);
  clock.advance(60_000);
  await eventually(() => events.at(-1) === 'token-renewal-failed');
});

test('a renewal that an operator asks for is a request of its own, after one that is under way', async () => {
  let finish: (() => void) | undefined;
  answer = (req, res) => void (finish = () => grant('token-1')(req, res));
  const first = accessToken.current();
  await eventually(() => finish !== undefined);
  const renewed = accessToken.renew();
  answer = grant('token-2');
  finish?.();
  await renewed;
  expect([await first, await accessToken.current(), calls]).toEqual(['token-1', 'token-2', 2]);
});

test('the lifetime of a token counts from before the request for it, and then it is not used any more', async () => {
  answer = (req, res) => {
    clock.skip(10_000);
    grant('token-1')(req, res);
  };
  await use();
  answer = fail();
  clock.advance(LIFETIME_MS - 10_000);
  await expect(accessToken.current()).rejects.toMatchObject({ kind: 'unavailable' });
});

test('after a 401 the newer token is the one that is held, or else a new one, if that is another', async () => {
  expect(await use()).toBe('token-1');
  expect(await accessToken.newerThan('token-0')).toBe('token-1');
  expect(calls).toBe(1);
  expect(await accessToken.newerThan('token-1')).toBeUndefined();
  expect(calls).toBe(2);
  clock.advance(LIFETIME_MS);
  answer = grant('token-2');
  expect(await accessToken.newerThan('token-0')).toBe('token-2');
});

test('a token is a secret, and a grant of more than 64 KiB is not read', async () => {
  await use();
  expect(secrets).toContain('token-1');
  clock.advance(LIFETIME_MS);
  answer = grant('x'.repeat(65_536));
  await expect(accessToken.current()).rejects.toMatchObject({
    kind: 'no_token',
    message: 'the token endpoint: the response has more than 65536 bytes',
  });
});
