import { describe, expect, test } from '@jest/globals';
import type { BankList } from '../../src/banks/bank-list.ts';
import { LoadError } from '../../src/banks/load-error.ts';
import {
  createStage,
  MAX_STALE_MS,
  TIMEOUT_MS,
  TTL_MS,
  type Replica,
  type ReplicaOptions,
  type Stage,
} from './replica.ts';
import type { RedisFault } from './redis.ts';

// When the list is loaded, and which one is served: one rule of the loop in each test. The jitter
// is always 0.5, so that a list is renewed 56.7 s after it was asked for, and the first retries
// come after 1.25, 2, 3.5, 6.5 and 12.5 s; in a fleet whoever failed waits a second longer.

const DUE_MS = 56_700;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Within these a change is on every replica. */
const SOON_MS = 2_000;

const outage = new LoadError('unavailable', 'the provider answers 503');
const askedToWait = (retryAfterMs: number): LoadError =>
  new LoadError('rate_limited', 'the provider answers 429', { retryAfterMs });
/** A file of this replica, or this program, is to blame. */
const ownFault = new LoadError('internal', 'unexpected error while loading');

/** Starts a service without Redis; its first load has ended. */
const startAlone = async (stage: Stage, options?: Partial<ReplicaOptions>): Promise<Replica> => {
  const replica = stage.replica({ redis: undefined, ...options });
  await replica.start();
  await stage.pass(1);
  return replica;
};

/** Starts replicas, one after the other; the first load has ended. */
const start = async (stage: Stage, ...replicas: readonly Replica[]): Promise<void> => {
  for (const replica of replicas) {
    await replica.start();
    await stage.pass(1);
  }
};

/** Two replicas that share a list. */
const startTwo = async (options?: Partial<ReplicaOptions>) => {
  const stage = createStage();
  const a = stage.replica({ name: 'a', ...options });
  const b = stage.replica({ name: 'b', ...options });
  await start(stage, a, b);
  return { stage, a, b };
};

/** Calls while `ms` pass. */
const callsIn = async (stage: Stage, ms: number): Promise<number> => {
  const before = stage.calls.length;
  await stage.pass(ms);
  return stage.calls.length - before;
};

/** What an operator's refresh comes to within a second. */
const refresh = async (
  stage: Stage,
  { list }: Replica,
  ...accepted: Parameters<BankList['refresh']>
) => {
  const result = list.refresh(...accepted);
  await stage.pass(1_000);
  return settled(result);
};

/** The provider has asked one of two replicas to wait, and both do. */
const untilAllWait = async (stage: Stage): Promise<void> => {
  stage.answer(askedToWait(10 * MINUTE_MS));
  await stage.pass(DUE_MS + SOON_MS);
};

/** Milliseconds from one call to the next. */
const pausesOf = ({ calls }: Stage): number[] =>
  calls.slice(1).map(({ atMs }, index) => atMs - (calls[index]?.atMs ?? 0));

/** What a promise came to, if it is settled now. */
const settled = async <T>(promise: Promise<T>): Promise<T | 'waits'> =>
  Promise.race([promise, new Promise<'waits'>((resolve) => setImmediate(resolve, 'waits'))]);

/** The list that this replica serves is the one in Redis. */
const expectInRedis = ({ redis }: Stage, replica: Replica): void => {
  expect(replica.id()).not.toBe('');
  expect(redis.read('list')).toEqual([expect.stringContaining(replica.id())]);
};

const kindOf = (error: unknown): string => (error instanceof LoadError ? error.kind : 'no failure');
const failureOf = (request: Promise<unknown>): Promise<string> =>
  request.then(() => 'a list', kindOf);

describe('a service by itself', () => {
  test('loads at its start, and again shortly before the list is stale', async () => {
    const stage = createStage();
    const replica = await startAlone(stage);
    expect(replica.version()).toBe(1);
    expect(await callsIn(stage, DUE_MS - 2)).toBe(0);
    expect(await callsIn(stage, 2)).toBe(1);
    expect(replica.version()).toBe(2);
    expect(replica.list.status().state).toBe('fresh');
    expect(await callsIn(stage, 10 * TTL_MS)).toBe(10);
  });

  test('backs off while loads fail, serves its list, and reports each state once', async () => {
    const stage = createStage();
    const replica = await startAlone(stage);
    stage.answer(outage);
    await stage.pass(2 * MINUTE_MS);
    expect(pausesOf(stage)).toEqual([DUE_MS, 1_250, 2_000, 3_500, 6_500, 12_500, 24_500]);
    expect(replica.list.status()).toMatchObject({ state: 'stale', failing: { attempts: 7 } });
    expect(await callsIn(stage, 5 * MINUTE_MS)).toBe(5);
    expect(replica.version()).toBe(1);
    stage.answer(10);
    await stage.pass(MINUTE_MS);
    expect(replica.list.status()).toMatchObject({ state: 'fresh', failing: undefined });
    const states = replica.events.filter(({ type }) => type === 'list-aged');
    expect(states).toEqual([{ type: 'list-aged', state: 'stale' }]);
  });

  test('waits no longer than its TTL before it tries again', async () => {
    const stage = createStage();
    await startAlone(stage, { policy: { ttlMs: 10_000 } });
    stage.answer(outage);
    await stage.pass(2 * MINUTE_MS);
    expect(Math.max(...pausesOf(stage))).toBe(10_000);
  });

  test('serves no list that is too old, and gives requests the failure at once', async () => {
    const stage = createStage();
    const replica = await startAlone(stage);
    stage.answer(outage);
    await stage.pass(TTL_MS + MAX_STALE_MS - 1);
    expect(replica.version()).toBe(1);
    expect(replica.list.status().state).toBe('stale');
    await stage.pass(1);
    expect(replica.version()).toBeUndefined();
    expect(await settled(failureOf(replica.list.waitUntilServed()))).toBe('unavailable');
    await stage.pass(1_000);
    expect(replica.list.status()).toMatchObject({ state: 'expired', cached: { count: 10 } });
  });

  test('counts the age of a list from when it was asked for', async () => {
    const stage = createStage();
    stage.answer(10, 4_000);
    const replica = await startAlone(stage);
    await stage.pass(4_000);
    expect(replica.list.served()?.freshForMs).toBe(TTL_MS - 4_001);
  });

  test('gives up a load after its time, and then requests get that at once', async () => {
    const stage = createStage();
    stage.answer(10, HOUR_MS);
    const replica = await startAlone(stage);
    const request = failureOf(replica.list.waitUntilServed());
    await stage.pass(TIMEOUT_MS - 2);
    expect(await settled(request)).toBe('waits');
    await stage.pass(2);
    expect(await settled(request)).toBe('timeout');
    expect(await settled(failureOf(replica.list.waitUntilServed()))).toBe('timeout');
  });

  test('obeys Retry-After for an hour at most', async () => {
    const stage = createStage();
    await startAlone(stage, { policy: { maxStaleMs: 24 * HOUR_MS } });
    stage.answer(askedToWait(10 * HOUR_MS));
    await stage.pass(DUE_MS);
    expect(await callsIn(stage, HOUR_MS - 2)).toBe(0);
    expect(await callsIn(stage, 2)).toBe(1);
  });

  test('obeys Retry-After for a minute while it has no list to serve', async () => {
    const stage = createStage();
    stage.answer(askedToWait(HOUR_MS));
    await startAlone(stage);
    expect(await callsIn(stage, MINUTE_MS - 1_000)).toBe(0);
    expect(await callsIn(stage, 2_000)).toBe(1);
  });

  test('also in that minute once its list has expired', async () => {
    const stage = createStage();
    const replica = await startAlone(stage);
    stage.answer(askedToWait(HOUR_MS));
    await stage.pass(TTL_MS + MAX_STALE_MS + MINUTE_MS + 2_000);
    expect(replica.version()).toBeUndefined();
    expect(stage.calls).toHaveLength(3);
  });

  test('loads for an operator within a second, and a failure leaves the longer wait', async () => {
    const stage = createStage();
    const replica = await startAlone(stage);
    stage.answer(askedToWait(10 * MINUTE_MS));
    await stage.pass(DUE_MS);
    stage.answer(outage);
    const refused = replica.list.refresh();
    expect(await callsIn(stage, 1_000)).toBe(1);
    expect(await settled(refused)).toMatchObject({ outcome: 'failed', error: outage });
    expect(await callsIn(stage, 9 * MINUTE_MS)).toBe(0);
    stage.answer(10);
    const taken = replica.list.refresh();
    expect(await callsIn(stage, 1_000)).toBe(1);
    expect(await settled(taken)).toEqual({ outcome: 'ok', isShared: undefined });
  });

  test('loads after the load under way for operators, once for those who ask the same', async () => {
    const stage = createStage();
    const replica = await startAlone(stage);
    stage.answer(10, 2_000);
    const first = replica.list.refresh();
    await stage.pass(1_000);
    const [second, third] = [replica.list.refresh(), replica.list.refresh()];
    await stage.pass(1_100);
    expect(await settled(first)).toMatchObject({ outcome: 'ok' });
    expect(await settled(second)).toBe('waits');
    await stage.pass(2_000);
    expect(await settled(second)).toMatchObject({ outcome: 'ok' });
    expect(await settled(third)).toMatchObject({ outcome: 'ok' });
    expect(stage.calls).toHaveLength(3);
  });

  test('accepts a list only for the operator who asked for that', async () => {
    const stage = createStage();
    const replica = await startAlone(stage);
    stage.answer(5);
    const plain = replica.list.refresh();
    const accepted = replica.list.refresh(['shrunk']);
    await stage.pass(1_000);
    expect(await settled(plain)).toMatchObject({ outcome: 'failed', error: { kind: 'shrunk' } });
    expect(await settled(accepted)).toMatchObject({ outcome: 'ok' });
    expect(replica.list.served()?.list.count).toBe(5);
  });

  test('accepts a content that it has had again, also after an earlier one has returned', async () => {
    const stage = createStage();
    let count = 10;
    const replica = await startAlone(stage, {
      loadFor: () => async () => stage.listOf(count, count),
    });
    // Without the memory of its content, the last one would have shrunk from 100.
    for (count of [12, 20, 10, 100, 20]) {
      await refresh(stage, replica);
      // A refresh alone accepts nothing.
      expect(replica.list.served()?.list).toMatchObject({ count, accepted: undefined });
    }
  });

  test('compares a list with nothing once there is none to serve', async () => {
    const stage = createStage();
    const replica = await startAlone(stage);
    stage.answer(outage);
    await stage.pass(TTL_MS + MAX_STALE_MS + 1_000);
    stage.answer(5);
    await stage.pass(MINUTE_MS);
    expect(replica.list.served()?.list).toMatchObject({ count: 5, accepted: undefined });
  });

  test('ends its load when it stops, and tells whoever waits', async () => {
    const stage = createStage();
    stage.answer(10, 4_000);
    const replica = await startAlone(stage);
    const [request, operator] = [replica.list.waitUntilServed(), replica.list.refresh()];
    const failures = Promise.all([failureOf(request), operator]);
    await replica.stop();
    expect(await settled(failures)).toMatchObject(['unreachable', { outcome: 'failed' }]);
    expect(await replica.list.refresh()).toMatchObject({ outcome: 'failed' });
    expect(await callsIn(stage, HOUR_MS)).toBe(0);
    expect(stage.clock.waits()).toEqual([]);
    expect(replica.events.map(({ type }) => type)).not.toContain('load-failed');
  });

  test('counts the time in which the machine was suspended', async () => {
    const stage = createStage();
    const replica = await startAlone(stage);
    stage.answer(outage);
    replica.machine.suspend();
    await stage.pass(TTL_MS + MAX_STALE_MS + 1);
    expect(replica.version()).toBeUndefined();
    replica.machine.resume();
    expect(await callsIn(stage, 1)).toBe(1);
  });

  test('keeps ages, and the order of lists, when the clock of its machine is set back', async () => {
    const stage = createStage();
    const replica = await startAlone(stage);
    const before = replica.id();
    replica.machine.moveClock(-HOUR_MS);
    expect(replica.list.served()?.freshForMs).toBe(TTL_MS - 1);
    expect(await callsIn(stage, DUE_MS)).toBe(1);
    expect(replica.version()).toBe(2);
    expect(replica.id() > before).toBe(true);
  });

  test('restores the list of its snapshot with its age, and loads when that is due', async () => {
    const stage = createStage();
    const before = await startAlone(stage);
    await before.stop();
    await stage.pass(30_000);
    const after = await startAlone(stage, { snapshot: before.snapshot });
    expect(after.version()).toBe(1);
    expect(stage.calls).toHaveLength(1);
    expect(after.list.served()?.freshForMs).toBe(TTL_MS - 30_002);
    expect(await callsIn(stage, DUE_MS - 30_000)).toBe(1);
  });

  test('serves a list of its snapshot no longer than one that it has loaded', async () => {
    const stage = createStage();
    const before = await startAlone(stage);
    await before.stop();
    await stage.pass(TTL_MS);
    stage.answer(outage);
    const after = await startAlone(stage, { snapshot: before.snapshot });
    await stage.pass(MAX_STALE_MS - 10);
    expect(after.version()).toBe(1);
    await stage.pass(10);
    expect(after.version()).toBeUndefined();
  });
});

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

  test('make one attempt for all in each step of the back-off, in turn', async () => {
    const { stage } = await startTwo();
    stage.answer(outage);
    await stage.pass(3 * MINUTE_MS);
    const attempts = pausesOf(stage).slice(1);
    for (const [index, waitMs] of [1_250, 2_000, 3_500, 6_500, 12_500].entries()) {
      expect(attempts[index]).toBeGreaterThanOrEqual(waitMs);
      expect(attempts[index]).toBeLessThan(waitMs + 1_100);
    }
    const names = stage.calls.slice(1).map(({ replica }) => replica);
    for (const [index, name] of names.slice(1).entries()) expect(name).not.toBe(names[index]);
  });

  test('need not wait for the rest of a claim once its load has failed', async () => {
    const { stage } = await startTwo();
    stage.answer(outage, 1_500);
    await stage.pass(DUE_MS + 5_000);
    const pause = pausesOf(stage)[1];
    expect(pause).toBeGreaterThanOrEqual(1_500 + 1_250);
    expect(pause).toBeLessThan(1_500 + 1_250 + 1_100);
  });

  test('need not wait for a claim of their own that could not be replaced', async () => {
    const stage = createStage();
    await start(stage, stage.replica());
    stage.answer(outage, 2_000);
    await stage.pass(DUE_MS + 1_000);
    stage.redis.suffer('full');
    expect(await callsIn(stage, 4_000)).toBe(1);
  });

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

  test('give requests the failure of another replica at once, with what failed', async () => {
    const stage = createStage();
    stage.answer(outage);
    const [a, b] = [stage.replica({ name: 'a' }), stage.replica({ name: 'b' })];
    await start(stage, a, b);
    expect(stage.calls).toHaveLength(1);
    expect(await settled(failureOf(b.list.waitUntilServed()))).toBe('unavailable');
    expect(b.list.status().failing?.error.message).toBe(`${outage.message} (on another replica)`);
    expect(b.events.map(({ type }) => type)).toEqual(['load-failed-elsewhere']);
    await stage.pass(1_000);
    expect(a.list.status().failing?.error).toBe(outage);
    expect(a.events.map(({ type }) => type)).toEqual(['load-failed']);
  });

  test('give that failure also where its message is long, or has letters beyond ASCII', async () => {
    const stage = createStage();
    const fields = `código, ${'name, '.repeat(20)}ispb`;
    stage.answer(new LoadError('missing_field', `no entry has a value in these fields: ${fields}`));
    const [a, b] = [stage.replica({ name: 'a' }), stage.replica({ name: 'b' })];
    await start(stage, a, b);
    expect(await settled(failureOf(b.list.waitUntilServed()))).toBe('missing_field');
    expect(stage.calls).toHaveLength(1);
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
    const [hold] = stage.redis.read('hold');
    const leftMs = stage.redis.holdLeftMs();
    stage.answer(ownFault, 1_500);
    const refused = b.list.refresh();
    await stage.pass(3_000);
    expect(await settled(refused)).toMatchObject({ outcome: 'failed', error: ownFault });
    expect(stage.redis.read('hold')).toEqual([hold]);
    expect(b.list.status().failing?.error).toBe(ownFault);
    expect(a.list.status().failing?.error.kind).toBe('rate_limited');
    expect(Math.abs(stage.redis.holdLeftMs() - (leftMs - 3_000))).toBeLessThan(3_000);
    expect(await callsIn(stage, 9 * MINUTE_MS - SOON_MS)).toBe(0);
    expect(a.version()).toBe(1);
  });

  test('put back the wait of the others when one stops in the middle of a load', async () => {
    const { stage, b } = await startTwo();
    await untilAllWait(stage);
    const before = stage.redis.read('hold');
    stage.answer(10, 4_000);
    const operator = b.list.refresh();
    await stage.pass(1_500);
    expect(stage.redis.read('hold')).not.toEqual(before);
    await b.stop();
    expect(await settled(operator)).toMatchObject({ outcome: 'failed' });
    expect(stage.redis.read('hold')).toEqual(before);
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

  test('tell an operator whose list was overtaken, as it was not accepted', async () => {
    const { stage, a, b } = await startTwo();
    stage.answer(5, () => (stage.calls.length === 2 ? 4_000 : 0));
    const first = a.list.refresh(['shrunk']);
    await stage.pass(1_500);
    stage.answer(10);
    void b.list.refresh();
    await stage.pass(5_000);
    expect(await settled(first)).toEqual({ outcome: 'overtaken' });
    expect([a.version(), b.version()]).toEqual([3, 3]);
    expect(a.events.map(({ type }) => type)).not.toContain('load-failed');
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

describe('Redis', () => {
  test.each<RedisFault>(['refuses', 'silent', 'loses-replies'])(
    'that %s costs no call and no request, and sharing resumes',
    async (fault) => {
      const { stage, a, b } = await startTwo();
      stage.redis.suffer(fault);
      const calls = await callsIn(stage, 5 * TTL_MS);
      expect(calls).toBeGreaterThanOrEqual(5);
      expect(calls).toBeLessThanOrEqual(10);
      for (const { list, reports } of [a, b]) {
        expect(list.status().state).toBe('fresh');
        expect(reports.filter(({ type }) => type === 'store-failed')).toHaveLength(1);
      }
      const refreshed = a.list.refresh();
      await stage.pass(SOON_MS + 1_000);
      expect(await settled(refreshed)).toEqual({ outcome: 'ok', isShared: false });
      stage.redis.suffer(undefined);
      await stage.pass(5_000);
      expect(a.version()).toBe(b.version());
      expectInRedis(stage, a);
      expect(await callsIn(stage, 5 * TTL_MS)).toBe(5);
    },
  );

  test('that cannot be reached is tried again each second', async () => {
    const { stage } = await startTwo();
    stage.redis.suffer('refuses');
    const before = stage.redis.connections();
    await stage.pass(10_000);
    expect(stage.redis.connections() - before).toBeGreaterThanOrEqual(18);
    expect(stage.redis.connections() - before).toBeLessThanOrEqual(22);
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

  test.each<RedisFault>(['read-only', 'full'])(
    'that is %s can be looked at, and each replica loads for itself',
    async (fault) => {
      const { stage, a, b } = await startTwo();
      stage.redis.suffer(fault);
      const refreshed = a.list.refresh();
      await stage.pass(SOON_MS);
      expect(await settled(refreshed)).toEqual({ outcome: 'ok', isShared: false });
      const calls = await callsIn(stage, 5 * TTL_MS);
      expect(calls).toBeLessThanOrEqual(10);
      for (const { list, reports } of [a, b]) {
        expect(list.status()).toMatchObject({ state: 'fresh' });
        expect(reports.filter(({ type }) => type === 'store-failed')).toHaveLength(1);
      }
      stage.redis.suffer(undefined);
      await stage.pass(5_000);
      expect(a.version()).toBe(b.version());
    },
  );

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

  test('with another claim holds back only as long as that one', async () => {
    const { stage } = await startTwo();
    await stage.pass(DUE_MS - SOON_MS);
    stage.redis.write(keyOf(stage, 'hold'), 'x'.repeat(22), 24 * HOUR_MS);
    await stage.pass(SOON_MS);
    stage.redis.write(keyOf(stage, 'hold'), 'y'.repeat(22), 3_000);
    expect(await callsIn(stage, 5_000)).toBe(1);
  });

  test('with a claim that an operator replaced holds back nobody', async () => {
    const stage = createStage();
    const replica = stage.replica();
    await start(stage, replica);
    await stage.pass(DUE_MS - SOON_MS);
    stage.redis.write(keyOf(stage, 'hold'), 'x'.repeat(22), 24 * HOUR_MS);
    await stage.pass(SOON_MS);
    stage.answer(outage);
    expect(await refresh(stage, replica)).toMatchObject({ outcome: 'failed' });
    expect(await callsIn(stage, 4_000)).toBeGreaterThanOrEqual(1);
  });

  test('with a wait of a year keeps nobody from loading for more than an hour', async () => {
    const { stage } = await startTwo({ policy: { maxStaleMs: 24 * HOUR_MS } });
    const wait = `${`${1_000 * Date.UTC(2100, 0)}`.padEnd(22, '0')} 1 unavailable`;
    stage.redis.write(keyOf(stage, 'hold'), wait, 365 * 24 * HOUR_MS);
    await stage.pass(SOON_MS);
    expect(await callsIn(stage, HOUR_MS - 10_000)).toBe(0);
    expect(await callsIn(stage, 20_000)).toBeGreaterThan(0);
  });

  test('whose clock is set back keeps the order of lists, and the calls', async () => {
    const { stage, a, b } = await startTwo();
    const before = a.id();
    stage.redis.moveClock(-HOUR_MS);
    expect(await callsIn(stage, 5 * TTL_MS)).toBe(5);
    expect(a.id() > before).toBe(true);
    expect(b.id()).toBe(a.id());
    for (const { list } of [a, b]) expect(list.status().state).toBe('fresh');
  });

  test('whose clock is set forward keeps the calls of those that run', async () => {
    const { stage, a, b } = await startTwo();
    stage.redis.moveClock(HOUR_MS);
    expect(await callsIn(stage, 5 * TTL_MS)).toBe(5);
    expect(b.id()).toBe(a.id());
  });

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

  test('with a key of another type is not used until that is gone', async () => {
    const { stage, a } = await startTwo();
    stage.redis.write(keyOf(stage, 'list'), undefined);
    await stage.pass(5 * TTL_MS);
    expect(a.list.status().state).toBe('fresh');
    stage.redis.remove('list');
    await stage.pass(SOON_MS);
    expectInRedis(stage, a);
  });
});

/** The name of a key of the replicas. */
const keyOf = ({ redis }: Stage, end: 'list' | 'hold'): string =>
  redis.keys().map((key) => key.replace(/[^:]*$/, end))[0] ?? '';
