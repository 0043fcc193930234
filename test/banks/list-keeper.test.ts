import { expect, test } from '@jest/globals';
import type { Decision, SavedList } from '../../src/banks/cached-list.ts';
import { NO_PLACE } from '../../src/banks/order.ts';
import { createListKeeper } from '../../src/banks/list-keeper.ts';
import type { Clock } from '../../src/clock.ts';
import { makeBanks } from '../helpers/banks.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { readBanks } from '../helpers/read-banks.ts';
import { eventually } from '../helpers/wait-until.ts';

// Two lists that meet; everything else about lists is seen from outside.

const storedList = async (
  count: number,
  clock: Clock,
  decisions: readonly Decision[] = [],
): Promise<SavedList> => ({
  ...(await readBanks(makeBanks(count))),
  id: `list of ${count}`,
  place: NO_PLACE,
  isUnconfirmed: false,
  requestedAtMs: clock.monotonicMs(),
  loadedAtMs: clock.monotonicMs(),
  isAgeUnknown: false,
  changedAtMs: clock.wallMs(),
  decisions,
  unconfirmedDecisions: [],
  earlier: [],
});

test('a list that is encoded for long replaces none that has come meanwhile', async () => {
  const clock = createManualClock();
  const pending: (() => void)[] = [];
  const compress = (bytes: Buffer): Promise<Buffer> =>
    new Promise((resolve) => void pending.push(() => resolve(bytes)));
  const changes: number[] = [];
  const keeper = createListKeeper({
    policy: { ttlMs: 60_000, maxStaleMs: 60_000 },
    guard: { minBanks: 1, maxShrink: 1, maxDrift: 1, fields: undefined },
    clock,
    compressors: {
      gzip: compress,
      br: (bytes) => Promise.resolve(bytes),
    },
    onEvent: (event) => {
      if (event.type === 'list-restored') changes.push(event.list.count);
    },
  });
  const restore = async (count: number): Promise<boolean> =>
    keeper.takeSaved(await storedList(count, clock), undefined);
  const slow = restore(1);
  await eventually(() => pending.length === 1);
  const quick = restore(2);
  await eventually(() => pending.length === 2);
  pending[1]?.();
  expect(await quick).toBe(true);
  pending[0]?.();
  expect(await slow).toBe(false);
  expect([keeper.cache.get()?.count, changes]).toEqual([2, [2]]);
});

test('where two histories meet, both are remembered, unless an operator has decided between them', async () => {
  const clock = createManualClock();
  const { rememberingBoth } = createListKeeper({
    policy: { ttlMs: 60_000, maxStaleMs: 60_000 },
    guard: { minBanks: 1, maxShrink: 0.2, maxDrift: 0.2, fields: undefined },
    clock,
    onEvent: () => undefined,
  });
  const other = await storedList(100, clock);
  const remembered = async (decisions: readonly Decision[]): Promise<number[]> =>
    rememberingBoth(await storedList(95, clock, decisions), other).earlier.map(
      ({ count }) => count,
    );
  const decision: Decision = {
    id: 'an acceptance',
    madeAtMs: clock.monotonicMs(),
    madeAtWallMs: clock.wallMs(),
    reasons: ['shrunk'],
    requestId: '',
  };
  expect([await remembered([]), await remembered([decision])]).toEqual([[100], []]);
});
