import { monotonic } from '../../src/clock.ts';
import { expect, test } from '@jest/globals';
import { createCachedList, type HeldList } from '../../src/banks/cached-list.ts';
import { represent } from '../../src/banks/representation.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { readBanks } from '../kit/read-banks.ts';

const POLICY = { ttlMs: 1_000, maxStaleMs: 500 };

const listOf = async (code: string, sentAtMs: number): Promise<HeldList> => {
  const read = await readBanks([{ code }]);
  const sent = { sentAtMs, countedFromMs: sentAtMs };
  const representations = await represent(read.json);
  return { ...read, ...sent, representations, receivedAtMs: 0, changedAtMs: 0 };
};

test('without a list there is no age and nothing to serve', () => {
  const cached = createCachedList(POLICY, createManualClock());
  expect([cached.get(), cached.ageMs(), cached.served()]).toEqual([undefined, undefined, undefined]);
  expect([cached.freshForMs(), cached.state()]).toEqual([0, 'empty']);
});

test.each([
  [0, 'fresh', 1_000, true],
  [0.25, 'fresh', 999.75, true],
  [1_000, 'fresh', 0, true],
  [1_001, 'stale', -1, true],
  [1_500, 'stale', -500, true],
  [1_501, 'expired', -501, false],
] as const)('%d ms after it was sent a list is %s', async (ageMs, state, freshForMs, isServed) => {
  const clock = createManualClock();
  const cached = createCachedList(POLICY, clock);
  const list = await listOf('001', clock.monotonicMs() - ageMs);
  cached.set(list);
  expect([cached.ageMs(), cached.state(), cached.freshForMs()]).toEqual([ageMs, state, freshForMs]);
  expect(cached.served()).toEqual(isServed ? { list, freshForMs } : undefined);
  // However old it is, it remains what the next one is compared with.
  expect(cached.get()).toBe(list);
});

test.each([0, -5_000])(
  'a list may have been sent at %i on the monotonic clock, or before',
  async (sentAtMs) => {
    const clock = { ...createManualClock(), monotonicMs: () => monotonic(400) };
    const cached = createCachedList(POLICY, clock);
    cached.set(await listOf('001', sentAtMs));
    // To the millisecond, and never younger than it is: 0 has no other meaning here.
    const tooOldByMs = (cached.ageMs() ?? 0) - (400 - sentAtMs);
    expect(tooOldByMs).toBeGreaterThanOrEqual(0);
    expect(tooOldByMs).toBeLessThanOrEqual(1);
  },
);
