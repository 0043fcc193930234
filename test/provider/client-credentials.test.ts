import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createAccessToken, type AccessToken } from '../../src/provider/access-token.ts';
import { createConnections } from '../../src/provider/connections.ts';
import { createTlsContextSource } from '../../src/secrets/tls-files.ts';
import { createManualClock, type ManualClock } from '../kit/manual-clock.ts';
import { eventually } from '../kit/rig.ts';

// When the token endpoint is asked, and what a token is used for, on a clock that the tests move.

const LIFETIME_MS = 1_000_000;
/** With a random number of 0.5. */
const RENEW_AT_MS = 850_000;

let clock: ManualClock;
let server: Server;
let calls: number;
let events: string[];
let answer: RequestListener;
let accessToken: AccessToken;

const grant =
  (token: string): RequestListener =>
  (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: LIFETIME_MS / 1_000 }));
  };
const fail =
  (headers: Record<string, string> = {}): RequestListener =>
  (_req, res) =>
    res.writeHead(503, headers).end();

beforeEach(async () => {
  clock = createManualClock();
  calls = 0;
  events = [];
  answer = grant('token-1');
  server = createServer((req, res) => {
    calls += 1;
    answer(req, res);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const url = new URL(`http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/token`);
  const [timeoutMs, userAgent, addSecret] = [60_000, 'banks-bff/0.0.0-test', () => undefined];
  accessToken = createAccessToken({
    source: {
      kind: 'client-credentials',
      url,
      clientId: 'emulator-client',
      clientSecret: { reveal: () => 'emulator-secret' },
      scope: undefined,
      format: 'form',
    },
    environment: 'sandbox',
    closing: new AbortController().signal,
    timeoutMs,
    userAgent,
    connections: createConnections({
      peer: 'the token endpoint',
      url,
      tls: createTlsContextSource({ ca: undefined, cert: undefined, key: undefined }, { addSecret, clock }),
      proxies: { https: undefined, http: undefined, exceptions: '' },
      userAgent,
      timeoutMs,
      clock,
      lookup: undefined,
    }),
    clock,
    random: () => 0.5,
    addSecret,
    onEvent: ({ type }) => void events.push(type),
  });
});
afterEach(() => void server.close());

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

test('a success ends the back-off: the next failure is followed by the shortest wait again', async () => {
  await use();
  answer = fail();
  expect(await isAsked(RENEW_AT_MS)).toBe(true);
  // 1.25 s, 2, 3.5, 6.5, 12.5, 24.5, and then a minute.
  for (const waitMs of [1_250, 2_000, 3_500, 6_500, 12_500, 24_500]) {
    expect(await isAsked(waitMs - 1)).toBe(false);
    expect(await isAsked(1)).toBe(true);
  }
  answer = grant('token-2');
  expect(await isAsked(60_000)).toBe(true);
  answer = fail();
  expect(await isAsked(RENEW_AT_MS)).toBe(true);
  expect(await isAsked(1_249)).toBe(false);
  expect(await isAsked(1)).toBe(true);
});

test('the Retry-After of the endpoint is obeyed while a valid token is in use', async () => {
  await use();
  answer = fail({ 'retry-after': '30' });
  expect(await isAsked(RENEW_AT_MS)).toBe(true);
  expect(await isAsked(29_999)).toBe(false);
  expect(await isAsked(1)).toBe(true);
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

test('a token that has expired is not the newer one after a 401', async () => {
  expect(await use()).toBe('token-1');
  answer = grant('token-2');
  expect(await accessToken.newerThan('token-0')).toBe('token-1');
  clock.advance(LIFETIME_MS);
  expect(await accessToken.newerThan('token-0')).toBe('token-2');
});

test('an endpoint that grants the rejected token again has no newer one', async () => {
  expect(await use()).toBe('token-1');
  expect(await accessToken.newerThan('token-1')).toBeUndefined();
  expect(calls).toBe(2);
});

test('a grant of more than 64 KiB is not read', async () => {
  answer = grant('x'.repeat(65_536));
  await expect(accessToken.current()).rejects.toMatchObject({
    kind: 'no_token',
    message: 'the token endpoint: the answer has more than 65536 bytes',
  });
});
