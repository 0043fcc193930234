import { expect, test } from '@jest/globals';
import supertest from 'supertest';
import { makeBanks } from '../helpers/banks.ts';
import { nextLoad, startLoadedRig, type Rig, type RigOptions } from '../helpers/rig.ts';

// How fresh, and who waits: the whole service on a clock that the tests move.

let rig: Rig;
const start = async (options?: RigOptions): Promise<void> => {
  rig = await startLoadedRig(options);
};
const status = () => rig.service.list.status();

test('operators are told of a large change, and by which fields', async () => {
  await start({ before: (emulator) => emulator.setBanks(makeBanks(513)) });
  rig.emulator.setBanks(makeBanks(5_000));
  await rig.service.list.refresh();
  expect(rig.log()).toMatch(
    /"level":40[^\n]*"added":4487,"removed":0,"count":5000,"changedValues":{"code":4487,"ispb":4487,"name":4487},"msg":"list: changed by more than GUARD_MAX_SHRINK"/,
  );
});

test('an acceptance of what the guard refused stays known with the lists that follow; of anything else there is none', async () => {
  await start();
  const { list } = rig.service;
  const accepted = (): unknown =>
    status().held?.decisions.map(({ reasons, requestId }) => [reasons, requestId]);
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
    expect(status().held).toMatchObject({ count: banks, decisions: [] });
  }
  expect(rig.messages()).not.toContainEqual(expect.stringContaining('accepted'));
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
      (await supertest(rig.operatorsUrl).get('/metrics')).text,
    )?.[1];
  const lines = (): string[] => rig.messages().filter((message) => message.includes('incomplete'));
  const page = async (): Promise<string> => (await supertest(rig.operatorsUrl).get('/')).text;
  expect([lines().length, await metric()]).toEqual([1, '1']);
  expect(await page()).toContain('Users get the current list, which is probably incomplete.');
  await nextLoad(rig);
  expect(lines()).toHaveLength(1);
  await rig.emulator.behave('healthy');
  await nextLoad(rig);
  expect([lines().at(-1), await metric()]).toEqual(['list: no longer incomplete', '0']);
  expect(await page()).not.toContain('probably incomplete');
});

test('a Retry-After of an hour keeps a service without a list waiting for a minute, and it says how long', async () => {
  await start({ before: (emulator) => emulator.behave('unavailable', { retryAfter: '3600' }) });
  expect(status().nextLoadInMs).toBe(60_000);
  await supertest(rig.url).get('/banks').expect(503).expect('Retry-After', '60');
  await rig.emulator.behave('healthy');
  await nextLoad(rig);
  await supertest(rig.url).get('/banks').expect(200);
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

test('a list that is refused for having shrunk is taken as soon as there is no other one to serve', async () => {
  await start({ env: { CACHE_TTL: '10m', CACHE_MAX_STALE: '30s' } });
  const [startedAtMs, count] = [rig.clock.monotonicMs(), status().held?.count];
  await rig.emulator.behave('shrunk');
  do await nextLoad(rig);
  while (status().held?.count === count);
  expect(status().state).toBe('fresh');
  expect(Math.floor(rig.clock.monotonicMs() - startedAtMs)).toBe(630_001);
});

test('in an outage health says since when, each state of the list is reported once, and in the end there is no list', async () => {
  const health = async (): Promise<unknown> =>
    (await supertest(rig.url).get('/healthz').expect(200)).body;
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
