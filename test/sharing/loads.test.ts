import { expect, test } from '@jest/globals';
import type { LoadError } from '../../src/banks/load-error.ts';
import type { EnvironmentVariables } from '../../src/config/reader.ts';
import { makeBanks } from '../helpers/banks.ts';
import { BANKS, UNUSABLE } from '../helpers/emulate.ts';
import { holdBack } from '../helpers/hold-back.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { describeWithRedis } from '../helpers/redis-server.ts';
import {
  redis,
  provider,
  clock,
  optionsOf,
  start,
  countIn,
  namesOfValues,
  writtenAgain,
  connectionToCut,
  pass,
  beginAnew,
  snapshot,
} from '../helpers/replicas.ts';
import {
  advanceOnceIdle,
  advanceToLoad,
  nextLoad,
  openRig,
  plannedInMs,
  startRig,
  stopAtOnce,
  type Rig,
} from '../helpers/rig.ts';
import { eventually, waitUntil } from '../helpers/wait-until.ts';

// Which of several replicas loads the list, and when: leases, failures and Retry-After, in orders of
// events that depend on nothing but what Redis took, and when.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describeWithRedis('with a real Redis', () => {
  beginAnew();

  /** The first of these is the first to renew its list. */
  const startThree = async (env: EnvironmentVariables = {}): Promise<readonly [Rig, Rig, Rig]> => [
    await start({ env, random: () => 0.9 }),
    await start({ env, random: () => 0 }),
    await start({ env, random: () => 0 }),
  ];

  /** Two that share a list. The connection of the second one to Redis can be cut, or held. */
  const startTwoToCut = async () => {
    const env = { CACHE_TTL: '30s' };
    const one = await start({ env });
    await eventually(() => one.service.list.status().isShared === true);
    const connection = await connectionToCut();
    const two = await start({ env: { ...env, CACHE_REDIS_URL: connection.url } });
    return { one, two, connection };
  };

  /** Unlike `start`, does not wait until the replica has a list. */
  const startWithoutWaiting = (): Promise<Rig> => startRig(optionsOf());

  /** @returns with what a replica starts that has a stale list in its snapshot */
  const saveStaleList = async (): Promise<EnvironmentVariables> => {
    const env = { CACHE_TTL: '30m', CACHE_SNAPSHOT_FILE: snapshot() };
    const rig = await openRig({ provider, clock, env });
    await eventually(() => countIn(rig) === BANKS.length);
    await rig.close();
    clock.skip(40 * MINUTE);
    return env;
  };

  /** Two replicas without a list, which have been told a Retry-After of ten minutes. */
  const startTwoInVain = async (): Promise<readonly [Rig, Rig]> => {
    await provider.behave('rate-limited', { retryAfter: '600' });
    const rigs = [await startWithoutWaiting(), await startWithoutWaiting()] as const;
    for (const { service } of rigs)
      await eventually(() => service.list.status().failure?.kind === 'rate_limited');
    return rigs;
  };

  /** The same, and 50 s later another one: both know of it. */
  const startTwoToldAgain = async (retryAfter: string): Promise<readonly [Rig, Rig]> => {
    const [one, two] = await startTwoInVain();
    await pass(50, one, two);
    await provider.behave('rate-limited', { retryAfter });
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    await eventually(() => two.service.list.status().failing?.attempts === 2);
    return [one, two];
  };

  /** Redis loses everything; in the next 5 s one of `rigs` writes the failure again. */
  const loseTheFailure = async (...rigs: readonly [Rig, ...Rig[]]): Promise<void> => {
    const [lease] = /\S+:lease/.exec(await redis.command('KEYS *')) ?? [];
    await redis.command('FLUSHALL');
    await pass(5, ...rigs);
    await eventually(async () => (await redis.command(`EXISTS ${lease}`)) === ':1\r\n');
  };

  /** Moves time on, where some of them load or wait for one that does. */
  const passDuringALoad = async (seconds: number): Promise<void> => {
    for (let passed = 0; passed < seconds; passed += 1) {
      clock.advance(1_000);
      for (let exchange = 0; exchange < 5; exchange += 1) await redis.command('PING');
    }
  };

  test('one Retry-After holds for all, and all know the reason', async () => {
    const one = await start();
    const two = await start();
    await provider.behave('rate-limited', { retryAfter: '600' });
    const before = provider.listCalls();
    await one.service.list.refresh();
    await eventually(() => two.service.list.status().failure?.kind === 'rate_limited');
    for (const rig of [one, two]) expect(Math.round((await plannedInMs(rig)) / MINUTE)).toBe(10);
    // Who made the attempt counts it; both are failing.
    const metric = async (rig: Rig, name: string): Promise<string | undefined> => {
      const text = await (await fetch(`${rig.managementUrl}/metrics`)).text();
      return new RegExp(`^banks_${name}="rate_limited"} (\\d)$`, 'm').exec(text)?.[1];
    };
    for (const [rig, attempts] of [
      [one, '1'],
      [two, '0'],
    ] as const)
      expect([
        await metric(rig, 'refreshes_total{outcome'),
        await metric(rig, 'refresh_failing{kind'),
      ]).toEqual([attempts, '1']);
    expect(two.messages()).toContain(
      'list: load failed: the load of another replica failed; the cached list is still fresh',
    );
    for (let seconds = 0; seconds < 120; seconds += 5) await advanceOnceIdle(5_000, one, two);
    expect(provider.listCalls() - before).toBe(1);
  });

  test('a Retry-After that was obeyed does not bind who joins during the next attempt', async () => {
    await provider.behave('rate-limited', { retryAfter: '600' });
    // With a clock of its own, of which the end does not move that of the other one.
    const own = createManualClock();
    const one = await openRig(optionsOf({ clock: own }));
    clock.skip(await plannedInMs(one));
    await provider.behave('stall');
    await advanceToLoad(one);
    await eventually(() => provider.listCalls() === 2);
    const late = await startWithoutWaiting();
    await eventually(() => late.service.list.status().failure?.kind === 'rate_limited');
    await stopAtOnce(one);
    await provider.behave('healthy');
    // Longer than the right to the attempt that the other replica had begun.
    clock.advance(12_000);
    await eventually(() => countIn(late) !== undefined);
    expect(provider.listCalls()).toBe(3);
  });

  test('a Retry-After that comes while another replica loads holds for that one too', async () => {
    const [one, two] = [await start(), await start()];
    await eventually(() => two.service.list.status().isShared === true);
    await provider.behave('stall');
    const before = provider.listCalls();
    const stalled = two.service.list.refresh();
    await eventually(() => provider.listCalls() > before);
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    clock.advance(15_000);
    expect(await stalled).toMatchObject({ kind: 'timeout' });
    await eventually(() => two.service.list.status().nextLoadInMs > 9 * MINUTE);
  });

  test('a Retry-After that another replica reads only when its own load has failed holds for that one too', async () => {
    const env = { CACHE_TTL: '30s' };
    const one = await start({ env, random: () => 0 });
    await eventually(() => one.service.list.status().isShared === true);
    const connection = await connectionToCut();
    const second = { ...env, CACHE_REDIS_URL: connection.url };
    const two = await start({ env: second, random: () => 0.9 });
    const before = provider.listCalls();
    await provider.behave('stall');
    await advanceToLoad(two);
    await eventually(() => provider.listCalls() > before);
    connection.hold();
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    clock.advance(15_000);
    await eventually(() => two.service.list.status().failure?.kind === 'timeout');
    connection.release();
    await eventually(() => two.service.list.status().nextLoadInMs > 9 * MINUTE);
  });

  test('a replica with nothing to serve does not wait after a refusal by one that has a list', async () => {
    provider.setBanks(makeBanks(100));
    const one = await start({ env: { CACHE_TTL: '1h' } });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start({ env: { CACHE_TTL: '30m', CACHE_MAX_STALE: '40s' } });
    clock.skip(30 * MINUTE + 39_000);
    provider.setBanks(makeBanks(50));
    // As many failures as make the next wait a minute long.
    for (let failed = 0; failed < 7; failed += 1) {
      expect(await one.service.list.refresh()).toMatchObject({ kind: 'shrunk' });
      await eventually(() => two.service.list.status().failing?.attempts === failed + 1);
    }
    expect([countIn(one), countIn(two)]).toEqual([100, 100]);
    clock.advance(2_000);
    await eventually(() => countIn(one) === 50 && countIn(two) === 50);
  });

  test("while one replica loads, no other one does, also after an operator's load has failed", async () => {
    const [one, two, three] = await startThree();
    await eventually(() => three.service.list.status().isShared === true);
    await provider.behave('stall');
    const calls = provider.listCalls();
    await advanceToLoad(one);
    await eventually(() => provider.listCalls() === calls + 1);
    await provider.behave('unavailable');
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    await eventually(() => three.service.list.status().failure?.kind === 'unavailable');
    await passDuringALoad(4);
    expect(provider.listCalls()).toBe(calls + 2);
    clock.advance(1_000);
    await eventually(() => one.service.list.status().failure?.kind === 'timeout');
    await eventually(() => three.service.list.status().failure?.kind === 'timeout');
    await waitUntil(
      'another attempt',
      async () => {
        clock.advance(500);
        await clock.turn();
        return provider.listCalls();
      },
      (made) => made === calls + 3,
    );
  });

  test('a failure to replace another list than the fresh one is none', async () => {
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const names = await namesOfValues();
    const fail = async (kind: string, listId = ''): Promise<void> => {
      const failure = {
        id: kind,
        kind,
        attempts: 1,
        failingSinceMs: 0,
        listId,
        retryAfterUntilMs: 0,
        retryAfterMinimumUntilMs: 0,
        retryAfterReceivedAtMs: 0,
      };
      const heldUntilMs = clock.wallMs() + MINUTE;
      const lease = { id: kind, owner: 'x', heldUntilMs, isLoading: false, failure };
      await redis.command(`SET ${names}:lease '${JSON.stringify(lease)}'`);
      await pass(5, one);
    };
    await fail('unavailable', 'another');
    expect(one.service.list.status().failure).toBeUndefined();
    await fail('timeout', one.service.list.status().cached?.id);
    await eventually(() => one.service.list.status().failure?.kind === 'timeout');
    expect(one.messages().filter((message) => message.includes('load failed'))).toHaveLength(1);
  });

  test('a list that an operator has loaded ends no load of another replica', async () => {
    const [one, two, three] = await startThree({ CACHE_TTL: '1s' });
    await eventually(() => three.service.list.status().isShared === true);
    await provider.behave('stall');
    const calls = provider.listCalls();
    await advanceToLoad(one);
    await eventually(() => provider.listCalls() === calls + 1);
    await provider.behave('healthy');
    expect(await two.service.list.refresh()).toBeUndefined();
    await eventually(() => three.service.list.status().ageMs === 0);
    await passDuringALoad(4);
    expect(provider.listCalls()).toBe(calls + 2);
  });

  /** Of three replicas, `two` is rate limited for 10 minutes during a load of `one`, which goes on. */
  const rateLimitedDuringALoad = async (env: EnvironmentVariables = {}, heldForMs = 0) => {
    const [one, two, three] = await startThree({ CACHE_TTL: '30s', ...env });
    await eventually(() => three.service.list.status().isShared === true);
    clock.skip(heldForMs);
    await provider.behave('slow', { delayMs: 300 });
    const calls = provider.listCalls();
    const slow = one.service.list.refresh();
    await eventually(() => provider.listCalls() === calls + 1);
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    return { one, two, three, slow };
  };

  test('a Retry-After is obeyed by all, also if a list that was requested before it arrives', async () => {
    const { one, two, three, slow } = await rateLimitedDuringALoad();
    clock.advance(1);
    expect(await slow).toBeUndefined();
    for (const rig of [one, two, three])
      await eventually(() => Math.round(rig.service.list.status().nextLoadInMs / MINUTE) === 10);
    // What is requested later ends it.
    clock.advance(30_000);
    await provider.behave('healthy');
    expect(await two.service.list.refresh()).toBeUndefined();
    for (const rig of [one, two, three])
      await eventually(() => {
        const { nextLoadInMs, failure } = rig.service.list.status();
        return failure === undefined && nextLoadInMs > 0 && nextLoadInMs < 30_000;
      });
  });

  test('a start during a Retry-After counts a failure only where no list has come since', async () => {
    const { one, two, three, slow } = await rateLimitedDuringALoad();
    clock.advance(1);
    expect(await slow).toBeUndefined();
    // All lists are stale by then.
    await pass(60, one, two, three);
    const late = await start({ env: { CACHE_TTL: '30s' } });
    expect(Math.round((await plannedInMs(late)) / MINUTE)).toBe(9);
    for (const rig of [one, two, three, late])
      expect(rig.service.list.status().failing).toBeUndefined();
  });

  test('a replica that starts during an outage tells since when loads have been failing', async () => {
    const one = await start();
    await provider.behave('rate-limited', { retryAfter: '600' });
    const failedAtMs = clock.wallMs();
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    clock.skip(5 * MINUTE);
    const two = await start();
    await eventually(() => two.service.list.status().failing !== undefined);
    const sinceMs = two.service.list.status().failing?.sinceMs ?? 0;
    expect(Math.round((sinceMs - failedAtMs) / 1_000)).toBe(0);
  });

  test('a load that fails for a file of its own replica is left to another one at once', async () => {
    const random = 0.9;
    const one = await start({ random: () => random - 0.001 });
    await eventually(() => one.service.list.status().isShared === true);
    // The first to renew the list, by some milliseconds.
    const env = { PROVIDER_ACCESS_TOKEN: '', PROVIDER_ACCESS_TOKEN_FILE: '/missing/file' };
    const two = await start({ env, random: () => random });
    await advanceToLoad(two);
    await eventually(() => two.service.list.status().failure?.kind === 'no_token');
    expect(provider.listCalls()).toBe(1);
    clock.advance(100);
    await eventually(() => provider.listCalls() === 2);
  });

  test('a Retry-After that comes just before a list is written holds for who starts later too', async () => {
    const env = { CACHE_TTL: '30s' };
    const connection = await connectionToCut();
    const one = await start({ env: { ...env, CACHE_REDIS_URL: connection.url } });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start({ env });
    const answer = holdBack(provider, { body: makeBanks(119) });
    const refreshed = one.service.list.refresh();
    await eventually(answer.isAsked);
    connection.hold();
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    // The message of it arrives, and what Redis has is asked for before the list can be written.
    await eventually(connection.isHolding);
    answer.send();
    for (let exchange = 0; exchange < 100; exchange += 1) await redis.command('PING');
    connection.release();
    expect(await refreshed).toBeUndefined();
    await eventually(() => countIn(two) === 119);
    const late = await start({ env });
    for (const rig of [one, two, late])
      await eventually(() => Math.round(rig.service.list.status().nextLoadInMs / MINUTE) === 10);
  });

  test('an answer to an earlier question is not written over a list that comes while it waits', async () => {
    const connection = await connectionToCut();
    // The first to renew its list.
    const one = await start({ env: { CACHE_REDIS_URL: connection.url }, random: () => 0.9 });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start({ random: () => 0 });
    const answer = holdBack(provider, { body: makeBanks(119) });
    await advanceToLoad(one);
    await eventually(answer.isAsked);
    connection.hold();
    provider.setBanks(makeBanks(118));
    expect(await two.service.list.refresh()).toBeUndefined();
    // The message of it arrives, and what Redis has is asked for before the answer can be written.
    await eventually(connection.isHolding);
    answer.send();
    for (let exchange = 0; exchange < 100; exchange += 1) await redis.command('PING');
    connection.release();
    await pass(5, one, two);
    expect([countIn(one), countIn(two)]).toEqual([118, 118]);
  });

  test('a Retry-After that comes while Redis is away holds for all once it is back', async () => {
    const { one, two, connection } = await startTwoToCut();
    connection.cut();
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    clock.skip(5_000);
    connection.mend();
    await eventually(() => one.service.list.status().failure?.kind === 'rate_limited');
    expect(Math.round((await plannedInMs(one)) / 1_000)).toBe(595);
  });

  test('a Retry-After still holds for a new replica after Redis has lost everything', async () => {
    const env = { CACHE_TTL: '30s' };
    const one = await start({ env });
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    const calls = provider.listCalls();
    await loseTheFailure(one);
    const two = await start({ env });
    await eventually(() => two.service.list.status().failure?.kind === 'rate_limited');
    expect(Math.round((await plannedInMs(two)) / 1_000)).toBe(595);
    expect(provider.listCalls()).toBe(calls);
  });

  test('a Retry-After still holds after Redis has lost everything, and the replica with the last failure is gone', async () => {
    const env = { CACHE_TTL: '30s' };
    const [one, two] = [await start({ env }), await start({ env })];
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    await provider.behave('unavailable');
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    await eventually(() => one.service.list.status().failure?.kind === 'unavailable');
    await stopAtOnce(two);
    const calls = provider.listCalls();
    await loseTheFailure(one);
    const three = await start({ env });
    await eventually(() => three.service.list.status().failure?.kind === 'unavailable');
    expect(Math.round((await plannedInMs(three)) / 1_000)).toBe(595);
    expect(provider.listCalls()).toBe(calls);
  });

  test('a request that waits as another replica is quicker to load gets the failure before that load', async () => {
    await provider.behave('unavailable');
    const one = await startWithoutWaiting();
    await plannedInMs(one);
    const load = holdBack(provider, { status: 503 });
    const connection = await connectionToCut();
    // Its first look, after four of its start: it learns of the failure when the next load is due.
    connection.holdFrom('getrange', 5);
    const two = await startRig(
      optionsOf({
        env: { CACHE_REDIS_URL: connection.url },
        random: () => 0,
        // It stands still: nothing that is held back is given up.
        ioClock: createManualClock(),
      }),
    );
    await eventually(connection.isHolding);
    let answer: string | undefined;
    two.service.list.waitUntilServed().catch(({ kind }: LoadError) => (answer = kind));
    clock.advance(1_300);
    connection.release();
    // Its claim comes second.
    connection.holdFrom("'px'");
    await eventually(connection.isHolding);
    expect(answer).toBeUndefined();
    await advanceToLoad(one);
    await eventually(load.isAsked);
    connection.release();
    await eventually(() => answer === 'unavailable');
    load.send();
  });

  test('a replica that writes a lost failure again waits for the load that it finds then', async () => {
    const [first, second] = [await connectionToCut(), await connectionToCut()];
    // On an input and output clock that stands still: nothing that is held back is given up.
    const startAt = (url: string): Promise<Rig> =>
      start({ env: { CACHE_REDIS_URL: url }, ioClock: createManualClock() });
    const one = await startAt(first.url);
    await eventually(() => one.service.list.status().isShared === true);
    const two = await startAt(second.url);
    await provider.behave('rate-limited', { retryAfter: '8' });
    await one.service.list.refresh();
    await eventually(() => two.service.list.status().failure?.kind === 'rate_limited');
    const lease = `${await namesOfValues()}:lease`;
    await redis.command(`DEL ${lease}`);
    // Its first look finds no lease; its second one comes before it writes the failure again.
    second.holdFrom('getrange', 2);
    first.hold();
    await advanceOnceIdle(5_000, one, two);
    await eventually(second.isHolding);
    first.release();
    await plannedInMs(one);
    const calls = provider.listCalls();
    const load = holdBack(provider, { body: makeBanks(BANKS.length) });
    // The next attempt of both is due.
    clock.advance(3_500);
    await eventually(load.isAsked);
    const claimed = await redis.command(`GET ${lease}`);
    second.release();
    await eventually(async () => (await redis.command(`GET ${lease}`)) !== claimed);
    await passDuringALoad(3);
    expect(provider.listCalls() - calls).toBe(1);
    load.send();
    await eventually(() => two.service.list.status().failing === undefined);
  });

  test('a Retry-After that is written again holds nobody without a list for more than a minute', async () => {
    const [one, two] = await startTwoInVain();
    await pass(50, one, two);
    await loseTheFailure(one, two);
    const late = await startWithoutWaiting();
    for (const rig of [one, two, late]) {
      await eventually(() => rig.service.list.status().failure?.kind === 'rate_limited');
      expect(Math.round((await plannedInMs(rig)) / 1_000)).toBe(5);
    }
    expect(provider.listCalls()).toBe(1);
  });

  test('a Retry-After that a replica without a list writes again holds on for one with a list', async () => {
    const one = await start({ env: { CACHE_TTL: '30m', CACHE_MAX_STALE: '2m' } });
    await eventually(() => one.service.list.status().isShared === true);
    clock.skip(40 * MINUTE);
    await provider.behave('unavailable', { retryAfter: '1800' });
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    expect(one.service.list.status().state).toBe('expired');
    const lease = `${await namesOfValues()}:lease`;
    await redis.command(`DEL ${lease}`);
    await pass(5, one);
    await eventually(async () => (await redis.command(`EXISTS ${lease}`)) === ':1\r\n');
    const two = await start({ env: { CACHE_TTL: '30m' } });
    expect(countIn(two)).toBe(BANKS.length);
    expect(Math.round((await plannedInMs(two)) / 1_000)).toBe(1_795);
  });

  test('a shorter Retry-After during a longer one holds nobody without a list for another minute', async () => {
    const [, two] = await startTwoToldAgain('3');
    expect(Math.round((await plannedInMs(two)) / 1_000)).toBe(10);
  });

  test('after a failure just before a Retry-After is over, the others back off too', async () => {
    const [one, two] = await startTwoInVain();
    await pass(59, one, two);
    await provider.behave('unavailable');
    clock.advance(900);
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    await eventually(() => two.service.list.status().failing?.attempts === 2);
    expect(await plannedInMs(two)).toBeGreaterThan(800);
  });

  test('a Retry-After of two minutes during a longer one holds for a minute for all without a list', async () => {
    const [one, two] = await startTwoToldAgain('120');
    for (const rig of [one, two, await startWithoutWaiting()])
      expect(Math.round((await plannedInMs(rig)) / 1_000)).toBe(60);
  });

  test('a Retry-After that comes while Redis is away is not lost by a failure of another replica', async () => {
    const { one, two, connection } = await startTwoToCut();
    connection.cut();
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    await provider.behave('unavailable');
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    connection.mend();
    await eventually(() => one.service.list.status().failure?.kind === 'rate_limited');
    expect(Math.round((await plannedInMs(one)) / 1_000)).toBe(600);
  });

  test('a Retry-After that comes after the list of another replica was written makes nobody fail', async () => {
    const { one, two, connection } = await startTwoToCut();
    const answer = holdBack(provider, { status: 429, headers: { 'retry-after': '600' } });
    const refreshed = two.service.list.refresh();
    await eventually(answer.isAsked);
    connection.hold();
    expect(await one.service.list.refresh()).toBeUndefined();
    answer.send();
    await eventually(() => two.service.list.status().failure?.kind === 'rate_limited');
    connection.release();
    expect(await refreshed).toMatchObject({ kind: 'rate_limited' });
    for (const rig of [one, two])
      await eventually(() => {
        const { failure, nextLoadInMs } = rig.service.list.status();
        return failure === undefined && Math.round(nextLoadInMs / MINUTE) === 10;
      });
  });

  test('a list that was requested after a Retry-After ends it, also from a replica that knew of none', async () => {
    const one = await start({ env: { CACHE_TTL: '5m' } });
    await eventually(() => one.service.list.status().isShared === true);
    const connection = await connectionToCut();
    const two = await start({ env: { CACHE_REDIS_URL: connection.url } });
    connection.cut();
    await provider.behave('rate-limited', { retryAfter: '3600' });
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    clock.skip(MINUTE);
    await provider.behave('healthy');
    provider.setBanks(makeBanks(119));
    expect(await two.service.list.refresh()).toBeUndefined();
    connection.mend();
    clock.advance(5_000);
    await eventually(() => countIn(one) === 119);
    const calls = provider.listCalls();
    await advanceToLoad(one);
    await eventually(() => provider.listCalls() === calls + 1);
    expect(two.service.list.status().state).toBe('fresh');
  });

  test('nobody loads at the end of a Retry-After that another list outlasts', async () => {
    const connection = await connectionToCut();
    const one = await start({ env: { CACHE_REDIS_URL: connection.url } });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start();
    connection.cut();
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    clock.advance(1_000);
    await provider.behave('healthy');
    provider.setBanks(makeBanks(119));
    expect(await one.service.list.refresh()).toBeUndefined();
    connection.mend();
    clock.advance(5_000);
    await eventually(() => countIn(two) === 119);
    const late = await start();
    for (const rig of [one, two, late]) {
      await eventually(() => rig.service.list.status().nextLoadInMs > 50 * MINUTE);
      expect(rig.service.list.status().failing).toBeUndefined();
    }
  });

  test('requests are answered at once if the list expires before a Retry-After is over', async () => {
    const { one, two, three, slow } = await rateLimitedDuringALoad({ CACHE_MAX_STALE: '20s' });
    clock.advance(1);
    expect(await slow).toBeUndefined();
    for (const { service } of [one, two, three])
      await eventually(() => service.list.status().nextLoadInMs > 50_000);
    clock.advance(55_000);
    for (const { url } of [one, two, three]) {
      const { status, headers } = await fetch(`${url}/banks`);
      expect(status).toBe(503);
      expect(Number(headers.get('retry-after'))).toBeLessThan(7);
    }
  });

  test('a Retry-After that comes when a list is about to expire holds on with the next list', async () => {
    const { one, two, three, slow } = await rateLimitedDuringALoad({ CACHE_MAX_STALE: '1h' }, HOUR);
    clock.advance(1);
    expect(await slow).toBeUndefined();
    for (const { service } of [one, two, three])
      await eventually(() => Math.round(service.list.status().nextLoadInMs / MINUTE) === 10);
  });

  test('a Retry-After that a later failure does not repeat holds, also for who joins after another list', async () => {
    const { one, two, three, slow } = await rateLimitedDuringALoad();
    await provider.behave('unavailable');
    expect(await three.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    clock.advance(1);
    expect(await slow).toBeUndefined();
    const late = await start({ env: { CACHE_TTL: '30s' } });
    for (const rig of [one, two, three, late])
      await eventually(() => Math.round(rig.service.list.status().nextLoadInMs / MINUTE) === 10);
  });

  test('all replicas know since when loads have been failing, and how often', async () => {
    const [one, two] = [await start(), await start()];
    await provider.behave('unavailable');
    const failing = ({ service }: Rig) => service.list.status().failing;
    for (const attempts of [1, 2]) {
      expect(await one.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
      await eventually(() => failing(two)?.attempts === attempts);
      expect(failing(two)).toEqual(failing(one));
      clock.skip(5 * MINUTE);
    }
    const health = await (await fetch(`${two.managementUrl}/healthz`)).json();
    expect(health).toMatchObject({
      list: { failingSince: new Date(clock.wallMs() - 10 * MINUTE).toISOString() },
    });
  });

  test('a Redis that comes back with an earlier failure does not change since when loads fail', async () => {
    const one = await start();
    const { list } = one.service;
    const names = await namesOfValues();
    await provider.behave('unavailable');
    await list.refresh();
    const sinceMs = clock.wallMs();
    await redis.command(`COPY ${names}:lease earlier`);
    await advanceOnceIdle(500, one);
    // It knows its last two failures again.
    await list.refresh();
    await list.refresh();
    expect(list.status().failing).toEqual({ sinceMs, attempts: 3 });
    await redis.command(`COPY earlier ${names}:lease REPLACE`);
    await redis.command(`PUBLISH ${names}:news somebody`);
    await eventually(() => list.status().failing?.attempts === 1);
    expect(list.status().failing?.sinceMs).toBe(sinceMs);
  });

  test('who loads a list right after a Retry-After knows that it is over', async () => {
    const one = await start({ env: { CACHE_TTL: '30s' } });
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    const nextLoadInMs = (): number => one.service.list.status().nextLoadInMs;
    await eventually(() => nextLoadInMs() > 9 * MINUTE);
    clock.advance(1);
    await provider.behave('healthy');
    expect(await one.service.list.refresh()).toBeUndefined();
    await eventually(() => nextLoadInMs() > 0 && nextLoadInMs() < 30_000);
    expect(one.service.list.status().failure).toBeUndefined();
  });

  test('a stale list of another replica ends no failure', async () => {
    const one = await openRig(optionsOf());
    await eventually(() => one.service.list.status().isShared === true);
    const front = await connectionToCut();
    const two = await start({ env: { CACHE_REDIS_URL: front.url } });
    front.cut();
    await provider.behave('some-unusable');
    await one.service.list.refresh();
    await one.close();
    clock.skip(HOUR);
    await provider.behave('unavailable');
    await two.service.list.refresh();
    const failing = two.service.list.status().failing;
    expect(failing?.attempts).toBe(1);
    clock.skip(MINUTE);
    front.mend();
    await eventually(() => countIn(two) === BANKS.length - UNUSABLE);
    expect(two.service.list.status()).toMatchObject({
      state: 'stale',
      failing: { sinceMs: failing?.sinceMs },
    });
    // Nor does it for the log, which told of the failure once.
    const told = () => two.messages().filter((message) => message.includes('load failed'));
    expect(told()).toHaveLength(1);
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    expect(told()).toHaveLength(1);
    await provider.behave('healthy');
    expect(await two.service.list.refresh()).toBeUndefined();
    await eventually(() => two.messages().includes('list: recovered'));
  });

  test('who joins during another attempt knows the failure before it, and answers at once', async () => {
    await provider.behave('unavailable');
    const one = await start();
    await provider.behave('stall');
    await advanceToLoad(one);
    await eventually(() => provider.listCalls() === 2);
    const late = await startWithoutWaiting();
    await eventually(() => late.service.list.status().failure?.kind === 'unavailable');
    expect((await fetch(`${late.url}/banks`)).status).toBe(503);
    expect(provider.listCalls()).toBe(2);
  });

  test.each([
    [503, undefined],
    [200, makeBanks(1)],
  ])(
    'requests that wait are answered at once (%i), also while Redis does not answer',
    async (status, body) => {
      const front = await connectionToCut();
      const answer = holdBack(provider, { status, body });
      const rig = await startRig(optionsOf({ env: { CACHE_REDIS_URL: front.url } }));
      const response = fetch(`${rig.url}/banks`);
      await eventually(answer.isAsked);
      front.hold();
      answer.send();
      expect((await response).status).toBe(status);
      expect(rig.messages().filter((message) => message.startsWith('CACHE_REDIS_URL'))).toEqual([
        'CACHE_REDIS_URL: no saved list yet',
      ]);
      await eventually(() => front.isHolding());
      front.release();
    },
  );

  test('a request waits for the load of a replica that hangs for half of its time only', async () => {
    await provider.behave('stall');
    // Its clock stands still.
    await startRig(optionsOf({ clock: createManualClock() }));
    await eventually(() => provider.listCalls() === 1);
    await provider.behave('healthy');
    const two = await startWithoutWaiting();
    const answer = fetch(`${two.url}/banks`);
    await eventually(() => clock.waits().includes(5_000) && clock.waits().includes(2_500));
    clock.advance(2_499);
    await clock.turn();
    expect(provider.listCalls()).toBe(1);
    clock.advance(1);
    expect((await answer).status).toBe(200);
    expect(provider.listCalls()).toBe(2);
  });

  test('who joins when a replica has stopped during an attempt knows the failure before it', async () => {
    await provider.behave('unavailable');
    // With a clock of its own, of which the end does not move that of the other one.
    const own = createManualClock();
    const one = await openRig(optionsOf({ clock: own }));
    clock.skip(await plannedInMs(one));
    await provider.behave('stall');
    await advanceToLoad(one);
    clock.advance(2_000);
    await eventually(() => provider.listCalls() === 2);
    await stopAtOnce(one);
    const late = await startWithoutWaiting();
    await eventually(() => late.service.list.status().failing?.attempts === 1);
    expect(late.service.list.status().failure?.kind).toBe('unavailable');
  });

  test('the load of a replica that stops is left to the others at once', async () => {
    await provider.behave('stall');
    const env = { PROVIDER_TIMEOUT: '30s' };
    // With a clock of its own, of which the end does not move that of the other one.
    const own = createManualClock();
    const one = await openRig(optionsOf({ clock: own, env }));
    await eventually(() => provider.listCalls() === 1);
    const two = await startRig(optionsOf({ env, ioClock: createManualClock() }));
    await stopAtOnce(one);
    await eventually(() => provider.listCalls() === 2);
    expect(two.service.list.status()).toMatchObject({ nextLoadInMs: 0, lastFailure: undefined });
  });

  test('the first list ends the right to load it, so that a replica that hangs delays no renewal', async () => {
    const env = { CACHE_TTL: '2s', PROVIDER_TIMEOUT: '30s' };
    // Its clock stands still.
    const hanging = await start({ env, clock: createManualClock() });
    await eventually(() => hanging.service.list.status().isShared === true);
    await start({ env });
    expect(provider.listCalls()).toBe(1);
    clock.advance(2_000);
    await eventually(() => provider.listCalls() === 2);
  });

  test('a Retry-After that a replica with a longer CACHE_TTL obeys holds for the others too', async () => {
    const one = await start({ env: { CACHE_TTL: '6h' } });
    const two = await start({ env: { CACHE_TTL: '3h' } });
    await provider.behave('rate-limited', { retryAfter: '20000' });
    await one.service.list.refresh();
    const calls = provider.listCalls();
    await eventually(() => two.service.list.status().failure?.kind === 'rate_limited');
    expect(Math.round((await plannedInMs(two)) / HOUR)).toBe(6);
    expect(provider.listCalls()).toBe(calls);
  });

  test.each([
    ['is longer than any that is meant', { heldForMs: 2 * DAY, isLoading: true }],
    ['does not say whether its owner loads', { heldForMs: 12 * HOUR }],
  ])('a lease that %s delays no load', async (_, { heldForMs, ...told }) => {
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const names = await namesOfValues();
    const lease = { id: 'x', owner: 'x', heldUntilMs: clock.wallMs() + heldForMs, ...told };
    expect(await redis.command(`SET ${names}:lease '${JSON.stringify(lease)}'`)).toBe('+OK\r\n');
    await nextLoad(one);
    expect(provider.listCalls()).toBe(2);
  });

  test('the bound of a Retry-After counts from when it came, also for a replica that starts later', async () => {
    const one = await start({ env: { CACHE_TTL: '30m' } });
    await provider.behave('rate-limited', { retryAfter: '20000' });
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    clock.skip(45 * MINUTE);
    const late = await start({ env: { CACHE_TTL: '30m' } });
    expect(Math.round(late.service.list.status().nextLoadInMs / MINUTE)).toBe(15);
  });

  test('a Retry-After that comes to nobody with a list is over after a minute, also for who starts later', async () => {
    await provider.behave('rate-limited', { retryAfter: '600' });
    const one = await start();
    expect(Math.round(one.service.list.status().nextLoadInMs / 1_000)).toBe(60);
    clock.skip(40_000);
    const late = await start();
    expect(Math.round(late.service.list.status().nextLoadInMs / 1_000)).toBe(20);
  });

  test('a Retry-After that came to a replica with a list is over after a minute for who starts without one', async () => {
    const one = await openRig(optionsOf());
    await eventually(() => one.service.list.status().isShared === true);
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    await stopAtOnce(one);
    const names = await namesOfValues();
    await redis.command(`DEL ${names}:list ${names}:head`);
    clock.skip(20_000);
    const { list } = (await startWithoutWaiting()).service;
    await eventually(() => list.status().failure?.kind === 'rate_limited');
    expect(Math.round(list.retryInMs() / 1_000)).toBe(40);
  });

  test('a Retry-After that was obeyed for a minute without a list holds on for who starts with one', async () => {
    const kept = await saveStaleList();
    await provider.behave('rate-limited', { retryAfter: '600' });
    const one = await start();
    await provider.behave('unavailable');
    await nextLoad(one);
    const late = await start({ env: kept });
    expect(Math.round((await plannedInMs(late)) / 1_000)).toBe(540);
    expect(countIn(late)).toBe(BANKS.length);
  });

  test('a Retry-After holds on for who starts with a list once all others are gone', async () => {
    const kept = await saveStaleList();
    await provider.behave('rate-limited', { retryAfter: '600' });
    await stopAtOnce(await start());
    clock.skip(5 * MINUTE);
    const late = await start({ env: kept });
    expect(Math.round((await plannedInMs(late)) / 1_000)).toBe(300);
    expect(countIn(late)).toBe(BANKS.length);
  });

  test('an earlier Retry-After of another replica does not end a later one, without a list', async () => {
    await provider.behave('rate-limited', { retryAfter: '600' });
    await start();
    const connection = await connectionToCut();
    connection.cut();
    clock.skip(50_000);
    const late = await start({ env: { CACHE_REDIS_URL: connection.url } });
    const lastFailureMs = (): number | undefined => late.service.list.status().lastFailure?.atMs;
    const ownMs = lastFailureMs();
    connection.mend();
    clock.advance(5_000);
    await eventually(() => lastFailureMs() !== ownMs);
    expect(Math.round((await plannedInMs(late)) / 1_000)).toBe(55);
  });

  test('a stale list that is written again ends no wait after a failure', async () => {
    const one = await start({ env: { CACHE_TTL: '1m' } });
    await eventually(() => one.service.list.status().isShared === true);
    clock.skip(2 * MINUTE);
    await provider.behave('unavailable', { retryAfter: '600' });
    await one.service.list.refresh();
    const names = await namesOfValues();
    await redis.command(`DEL ${names}:head ${names}:list`);
    await pass(6, one);
    await writtenAgain();
    const calls = provider.listCalls();
    const late = await start({ env: { CACHE_TTL: '1m' } });
    expect(late.service.list.status().failure?.kind).toBe('unavailable');
    expect(provider.listCalls()).toBe(calls);
  });

  test('a replica whose list expires waits no longer for a Retry-After of the fleet', async () => {
    const one = await start({ env: { CACHE_TTL: '1h' } });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start({ env: { CACHE_TTL: '30m', CACHE_MAX_STALE: '2m' } });
    clock.skip(30 * MINUTE);
    await provider.behave('unavailable', { retryAfter: '1800' });
    await one.service.list.refresh();
    await eventually(() => two.service.list.status().failure?.kind === 'unavailable');
    const calls = provider.listCalls();
    await pass(119, one, two);
    expect([countIn(two), provider.listCalls() - calls]).toEqual([BANKS.length, 0]);
    await provider.behave('healthy');
    clock.advance(3_000);
    await eventually(() => two.service.list.status().state === 'fresh');
    expect(provider.listCalls() - calls).toBe(1);
  });
});
