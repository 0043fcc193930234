import { expect, test } from '@jest/globals';
import { wall } from '../../src/clock.ts';
import { makeBanks } from '../helpers/banks.ts';
import { holdBack } from '../helpers/hold-back.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { describeWithRedis } from '../helpers/redis-server.ts';
import { beginAnew, clock, optionsOf, provider, start } from '../helpers/replicas.ts';
import {
  advanceOnceIdle,
  advanceToLoad,
  openRig,
  plannedInMs,
  startRig,
  stopAtOnce,
  type Rig,
  type RigOptions,
} from '../helpers/rig.ts';
import { eventually } from '../helpers/wait-until.ts';

// Who makes the next request, and when, where replicas fail one after the other or at once.

const MINUTE = 60_000;

/** With a clock of its own, which stands still: the replica hangs. */
const alone = (): RigOptions => ({ clock: createManualClock() });

describeWithRedis('with a real Redis', () => {
  beginAnew();

  test('after a failure another replica makes the next attempt: what fails may be the network of the first', async () => {
    // The first to renew its list.
    const one = await start({ random: () => 0.9 });
    const two = await start();
    await provider.behave('unavailable');
    const calls = provider.listCalls();
    await advanceToLoad(one);
    await eventually(() => two.service.list.status().failure?.kind === 'unavailable');
    // The wait of 1,450 ms, and half of the 200 ms for which the first one waits longer.
    clock.advance(1_550);
    await eventually(() => provider.listCalls() === calls + 2);
    const failed = async (rig: Rig): Promise<string | undefined> => {
      const text = await (await fetch(`${rig.managementUrl}/metrics`)).text();
      return /^banks_refreshes_total{outcome="unavailable"} (\d)$/m.exec(text)?.[1];
    };
    await eventually(async () => (await failed(two)) === '1');
    expect(await failed(one)).toBe('1');
  });

  test('a replica that hangs in its load is waited for a minute, also after the clock of Redis was set back', async () => {
    let storeErrorMs = 0;
    const storeClock = { wallMs: () => wall(clock.wallMs() + storeErrorMs) };
    const own = createManualClock();
    const one = await start({ clock: own, storeClock });
    const two = await start({ storeClock });
    await provider.behave('stall');
    const calls = provider.listCalls();
    // The second replica is due a second after the first one.
    await advanceOnceIdle((await plannedInMs(two)) - 1_000, two);
    await advanceToLoad(one);
    await eventually(() => provider.listCalls() === calls + 1);
    await provider.behave('healthy');
    storeErrorMs = -60 * MINUTE;
    await advanceToLoad(two);
    /** Until it looks at Redis again, which it does every 5 s. */
    const wait = async (): Promise<void> => {
      await eventually(() => clock.waits().includes(5_000));
      clock.advance(5_000);
    };
    for (let waitedMs = 0; waitedMs < 55_000; waitedMs += 5_000) await wait();
    expect(provider.listCalls()).toBe(calls + 1);
    await eventually(() => clock.waits().some((ms) => ms > 500 && ms <= 5_000));
    clock.advance(5_000);
    await eventually(() => provider.listCalls() === calls + 2);
    await eventually(() => two.service.list.status().state === 'fresh');
  });

  test('attempts go on within a minute after the clock of Redis was set back', async () => {
    let storeErrorMs = 0;
    const storeClock = { wallMs: () => wall(clock.wallMs() + storeErrorMs) };
    const one = await start({ clock: createManualClock(), storeClock });
    const two = await start({ storeClock });
    await provider.behave('unavailable');
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    await eventually(() => two.service.list.status().failing?.attempts === 1);
    storeErrorMs = -30 * MINUTE;
    const late = await start({ storeClock });
    // What is passed on with a later failure lasts no longer either.
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    await eventually(() => late.service.list.status().failing?.attempts === 2);
    for (const rig of [two, late]) expect(await plannedInMs(rig)).toBeLessThan(1.1 * MINUTE);
  });

  test('a Retry-After lasts no longer after the clock of Redis was set back', async () => {
    let storeErrorMs = 0;
    const storeClock = { wallMs: () => wall(clock.wallMs() + storeErrorMs) };
    const one = await start({ storeClock });
    await eventually(() => one.service.list.status().isShared === true);
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    storeErrorMs = -30 * MINUTE;
    const late = await start({ storeClock });
    expect(Math.round((await plannedInMs(late)) / MINUTE)).toBe(10);
  });

  test('a request that waited for a failed load gets the time of the next one', async () => {
    const answer = holdBack(provider, { status: 503 });
    const { list } = (await startRig(optionsOf())).service;
    await eventually(answer.isAsked);
    const retryInMs = list.waitUntilServed().catch(list.retryInMs);
    answer.send();
    // The wait after the first failure, and the 200 ms in which another replica may be quicker.
    expect(await retryInMs).toBe(1_450);
  });

  test('of two replicas that fail at once the longer wait counts, also for who joins later', async () => {
    const env = { CACHE_TTL: '2m' };
    const one = await start({ env });
    await eventually(() => one.service.list.status().isShared === true);
    // Hears of no failure while it loads.
    const two = await start({ env, isDeaf: true });
    const answer = holdBack(provider, { status: 503 });
    const refreshed = two.service.list.refresh();
    await eventually(answer.isAsked);
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    answer.send();
    expect(await refreshed).toMatchObject({ kind: 'unavailable' });
    clock.skip(MINUTE);
    const late = await start({ env });
    for (const rig of [two, late]) expect(Math.round((await plannedInMs(rig)) / MINUTE)).toBe(9);
  });

  test('a Retry-After that comes during a load that never ends holds for who starts later', async () => {
    const one = await start();
    await eventually(() => one.service.list.status().isShared === true);
    const hanging = await start(alone());
    await provider.behave('stall');
    const calls = provider.listCalls();
    await advanceToLoad(hanging);
    await eventually(() => provider.listCalls() === calls + 1);
    await provider.behave('rate-limited', { retryAfter: '600' });
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    clock.skip(MINUTE);
    const late = await start();
    expect(Math.round(late.service.list.status().nextLoadInMs / MINUTE)).toBe(9);
  });

  test.each([
    ['30s', 10],
    // Then the next load is due by the age of the list.
    ['1h', 60],
  ])(
    'with CACHE_TTL=%s a Retry-After of 10 minutes that comes just before the first list leaves the provider alone for %s minutes',
    async (ttl, minutes) => {
      const env = { CACHE_TTL: ttl };
      const answer = holdBack(provider, { body: makeBanks(3) });
      const one = await startRig(optionsOf({ env }));
      await eventually(answer.isAsked);
      await provider.behave('rate-limited', { retryAfter: '600' });
      const two = await startRig(optionsOf({ env }));
      expect(await two.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
      clock.skip(1);
      answer.send();
      await eventually(() => one.service.list.status().isShared === true);
      const late = await start({ env });
      for (const rig of [one, two, late])
        await eventually(() => {
          const dueInMinutes = rig.service.list.status().nextLoadInMs / MINUTE;
          return dueInMinutes > 0.8 * minutes && dueInMinutes < 1.2 * minutes;
        });
    },
  );

  test('a list ends a Retry-After that was asked for long before, also where a later failure passes it on', async () => {
    const one = await start({ env: { CACHE_TTL: '30m' } });
    await eventually(() => one.service.list.status().isShared === true);
    const two = await start();
    await provider.behave('rate-limited', { retryAfter: '3600' });
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    await eventually(() => two.service.list.status().failure?.kind === 'rate_limited');
    await advanceOnceIdle(5 * MINUTE, one, two);
    await provider.behave('healthy');
    provider.setBanks(makeBanks(60));
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'shrunk' });
    await eventually(() => one.service.list.status().failure?.kind === 'shrunk');
    clock.advance(1);
    expect(await two.service.list.refresh(['shrunk'])).toBeUndefined();
    await eventually(() => one.service.list.status().cached?.count === 60);
    expect(await plannedInMs(one)).toBeLessThan(30 * MINUTE);
  });

  test("without a list, an operator's attempts do not lengthen the minute of a Retry-After", async () => {
    await provider.behave('rate-limited', { retryAfter: '600' });
    const one = await start();
    clock.advance(30_000);
    await provider.behave('unavailable');
    expect(await one.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    expect(Math.round((await plannedInMs(one)) / 1_000)).toBe(30);
  });

  test('a replica that hangs in its load keeps nobody waiting for a Retry-After that a list has ended', async () => {
    const hanging = await start(alone());
    await eventually(() => hanging.service.list.status().isShared === true);
    const other = await start({ env: { CACHE_TTL: '5m' } });
    await provider.behave('stall');
    const calls = provider.listCalls();
    await advanceToLoad(hanging);
    await eventually(() => provider.listCalls() === calls + 1);
    await provider.behave('rate-limited', { retryAfter: '3600' });
    expect(await other.service.list.refresh()).toMatchObject({ kind: 'rate_limited' });
    // Longer than a load, and while the right to make the first one still holds.
    clock.skip(5_200);
    await provider.behave('healthy');
    expect(await other.service.list.refresh()).toBeUndefined();
    await advanceToLoad(other);
    await eventually(() => provider.listCalls() === calls + 4);
  });

  test('a replica that hangs in its load for too long keeps no other one from waiting after a failure', async () => {
    const hanging = await start(alone());
    await eventually(() => hanging.service.list.status().isShared === true);
    await provider.behave('unavailable');
    expect(await hanging.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    await provider.behave('stall');
    const calls = provider.listCalls();
    await advanceToLoad(hanging);
    await eventually(() => provider.listCalls() === calls + 1);
    // Who hears nothing more does not look at Redis again before it is asked to.
    const two = await start({ isDeaf: true });
    const three = await start();
    expect(three.service.list.status().failing?.attempts).toBe(1);
    // Longer than the right to make that attempt.
    clock.skip(6_000);
    await provider.behave('unavailable');
    expect(await two.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    await eventually(() => three.service.list.status().failing?.attempts === 2);
    // The second wait, and half of the 200 ms by which replicas spread.
    await eventually(() => three.service.list.status().nextLoadInMs === 2_100);
    expect(provider.listCalls()).toBe(calls + 2);
  });

  test.each([
    [9_000, 2],
    [11_000, 1],
  ])(
    'who makes the next attempt %i ms after it was due counts it as number %i',
    async (lateMs, attempts) => {
      await provider.behave('unavailable');
      const one = await openRig(optionsOf(alone()));
      await eventually(() => one.service.list.status().nextLoadInMs > 0);
      await stopAtOnce(one);
      clock.skip(1_250 + lateMs);
      const late = await start();
      expect(late.service.list.status().failing?.attempts).toBe(attempts);
      expect(provider.listCalls()).toBe(2);
    },
  );
});
