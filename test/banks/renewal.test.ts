import { expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import supertest from 'supertest';
import type { Emulator } from '../../emulator/emulator.ts';
import { makeBanks } from '../helpers/banks.ts';
import { eventually } from '../helpers/wait-until.ts';
import { holdBack } from '../helpers/hold-back.ts';
import {
  advanceToLoad,
  nextLoad,
  plannedInMs,
  startLoadedRig,
  startRig,
  type Rig,
  type RigOptions,
} from '../helpers/rig.ts';

// How fresh, and who waits: the whole service on a clock that the tests move.

let rig: Rig;
const start = async (options?: RigOptions): Promise<void> => {
  rig = await startLoadedRig(options);
};
const status = () => rig.service.list.status();

test('operators are told of a large change, and by which fields', async () => {
  await start({ before: (emulator) => emulator.setBanks(makeBanks(500)) });
  rig.emulator.setBanks(makeBanks(5_000));
  await rig.service.list.refresh();
  expect(rig.log()).toMatch(
    /"level":40[^\n]*"added":4500,"removed":0,"count":5000,"changedValues":{"code":4500,"ispb":4500,"name":4500},"msg":"list: changed by more than GUARD_MAX_SHRINK"/,
  );
});

test('an acceptance of what the guard refused stays known with the lists that follow; of anything else there is none', async () => {
  await start();
  const { list } = rig.service;
  const accepted = (): unknown =>
    status().cached?.decisions.map(({ reasons, requestId }) => [reasons, requestId]);
  await list.refresh(['shrunk'], 'nothing was refused');
  expect(accepted()).toEqual([]);
  await rig.emulator.behave('shrunk');
  await list.refresh(['shrunk', 'drifted'], 'first');
  expect(accepted()).toEqual([[['shrunk'], 'first']]);
  await rig.emulator.behave('healthy');
  await list.refresh([], 'second');
  await rig.emulator.behave('retyped-field');
  await list.refresh(['drifted'], 'third');
  await nextLoad(rig);
  expect(accepted()).toEqual([
    [['drifted'], 'third'],
    [['shrunk'], 'first'],
  ]);
});

test('a list that comes back by itself after a far larger one is no acceptance', async () => {
  await start({ before: (emulator) => emulator.setBanks(makeBanks(100)) });
  for (const banks of [1_000, 100]) {
    rig.emulator.setBanks(makeBanks(banks));
    await nextLoad(rig);
    expect(status().cached).toMatchObject({ count: banks, decisions: [] });
  }
  expect(rig.messages()).not.toContainEqual(expect.stringContaining('accepted'));
});

test('with GUARD_MAX_DRIFT=0% a field may stay filled in a third of the entries', async () => {
  const banks = (round: number): object[] =>
    makeBanks(30).map((bank, index) => ({ ...bank, name: index < 10 ? `Bank ${round}` : null }));
  await start({
    env: { GUARD_MAX_DRIFT: '0%' },
    before: (emulator) => emulator.setBanks(banks(0)),
  });
  for (const round of [1, 2, 3]) {
    rig.emulator.setBanks(banks(round));
    expect(await rig.service.list.refresh()).toBeUndefined();
  }
});

test('operators who wait for a load share one, unless they accept other lists', async () => {
  await start();
  await rig.emulator.behave('shrunk');
  const accept = [[], [], ['shrunk'], ['drifted'], ['shrunk']] as const;
  const failures = await Promise.all(
    accept.map((reasons) => rig.service.list.refresh(reasons, reasons.join())),
  );
  expect(failures.map((failure) => failure?.kind ?? 'none')).toEqual([
    'shrunk',
    'shrunk',
    'none',
    // Beside the list that has been accepted, it is no longer a smaller one.
    'none',
    'none',
  ]);
  expect(rig.emulator.listCalls()).toBe(4);
});

test('a refresh shares no load with one that waits to accept more than it, or less', async () => {
  await start();
  const accept = [['shrunk'], [], ['shrunk', 'drifted'], ['drifted'], []] as const;
  await Promise.all(accept.map((reasons) => rig.service.list.refresh(reasons, reasons.join())));
  // One at the start, and one for each of the four that differ.
  expect(rig.emulator.listCalls()).toBe(5);
});

test('while retries back off, requests are answered at once, cause no call, and are told how long to wait', async () => {
  await start({ before: (emulator) => emulator.behave('unavailable') });
  const retryAfter = async (): Promise<unknown> => [
    status().nextLoadInMs,
    (await supertest(rig.url).get('/banks').expect(503)).headers['retry-after'],
  ];
  expect(await retryAfter()).toEqual([1_250, '2']);
  // The machine was suspended, and the load is overdue.
  rig.clock.skip(5_000);
  expect(await retryAfter()).toEqual([0, '1']);
  expect(rig.emulator.listCalls()).toBe(1);
});

test('a list that names a next page is served, and reported as incomplete until one does not', async () => {
  await start({ before: (emulator) => emulator.behave('paginated') });
  expect((await supertest(rig.url).get('/banks').expect(200)).body).toHaveLength(50);
  const metric = async (): Promise<string | undefined> =>
    /^banks_list_incomplete (\d)$/m.exec(
      (await supertest(rig.managementUrl).get('/metrics')).text,
    )?.[1];
  const lines = (): string[] => rig.messages().filter((message) => message.includes('incomplete'));
  const page = async (): Promise<string> => (await supertest(rig.managementUrl).get('/')).text;
  expect([lines().length, await metric()]).toEqual([1, '1']);
  expect(await page()).toContain('Users get the current list, which is probably incomplete.');
  // Nobody gets it once it has expired.
  rig.clock.skip(30 * 86_400_000);
  expect(await page()).not.toContain('probably incomplete');
  await nextLoad(rig);
  expect(lines()).toHaveLength(1);
  await rig.emulator.behave('healthy');
  await nextLoad(rig);
  expect([lines().at(-1), await metric()]).toEqual(['list: no longer incomplete', '0']);
  expect(await page()).not.toContain('probably incomplete');
});

test('the age of a list counts from when its response was complete', async () => {
  let answer: ServerResponse | undefined;
  const before = (emulator: Emulator): void => emulator.respondWith((_req, res) => (answer = res));
  rig = await startRig({ before });
  await eventually(() => answer !== undefined);
  rig.clock.advance(3_000);
  answer?.setHeader('content-type', 'application/json').end(JSON.stringify(makeBanks(10)));
  await eventually(() => status().state === 'fresh');
  expect(status().ageMs).toBe(0);
});

test('the renewal from a provider that takes its time ends before the list is stale', async () => {
  const before = (emulator: Emulator): void => emulator.setBanks(makeBanks(10));
  await start({ env: { CACHE_TTL: '1m' }, before });
  /** Moves time to the next load, which takes 2 s. */
  const loadSlowly = async (): Promise<void> => {
    const load = holdBack(rig.emulator, { body: makeBanks(10) });
    await advanceToLoad(rig);
    await eventually(load.isAsked);
    rig.clock.advance(2_000);
    load.send();
    await plannedInMs(rig);
  };
  await loadSlowly();
  // How long a load takes was not known before.
  const known = rig.messages();
  expect(known.at(-1)).toBe('list: renewed');
  await loadSlowly();
  await loadSlowly();
  expect(rig.messages()).toEqual(known);
});

test('a Retry-After of an hour keeps a service without a list waiting for a minute, and it says how long', async () => {
  await start({ before: (emulator) => emulator.behave('unavailable', { retryAfter: '3600' }) });
  expect(status().nextLoadInMs).toBe(60_000);
  await supertest(rig.url).get('/banks').expect(503).expect('Retry-After', '60');
  await rig.emulator.behave('healthy');
  await nextLoad(rig);
  await supertest(rig.url).get('/banks').expect(200);
});

test('without a list, a short Retry-After is obeyed for as long as it says, whatever was asked for before', async () => {
  await start({ before: (emulator) => emulator.behave('rate-limited', { retryAfter: '3600' }) });
  await rig.emulator.behave('unavailable', { retryAfter: '3' });
  await nextLoad(rig);
  expect(status()).toMatchObject({ failing: { attempts: 2 }, nextLoadInMs: 3_000 });
});

test('a list that becomes too old during a Retry-After is reported then, and the provider is asked', async () => {
  await start({ env: { CACHE_TTL: '5m', CACHE_MAX_STALE: '5m' } });
  await rig.emulator.behave('rate-limited', { retryAfter: '3600' });
  await nextLoad(rig);
  expect(rig.messages().at(-1)).toMatch(/the cached list is still fresh$/);
  await nextLoad(rig);
  expect(status()).toMatchObject({ state: 'expired', ageMs: 600_001 });
  expect(rig.messages().at(-1)).toMatch(/the cached list is too old to be served$/);
  expect(status().nextLoadInMs).toBe(60_000);
});

test('a refresh whose list is refused does not end a Retry-After', async () => {
  await start();
  await rig.emulator.behave('rate-limited', { retryAfter: '600' });
  await nextLoad(rig);
  const waitMs = status().nextLoadInMs;
  expect(waitMs).toBeGreaterThanOrEqual(600_000);
  rig.clock.advance(1_000);
  await rig.emulator.behave('shrunk');
  expect(await rig.service.list.refresh()).toMatchObject({ kind: 'shrunk' });
  await eventually(() => status().nextLoadInMs === waitMs - 1_000);
  await rig.emulator.behave('healthy');
  expect(await rig.service.list.refresh()).toBeUndefined();
  await eventually(() => status().nextLoadInMs > waitMs);
});

test('of two Retry-Afters the one that ends later holds', async () => {
  await start();
  await rig.emulator.behave('rate-limited', { retryAfter: '600' });
  await nextLoad(rig);
  rig.clock.advance(60_000);
  await rig.emulator.behave('unavailable', { retryAfter: '30' });
  expect(await rig.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
  await eventually(() => status().nextLoadInMs === 540_000);
});

test('a list that is refused for having shrunk is taken as soon as there is no other one to serve', async () => {
  await start({ env: { CACHE_TTL: '10m', CACHE_MAX_STALE: '30s' } });
  const [startedAtMs, count] = [rig.clock.monotonicMs(), status().cached?.count];
  await rig.emulator.behave('shrunk');
  do await nextLoad(rig);
  while (status().cached?.count === count);
  expect(status().state).toBe('fresh');
  expect(Math.floor(rig.clock.monotonicMs() - startedAtMs)).toBe(630_001);
});

test('a list that has expired is no measure for those that come after its successor', async () => {
  const [env, banks] = [{ CACHE_TTL: '10m', CACHE_MAX_STALE: '30s' }, makeBanks(100)];
  await start({ env, before: (emulator) => emulator.setBanks(banks) });
  await rig.emulator.behave('unavailable');
  do await nextLoad(rig);
  while (status().state !== 'expired');
  await rig.emulator.behave('healthy');
  rig.emulator.setBanks(banks.slice(50));
  expect(await rig.service.list.refresh()).toBeUndefined();
  rig.emulator.setBanks(banks.slice(51));
  expect(await rig.service.list.refresh()).toBeUndefined();
  expect(status().cached).toMatchObject({ count: 49, decisions: [] });
});

test('what was cached before is refused beside unusable entries, as any other list is', async () => {
  const [small, large] = [makeBanks(50), makeBanks(100)];
  const junk = Array.from({ length: 100 }, (_, index) => index);
  await start({ before: (emulator) => emulator.setBanks(small) });
  rig.emulator.setBanks(large);
  await nextLoad(rig);
  for (const banks of [small, large]) {
    rig.emulator.setBanks([...banks, ...junk]);
    const message = `100 of ${banks.length + 100} entries are unusable`;
    expect(await rig.service.list.refresh()).toMatchObject({ kind: 'unusable_entries', message });
  }
  expect(status().cached?.count).toBe(100);
  // By themselves the entries are taken, few as they are.
  rig.emulator.setBanks(small);
  expect(await rig.service.list.refresh()).toBeUndefined();
});

test('in an outage health says since when, each state of the list is reported once, and in the end there is no list', async () => {
  const health = async (): Promise<unknown> =>
    (await supertest(rig.managementUrl).get('/healthz').expect(200)).body;
  const now = (): string => new Date(rig.clock.wallMs()).toISOString();
  await start({ env: { CACHE_TTL: '1m', CACHE_MAX_STALE: '1m' } });
  expect(await health()).toMatchObject({ status: 'pass', list: { failingSince: null } });
  await rig.emulator.behave('unavailable', { retryAfter: '30' });
  await nextLoad(rig);
  const failingSince = now();
  expect(await health()).toMatchObject({ status: 'warn', list: { state: 'fresh', failingSince } });
  // The second one finds it stale, the fourth one expired.
  for (let load = 2; load <= 4; load += 1) await nextLoad(rig);
  expect(status().state).toBe('expired');
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
    'list: not renewed in time; the stale list is served',
    'list: not renewed in time; the cached list is too old to be served',
  ]);
  await rig.emulator.behave('healthy');
  await nextLoad(rig);
  expect(await health()).toMatchObject({ status: 'pass', list: { failingSince: null } });
  await supertest(rig.url).get('/readyz').expect(200);
});
