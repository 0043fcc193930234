import type { CachedList } from './cached-list.ts';

/** What a new list changed, for operators who ask why users see something else than yesterday. */
export interface ListChange {
  /** Entries that the list before did not have: new ones, and changed ones. */
  readonly added: number;
  /** Entries that are no longer in the list as they were. */
  readonly removed: number;
  /** The list grew, shrank or was replaced by more than GUARD_MAX_SHRINK. */
  readonly isLarge: boolean;
}

/**
 * Compares the published entries. A list of 1 MB takes some 20 ms, and lists change rarely.
 * @param maxShare a change is large above this share (0 to 1) of the list before
 */
export const compareLists = (
  previous: CachedList,
  next: CachedList,
  maxShare: number,
): ListChange => {
  const [before, now] = [entriesOfList(previous), entriesOfList(next)];
  const [added, removed] = [countMissing(now, before), countMissing(before, now)];
  return {
    added,
    removed,
    isLarge: Math.max(added, removed) > maxShare * before.size,
  };
};

/** This service has written them: they are JSON, and a list. */
const entriesOfList = ({ representations }: CachedList): ReadonlySet<string> => {
  const entries: readonly unknown[] = JSON.parse(representations.identity.body.toString());
  return new Set(entries.map((bank) => JSON.stringify(bank)));
};

const countMissing = (some: ReadonlySet<string>, others: ReadonlySet<string>): number =>
  [...some].filter((entry) => !others.has(entry)).length;
