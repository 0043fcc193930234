import { expect, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import supertest from 'supertest';
import { makeBanks } from '../helpers/banks.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
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
  pass,
  writtenAgain,
  connectionToCut,
  beginAnew,
} from '../helpers/replicas.ts';
import { advanceOnceIdle, nextLoad, openRig, plannedInMs, type Rig } from '../helpers/rig.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { eventually, waitUntil } from '../helpers/wait-until.ts';

// Several replicas at a Redis that comes back empty or older, whose values are damaged or not those
// of the replicas, or that closes connections.

const MANAGEMENT_TOKEN = 'operator-token-for-tests';
const SIGNED = { CACHE_SIGNING_KEY: 'a key of more than thirty-two characters' };

describeWithRedis('with a real Redis', () => {
  beginAnew();

  test('with a key, nothing that was written to Redis without it is served, or delays a load', async () => {
    provider.setBanks(makeBanks(60));
    // What a service without the key writes, under the names that belong to the key.
    const forger = await start();
    await eventually(() => forger.service.list.status().isShared === true);
    const forged = (await redis.command('KEYS banks-bff:2:*')).match(/banks-bff:\S+/g) ?? [];
    provider.setBanks(makeBanks(100));
    const one = await start({ env: SIGNED });
    await eventually(() => one.service.list.status().isShared === true);
    const signed =
      (await redis.command('KEYS banks-bff:2:*')).match(/banks-bff:\S+\.\S+:head/) ?? [];
    const prefix = (signed[0] ?? '').replace(/:head$/, '');
    for (const name of forged)
      await redis.command(`COPY ${name} ${prefix}:${name.split(':').at(-1)} REPLACE`);
    const lease = { id: 'x', owner: 'x', heldUntilMs: clock.wallMs() + 3_000_000, isLoading: true };
    const written = await redis.command(`SET ${prefix}:lease '${JSON.stringify(lease)}'`);
    expect(written).toBe('+OK\r\n');
    const two = await start({ env: SIGNED });
    expect([countIn(one), countIn(two)]).toEqual([100, 100]);
    provider.setBanks(makeBanks(101));
    const before = provider.listCalls();
    await nextLoad(one);
    // One call for those with the key, and one of the forger.
    await eventually(() => provider.listCalls() - before === 2);
    await eventually(() => countIn(one) === 101 && countIn(two) === 101);
  });

  /** Series, number and list of the head in Redis. */
  const headOf = async (names: string): Promise<readonly string[]> =>
    (await redis.command(`GET ${names}:head`)).split('\r\n')[1]?.split(':') ?? [];
  const isSharedBy = (...rigs: readonly Rig[]) =>
    eventually(() => rigs.every(({ service }) => service.list.status().isShared === true));

  test.each([
    ['the last number', String(1e15)],
    ['a number beyond all', String(1e15 + 1)],
    ['the first number', '1'],
  ])('with a key, %s in a head that was written without it changes no order', async (_, number) => {
    provider.setBanks(makeBanks(100));
    const kept = { ...SIGNED, CACHE_SNAPSHOT_FILE: snapshot() };
    const closed = await openRig(optionsOf({ env: kept }));
    const other = await start({ env: SIGNED });
    await isSharedBy(closed, other);
    const names = await namesOfValues();
    for (const count of [101, 102, 103]) {
      clock.advance(1_000);
      provider.setBanks(makeBanks(count));
      // oxlint-disable-next-line no-await-in-loop -- one list after the other
      expect(await other.service.list.refresh()).toBeUndefined();
      if (count !== 102) continue;
      // oxlint-disable-next-line no-await-in-loop -- see above
      for (const what of ['head', 'list']) await redis.command(`COPY ${names}:${what} ${what}`);
    }
    await eventually(() => countIn(closed) === 103);
    const [series, , id] = await headOf(names);
    await redis.command(`SET ${names}:head ${series}:${number}:${id}`);
    await pass(6, closed, other);
    // An earlier list comes back with its own version.
    for (const what of ['head', 'list'])
      await redis.command(`COPY ${what} ${names}:${what} REPLACE`);
    await pass(6, closed, other);
    expect([countIn(closed), countIn(other)]).toEqual([103, 103]);
    provider.setBanks(makeBanks(104));
    expect(await other.service.list.refresh()).toBeUndefined();
    await eventually(() => countIn(closed) === 104);
    await closed.close();
    await provider.behave('unavailable');
    const unreachable = { ...kept, CACHE_REDIS_URL: 'redis://127.0.0.1:1' };
    for (const env of [SIGNED, unreachable]) expect(countIn(await start({ env }))).toBe(104);
  });

  test('after the last number, which somebody else has written, lists are still shared', async () => {
    provider.setBanks(makeBanks(100));
    const [one, two] = [await start(), await start()];
    await isSharedBy(one, two);
    const names = await namesOfValues();
    const [series, number, id] = await headOf(names);
    const inMetadata = (each: string): string => `',"number":${each},"listId"'`;
    await redis.command(
      `EVAL "redis.call('set', KEYS[1], ARGV[3]) return redis.call('set', KEYS[2], (string.gsub(redis.call('get', KEYS[2]), ARGV[1], ARGV[2])))" 2 ${names}:head ${names}:list ${inMetadata(number ?? '')} ${inMetadata(String(1e15))} ${series}:${String(1e15)}:${id}`,
    );
    await pass(6, one, two);
    expect(await headOf(names)).toEqual([series, String(1e15), id]);
    for (const count of [101, 102]) {
      provider.setBanks(makeBanks(count));
      // oxlint-disable-next-line no-await-in-loop -- one list after the other
      expect(await one.service.list.refresh()).toBeUndefined();
      // oxlint-disable-next-line no-await-in-loop -- see above
      await eventually(() => countIn(two) === count);
    }
  });

  test('a Redis that comes back empty gets the list that the replicas have', async () => {
    provider.setBanks(makeBanks(100));
    const [one, two] = [await start(), await start()];
    provider.setBanks(makeBanks(50));
    await one.service.list.refresh(['shrunk'], 'before the loss');
    await eventually(() => countIn(two) === 50);
    await redis.command('FLUSHALL');
    await advanceOnceIdle(5_000, one, two);
    await writtenAgain();
    const calls = provider.listCalls();
    const fresh = await start();
    expect([countIn(fresh), provider.listCalls()]).toEqual([50, calls]);
  });

  test('a stale list that is written again leaves the wait after a failure as it is', async () => {
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const names = await namesOfValues();
    await provider.behave('unavailable');
    clock.skip(2 * 3_600_000);
    for (let failed = 0; failed < 6; failed += 1)
      expect(await one.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    // Redis has run short of memory, and has kept what is small.
    await redis.command(`DEL ${names}:head ${names}:list`);
    await advanceOnceIdle(5_000, one);
    await writtenAgain();
    await plannedInMs(one);
    const calls = provider.listCalls();
    const late = await start();
    expect(late.service.list.status().failing?.attempts).toBe(6);
    expect(provider.listCalls()).toBe(calls);
  });

  test('a list grows by nothing in a Redis that comes back empty again and again', async () => {
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const key = `${await namesOfValues()}:list`;
    const size = async (): Promise<number> =>
      Number((await redis.command(`STRLEN ${key}`)).slice(1));
    const sizes: number[] = [];
    for (let losses = 1; losses <= 36; losses += 1) {
      await redis.command('FLUSHALL');
      await advanceOnceIdle(5_000, one);
      sizes.push(await waitUntil('a list in Redis', size, (bytes) => bytes > 0));
    }
    // The last 32 losses are remembered; the ages grow by a few digits.
    const grown = sizes.slice(33);
    expect(Math.max(...grown) - Math.min(...grown)).toBeLessThan(20);
  });

  test('a Redis that comes back empty twice does not bring an older list back', async () => {
    provider.setBanks(makeBanks(100));
    const [first, second] = [await connectionToCut(), await connectionToCut()];
    const one = await start({ env: { CACHE_REDIS_URL: first.url } });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start({ env: { CACHE_REDIS_URL: second.url } });
    await eventually(() => two.service.list.status().isShared === true);
    // The first one writes again what is lost.
    second.cut();
    await redis.command('FLUSHALL');
    await advanceOnceIdle(5_000, one);
    await writtenAgain();
    second.mend();
    await eventually(() => two.messages().includes('CACHE_REDIS_URL: works again'));
    first.cut();
    provider.setBanks(makeBanks(95));
    expect(await two.service.list.refresh()).toBeUndefined();
    await redis.command('FLUSHALL');
    // The first one writes its older list before the second one looks.
    first.mend();
    await eventually(() => countIn(one) === 95);
    expect(countIn(two)).toBe(95);
  });

  test('the order of Redis decides after a loss, also for a replica that would refuse the list', async () => {
    provider.setBanks(makeBanks(100));
    const one = await start({ env: { GUARD_MAX_SHRINK: '5%' } });
    await eventually(() => one.service.list.status().isShared === true);
    const connection = await connectionToCut();
    const two = await start({ env: { CACHE_REDIS_URL: connection.url } });
    // The first one writes again what is lost, and the second one finds it.
    connection.cut();
    await redis.command('FLUSHALL');
    await advanceOnceIdle(5_000, one);
    await writtenAgain();
    connection.mend();
    await eventually(() => two.messages().includes('CACHE_REDIS_URL: works again'));
    provider.setBanks(makeBanks(90));
    expect(await two.service.list.refresh()).toBeUndefined();
    await eventually(() => countIn(one) === 90);
    expect(countIn(two)).toBe(90);
  });

  test.each([
    ['earlier', [0, 1]],
    ['accepted', [1, 0]],
  ] as const)(
    'after the loss of Redis and of all replicas an accepted list stays, though the %s one comes first',
    async (_which, order) => {
      provider.setBanks(makeBanks(100));
      const kept = [
        { CACHE_SNAPSHOT_FILE: snapshot() },
        { CACHE_SNAPSHOT_FILE: snapshot() },
      ] as const;
      const [one, two] = [
        await openRig(optionsOf({ env: kept[0] })),
        await openRig(optionsOf({ env: kept[1] })),
      ];
      await eventually(() => countIn(one) === 100 && countIn(two) === 100);
      await one.close();
      provider.setBanks(makeBanks(50));
      expect(await two.service.list.refresh(['shrunk'], 'before the loss')).toBeUndefined();
      await two.close();
      await redis.command('FLUSHALL');
      await provider.behave('unavailable');
      const rigs: Rig[] = [];
      for (const replica of order) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const rig = await start({ env: kept[replica] ?? {} });
        rigs.push(rig);
        // oxlint-disable-next-line no-await-in-loop -- see above
        await eventually(() => rig.service.list.status().isShared === true);
      }
      await eventually(() => rigs.every((rig) => countIn(rig) === 50));
    },
  );

  test('a snapshot outlives an older list of a Redis that was emptied and then fails over', async () => {
    provider.setBanks(makeBanks(100));
    const kept = { CACHE_SNAPSHOT_FILE: snapshot() };
    const one = await openRig(optionsOf({ env: kept }));
    await eventually(() => one.service.list.status().isShared === true);
    const names = await namesOfValues();
    for (const value of ['head', 'list'])
      await redis.command(`COPY ${names}:${value} replica:${value}`);
    await redis.command(`DEL ${names}:head ${names}:list`);
    await advanceOnceIdle(5_000, one);
    await writtenAgain();
    provider.setBanks(makeBanks(95));
    expect(await one.service.list.refresh()).toBeUndefined();
    await one.close();
    for (const value of ['head', 'list'])
      await redis.command(`COPY replica:${value} ${names}:${value} REPLACE`);
    expect(countIn(await start({ env: kept }))).toBe(95);
    expect(countIn(await start())).toBe(95);
  });

  test('after a fail-over to older data the list that was loaded then stays, however many were lost', async () => {
    const kept = { CACHE_SNAPSHOT_FILE: snapshot() };
    provider.setBanks(makeBanks(100));
    const one = await openRig(optionsOf({ env: kept }));
    await eventually(() => one.service.list.status().isShared === true);
    const values = ['head', 'list'];
    const names = await namesOfValues();
    for (const value of values) await redis.command(`COPY ${names}:${value} older:${value}`);
    for (const count of [99, 98, 97]) {
      provider.setBanks(makeBanks(count));
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await one.service.list.refresh()).toBeUndefined();
    }
    await one.close();
    for (const value of values) {
      await redis.command(`COPY ${names}:${value} lost:${value}`);
      await redis.command(`COPY older:${value} ${names}:${value} REPLACE`);
    }
    clock.advance(1_000);
    const two = await start();
    provider.setBanks(makeBanks(96));
    expect(await two.service.list.refresh()).toBeUndefined();
    // Those that were lost are in a snapshot, and have higher numbers.
    expect(countIn(await start({ env: kept }))).toBe(96);
    expect(countIn(two)).toBe(96);
    // They come back.
    const id = two.service.list.status().cached?.id ?? 'none';
    for (const value of values) await redis.command(`COPY lost:${value} ${names}:${value} REPLACE`);
    await redis.command('CLIENT KILL TYPE pubsub');
    await redis.command('CLIENT KILL TYPE normal');
    await waitUntil(
      'the younger list in Redis',
      () => redis.command(`GET ${names}:head`),
      (head) => head.includes(id),
    );
    expect(countIn(two)).toBe(96);
  });

  test('after a fail-over to older data, unusable entries of an earlier response decide nothing', async () => {
    provider.setBanks([...makeBanks(20), ...Array.from({ length: 5 }, () => null)]);
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    expect(one.service.list.status().cached?.rejected).toMatchObject({ not_an_object: 5 });
    const values = ['head', 'list'];
    const names = await namesOfValues();
    for (const value of values) await redis.command(`COPY ${names}:${value} older:${value}`);
    clock.advance(1_000);
    provider.setBanks(makeBanks(18));
    const two = await openRig(optionsOf());
    expect(await two.service.list.refresh()).toBeUndefined();
    await eventually(() => countIn(one) === 18);
    await two.close();
    for (const value of values)
      await redis.command(`COPY older:${value} ${names}:${value} REPLACE`);
    await redis.command('CLIENT KILL TYPE pubsub');
    await redis.command('CLIENT KILL TYPE normal');
    const id = one.service.list.status().cached?.id ?? 'none';
    await waitUntil(
      'the younger list in Redis',
      () => redis.command(`GET ${names}:head`),
      (head) => head.includes(id),
    );
    expect(countIn(one)).toBe(18);
  });

  test.each([
    ['a damaged list', (key: string) => `SETRANGE ${key}:list 200 spoilt`],
    ['a lost list', (key: string) => `DEL ${key}:list`],
    ['a list with a damaged head', (key: string) => `SET ${key}:head spoilt`],
  ])('%s is written again, and no start imposes a smaller one on the others', async (_, spoil) => {
    provider.setBanks(makeBanks(40));
    const env = { CACHE_SIGNING_KEY: 'a key of more than thirty-two characters' };
    const one = await start({ env });
    await eventually(() => one.service.list.status().isShared === true);
    const names = await namesOfValues();
    provider.setBanks(makeBanks(20));
    await redis.command(spoil(names));
    // The second replica has nothing to serve, and loads the smaller list; the first one refuses
    // that, and writes its own again.
    const two = await start({ env });
    await eventually(() => countIn(two) === 40 && two.service.list.status().isShared === true);
    const calls = provider.listCalls();
    const three = await start({ env });
    expect([countIn(one), countIn(three), provider.listCalls()]).toEqual([40, 40, calls]);
  });

  test.each([
    ['damaged', (key: string) => `SETRANGE ${key}:list 200 spoilt`],
    ['lost', (key: string) => `DEL ${key}:list`],
  ])(
    'while the provider is down, a start gets the list of the others for a %s one',
    async (_, spoil) => {
      const one = await start();
      await eventually(() => one.service.list.status().isShared === true);
      await provider.behave('unavailable');
      await redis.command(spoil(await namesOfValues()));
      const two = await start();
      await eventually(() => two.service.list.status().isShared === true);
      expect(countIn(two)).toBe(countIn(one));
    },
  );

  test('each connection that has been used begins the pauses before the next one anew', async () => {
    const ioClock = createManualClock();
    const one = await start({ ioClock });
    await eventually(() => one.service.list.status().isShared === true);
    const told = (line: RegExp): number => one.messages().filter((text) => line.test(text)).length;
    for (let losses = 1; losses <= 3; losses += 1) {
      await redis.command('CLIENT KILL TYPE pubsub');
      await redis.command('CLIENT KILL TYPE normal');
      // Shorter than the deadline of an operation.
      const pauses = (): number[] => ioClock.waits().filter((waitMs) => waitMs < 500);
      await eventually(() => pauses().length > 0);
      expect(pauses()).toEqual([75]);
      ioClock.advance(75);
      await eventually(() => told(/^CACHE_REDIS_URL: works again/) === losses);
    }
  });

  test('a byte that is damaged in the head of a list spoils none of the lists after it', async () => {
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const names = await namesOfValues();
    await redis.command(`SETRANGE ${names}:head 5 "\\xa1"`);
    for (let renewal = 0; renewal < 3; renewal += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await one.service.list.refresh()).toBeUndefined();
    }
    expect(await redis.command(`GET ${names}:head`)).toMatch(
      /^\$\d+\r\n[\w-]{36}:\d+:[\w-]{36}\r\n$/,
    );
  });

  test('a list that is damaged again and again is written eight times in a minute, and later again', async () => {
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const names = await namesOfValues();
    const isWritten = async (): Promise<boolean> =>
      !(await redis.command(`GET ${names}:head`)).includes('spoilt');
    const isWrittenAfter: boolean[] = [];
    for (let damage = 0; damage < 9; damage += 1) {
      await redis.command(`SETRANGE ${names}:list 200 spoilt`);
      await redis.command(`SET ${names}:head spoilt`);
      await pass(5, one);
      isWrittenAfter.push(await isWritten());
    }
    expect(isWrittenAfter).toEqual([...Array.from({ length: 8 }, () => true), false]);
    await pass(25, one);
    expect(await isWritten()).toBe(true);
  });

  test('a list restored from a snapshot is written over a damaged one in Redis', async () => {
    provider.setBanks(makeBanks(40));
    const kept = { CACHE_SNAPSHOT_FILE: snapshot() };
    const one = await openRig(optionsOf({ env: kept }));
    await eventually(() => one.service.list.status().isShared === true);
    await one.close();
    await redis.command(`SETRANGE ${await namesOfValues()}:list 200 spoilt`);
    const again = await start({ env: kept });
    await eventually(() => again.service.list.status().isShared === true);
    provider.setBanks(makeBanks(20));
    const calls = provider.listCalls();
    expect([countIn(await start()), provider.listCalls()]).toEqual([40, calls]);
  });

  test('a damaged list that nobody has is loaded anew', async () => {
    const one = await openRig(optionsOf());
    await eventually(() => one.service.list.status().isShared === true);
    await one.close();
    await redis.command(`SETRANGE ${await namesOfValues()}:list 200 spoilt`);
    provider.setBanks(makeBanks(20));
    const again = await start();
    await eventually(() => again.service.list.status().isShared === true);
    const messages = again.messages().filter((message) => /CACHE_REDIS_URL/.test(message));
    expect(messages).toEqual([
      'CACHE_REDIS_URL: contains a damaged list; ignored',
      'CACHE_REDIS_URL: works again',
    ]);
    expect(countIn(again)).toBe(20);
  });

  test('a refresh connects anew although what the connection before it wrote as a trial expires meanwhile', async () => {
    const connection = await connectionToCut();
    const file = join(temporaryFolder(), 'redis-url');
    writeFileSync(file, connection.url);
    const one = await start({
      env: { CACHE_REDIS_URL: '', CACHE_REDIS_URL_FILE: file, MANAGEMENT_TOKEN },
    });
    const withTrials = (command: string): Promise<string> =>
      redis.command(
        `EVAL "for _, key in ipairs(redis.call('keys', '*:probe:*')) do redis.call('${command}', key) end" 0`,
      );
    // On a busy machine the next connection may take longer than the second that they live.
    await withTrials('persist');
    // The first write of a connection.
    connection.holdFrom("'px'");
    const refreshed = supertest(one.managementUrl)
      .post('/refresh')
      .set('authorization', `Bearer ${MANAGEMENT_TOKEN}`)
      .then(({ status, body }) => ({ status, body }));
    await eventually(connection.isHolding);
    await withTrials('del');
    connection.release();
    expect(await refreshed).toMatchObject({ status: 200 });
  });
});
