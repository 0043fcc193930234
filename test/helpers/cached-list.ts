import type { CachedList } from '../../src/banks/cached-list.ts';
import { NO_PLACE } from '../../src/banks/order.ts';
import { represent } from '../../src/banks/representation.ts';
import { createManualClock } from './manual-clock.ts';
import { readBanks } from './read-banks.ts';

/** A cached list of these entries, which came when a manual clock begins, but for `changes`. */
export const cachedListOf = async (
  entries: readonly unknown[],
  changes: Partial<CachedList> = {},
): Promise<CachedList> => {
  const clock = createManualClock();
  const list = await readBanks(entries);
  return {
    ...list,
    id: 'a list',
    place: NO_PLACE,
    isUnconfirmed: false,
    requestedAtMs: clock.monotonicMs(),
    loadedAtMs: clock.monotonicMs(),
    loadedAtWallMs: clock.wallMs(),
    isAgeUnknown: false,
    changedAtMs: clock.wallMs(),
    decisions: [],
    unconfirmedDecisions: [],
    representations: await represent(list.json),
    ...changes,
  };
};
