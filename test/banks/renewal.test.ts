import { afterEach, describe, expect, test } from '@jest/globals';
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import supertest from 'supertest';
import { makeBanks } from '../kit/banks.ts';
import { eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

// How fresh, and who waits: the whole service on a clock that the tests move.

const HOUR = 3_600_000;

const DATES = ['Thu, 01 Jan 2026 00:00:00 GMT', 'Fri, 02 Jan 2026 00:00:00 GMT'];

const sendBanks = (res: ServerResponse, count: number, headers: OutgoingHttpHeaders = {}): void => {
  res.writeHead(200, { 'content-type': 'application/json', ...headers });
  res.end(JSON.stringify(makeBanks(count)));
};

let rig: Rig;
afterEach(() => rig.close());

const start = async (options?: RigOptions): Promise<void> => {
  rig = await startRig(options);
  await eventually(() => !isLoading());
};
const status = () => rig.service.list.status();
const isLoading = () => status().nextLoadInMs === 0;
const calls = () => rig.emulator.listCalls();
/** Moves to the next load and lets it end. */
const nextLoad = async (): Promise<number> => {
  const waitedMs = status().nextLoadInMs;
  rig.clock.next();
  await eventually(() => !isLoading());
  return waitedMs;
};

describe('while the provider is healthy', () => {
  test('the list is renewed ahead of its expiry without any traffic, once per lifetime', async () => {
    await start();
    for (let lifetime = 0; lifetime < 20; lifetime += 1) {
      expect(await nextLoad()).toBeCloseTo(HOUR * 0.994, -1);
      expect(status().state).toBe('fresh');
    }
    expect(calls()).toBe(21);
  });

  test('a machine that was suspended for a week makes one call when it wakes, and serves at once', async () => {
    await start();
    rig.clock.skip(7 * 24 * HOUR);
    await supertest(rig.url).get('/banks').expect(200);
    rig.clock.next();
    await eventually(() => !isLoading());
    expect(calls()).toBe(2);
    expect(rig.clock.waits()).toHaveLength(1);
  });

  test('a lifetime longer than a timer can hold does not make the calls come at once', async () => {
    await start({ env: { CACHE_TTL: '300d' } });
    rig.clock.advance(25 * 24 * HOUR);
    expect(calls()).toBe(1);
    expect(status().nextLoadInMs).toBeGreaterThan(200 * 24 * HOUR);
  });
});

describe('while the provider fails', () => {
  test('at most 4 calls are made in the first 4 s and at most one a minute later, whatever the load', async () => {
    await start({ random: () => 0 });
    await rig.emulator.behave('unavailable');
    rig.clock.next();
    await eventually(() => !isLoading());
    const before = calls();
    const waits: number[] = [];
    for (let retry = 0; retry < 12; retry += 1) {
      await Promise.all(Array.from({ length: 25 }, () => supertest(rig.url).get('/banks').expect(200)));
      waits.push(await nextLoad());
    }
    expect(calls() - before).toBe(12);
    // With the smallest jitter there is: the first call, and three more in the first four seconds.
    expect(waits.slice(0, 4).reduce((sum, wait) => sum + wait)).toBeGreaterThanOrEqual(4_000);
    expect(waits.slice(6)).toEqual(Array.from({ length: 6 }, () => 60_000));
  });

  test.each([
    ['seconds', '1h', () => '30', 30_000],
    ['a date', '1h', (wallMs: number) => new Date(wallMs + 30_000).toUTCString(), 30_000],
    ['a century, with a TTL below an hour', '1m', () => '3155760000', HOUR],
    ['a century, with a TTL above an hour', '2h', () => '3155760000', 2 * HOUR],
  ])(
    'a Retry-After in %s (CACHE_TTL=%s) is obeyed, up to the larger of CACHE_TTL and 1 h',
    async (_form, ttl, retryAfter, waitMs) => {
      await start({ env: { CACHE_TTL: ttl } });
      // The renewal, and with it the answer, comes 0.6 % of the TTL ahead of the expiry.
      const answeredAtMs = rig.clock.wallMs() + status().nextLoadInMs;
      await rig.emulator.behave('unavailable', { retryAfter: retryAfter(answeredAtMs) });
      await nextLoad();
      expect(status().nextLoadInMs).toBeGreaterThan(waitMs - 1_000);
      expect(status().nextLoadInMs).toBeLessThanOrEqual(waitMs);
      rig.clock.advance(status().nextLoadInMs - 1);
      expect(calls()).toBe(2);
    },
  );

  test('a request during the back-off is answered at once and causes no call', async () => {
    await start({ before: (emulator) => emulator.behave('unavailable', { retryAfter: '30' }) });
    const answer = await supertest(rig.url).get('/banks').expect(503);
    expect(answer.headers['retry-after']).toBe('30');
    expect(calls()).toBe(1);
  });

  test('a request during a retry waits for it, and gets the list that it brings', async () => {
    await start({ before: (emulator) => emulator.behave('unavailable') });
    await rig.emulator.behave('slow', { delayMs: 100 });
    rig.clock.next();
    expect(isLoading()).toBe(true);
    await supertest(rig.url).get('/banks').expect(200);
    expect(calls()).toBe(2);
  });

  test('Retry-After is in whole seconds, never shorter than the wait, and never 0', async () => {
    const retryAfter = async (): Promise<string | undefined> =>
      (await supertest(rig.url).get('/banks').expect(503)).headers['retry-after'];
    await start({ before: (emulator) => emulator.behave('unavailable') });
    expect([status().nextLoadInMs, await retryAfter()]).toEqual([1_250, '2']);
    // The machine was suspended, and the load is overdue.
    rig.clock.skip(5_000);
    expect([status().nextLoadInMs, await retryAfter()]).toEqual([0, '1']);
  });

  test('a stale list names the last failure, also when it changes within a second', async () => {
    await start();
    rig.clock.skip(1.5 * HOUR);
    for (const [behaviour, kind] of [
      ['unavailable', 'unavailable'],
      ['forbidden', 'unexpected_status'],
    ] as const) {
      await rig.emulator.behave(behaviour);
      await rig.service.list.refresh();
      const { headers } = await supertest(rig.url).get('/banks').expect(200);
      expect(headers['cache-status']).toBe(`banks-bff; hit; ttl=-1800; detail=${kind}`);
    }
  });

  test('a list is served until CACHE_TTL and CACHE_MAX_STALE are over, and not a millisecond longer', async () => {
    await start({ env: { CACHE_TTL: '1m', CACHE_MAX_STALE: '1m' } });
    const renewedAtMs = rig.clock.monotonicMs();
    await rig.emulator.behave('unavailable', { retryAfter: '3600' });
    await nextLoad();
    await nextLoad();
    rig.clock.advance(renewedAtMs + 120_000 - rig.clock.monotonicMs());
    await supertest(rig.url).get('/banks').expect(200);
    await supertest(rig.url).get('/readyz').expect(200);
    rig.clock.advance(1);
    await eventually(() => !isLoading());
    await supertest(rig.url).get('/banks').expect(503);
    await supertest(rig.url).get('/readyz').expect(503);
    expect((await supertest(rig.url).get('/healthz')).body).toMatchObject({
      status: 'warn',
      list: { state: 'expired' },
    });
  });

  test('health warns while loads fail, although the list is fresh, and says since when', async () => {
    const health = async (): Promise<unknown> => (await supertest(rig.url).get('/healthz').expect(200)).body;
    await start();
    expect(await health()).toMatchObject({ status: 'pass', list: { failingSince: null } });
    await rig.emulator.behave('unavailable');
    await nextLoad();
    const failingSince = new Date(rig.clock.wallMs()).toISOString();
    await nextLoad();
    await nextLoad();
    const lastFailureAt = new Date(rig.clock.wallMs()).toISOString();
    expect(lastFailureAt).not.toBe(failingSince);
    expect(await health()).toMatchObject({
      status: 'warn',
      list: { state: 'fresh', failingSince, lastFailureAt },
    });
    expect(status().failing?.attempts).toBe(3);
    expect(status().failure?.upstreamStatus).toBe(503);
    await rig.emulator.behave('healthy');
    await nextLoad();
    expect(await health()).toMatchObject({ status: 'pass', list: { failingSince: null } });
    expect(status().failing).toBeUndefined();
  });

  test('each change is reported once, not once per retry', async () => {
    await start();
    await rig.emulator.behave('unavailable');
    for (let retry = 0; retry < 4; retry += 1) await nextLoad();
    await rig.emulator.behave('healthy');
    await nextLoad();
    await nextLoad();
    expect(rig.messages()).toEqual([
      'listening',
      'list: initial load succeeded',
      'list: load failed: the provider fails (503); the cached list is still fresh',
      'list: recovered',
    ]);
  });

  test('each state that the list gets into during an outage is reported once', async () => {
    await start({ env: { CACHE_TTL: '1m', CACHE_MAX_STALE: '1m' } });
    await rig.emulator.behave('unavailable');
    while (status().state !== 'expired') await nextLoad();
    await nextLoad();
    expect(rig.messages().slice(2)).toEqual([
      'list: load failed: the provider fails (503); the cached list is still fresh',
      'list: load failed: the provider fails (503); the stale list is served',
      'list: load failed: the provider fails (503); the cached list is too old to be served',
    ]);
  });
});

describe('a load that never settles', () => {
  test('is given up at the deadline, and does not block the next one', async () => {
    await start();
    await rig.emulator.behave('hang');
    rig.clock.next();
    rig.clock.advance(5_000);
    await eventually(() => !isLoading());
    await rig.emulator.behave('healthy');
    await nextLoad();
    expect(status().failure).toBeUndefined();
  });
});

describe('one call at a time', () => {
  test('applies to requests, renewals and forced refreshes together', async () => {
    await start({ env: { MANAGEMENT_TOKEN: 'operator-token-for-tests' } });
    await rig.emulator.behave('slow', { delayMs: 20 });
    rig.clock.next();
    await Promise.all([
      ...Array.from({ length: 20 }, () => supertest(rig.url).get('/banks').expect(200)),
      ...Array.from({ length: 3 }, () =>
        supertest(rig.operatorsUrl)
          .post('/refresh')
          .set('Authorization', 'Bearer operator-token-for-tests')
          .expect(200),
      ),
    ]);
    expect(rig.emulator.maxConcurrentListCalls).toBe(1);
  });
});

describe('a provider that names versions of its list', () => {
  test('is asked whether the cached list is still current, and a 304 resets its age', async () => {
    await start({ emulator: { validators: true } });
    const before = status().held;
    await nextLoad();
    expect(rig.emulator.calls.at(-1)).toMatchObject({ status: 304 });
    expect(status().ageMs).toBe(0);
    expect(status().held?.receivedAtMs).toBe(rig.clock.wallMs());
    expect(status().held?.representations).toBe(before?.representations);
    rig.emulator.setBanks(makeBanks(500));
    await nextLoad();
    expect(rig.emulator.calls.at(-1)).toMatchObject({ status: 200 });
    expect(status().held?.count).toBe(500);
  });

  test.each([500, 412, 431])(
    'and that answers %d whenever it is asked that is asked for the whole list by the first retry',
    async (statusCode) => {
      await start({ emulator: { validators: true } });
      rig.emulator.respondWith((req, res) => {
        const isConditional = 'if-none-match' in req.headers || 'if-modified-since' in req.headers;
        if (isConditional) res.writeHead(statusCode).end();
        else sendBanks(res, 513);
      });
      await nextLoad();
      expect(status().failure?.kind).toBeDefined();
      await nextLoad();
      expect(status()).toMatchObject({ state: 'fresh', failure: undefined });
      expect(calls()).toBe(3);
    },
  );

  test.each<[string, OutgoingHttpHeaders, OutgoingHttpHeaders]>([
    ['entity tag', { etag: '"one"' }, { etag: '"another"' }],
    ['date', { 'last-modified': DATES[0] }, { 'last-modified': DATES[1] }],
    ['overlong entity tag', { etag: '"one"' }, { etag: `"${'x'.repeat(10_000)}"` }],
  ])('and that says 304 with another %s is not believed', async (_name, before, after) => {
    await start({ before: (emulator) => emulator.respondWith((_req, res) => sendBanks(res, 513, before)) });
    const receivedAtMs = status().held?.receivedAtMs;
    rig.emulator.respondWith((req, res) => {
      if ('if-none-match' in req.headers || 'if-modified-since' in req.headers)
        res.writeHead(304, after).end();
      else sendBanks(res, 500, after);
    });
    await nextLoad();
    expect(status()).toMatchObject({ failure: { kind: 'malformed' }, held: { receivedAtMs } });
    await nextLoad();
    expect(status()).toMatchObject({ failure: undefined, held: { count: 500 } });
  });

  test.each<[string, OutgoingHttpHeaders, OutgoingHttpHeaders]>([
    ['without one', { etag: '"one"', 'last-modified': DATES[0] }, {}],
    ['with the weak form of it', { etag: '"one"' }, { etag: 'W/"one"' }],
    [
      'with the same tag and another date',
      { etag: '"one"', 'last-modified': DATES[0] },
      { etag: '"one"', 'last-modified': DATES[1] },
    ],
    ['with the same date', { 'last-modified': DATES[0] }, { 'last-modified': DATES[0] }],
  ])('and that says 304 %s is believed', async (_name, before, after) => {
    await start({ before: (emulator) => emulator.respondWith((_req, res) => sendBanks(res, 513, before)) });
    rig.emulator.respondWith((_req, res) => res.writeHead(304, after).end());
    await nextLoad();
    expect(status()).toMatchObject({ failure: undefined, ageMs: 0 });
  });

  test.each(['x'.repeat(10_000), 'café', ''])('by the entity tag %j is not asked for it', async (etag) => {
    await start({
      before: (emulator) => emulator.respondWith((_req, res) => sendBanks(res, 513, { etag: `"${etag}"` })),
    });
    await nextLoad();
    expect(status().failure).toBeUndefined();
    expect(rig.emulator.calls.map(({ headers }) => headers['if-none-match'])).toEqual(
      etag === '' ? [undefined, '""'] : [undefined, undefined],
    );
  });

  test('is asked for the whole list at every 24th renewal, and once a day', async () => {
    const wholeLoads = () => rig.emulator.calls.map(({ status: code }) => code);
    await start({ emulator: { validators: true } });
    for (let renewal = 0; renewal < 48; renewal += 1) await nextLoad();
    const statuses = wholeLoads();
    expect(statuses.filter((code) => code === 200)).toHaveLength(3);
    expect([statuses[24], statuses[48]]).toEqual([200, 200]);
    await rig.close();
    await start({ emulator: { validators: true }, env: { CACHE_TTL: '10h' } });
    for (let renewal = 0; renewal < 4; renewal += 1) await nextLoad();
    expect(wholeLoads()).toEqual([200, 304, 304, 200, 304]);
  });

  test('is asked for the complete list when none is cached, and a 304 is then refused', async () => {
    await start({ before: (emulator) => emulator.respondWith((_req, res) => void res.writeHead(304).end()) });
    expect(rig.emulator.calls[0]?.headers).not.toHaveProperty('if-none-match');
    expect(status().failure?.kind).toBe('unexpected_status');
  });
});

describe('the connection to the provider', () => {
  test('is a new one for each load, and closed after it, although the provider offers to keep it', async () => {
    await start();
    const sockets = new Set<Socket>();
    rig.emulator.respondWith(({ socket }, res) => {
      sockets.add(socket);
      res.writeHead(200, { 'content-type': 'application/json', 'keep-alive': 'timeout=600' });
      res.end(JSON.stringify(makeBanks(513)));
    });
    for (let load = 0; load < 3; load += 1) {
      await nextLoad();
      expect(status().failure).toBeUndefined();
    }
    expect(sockets.size).toBe(3);
    await eventually(() => [...sockets].every(({ destroyed }) => destroyed));
  });

  test('that is reset is not tried again before the back-off', async () => {
    await start({ before: (emulator) => emulator.behave('reset') });
    expect(calls()).toBe(1);
  });
});
