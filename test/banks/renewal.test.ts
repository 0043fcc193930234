import { afterEach, expect, test } from '@jest/globals';
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
const nextLoad = async (): Promise<void> => {
  rig.clock.next();
  await eventually(() => !isLoading());
};

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

test.each(['unavailable', 'reset'] as const)(
  'while retries back off after %s, requests are answered at once, cause no call, and are told how long to wait',
  async (behaviour) => {
    await start({ before: (emulator) => emulator.behave(behaviour) });
    const retryAfter = async (): Promise<unknown> => [
      status().nextLoadInMs,
      (await supertest(rig.url).get('/banks').expect(503)).headers['retry-after'],
    ];
    expect(await retryAfter()).toEqual([1_250, '2']);
    // The machine was suspended, and the load is overdue.
    rig.clock.skip(5_000);
    expect(await retryAfter()).toEqual([0, '1']);
    expect(calls()).toBe(1);
  },
);

test('a younger list from a store ends no failure while it is stale, and does once it is fresh', async () => {
  await start();
  await rig.emulator.behave('unavailable');
  rig.clock.skip(1.5 * HOUR);
  await rig.service.list.refresh();
  const { held } = status();
  if (!held) throw new Error('there is no list');
  const restore = (ageMs: number) =>
    rig.service.list.restore({ ...held, receivedAtMs: rig.clock.wallMs() - ageMs }, ageMs);
  expect([await restore(1.25 * HOUR), status().state, status().failure?.kind]).toEqual([
    true,
    'stale',
    'unavailable',
  ]);
  expect([await restore(0.5 * HOUR), status().state, status().failure]).toEqual([true, 'fresh', undefined]);
});

test('in an outage health says since when, each state of the list is reported once, and in the end there is no list', async () => {
  const health = async (): Promise<unknown> => (await supertest(rig.url).get('/healthz').expect(200)).body;
  const now = (): string => new Date(rig.clock.wallMs()).toISOString();
  await start({ env: { CACHE_TTL: '1m', CACHE_MAX_STALE: '1m' } });
  expect(await health()).toMatchObject({ status: 'pass', list: { failingSince: null } });
  await rig.emulator.behave('unavailable', { retryAfter: '30' });
  await nextLoad();
  const failingSince = now();
  expect(await health()).toMatchObject({ status: 'warn', list: { state: 'fresh', failingSince } });
  while (status().state !== 'expired') await nextLoad();
  expect(now()).not.toBe(failingSince);
  expect(await health()).toMatchObject({
    status: 'warn',
    list: { state: 'expired', failingSince, lastFailureAt: now() },
  });
  expect(status().failing?.attempts).toBe(4);
  await supertest(rig.url).get('/banks').expect(503).expect('Retry-After', '30');
  await supertest(rig.url).get('/readyz').expect(503);
  expect(rig.messages().slice(2)).toEqual([
    'list: load failed: the provider fails (503); the cached list is still fresh',
    'list: load failed: the provider fails (503); the stale list is served',
    'list: load failed: the provider fails (503); the cached list is too old to be served',
  ]);
  await rig.emulator.behave('healthy');
  await nextLoad();
  expect(await health()).toMatchObject({ status: 'pass', list: { failingSince: null } });
  await supertest(rig.url).get('/readyz').expect(200);
});
