import { describe, expect, test } from '@jest/globals';
import { LoadError } from '../../src/banks/load-error.ts';
import { createStage, MAX_STALE_MS, TIMEOUT_MS, TTL_MS } from './replica.ts';
import {
  askedToWait,
  callsIn,
  DUE_MS,
  expectInRedis,
  failureOf,
  HOUR_MS,
  MINUTE_MS,
  outage,
  ownFault,
  pausesOf,
  refresh,
  settled,
  SOON_MS,
  start,
  startTwo,
  untilAllWait,
} from './steps.ts';

// When replicas with a Redis that works load the list, and which one they serve: one rule of the loop
// in each test.

describe('replicas that share a list', () => {
  test('load once for all, at the start and in each TTL', async () => {
    const { stage, a, b } = await startTwo();
    expect(stage.calls).toHaveLength(1);
    expect(b.version()).toBe(1);
    expect(b.list.status().state).toBe('fresh');
    expectInRedis(stage, a);
    await stage.pass(SOON_MS);
    for (const { events } of [a, b]) expect(events.map(({ type }) => type)).toEqual(['list-taken']);
    expect(stage.redis.publications()).toBe(1);
    expect(await callsIn(stage, 10 * TTL_MS)).toBe(10);
    expect([a.version(), b.version()]).toEqual([11, 11]);
  });

  test('have a new list within two seconds', async () => {
    const { stage, a, b } = await startTwo();
    expect(await refresh(stage, a)).toEqual({ outcome: 'ok', isShared: true });
    await stage.pass(1_000);
    expect(b.version()).toBe(2);
    expect(b.events.at(-1)).toMatchObject({ type: 'list-taken', source: 'redis' });
    expect(b.list.served()?.freshForMs).toBeCloseTo(a.list.served()?.freshForMs ?? 0, -1);
  });

  test.each([0, 1_500])(
    'make one attempt for all in each step of the back-off, in turn, where each takes %i ms',
    async (takesMs) => {
      const { stage } = await startTwo();
      stage.answer(outage, takesMs);
      await stage.pass(3 * MINUTE_MS);
      const attempts = pausesOf(stage).slice(1);
      for (const [index, waitMs] of [1_250, 2_000, 3_500, 6_500, 12_500].entries()) {
        expect(attempts[index]).toBeGreaterThanOrEqual(takesMs + waitMs);
        expect(attempts[index]).toBeLessThan(takesMs + waitMs + 1_100);
      }
      const names = stage.calls.slice(1).map(({ replica }) => replica);
      for (const [index, name] of names.slice(1).entries()) expect(name).not.toBe(names[index]);
    },
  );

  test('renew a short-lived list in time though the claim of the last load is still there', async () => {
    const stage = createStage();
    const replica = stage.replica({ policy: { ttlMs: 2_000 } });
    await start(stage, replica);
    expect(await callsIn(stage, 20_000)).toBeGreaterThanOrEqual(10);
  });

  test('obey together what the provider asked one of them', async () => {
    const { stage, a, b } = await startTwo();
    await untilAllWait(stage);
    expect(stage.calls).toHaveLength(2);
    expect(await callsIn(stage, 9 * MINUTE_MS)).toBe(0);
    for (const replica of [a, b])
      expect(replica.list.status()).toMatchObject({
        failing: { error: { kind: 'rate_limited' }, attempts: 1 },
      });
  });

  test.each([
    [outage.message, outage.message],
    // Longer than what is shared, and with a letter beyond ASCII.
    [`código, ${'name, '.repeat(20)}ispb`, `c?digo, ${'name, '.repeat(20)}`.slice(0, 120)],
  ])('give requests the failure of another replica at once: %s', async (message, shared) => {
    const stage = createStage();
    const failure = new LoadError('unavailable', message);
    stage.answer(failure);
    const [a, b] = [stage.replica({ name: 'a' }), stage.replica({ name: 'b' })];
    await start(stage, a, b);
    expect(stage.calls).toHaveLength(1);
    expect(await settled(failureOf(b.list.waitUntilServed()))).toBe('unavailable');
    expect(b.list.status().failing?.error.message).toBe(`${shared} (on another replica)`);
    expect(b.events.map(({ type }) => type)).toEqual(['load-failed-elsewhere']);
    await stage.pass(1_000);
    expect(a.list.status().failing?.error).toBe(failure);
    expect(a.events.map(({ type }) => type)).toEqual(['load-failed']);
  });

  test('tell who waited for a list to ask again within a minute, whatever Retry-After says', async () => {
    const stage = createStage();
    stage.answer(askedToWait(HOUR_MS));
    stage.redis.takeMs(() => 10);
    const { list, start: startIt } = stage.replica();
    const retryInMs = list.waitUntilServed().catch(() => list.retryInMs());
    void startIt();
    await stage.pass(100);
    expect(await settled(retryInMs)).toBe(MINUTE_MS);
  });

  test('wait for the load of another one, and requests with them', async () => {
    const stage = createStage();
    stage.answer(10, 4_000);
    const [a, b] = [stage.replica({ name: 'a' }), stage.replica({ name: 'b' })];
    await start(stage, a, b);
    const request = failureOf(b.list.waitUntilServed());
    expect(stage.calls.map(({ replica }) => replica)).toEqual(['a']);
    await stage.pass(3_900);
    expect(await settled(request)).toBe('waits');
    await stage.pass(1_100);
    expect(await settled(request)).toBe('a list');
    expect(stage.calls).toHaveLength(1);
  });

  test('wait no longer than a load may take for one that dies while it loads', async () => {
    const { stage, a } = await startTwo();
    stage.answer(10, 4_000);
    await stage.pass(DUE_MS);
    const [dead] = stage.calls.slice(-1);
    (dead?.replica === 'a' ? a : undefined)?.machine.suspend();
    expect(dead?.replica).toBe('a');
    expect(await callsIn(stage, TIMEOUT_MS)).toBe(0);
    expect(await callsIn(stage, 3_000)).toBe(1);
  });

  test('do not load beside one whose messages to Redis and load take as long as they may', async () => {
    const { stage } = await startTwo();
    stage.answer(10, TIMEOUT_MS - 10);
    stage.redis.takeMs(() => 990);
    const calls = await callsIn(stage, 20 * TTL_MS);
    expect(calls).toBeLessThanOrEqual(20);
    for (const pause of pausesOf(stage)) expect(pause).toBeGreaterThan(DUE_MS - SOON_MS);
  });

  test('wait only as long as the load of another one is there', async () => {
    const { stage, a, b } = await startTwo();
    // It claims, and puts back what was there before.
    stage.answer(
      ({ replica }) => (replica === 'a' ? ownFault : 10),
      () => 0,
    );
    await stage.pass(DUE_MS + 3_000);
    expect(stage.calls.slice(1).map(({ replica }) => replica)).toEqual(['a', 'b']);
    expect([a.version(), b.version()]).toEqual([3, 3]);
    expect(b.events.map(({ type }) => type)).not.toContain('load-failed-elsewhere');
  });

  test('do not wait for the load of another one once Redis is lost', async () => {
    const { stage } = await startTwo();
    stage.answer(10, 4_000);
    await stage.pass(DUE_MS + 1_000);
    expect(stage.calls).toHaveLength(2);
    stage.redis.suffer('refuses');
    expect(await callsIn(stage, SOON_MS)).toBe(1);
  });

  test('go on waiting as before when an operator’s load fails for reasons of its replica', async () => {
    const { stage, a, b } = await startTwo();
    await untilAllWait(stage);
    stage.answer(ownFault, 1_500);
    const refused = b.list.refresh();
    await stage.pass(3_000);
    expect(await settled(refused)).toMatchObject({ outcome: 'failed', error: ownFault });
    expect(b.list.status().failing?.error).toBe(ownFault);
    expect(a.list.status().failing?.error.kind).toBe('rate_limited');
    // One that starts now learns of the wait too.
    await start(stage, stage.replica({ name: 'c' }));
    expect(await callsIn(stage, 9 * MINUTE_MS - SOON_MS)).toBe(0);
    expect(a.version()).toBe(1);
  });

  test('put back the wait of the others when one stops in the middle of a load', async () => {
    const { stage, b } = await startTwo();
    await untilAllWait(stage);
    stage.answer(10, 4_000);
    const operator = b.list.refresh();
    await stage.pass(1_500);
    await b.stop();
    expect(await settled(operator)).toMatchObject({ outcome: 'failed' });
    await start(stage, stage.replica({ name: 'c' }));
    expect(await callsIn(stage, 9 * MINUTE_MS)).toBe(0);
  });

  test('remember a wait that is longer than what an operator’s failure asks for', async () => {
    const { stage, a, b } = await startTwo();
    await untilAllWait(stage);
    stage.answer(outage);
    expect(await refresh(stage, a)).toMatchObject({ outcome: 'failed' });
    // One that starts now learns of the wait too.
    await start(stage, stage.replica({ name: 'c' }));
    expect(await callsIn(stage, 9 * MINUTE_MS)).toBe(0);
    expect(b.version()).toBe(1);
  });

  test('do not load before a fresh list is due because an operator’s load failed', async () => {
    const { stage, a } = await startTwo();
    stage.answer(outage);
    expect(await refresh(stage, a)).toMatchObject({ outcome: 'failed' });
    expect(await callsIn(stage, DUE_MS - 2_000)).toBe(0);
  });

  test('remember a wait that Redis has lost', async () => {
    const { stage } = await startTwo();
    await untilAllWait(stage);
    stage.redis.empty();
    expect(await callsIn(stage, 9 * MINUTE_MS)).toBe(0);
  });

  test('end a wait with a list that was asked for after it', async () => {
    const { stage, a, b } = await startTwo();
    stage.answer(askedToWait(HOUR_MS));
    await stage.pass(DUE_MS + SOON_MS);
    stage.answer(10);
    const refreshed = a.list.refresh();
    await stage.pass(SOON_MS);
    expect(await settled(refreshed)).toEqual({ outcome: 'ok', isShared: true });
    for (const { list } of [a, b]) expect(list.status().failing).toBeUndefined();
    expect(await callsIn(stage, 3 * TTL_MS)).toBe(3);
  });

  test('do not count a failure from before the list that they have', async () => {
    const { stage, a, b } = await startTwo();
    stage.answer(10);
    b.machine.cutOff(true);
    stage.answer(askedToWait(10 * MINUTE_MS));
    const refused = a.list.refresh();
    await stage.pass(SOON_MS);
    expect(await settled(refused)).toMatchObject({ outcome: 'failed' });
    stage.answer(10);
    const taken = b.list.refresh();
    await stage.pass(SOON_MS);
    expect(await settled(taken)).toEqual({ outcome: 'ok', isShared: false });
    b.machine.cutOff(false);
    await stage.pass(5_000);
    for (const { list } of [a, b]) expect(list.status().failing).toBeUndefined();
    expect(a.id()).toBe(b.id());
  });

  test('do not count the failure of a load that was asked for before the list that they have', async () => {
    const { stage, a, b } = await startTwo();
    stage.answer(
      ({ replica }) => (replica === 'a' ? outage : 10),
      () => (stage.calls.length === 2 ? 4_000 : 0),
    );
    const first = a.list.refresh();
    await stage.pass(1_500);
    void b.list.refresh();
    await stage.pass(5_000);
    expect(await settled(first)).toMatchObject({ outcome: 'failed' });
    expect(a.list.status().failing).toBeUndefined();
    expect(await callsIn(stage, DUE_MS - 10_000)).toBe(0);
  });

  test('do not end a wait with a list that was asked for before it', async () => {
    const { stage, a, b } = await startTwo();
    stage.answer(
      ({ replica }) => (replica === 'a' ? 10 : askedToWait(10 * MINUTE_MS)),
      () => (stage.calls.length === 2 ? 4_000 : 1_000),
    );
    const first = a.list.refresh();
    await stage.pass(1_500);
    const second = b.list.refresh();
    await stage.pass(SOON_MS + 4_000);
    expect(await settled(first)).toMatchObject({ outcome: 'ok' });
    expect(await settled(second)).toMatchObject({ outcome: 'failed' });
    expect([a.version(), b.version()]).toEqual([2, 2]);
    expect(b.list.status()).toMatchObject({ failing: { error: { kind: 'rate_limited' } } });
    expect(await callsIn(stage, 9 * MINUTE_MS)).toBe(0);
  });

  test('keep the list that was asked for last, whichever answer comes first', async () => {
    const { stage, a, b } = await startTwo();
    stage.answer(10, () => (stage.calls.length === 2 ? 4_000 : 0));
    const first = a.list.refresh();
    await stage.pass(1_500);
    expect(await refresh(stage, b)).toEqual({ outcome: 'ok', isShared: true });
    await stage.pass(4_000);
    // Which will do for whoever wanted any new list.
    expect(await settled(first)).toEqual({ outcome: 'ok', isShared: true });
    expect([a.version(), b.version()]).toEqual([3, 3]);
  });

  test('keep the list that was asked for last, also where another one is being encoded', async () => {
    const stage = createStage();
    const a = stage.replica({
      name: 'a',
      compress: (bytes) =>
        new Promise((resolve) => {
          const isSecond = bytes.includes('"2-0"');
          stage.clock.after(isSecond ? 900 : 0, () => resolve(bytes));
        }),
    });
    const b = stage.replica({ name: 'b' });
    await start(stage, a, b);
    stage.answer(10, () => (stage.calls.length === 2 ? 2_000 : 2_200));
    void b.list.refresh();
    await stage.pass(100);
    void a.list.refresh();
    await stage.pass(6_000);
    expect([a.version(), b.version()]).toEqual([3, 3]);
    const taken = a.events.map((event) =>
      event.type === 'list-taken' ? event.source : event.type,
    );
    expect(taken).toEqual(['provider', 'provider']);
  });

  test('tell the same where the other list came to Redis in the last moment', async () => {
    const { stage, a, b } = await startTwo();
    stage.answer(5, () => (stage.calls.length === 2 ? 1_900 : 0));
    const first = a.list.refresh(['shrunk']);
    await stage.pass(1_000);
    stage.answer(10);
    // After the last look of the first before its answer.
    void b.list.refresh();
    await stage.pass(900);
    await stage.pass(1);
    expect(await settled(first)).toEqual({ outcome: 'overtaken' });
    await stage.pass(SOON_MS);
    expect([a.version(), b.version()]).toEqual([3, 3]);
  });

  test('load for an operator also where another one is loading', async () => {
    const { stage, a, b } = await startTwo();
    stage.answer(10, 3_000);
    const [first, second] = [a.list.refresh(), b.list.refresh()];
    await stage.pass(8_000);
    expect(await settled(first)).toMatchObject({ outcome: 'ok' });
    expect(await settled(second)).toMatchObject({ outcome: 'ok' });
    expect(stage.calls).toHaveLength(3);
  });

  test('give way at their start to any list that can be served', async () => {
    const { stage, a } = await startTwo();
    stage.redis.suffer('refuses');
    void a.list.refresh();
    await stage.pass(SOON_MS);
    expect(a.version()).toBe(2);
    await a.stop();
    stage.redis.suffer(undefined);
    const again = stage.replica({ snapshot: a.snapshot });
    await start(stage, again);
    expect(again.version()).toBe(1);
    expect(stage.calls).toHaveLength(2);
  });

  test('give way with a first list that was compared with nothing', async () => {
    const { stage, a } = await startTwo();
    const late = stage.replica({ name: 'c' });
    stage.redis.suffer('refuses');
    stage.answer(2);
    await start(stage, late);
    expect(late.version()).toBe(2);
    stage.redis.suffer(undefined);
    await stage.pass(SOON_MS);
    expect([late.version(), a.version()]).toEqual([1, 1]);
  });

  test('let the list that was asked for last win once Redis is back', async () => {
    const { stage, a, b } = await startTwo();
    stage.redis.suffer('refuses');
    void a.list.refresh();
    await stage.pass(SOON_MS);
    void b.list.refresh();
    await stage.pass(SOON_MS);
    expect([a.version(), b.version()]).toEqual([2, 3]);
    stage.redis.suffer(undefined);
    await stage.pass(5_000);
    expect([a.version(), b.version()]).toEqual([3, 3]);
  });

  test('have joined an empty Redis, so that their own list counts when it is back', async () => {
    const stage = createStage();
    stage.answer(outage);
    const [a, b] = [stage.replica({ name: 'a' }), stage.replica({ name: 'b' })];
    await start(stage, a, b);
    stage.answer(10);
    stage.redis.suffer('refuses');
    void b.list.refresh();
    await stage.pass(SOON_MS);
    void a.list.refresh();
    await stage.pass(SOON_MS);
    expect([a.version(), b.version()]).toEqual([3, 2]);
    stage.redis.suffer(undefined);
    await stage.pass(5_000);
    expect([a.version(), b.version()]).toEqual([3, 3]);
  });

  test('measure ages by the clock of Redis, whatever those of their machines say', async () => {
    const { stage, a } = await startTwo();
    a.machine.moveClock(HOUR_MS);
    await stage.pass(20_000);
    const late = stage.replica({ name: 'c' });
    late.machine.moveClock(-HOUR_MS);
    // Its reply is under way for a while, and its age counts as of the question.
    stage.redis.takeMs(() => 900);
    void late.start();
    await stage.pass(SOON_MS);
    const ageMs = late.list.status().ageMs ?? 0;
    const trueAgeMs = a.list.status().ageMs ?? 0;
    expect(ageMs - trueAgeMs).toBeGreaterThanOrEqual(0);
    expect(ageMs - trueAgeMs).toBeLessThan(1_000);
  });

  test('serve an expired list no longer, and take an older id that can be served', async () => {
    const stage = createStage();
    stage.redis.moveClock(HOUR_MS);
    const a = stage.replica({ name: 'a' });
    await start(stage, a);
    const ahead = a.id();
    stage.answer(({ replica }) => (replica === 'a' ? outage : 10));
    await stage.pass(TTL_MS + MAX_STALE_MS + 1_000);
    stage.redis.moveClock(-HOUR_MS);
    stage.redis.empty();
    const b = stage.replica({ name: 'b' });
    await start(stage, b);
    await stage.pass(SOON_MS);
    expect(b.id() < ahead).toBe(true);
    expect(a.id()).toBe(b.id());
  });
});
