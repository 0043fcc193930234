import { expect, test } from '@jest/globals';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import supertest from 'supertest';
import { makeBanks } from '../helpers/banks.ts';
import { closeLater } from '../helpers/close-later.ts';
import { BANKS, UNUSABLE } from '../helpers/emulate.ts';
import { holdBack } from '../helpers/hold-back.ts';
import { describeWithRedis } from '../helpers/redis-server.ts';
import {
  redis,
  provider,
  clock,
  optionsOf,
  start,
  countIn,
  snapshot,
  namesOfValues,
  wrongBy,
  connectionToCut,
  pass,
  beginAnew,
} from '../helpers/replicas.ts';
import { advanceOnceIdle, nextLoad, openRig, startLoadedRig, type Rig } from '../helpers/rig.ts';
import { eventually, waitUntil } from '../helpers/wait-until.ts';

// Which list and which decision goes on, in orders of events that depend on nothing but what Redis
// took, and when: services with a real Redis on clocks that the test moves.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describeWithRedis('with a real Redis', () => {
  beginAnew();

  test('what was unusable in the response of a list is known where the list comes from another replica', async () => {
    await provider.behave('some-unusable');
    const one = await start();
    const two = await start();
    const rejected = (rig: Rig): unknown => rig.service.list.status().cached?.rejected;
    expect(await two.service.list.refresh()).toBeUndefined();
    const known = rejected(two);
    expect(Object.values(Object(known))).toContain(UNUSABLE);
    await one.service.list.refresh();
    const idOf = (rig: Rig): unknown => rig.service.list.status().cached?.id;
    await eventually(() => idOf(two) === idOf(one));
    expect(rejected(two)).toEqual(known);
    await provider.behave('healthy');
    await one.service.list.refresh();
    await eventually(() => idOf(two) === idOf(one));
    expect(Object.values(Object(rejected(two)))).not.toContain(UNUSABLE);
  });

  test('after a rotation of the signing key, the replicas still tell each other of a list', async () => {
    const file = snapshot();
    const useKey = (name: string): void =>
      writeFileSync(file, `the ${name} key, of more than 32 characters`);
    useKey('first');
    const env = { CACHE_SIGNING_KEY_FILE: file };
    const [one, two] = [await start({ env }), await start({ env })];
    useKey('second');
    await pass(15, one, two);
    await eventually(() => one.service.list.status().isShared === true);
    const channels = await redis.command('PUBSUB CHANNELS banks-bff:*');
    const names =
      (await redis.command('KEYS banks-bff:2:*')).match(/banks-bff:\S+(?=:list)/g) ?? [];
    expect(names).toHaveLength(2);
    expect(names.filter((name) => channels.includes(`${name}:news`))).toEqual(names);
    provider.setBanks(makeBanks(BANKS.length - 1));
    // From here on no time passes, in which they would look at Redis by themselves.
    expect(await one.service.list.refresh()).toBeUndefined();
    await eventually(() => countIn(two) === BANKS.length - 1);
  });

  test('an expired list of a snapshot refuses no successor', async () => {
    const env = { CACHE_TTL: '10m', CACHE_MAX_STALE: '1h' };
    const kept = { ...env, CACHE_SNAPSHOT_FILE: snapshot() };
    provider.setBanks(makeBanks(100));
    const first = await openRig(optionsOf({ env: kept }));
    await eventually(() => countIn(first) === 100);
    await first.close();
    clock.skip(10 * HOUR);
    provider.setBanks(makeBanks(70));
    await start({ env });
    const again = await start({ env: kept });
    expect([countIn(again), again.service.list.status().state]).toEqual([70, 'fresh']);
    provider.setBanks(makeBanks(69));
    expect(await again.service.list.refresh()).toBeUndefined();
  });

  test('a list of a snapshot from before Redis lost its data refuses no successor', async () => {
    const kept = { CACHE_SNAPSHOT_FILE: snapshot() };
    provider.setBanks(makeBanks(100));
    const first = await openRig(optionsOf({ env: kept }));
    await eventually(() => first.service.list.status().isShared === true);
    await first.close();
    await redis.command('FLUSHALL');
    provider.setBanks(makeBanks(70));
    const other = await start();
    await eventually(() => other.service.list.status().isShared === true);
    const again = await start({ env: kept });
    await eventually(() => countIn(again) === 70);
    provider.setBanks(makeBanks(69));
    expect(await again.service.list.refresh()).toBeUndefined();
  });

  test('an expired list in Redis replaces none that can be served', async () => {
    const env = { CACHE_TTL: '10m', CACHE_MAX_STALE: '1h' };
    const kept = { ...env, CACHE_SNAPSHOT_FILE: snapshot() };
    provider.setBanks(makeBanks(100));
    const first = await openRig(optionsOf({ env }));
    await eventually(() => first.service.list.status().isShared === true);
    await first.close();
    clock.skip(10 * HOUR);
    provider.setBanks(makeBanks(99));
    const alone = await openRig({ provider, clock, env: kept });
    await eventually(() => countIn(alone) === 99);
    await alone.close();
    await provider.behave('unavailable');
    const again = await start({ env: kept });
    await eventually(() => again.service.list.status().isShared === true);
    const { body } = await supertest(again.url).get('/banks').expect(200);
    expect(body).toHaveLength(99);
    const late = await start({ env });
    expect([countIn(late), late.service.list.status().state]).toEqual([99, 'fresh']);
  });

  test('a decision that never reached the others is not theirs six days later', async () => {
    provider.setBanks(makeBanks(100));
    const connection = await connectionToCut();
    const kept = { CACHE_SNAPSHOT_FILE: snapshot(), CACHE_REDIS_URL: connection.url };
    const one = await openRig({ provider, clock, env: kept });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start();
    connection.cut();
    provider.setBanks(makeBanks(50));
    clock.advance(5_000);
    await one.service.list.refresh(['shrunk'], 'alone');
    expect([countIn(one), countIn(two)]).toEqual([50, 100]);
    await one.close();
    provider.setBanks(makeBanks(100));
    for (let day = 0; day < 6; day += 1) {
      clock.skip(DAY);
      await two.service.list.refresh();
    }
    connection.mend();
    expect(countIn(await start({ env: kept }))).toBe(100);
    expect(countIn(two)).toBe(100);
  });

  test('a restored list is renewed by its age in Redis, not by a clock that was set back', async () => {
    const connection = await connectionToCut();
    const kept = {
      CACHE_TTL: '1h',
      CACHE_SNAPSHOT_FILE: snapshot(),
      CACHE_REDIS_URL: connection.url,
    };
    const one = await openRig(optionsOf({ env: kept }));
    await eventually(() => one.service.list.status().isShared === true);
    await one.close();
    clock.skip(50 * MINUTE);
    connection.cut();
    const again = await start({ env: kept, clock: wrongBy(-50 * MINUTE) });
    expect(again.service.list.status().nextLoadInMs).toBeGreaterThan(55 * MINUTE);
    connection.mend();
    const nextLoadInMs = (): number => again.service.list.status().nextLoadInMs;
    await eventually(() => nextLoadInMs() > 0 && nextLoadInMs() < 11 * MINUTE);
  });

  test('a restored list that the clock took for expired is logged when Redis tells its age', async () => {
    const connection = await connectionToCut();
    const kept = { CACHE_SNAPSHOT_FILE: snapshot(), CACHE_REDIS_URL: connection.url };
    const one = await openRig(optionsOf({ env: kept }));
    await eventually(() => one.service.list.status().isShared === true);
    await one.close();
    connection.cut();
    await provider.behave('unavailable');
    const again = await start({ env: kept, clock: wrongBy(10 * DAY) });
    await supertest(again.url).get('/banks').expect(503);
    connection.mend();
    await eventually(() => again.service.list.status().state === 'fresh');
    await supertest(again.url).get('/banks').expect(200);
    expect(again.messages()).toContain('list: recovered');
  });

  test('what came before a restored list is as old as Redis says, not a clock that was set right', async () => {
    const kept = { CACHE_SNAPSHOT_FILE: snapshot() };
    provider.setBanks(makeBanks(100));
    const one = await openRig(optionsOf({ clock: wrongBy(-300 * DAY), env: kept }));
    await eventually(() => one.service.list.status().isShared === true);
    provider.setBanks(makeBanks(85));
    expect(await one.service.list.refresh()).toBeUndefined();
    await one.close();
    const again = await start({ env: kept });
    provider.setBanks(makeBanks(70));
    expect(await again.service.list.refresh()).toMatchObject({ kind: 'shrunk' });
  });

  test('POST /refresh says whether Redis has the list', async () => {
    const connection = await connectionToCut();
    const MANAGEMENT_TOKEN = 'operator-token-for-tests';
    const { service, managementUrl } = await start({
      env: { CACHE_REDIS_URL: connection.url, MANAGEMENT_TOKEN },
    });
    await eventually(() => service.list.status().isShared === true);
    const refresh = async (): Promise<unknown> => {
      const headers = { Authorization: `Bearer ${MANAGEMENT_TOKEN}` };
      return (await fetch(`${managementUrl}/refresh`, { method: 'POST', headers })).json();
    };
    expect(await refresh()).toMatchObject({ shared: true });
    connection.cut();
    expect(await refresh()).toMatchObject({ shared: false });
  });

  test('a list that names a next page is reported as incomplete by who takes it from Redis or from a snapshot too', async () => {
    await provider.behave('paginated');
    const kept = { CACHE_SNAPSHOT_FILE: snapshot() };
    const one = await openRig(optionsOf({ env: kept }));
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start();
    await one.close();
    const restored = await startLoadedRig({ provider, clock, env: kept });
    for (const rig of [two, restored]) {
      expect(rig.messages().filter((message) => message.includes('incomplete'))).toEqual([
        'list: probably incomplete: the response links to a next page, which is not loaded',
      ]);
      const metrics = await (await fetch(`${rig.managementUrl}/metrics`)).text();
      expect(metrics).toMatch(/^banks_list_incomplete 1$/m);
    }
    await provider.behave('healthy');
    expect(await restored.service.list.refresh()).toBeUndefined();
    expect(restored.messages().at(-1)).toBe('list: no longer incomplete');
  });

  test('a decision that the others have counts as theirs, also after a restart without Redis', async () => {
    provider.setBanks(makeBanks(100));
    const connection = await connectionToCut();
    const kept = { CACHE_SNAPSHOT_FILE: snapshot(), CACHE_REDIS_URL: connection.url };
    const one = await openRig(optionsOf({ env: kept }));
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start();
    connection.cut();
    provider.setBanks(makeBanks(50));
    expect(await one.service.list.refresh(['shrunk'], 'alone')).toBeUndefined();
    connection.mend();
    await eventually(() => countIn(two) === 50 && one.service.list.status().isShared === true);
    await one.close();
    connection.cut();
    clock.advance(1_000);
    expect(await two.service.list.refresh()).toBeUndefined();
    const again = await start({ env: kept });
    clock.advance(1_000);
    provider.setBanks(makeBanks(60));
    expect(await again.service.list.refresh()).toBeUndefined();
    connection.mend();
    await eventually(() => countIn(two) === 60);
    expect(countIn(again)).toBe(60);
  });

  /**
   * The first of two replicas has accepted a list of 50 banks, which is in Redis; its snapshot does
   * not say so, as if it had been killed before it could write it again. It is started again, and
   * cannot reach Redis.
   */
  const restartedBeforeTheSnapshot = async (whileDown?: (two: Rig) => Promise<void>) => {
    provider.setBanks(makeBanks(100));
    const connection = await connectionToCut();
    const file = snapshot();
    const kept = { CACHE_SNAPSHOT_FILE: file, CACHE_REDIS_URL: connection.url };
    const one = await openRig(optionsOf({ env: kept }));
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start();
    connection.cut();
    provider.setBanks(makeBanks(50));
    expect(await one.service.list.refresh(['shrunk'], 'alone')).toBeUndefined();
    const id = one.service.list.status().cached?.id;
    const saved = await waitUntil(
      'the snapshot',
      () => (existsSync(file) ? readFileSync(file) : ''),
      (bytes) => bytes.includes(`{"id":"${id}"`),
    );
    connection.mend();
    await eventually(() => countIn(two) === 50);
    await one.close();
    connection.cut();
    await whileDown?.(two);
    writeFileSync(file, saved);
    const again = await start({ env: kept });
    clock.advance(1_000);
    provider.setBanks(makeBanks(60));
    return { again, two, connection };
  };
  const decisionsOf = ({ service }: Rig) => service.list.status().cached?.decisions;

  test.each([
    ['an accepted list', undefined],
    [
      'a list after an accepted one',
      async ({ service }: Rig) => {
        clock.advance(1_000);
        expect(await service.list.refresh()).toBeUndefined();
      },
    ],
  ])(
    '%s that a snapshot does not know to be in Redis replaces no younger one',
    async (_, whileDown) => {
      const { again, two, connection } = await restartedBeforeTheSnapshot(whileDown);
      expect(await again.service.list.refresh()).toBeUndefined();
      connection.mend();
      await eventually(() => again.service.list.status().isShared === true);
      expect(countIn(again)).toBe(60);
      await eventually(() => countIn(two) === 60);
      for (const rig of [again, two])
        expect(decisionsOf(rig)).toMatchObject([{ requestId: 'alone' }]);
    },
  );

  test('a list goes on with a decision that Redis confirms while it is loaded', async () => {
    const { again, two, connection } = await restartedBeforeTheSnapshot();
    const answer = holdBack(provider, { body: makeBanks(60) });
    const refreshed = again.service.list.refresh();
    await eventually(answer.isAsked);
    connection.mend();
    await eventually(() => again.service.list.status().isShared === true);
    answer.send();
    expect(await refreshed).toBeUndefined();
    await eventually(() => countIn(two) === 60);
    for (const rig of [again, two])
      expect(decisionsOf(rig)).toMatchObject([{ requestId: 'alone' }]);
  });

  test('while Redis cannot be reached, the list stays that was requested later, though its answer came first', async () => {
    const connection = await connectionToCut();
    const env = { CACHE_REDIS_URL: connection.url };
    const [slow, quick] = [await start({ env }), await start({ env })];
    await eventually(() => quick.service.list.status().isShared === true);
    connection.cut();
    const answer = holdBack(provider, { body: makeBanks(119) });
    const first = slow.service.list.refresh();
    await eventually(answer.isAsked);
    clock.skip(500);
    provider.setBanks(makeBanks(118));
    expect(await quick.service.list.refresh()).toBeUndefined();
    clock.skip(500);
    answer.send();
    expect(await first).toBeUndefined();
    expect([countIn(slow), countIn(quick)]).toEqual([119, 118]);
    connection.mend();
    await eventually(() => quick.service.list.status().isShared === true);
    // It may have written its own list first.
    await eventually(() => countIn(slow) === 118);
    expect(countIn(quick)).toBe(118);
  });

  test('a first list replaces none that another replica has requested and loaded meanwhile', async () => {
    const answer = holdBack(provider, { body: makeBanks(119) });
    // It hears of the other list only when it looks.
    const slow = await openRig(optionsOf({ isDeaf: true }));
    closeLater(slow.close);
    await eventually(answer.isAsked);
    clock.skip(500);
    provider.setBanks(makeBanks(118));
    const quick = await openRig(optionsOf());
    closeLater(quick.close);
    // As long as a replica without a list waits for the load of another one.
    await eventually(() => clock.waits().includes(2_500));
    clock.advance(2_500);
    await eventually(() => quick.service.list.status().isShared === true);
    clock.skip(500);
    answer.send();
    await eventually(() => slow.service.list.status().isShared === true);
    await eventually(() => countIn(slow) === 118);
    expect(countIn(quick)).toBe(118);
  });

  test('of two lists the one that was requested later stays, however slowly the other one is written', async () => {
    provider.setBanks(makeBanks(100));
    const connection = await connectionToCut();
    const slow = await start({ env: { CACHE_REDIS_URL: connection.url } });
    await eventually(() => slow.service.list.status().isShared === true);
    const quick = await start();
    const calls = provider.listCalls();
    provider.respondWith((_req, res) => {
      provider.respondWith(undefined);
      connection.hold();
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify(makeBanks(90)));
    });
    const refreshed = slow.service.list.refresh();
    await eventually(connection.isHolding);
    provider.setBanks(makeBanks(95));
    expect(await quick.service.list.refresh()).toBeUndefined();
    expect(countIn(quick)).toBe(95);
    connection.release();
    expect(await refreshed).toBeUndefined();
    await eventually(() => countIn(slow) === 95);
    expect(countIn(quick)).toBe(95);
    // The slow one has asked again: what it was told to make is the newest list.
    expect(provider.listCalls() - calls).toBe(3);
  });

  test('a list from Redis is saved after a list of its own could not be, however little later it is', async () => {
    const path = join(snapshot(), 'list');
    const kept = { CACHE_SNAPSHOT_FILE: path };
    const one = await start({ env: kept });
    await eventually(() => one.messages().some((message) => message.includes('cannot be written')));
    await eventually(() => one.service.list.status().isShared === true);
    mkdirSync(dirname(path));
    const two = await start();
    expect(await two.service.list.refresh()).toBeUndefined();
    await eventually(() => one.messages().includes('CACHE_SNAPSHOT_FILE: works again'));
    const id = two.service.list.status().cached?.id;
    // The list of its own may have been under way once more.
    await eventually(() => readFileSync(path, 'utf8').includes(`{"id":"${id}"`));
    expect(one.service.list.status().cached?.id).toBe(id);
  });

  test('a list of unknown age counts as older than one that is known, where both meet', async () => {
    const connection = await connectionToCut();
    const kept = { CACHE_TTL: '10m', CACHE_SNAPSHOT_FILE: snapshot() };
    provider.setBanks(makeBanks(100));
    const one = await openRig(optionsOf({ env: kept }));
    await eventually(() => one.service.list.status().isShared === true);
    const env = { CACHE_TTL: '10m', CACHE_REDIS_URL: connection.url };
    const two = await start({ env });
    await one.close();
    clock.skip(MINUTE);
    provider.setBanks(makeBanks(101));
    expect(await two.service.list.refresh()).toBeUndefined();
    clock.skip(20 * MINUTE);
    await provider.behave('unavailable');
    connection.cut();
    await redis.command('FLUSHALL');
    const again = await start({ env: kept, clock: wrongBy(-2 * HOUR) });
    await eventually(() => again.service.list.status().isShared === true);
    // It would count as younger than that of the second one.
    expect(again.service.list.status()).toMatchObject({ state: 'stale', ageMs: 10 * MINUTE + 1 });
    connection.mend();
    await eventually(() => countIn(again) === 101);
    expect(countIn(two)).toBe(101);
  });

  test('the life of the key makes no list young', async () => {
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    clock.skip(50 * MINUTE);
    for (const key of (await redis.command('KEYS banks-bff:2:*')).match(/banks-bff:\S+/g) ?? [])
      await redis.command(`PEXPIRE ${key} 999999999999`);
    const late = await start();
    expect(late.service.list.status()).toMatchObject({ state: 'fresh', ageMs: 50 * MINUTE });
  });

  test.each([-30_000, 30_000, 2 * DAY, 3_650 * DAY])(
    'of two decisions the later one stays, and the list its age, where one clock is wrong by %i ms',
    async (wrongMs) => {
      provider.setBanks(makeBanks(100));
      const one = await start({ clock: wrongBy(wrongMs) });
      await eventually(() => one.service.list.status().isShared === true);
      const two = await start();
      expect(two.service.list.status()).toMatchObject({ state: 'fresh', ageMs: 0 });
      provider.setBanks(makeBanks(50));
      await one.service.list.refresh(['shrunk'], 'first');
      await eventually(() => countIn(two) === 50);
      clock.advance(10_000);
      provider.setBanks(makeBanks(30));
      await two.service.list.refresh(['shrunk'], 'second');
      await eventually(() => countIn(one) === 30);
      provider.setBanks(makeBanks(20));
      await one.service.list.refresh(['shrunk'], 'third');
      await eventually(() => countIn(two) === 20);
      expect(countIn(one)).toBe(20);
    },
  );

  test('two decisions at one moment: both replicas end with the same list, and one of both is theirs', async () => {
    provider.setBanks(makeBanks(100));
    const [one, two] = [await start(), await start()];
    provider.setBanks(makeBanks(50));
    const failures = await Promise.all(
      [one, two].map((rig) => rig.service.list.refresh(['shrunk'], 'both')),
    );
    expect(failures).toEqual([undefined, undefined]);
    const id = (rig: Rig) => rig.service.list.status().cached?.id;
    await eventually(() => id(one) === id(two));
    expect(countIn(one)).toBe(50);
  });

  test('a replica that gets no messages has an accepted list with the next poll', async () => {
    provider.setBanks(makeBanks(100));
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const deaf = await start({ isDeaf: true });
    provider.setBanks(makeBanks(50));
    await one.service.list.refresh(['shrunk'], 'heard by none');
    expect(countIn(deaf)).toBe(100);
    await advanceOnceIdle(5_000, deaf);
    await eventually(() => countIn(deaf) === 50);
  });

  test('fields that slowly lose their values are refused, as lists that slowly shrink are', async () => {
    const withNames = (share: number) =>
      makeBanks(100).map((bank, index) => (index < share * 100 ? bank : { ...bank, name: null }));
    provider.setBanks(withNames(1));
    const one = await start();
    provider.setBanks(withNames(0.85));
    expect(await one.service.list.refresh()).toBeUndefined();
    provider.setBanks(withNames(0.7));
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'drifted', fields: ['name'] });
  });

  /** One that loads its first list without Redis, which it can reach afterwards. */
  const startedWithoutRedis = async (): Promise<Rig> => {
    const connection = await connectionToCut();
    connection.cut();
    clock.advance(10);
    const rig = await start({ env: { CACHE_REDIS_URL: connection.url } });
    connection.mend();
    clock.advance(5_000);
    return rig;
  };

  test('a replica that loads its first list without Redis has the others forget nothing', async () => {
    provider.setBanks(makeBanks(100));
    const one = await start();
    provider.setBanks(makeBanks(85));
    expect(await one.service.list.refresh()).toBeUndefined();
    const two = await startedWithoutRedis();
    await eventually(() => two.service.list.status().isShared === true);
    provider.setBanks(makeBanks(70));
    for (const { service } of [one, two])
      expect(await service.list.refresh()).toMatchObject({ kind: 'shrunk' });
  });

  test('a first list that was loaded without Redis, and that the others refuse, does not come back', async () => {
    provider.setBanks(makeBanks(100));
    const one = await start();
    provider.setBanks(makeBanks(70));
    const two = await startedWithoutRedis();
    await eventually(() => countIn(two) === 100);
    for (const { service } of [one, two])
      expect(await service.list.refresh()).toMatchObject({ kind: 'shrunk' });
  });

  test('a replica remembers what it served before a first list of another one took its place', async () => {
    provider.setBanks(makeBanks(100));
    const connection = await connectionToCut();
    const one = await start({ env: { CACHE_REDIS_URL: connection.url } });
    provider.setBanks(makeBanks(85));
    expect(await one.service.list.refresh()).toBeUndefined();
    connection.cut();
    await redis.command('FLUSHALL');
    const loadedAtMs = (): number | undefined => one.service.list.status().cached?.loadedAtWallMs;
    const beforeMs = loadedAtMs();
    clock.advance(10);
    await start();
    connection.mend();
    clock.advance(5_000);
    await eventually(() => loadedAtMs() !== beforeMs);
    provider.setBanks(makeBanks(70));
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'shrunk' });
  });

  test('a list that only a replica with lower limits would refuse is refused by none once it is shared', async () => {
    provider.setBanks(makeBanks(100));
    const lax = await start({ env: { GUARD_MAX_SHRINK: '50%' } });
    await eventually(() => lax.service.list.status().isShared === true);
    const strict = await start();
    provider.setBanks(makeBanks(70));
    expect(await lax.service.list.refresh()).toBeUndefined();
    await eventually(() => countIn(strict) === 70);
    for (const { service } of [strict, lax]) {
      expect(await service.list.refresh()).toBeUndefined();
      expect(service.list.status().failing).toBeUndefined();
    }
  });

  test('a replica whose lists stay beside that of the others has them wait for no load of its own', async () => {
    provider.setBanks(makeBanks(400));
    const strict = await start({ env: { GUARD_MIN_BANKS: '390' } });
    await eventually(() => strict.service.list.status().isShared === true);
    const one = await start();
    clock.advance(10 * MINUTE);
    provider.setBanks(makeBanks(380));
    expect(await one.service.list.refresh()).toBeUndefined();
    await eventually(() => strict.messages().some((message) => message.includes('380')));
    provider.setBanks(makeBanks(395));
    await nextLoad(strict);
    await eventually(() => countIn(strict) === 395);
    const names = await namesOfValues();
    await eventually(async () =>
      (await redis.command(`GET ${names}:lease`)).includes('"heldUntilMs":0,"isLoading":false'),
    );
    expect(countIn(one)).toBe(380);
  });

  test('a list that only one replica can read is not replaced again and again', async () => {
    provider.setBanks(makeBanks(100));
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const small = await start({ env: { PROVIDER_MAX_BODY: '10kb' } });
    const writes = async (): Promise<number> =>
      Number(/cmdstat_set:calls=(\d+)/.exec(await redis.command('INFO commandstats'))?.[1]);
    const before = await writes();
    clock.advance(1_000);
    provider.setBanks(makeBanks(3_000));
    expect(await one.service.list.refresh()).toBeUndefined();
    await pass(30, one, small);
    // On a busy machine it may have some of its attempts left, and be looked at just after one.
    await eventually(() => small.service.list.status().isShared === false);
    expect((await writes()) - before).toBeLessThan(100);
    expect([countIn(one), countIn(small)]).toEqual([3_000, 100]);
    provider.setBanks(makeBanks(101));
    clock.advance(1_000);
    expect(await one.service.list.refresh(['shrunk'])).toBeUndefined();
    await eventually(() => countIn(small) === 101);
  });

  test('a list that only one replica refuses is fetched once, and its own lists go on beside it', async () => {
    provider.setBanks(makeBanks(400));
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const connection = await connectionToCut();
    const env = { GUARD_MIN_BANKS: '390', CACHE_REDIS_URL: connection.url };
    const strict = await start({ env });
    const problem = (): boolean => strict.service.list.status().isShared === false;
    provider.setBanks(makeBanks(380));
    expect(await one.service.list.refresh()).toBeUndefined();
    await eventually(() => strict.messages().some((message) => message.includes('380')));
    const before = connection.received();
    await pass(30, one, strict);
    expect(connection.received() - before).toBeLessThan(10_000);
    expect([countIn(one), countIn(strict), problem()]).toEqual([380, 400, true]);
    provider.setBanks(makeBanks(395));
    expect(await strict.service.list.refresh()).toBeUndefined();
    expect([countIn(one), countIn(strict)]).toEqual([380, 395]);
    provider.setBanks(makeBanks(396));
    clock.advance(1);
    expect(await one.service.list.refresh()).toBeUndefined();
    await eventually(() => countIn(strict) === 396);
  });
});
