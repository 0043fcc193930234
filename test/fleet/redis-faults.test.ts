import { describe, expect, test } from '@jest/globals';
import type { RedisFault } from './redis.ts';
import { createStage, MAX_STALE_MS, TIMEOUT_MS, TTL_MS } from './replica.ts';
import {
  askedToWait,
  callsIn,
  DUE_MS,
  expectInRedis,
  HOUR_MS,
  keyOf,
  MINUTE_MS,
  outage,
  refresh,
  settled,
  SOON_MS,
  start,
  startTwo,
} from './steps.ts';

// What a Redis that fails, is slow or has strange things in it does to the replicas.

describe('Redis', () => {
  test.each<RedisFault | 'has-other-type'>([
    'refuses',
    'silent',
    'loses-replies',
    'read-only',
    'full',
    'has-other-type',
  ])('that %s costs no call and no request, and sharing resumes', async (fault) => {
    const { stage, a, b } = await startTwo();
    if (fault === 'has-other-type') stage.redis.write(keyOf(stage, 'list'), undefined);
    else stage.redis.suffer(fault);
    const calls = await callsIn(stage, 5 * TTL_MS);
    expect(calls).toBeGreaterThanOrEqual(5);
    expect(calls).toBeLessThanOrEqual(10);
    for (const { list } of [a, b]) expect(list.status().state).toBe('fresh');
    const refreshed = a.list.refresh();
    await stage.pass(SOON_MS + 1_000);
    expect(await settled(refreshed)).toEqual({ outcome: 'ok', isShared: false });
    if (fault === 'has-other-type') stage.redis.remove('list');
    else stage.redis.suffer(undefined);
    await stage.pass(5_000);
    expect(a.version()).toBe(b.version());
    expectInRedis(stage, a);
    for (const { reports } of [a, b])
      expect(reports.map(({ type }) => type)).toEqual(['store-failed', 'store-recovered']);
    expect(await callsIn(stage, 5 * TTL_MS)).toBe(5);
  });

  test('that was full works again for whoever writes, or sees that another one has written', async () => {
    const { stage, a, b } = await startTwo();
    stage.redis.suffer('full');
    stage.answer(outage);
    await refresh(stage, b);
    stage.redis.suffer(undefined);
    await stage.pass(SOON_MS);
    expect(b.reports.map(({ type }) => type)).toEqual(['store-failed']);
    stage.answer(10);
    await refresh(stage, a);
    await stage.pass(SOON_MS);
    expect(b.reports.map(({ type }) => type)).toEqual(['store-failed', 'store-recovered']);
  });

  test('that is silent holds back the start of a replica for a second', async () => {
    const stage = createStage();
    stage.redis.suffer('silent');
    const replica = stage.replica();
    const started = replica.start();
    await stage.pass(1_010);
    expect(await settled(started)).toBeUndefined();
    expect(replica.version()).toBe(1);
  });

  test('that is read-only keeps the wait that was there, and a later list ends it here', async () => {
    const { stage, a } = await startTwo();
    stage.answer(askedToWait(30 * MINUTE_MS));
    await stage.pass(DUE_MS + SOON_MS);
    stage.redis.suffer('read-only');
    stage.answer(10);
    const refreshed = a.list.refresh();
    await stage.pass(SOON_MS);
    expect(await settled(refreshed)).toEqual({ outcome: 'ok', isShared: false });
    await stage.pass(2 * TTL_MS);
    expect(a.list.status()).toMatchObject({ state: 'fresh', failing: undefined });
  });

  test('that is empty gets the list of whoever looks first', async () => {
    const { stage, a, b } = await startTwo();
    stage.redis.empty();
    await stage.pass(SOON_MS);
    expectInRedis(stage, a);
    expect([a.version(), b.version()]).toEqual([1, 1]);
    expect(stage.calls).toHaveLength(1);
  });

  test('that comes back empty gets the list of a replica that started without it, once', async () => {
    const stage = createStage();
    stage.redis.suffer('refuses');
    const replica = stage.replica();
    await start(stage, replica);
    stage.redis.suffer(undefined);
    await stage.pass(1_000);
    expectInRedis(stage, replica);
    await stage.pass(5_000);
    expect(stage.redis.publications()).toBe(1);
    expect(replica.events.map(({ type }) => type)).toEqual(['list-taken']);
  });

  test('with an older copy gets the list that was asked for last', async () => {
    const { stage, a, b } = await startTwo();
    const copy = stage.redis.copy();
    void a.list.refresh();
    await stage.pass(SOON_MS);
    stage.redis.restore(copy);
    await stage.pass(5_000);
    expect([a.version(), b.version()]).toEqual([2, 2]);
    expectInRedis(stage, a);
  });

  test.each([
    ['garbage', () => Buffer.from('\xff'.repeat(100), 'latin1')],
    ['a short text', () => Buffer.from('x')],
    [
      'a list with a later id that is not its own',
      (value: Buffer) => Buffer.from(value.toString().replace(/\d{22}/, '4'.padEnd(22, '0'))),
    ],
  ])('with %s gets a list that can be used, once', async (_name, damage) => {
    const { stage, a } = await startTwo();
    const before = stage.redis.read('list');
    stage.redis.change('list', damage);
    await stage.pass(5_000);
    expect(stage.redis.read('list')).toEqual(before);
    expect(a.version()).toBe(1);
    expect(stage.calls).toHaveLength(1);
  });

  test('with garbage gets the next list that is loaded, where nobody has one', async () => {
    const stage = createStage();
    stage.answer(outage);
    const replica = stage.replica();
    await start(stage, replica);
    stage.redis.write(keyOf(stage, 'list'), '\xff'.repeat(100));
    stage.answer(10);
    await stage.pass(MINUTE_MS);
    expectInRedis(stage, replica);
  });

  test('whose list was damaged and is whole again gives it', async () => {
    const stage = createStage();
    const first = stage.replica({ name: 'a' });
    await start(stage, first);
    await first.stop();
    const whole = stage.redis.copy();
    stage.redis.change('list', (value) => Buffer.concat([value, Buffer.from(' ')]));
    stage.answer(outage);
    const replica = stage.replica({ name: 'b' });
    await start(stage, replica);
    expect(replica.version()).toBeUndefined();
    stage.redis.restore(whole);
    const before = stage.redis.publications();
    await stage.pass(10_000);
    expect(replica.version()).toBe(1);
    expect(stage.redis.publications()).toBe(before);
  });

  test('with a damaged list gets it again from a replica that starts with its snapshot', async () => {
    const { stage, a } = await startTwo();
    const before = stage.redis.read('list');
    await a.stop();
    stage.redis.change('list', (value) => Buffer.concat([value, Buffer.from(' ')]));
    await start(stage, stage.replica({ name: 'c', snapshot: a.snapshot }));
    expectInRedis(stage, a);
    expect(stage.redis.read('list')[0]?.length).toBe(before[0]?.length);
    expect(stage.calls).toHaveLength(1);
  });

  test('with a list that is too old to be served gets the next one', async () => {
    const { stage, a, b } = await startTwo();
    const [old = ''] = stage.redis.read('list');
    await Promise.all([a.stop(), b.stop()]);
    await stage.pass(TTL_MS + MAX_STALE_MS);
    stage.redis.write(keyOf(stage, 'list'), old);
    stage.answer(outage);
    const late = stage.replica({ name: 'c' });
    await start(stage, late);
    expect(late.list.status()).toMatchObject({ state: 'empty', cached: undefined });
    stage.answer(10);
    await stage.pass(MINUTE_MS);
    expectInRedis(stage, late);
  });

  test('that could not be written at the start has the last word about the list', async () => {
    const stage = createStage();
    const [a, b] = [stage.replica({ name: 'a' }), stage.replica({ name: 'b' })];
    await start(stage, a);
    const copy = stage.redis.copy();
    await stage.pass(DUE_MS);
    await a.stop();
    stage.redis.change('list', () => Buffer.from('garbage that is as long as the start of a list'));
    stage.redis.suffer('full');
    stage.answer(outage);
    const again = stage.replica({ name: 'c', snapshot: a.snapshot });
    await start(stage, again);
    expect(again.version()).toBe(2);
    // By an operator of Redis.
    stage.redis.restore(copy);
    stage.redis.suffer(undefined);
    await start(stage, b);
    await stage.pass(SOON_MS);
    expect([again.version(), b.version()]).toEqual([1, 1]);
  });

  test.each([
    ['a load that never ends', 'x'.repeat(22), undefined],
    ['a load of a day', 'x'.repeat(22), 24 * HOUR_MS],
    ['strange text', '\xff\0 and more', 24 * HOUR_MS],
    ['a wait of an unknown kind', `${'1'.padEnd(22, '0')} 1 nonsense`, 24 * HOUR_MS],
  ])('with %s keeps nobody from loading for more than a minute', async (_name, hold, ms) => {
    const { stage } = await startTwo();
    stage.redis.write(keyOf(stage, 'hold'), hold, ms);
    const before = stage.calls.length;
    await stage.pass(TTL_MS + SOON_MS);
    expect(stage.calls.length - before).toBe(1);
    expect(await callsIn(stage, 5 * TTL_MS)).toBe(5);
  });

  test('with a wait of a year keeps nobody from loading for more than an hour', async () => {
    const { stage } = await startTwo({ policy: { maxStaleMs: 24 * HOUR_MS } });
    const wait = `${`${1_000 * Date.UTC(2100, 0)}`.padEnd(22, '0')} 1 unavailable`;
    stage.redis.write(keyOf(stage, 'hold'), wait, 365 * 24 * HOUR_MS);
    await stage.pass(SOON_MS);
    expect(await callsIn(stage, HOUR_MS - 10_000)).toBe(0);
    expect(await callsIn(stage, 20_000)).toBeGreaterThan(0);
  });

  test.each([-HOUR_MS, HOUR_MS])(
    'whose clock is moved by %i ms keeps the order of lists, and the calls of those that run',
    async (byMs) => {
      const { stage, a, b } = await startTwo();
      const before = a.id();
      stage.redis.moveClock(byMs);
      expect(await callsIn(stage, 5 * TTL_MS)).toBe(5);
      expect(a.id() > before).toBe(true);
      expect(b.id()).toBe(a.id());
      for (const { list } of [a, b]) expect(list.status().state).toBe('fresh');
    },
  );

  test('whose clock was set back has lists from the future, which count as stale', async () => {
    const { stage, a } = await startTwo();
    stage.redis.moveClock(-HOUR_MS);
    const late = stage.replica({ name: 'c' });
    stage.answer(outage);
    await late.start();
    expect(late.version()).toBe(1);
    expect(late.list.status().state).toBe('stale');
    stage.answer(10);
    // The hold of the last load has still to end.
    await stage.pass(TIMEOUT_MS + 2 * SOON_MS);
    expect(stage.calls).toHaveLength(2);
    expect([a.version(), late.version()]).toEqual([2, 2]);
    expect(await callsIn(stage, DUE_MS - 10_000)).toBe(0);
  });
});
