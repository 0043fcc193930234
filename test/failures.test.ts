import { expect, test } from '@jest/globals';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import supertest from 'supertest';
import { INTERNAL_DETAIL } from '../emulator/answers.ts';
import type { Behaviour } from '../emulator/behaviours.ts';
import { BANKS } from './helpers/emulate.ts';
import { advanceToLoad, refresh, startLoadedRig, startRig, type Rig } from './helpers/rig.ts';
import { serve } from './helpers/serve.ts';
import { eventually } from './helpers/wait-until.ts';

// The failure table, row by row: what users get while the provider fails, with and without a cached
// list.

const FAILURES: readonly (readonly [Behaviour, status: number, code: string, kind: string])[] = [
  ['refuse', 503, 'provider_unavailable', 'unreachable'],
  ['rate-limited', 503, 'provider_unavailable', 'rate_limited'],
  ['unavailable', 503, 'provider_unavailable', 'unavailable'],
  ['unauthorized', 502, 'provider_invalid_answer', 'unauthorized'],
  ['forbidden', 502, 'provider_invalid_answer', 'unexpected_status'],
  ['no-content', 502, 'provider_invalid_answer', 'unexpected_status'],
  ['html', 502, 'provider_invalid_answer', 'malformed'],
  ['not-utf8', 502, 'provider_invalid_answer', 'malformed'],
  ['cut-short', 502, 'provider_invalid_answer', 'malformed'],
  ['too-deep', 502, 'provider_invalid_answer', 'unusable_entries'],
  ['envelope', 502, 'provider_invalid_answer', 'not_a_list'],
  ['echo', 502, 'provider_invalid_answer', 'echoed_secret'],
  ['empty', 502, 'provider_invalid_answer', 'too_few'],
  ['most-unusable', 502, 'provider_invalid_answer', 'unusable_entries'],
  ['too-large', 502, 'provider_invalid_answer', 'too_large'],
  ['gzip-bomb', 502, 'provider_invalid_answer', 'too_large'],
  ['hang', 504, 'provider_timeout', 'timeout'],
  ['drip', 504, 'provider_timeout', 'timeout'],
];

/** A whole list, in chunks. */
const LIST_ANSWER =
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n' +
  '26\r\n[{"code":"1","ispb":"1","name":"One"}]\r\n0\r\n\r\n';

let rig: Rig;

const banks = () => supertest(rig.url).get('/banks');
const failure = () => rig.service.list.status().failing?.error;
const isLoading = () => rig.service.list.status().nextLoadInMs === 0;

test.each(FAILURES)(
  'while the provider does %s, users get %i %s without a list, the cached list with one, and the end of it by itself',
  async (behaviour, status, code, kind) => {
    /**
     * Lets the load under way, the provider's `call`th, end; moves time to its deadline where only
     * that ends it.
     */
    const endLoad = async (call: number): Promise<void> => {
      if (kind === 'timeout') {
        await eventually(() => rig.emulator.listCalls() === call && isLoading());
        rig.clock.advance(5_000);
      }
      await eventually(() => failure() !== undefined && !isLoading());
    };
    rig = await startRig({ before: (emulator) => emulator.behave(behaviour) });
    const first = banks();
    await Promise.all([first, endLoad(1)]);
    for (const answer of [await first, await banks()]) {
      expect(answer.status).toBe(status);
      expect(answer.headers['content-type']).toBe('application/problem+json');
      expect(answer.headers['cache-control']).toBe('no-store');
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      expect(answer.body).toMatchObject({ status, code });
      expect(answer.text).not.toMatch(/emulator|127\.0\.0\.1|Bearer/);
    }
    expect(failure()?.kind).toBe(kind);
    for (const secret of [INTERNAL_DETAIL, 'emulator-access-token'])
      expect(rig.log()).not.toContain(secret);
    await supertest(rig.url).get('/readyz').expect(503);
    await supertest(rig.url).get('/healthz').expect(200);

    await rig.emulator.behave('healthy');
    await advanceToLoad(rig);
    await eventually(() => failure() === undefined);
    const before = await banks().expect(200);

    await rig.emulator.behave(behaviour);
    const calls = rig.emulator.listCalls();
    await advanceToLoad(rig);
    await Promise.all([banks().expect(200), endLoad(calls + 1)]);
    rig.clock.skip(3_600_000);
    expect((await banks().expect(200)).text).toBe(before.text);
    await supertest(rig.url).get('/readyz').expect(200);
    const { body } = await supertest(rig.managementUrl).get('/healthz').expect(200);
    expect(body).toMatchObject({
      status: 'warn',
      list: { state: 'stale', count: BANKS.length, lastFailure: kind },
    });
  },
);

// A list that looks right. Cold: what a service without a list answers. Warm: why a service with
// the whole list refuses it.
test.each<[behaviour: Behaviour, cold: number | string, warm: string, change: string]>([
  ['renamed-field', 'missing_field', 'drifted', 'name: filled in 100 % of entries before, 0 % now'],
  ['retyped-field', BANKS.length, 'drifted', 'code: a string in 100 % of entries before, 0 % now'],
  ['thinned-field', BANKS.length, 'drifted', 'name: filled in 100 % of entries before, 50 % now'],
  ['duplicates', 1, 'shrunk', ''],
  ['paginated', 50, 'shrunk', 'the response names a next page; see PROVIDER_QUERY'],
])(
  'while the provider does %s, a service without a list gets %s; one with a list serves it and says %s',
  async (behaviour, cold, warm, change) => {
    rig = await startRig({ before: (emulator) => emulator.behave(behaviour) });
    const { status, body } = await banks();
    expect(status === 200 ? body.length : failure()?.kind).toBe(cold);
    const { body: coldHealth } = await supertest(rig.managementUrl).get('/healthz').expect(200);
    expect(coldHealth.status).toBe(status === 200 ? 'pass' : 'warn');

    rig = await startRig();
    const before = await banks().expect(200);
    await rig.emulator.behave(behaviour);
    const failingSince = new Date(rig.clock.wallMs()).toISOString();
    expect((await refresh(rig))?.kind).toBe(warm);
    expect(failure()?.message).toContain(change);
    // Once, however often it is refused.
    await rig.service.list.refresh();
    expect(rig.messages().filter((line) => line.includes('list: load failed'))).toHaveLength(1);
    const after = await banks().expect(200);
    expect([after.text, after.headers['etag']]).toEqual([before.text, before.headers['etag']]);
    const { body: health } = await supertest(rig.managementUrl).get('/healthz').expect(200);
    const list = { state: 'fresh', lastFailure: warm, failingSince };
    expect(health).toMatchObject({ status: 'warn', list });
  },
);

test('a list that drifted in another field than the one before is told as well', async () => {
  rig = await startRig();
  await banks().expect(200);
  for (const behaviour of ['renamed-field', 'retyped-field'] as const) {
    await rig.emulator.behave(behaviour);
    await rig.service.list.refresh();
  }
  expect(rig.messages().filter((line) => line.includes('list: load failed'))).toEqual([
    expect.stringContaining('published fields changed: name: '),
    expect.stringContaining('published fields changed: code: '),
  ]);
});

test('no redirect is followed, with the token or without', async () => {
  const received: unknown[] = [];
  const elsewhere = createHttpServer((req, res) => {
    received.push(req.url);
    res.setHeader('content-type', 'application/json').end('[{"code":"1","ispb":"1","name":"One"}]');
  });
  const location = `http://127.0.0.1:${await serve(elsewhere)}/api/v1/banks`;
  rig = await startRig();
  for (const status of [301, 302, 303, 307, 308]) {
    rig.emulator.respondWith((_req, res) => res.writeHead(status, { location }).end());
    expect((await refresh(rig))?.kind).toBe('unexpected_status');
  }
  expect(received).toEqual([]);
});

test('a base path that looks like another host stays a path', async () => {
  rig = await startRig({
    envFor: ({ baseUrl }) => ({ PROVIDER_SANDBOX_BASE_URL: `${baseUrl}//127.0.0.1:9/` }),
  });
  await banks().expect(502);
  expect(rig.emulator.calls.map(({ path }) => path)).toEqual(['//127.0.0.1:9/api/v1/banks']);
});

// What a provider that is none, or speaks an odd HTTP, is taken for.
const UPGRADE =
  'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n';
const ODD_ANSWERS: readonly (readonly [what: string, bytes: string, kind: string | undefined])[] = [
  ['greets as a mail server does', '220 mail.example.com ESMTP\r\n', 'malformed'],
  ['speaks TLS', '\x15\x03\x01\x00\x02\x02\x46', 'malformed'],
  [
    'sends a head of a megabyte',
    `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(1_000_000)}\r\n\r\n`,
    'malformed',
  ],
  ['says 100 and then all', `HTTP/1.1 100 Continue\r\n\r\n${LIST_ANSWER}`, 'malformed'],
  ['switches to another protocol', UPGRADE, 'malformed'],
  [
    'gives a length and an encoding',
    LIST_ANSWER.replace('\r\n', '\r\ncontent-length: 9\r\n'),
    'malformed',
  ],
  ['hangs up without a response', '', 'unreachable'],
  [
    'sends 103 and then all',
    `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${LIST_ANSWER}`,
    undefined,
  ],
  [
    'sends trailers',
    LIST_ANSWER.replace('0\r\n\r\n', `0\r\nx: ${'y'.repeat(10_000)}\r\n\r\n`),
    undefined,
  ],
];

test('each odd response fails the load for its reason, and those that HTTP allows do not', async () => {
  let bytes = '';
  const provider = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(bytes, 'latin1'));
  });
  const port = await serve(provider);
  rig = await startRig({ env: { PROVIDER_SANDBOX_BASE_URL: `http://127.0.0.1:${port}` } });
  for (const [what, answer, kind] of ODD_ANSWERS) {
    bytes = answer;
    expect([what, (await refresh(rig))?.kind]).toEqual([what, kind]);
  }
});

test.each([
  [429, 'rate_limited', 600_000],
  [503, 'unavailable', 600_000],
  [500, 'unavailable', undefined],
] as const)(
  'a %i whose body does not end is known by its status, and a 429 or 503 by its Retry-After',
  async (status, kind, retryAfterMs) => {
    rig = await startLoadedRig();
    rig.emulator.respondWith((_req, res) =>
      res.writeHead(status, { 'retry-after': '600', 'content-length': '100' }).write('slow down'),
    );
    expect(await refresh(rig)).toMatchObject({ kind, retryAfterMs });
    rig.emulator.respondWith(undefined);
    expect(await refresh(rig)).toBeUndefined();
  },
);

test('a Retry-After that is a date is read by the clock of the provider, whatever that says', async () => {
  rig = await startLoadedRig();
  const at = (ms: number): string => new Date(Date.UTC(2031, 0, 1) + ms).toUTCString();
  rig.emulator.respondWith((_req, res) =>
    res.writeHead(503, { date: at(0), 'retry-after': at(120_000) }).end(),
  );
  expect(await refresh(rig)).toMatchObject({ kind: 'unavailable', retryAfterMs: 120_000 });
});
