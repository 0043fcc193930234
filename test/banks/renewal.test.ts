import { afterEach, describe, expect, test } from '@jest/globals';
import type { Socket } from 'node:net';
import supertest from 'supertest';
import { makeBanks } from '../kit/banks.ts';
import { eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

// How fresh, and who waits: the whole service on a clock that the tests move.

const HOUR = 3_600_000;

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
  test('after a bad answer that passed, which operators are told of, the right list comes back by itself', async () => {
    const refresh = async (count: number): Promise<unknown> => {
      rig.emulator.setBanks(makeBanks(count));
      return [(await rig.service.list.refresh())?.kind, status().held?.count];
    };
    await start({ before: (emulator) => emulator.setBanks(makeBanks(513)) });
    expect(await refresh(5_000)).toEqual([undefined, 5_000]);
    expect(rig.log()).toMatch(
      /"level":40[^\n]*"added":4487,"removed":0,"count":5000,"changedValues":{"code":4487,"ispb":4487,"name":4487},"msg":"list: changed by more than GUARD_MAX_SHRINK"/,
    );
    expect((await supertest(rig.operatorsUrl).get('/metrics')).text).toMatch(
      /^banks_list_last_large_change_timestamp_seconds \d+/m,
    );
    // One that was never held does not.
    expect(await refresh(514)).toEqual(['shrunk', 5_000]);
    expect(await refresh(513)).toEqual([undefined, 513]);
    expect(await refresh(514)).toEqual([undefined, 514]);
  });

  test('each acceptance is later than the one before, and stays known with the lists that follow', async () => {
    await start();
    const { list } = rig.service;
    const accepted = (): unknown => [status().held?.acceptedAtMs, status().held?.decision];
    const nowMs = rig.clock.wallMs();
    await list.refresh(['shrunk'], 'first');
    expect(accepted()).toEqual([nowMs, { reasons: ['shrunk'], requestId: 'first' }]);
    await list.refresh(['drifted'], 'second');
    await list.refresh([], 'third');
    await nextLoad();
    expect(accepted()).toEqual([nowMs + 1, { reasons: ['drifted'], requestId: 'second' }]);
  });
});

describe('while the provider fails', () => {
  test.each([
    ['seconds', '1h', () => '30', 30_000],
    ['a date', '1h', (wallMs: number) => new Date(wallMs + 30_000).toUTCString(), 30_000],
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
