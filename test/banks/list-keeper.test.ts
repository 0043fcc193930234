import { expect, test } from '@jest/globals';
import { NO_VERSION } from '../../src/banks/order.ts';
import { createListKeeper } from '../../src/banks/list-keeper.ts';
import { makeBanks } from '../helpers/banks.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { readBanks } from '../helpers/read-banks.ts';
import { eventually } from '../helpers/wait-until.ts';

// Two lists that arrive at one time; everything else about lists is seen from outside.

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
    keeper.takeSaved(
      {
        ...(await readBanks(makeBanks(count))),
        id: `list of ${count}`,
        version: NO_VERSION,
        isUnconfirmed: false,
        loadedAtMs: clock.monotonicMs(),
        isAgeUnknown: false,
        changedAtMs: clock.wallMs(),
        decisions: [],
        unconfirmedDecisions: [],
      },
      undefined,
    );
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
