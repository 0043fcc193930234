import { describe, expect, test } from '@jest/globals';
import { createStage, MAX_STALE_MS, TTL_MS } from './replica.ts';
import {
  askedToWait,
  callsIn,
  DUE_MS,
  failureOf,
  HOUR_MS,
  MINUTE_MS,
  outage,
  pausesOf,
  refresh,
  settled,
  startAlone,
} from './steps.ts';

// When a service without Redis loads the list, and which one it serves: one rule of the loop in each
// test.

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

  test('counts the age of a list from when it was asked for', async () => {
    const stage = createStage();
    stage.answer(10, 4_000);
    const replica = await startAlone(stage);
    await stage.pass(4_000);
    expect(replica.list.served()?.freshForMs).toBe(TTL_MS - 4_001);
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
    const others = [replica.list.refresh(), replica.list.refresh(['drifted'])];
    const accepted = replica.list.refresh(['shrunk']);
    await stage.pass(1_000);
    for (const refused of others)
      expect(await settled(refused)).toMatchObject({
        outcome: 'failed',
        error: { kind: 'shrunk' },
      });
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
      expect(replica.list.served()?.list.count).toBe(count);
    }
  });

  test('compares a list with nothing once there is none to serve', async () => {
    const stage = createStage();
    const replica = await startAlone(stage);
    stage.answer(outage);
    await stage.pass(TTL_MS + MAX_STALE_MS + 1_000);
    stage.answer(5);
    await stage.pass(MINUTE_MS);
    expect(replica.list.served()?.list).toMatchObject({ count: 5 });
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
});
