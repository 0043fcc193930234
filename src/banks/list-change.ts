import type { Clock } from '../clock.ts';
import { isJsonObject } from '../json.ts';
import { entryGroups } from './reading/entry-groups.ts';
import { digestOf } from './reading/entry.ts';
import type { ListContent, ReadList } from './reading/list-reader.ts';
import { isMoreThanShare } from './share.ts';

// What a new list changed: for operators, who want to know why their users see something else than
// yesterday.

/** Compares by hashes: 50,000 entries take some 2 ms. */
export const compareLists = (
  previous: Pick<ReadList, 'entryDigests' | 'upstreamFields'>,
  next: Pick<ReadList, 'entryDigests' | 'upstreamFields'>,
) => ({
  /**
   * How many banks are new, and how many are gone; a bank of which any published field changed is
   * both.
   */
  added: countMissing(next.entryDigests, previous.entryDigests),
  removed: countMissing(previous.entryDigests, next.entryDigests),
  // The provider's fields that were not there before, and those that are no longer. A restored list
  // does not know them.
  fieldsAppeared:
    previous.upstreamFields.length > 0 ? without(next.upstreamFields, previous.upstreamFields) : [],
  fieldsVanished: without(previous.upstreamFields, next.upstreamFields),
});

/** A change that the guard accepts, and that is reported to operators. */
export interface LargeChange {
  /** As compareLists counts them. */
  readonly added: number;
  readonly removed: number;
  /** Wall-clock milliseconds. */
  readonly atMs: number;
  /**
   * By published field, how many values of the new list the one before had not; at most as many
   * fields as a profile has.
   */
  readonly changedValues: ReadonlyMap<string, number>;
}

/**
 * What changed, where the list grew by more than `maxShare` (0 to 1), or more of its entries are
 * gone or different.
 */
export const findLargeChange = async (
  previous: ListContent,
  next: ListContent,
  maxShare: number,
  clock: Pick<Clock, 'wallMs' | 'turn'>,
): Promise<LargeChange | undefined> => {
  const removed = countMissing(previous.entryDigests, next.entryDigests);
  const most = Math.max(removed, next.count - previous.count);
  if (!isMoreThanShare(most, previous.count, maxShare)) return undefined;
  const names = [...next.profile.keys()];
  const before = await digestValues(previous, names, clock);
  const values = await digestValues(next, names, clock);
  const changedValues = new Map(
    names.map((name) => [name, countMissing(values.get(name) ?? NONE, before.get(name) ?? NONE)]),
  );
  const added = countMissing(next.entryDigests, previous.entryDigests);
  return { added, removed, atMs: clock.wallMs(), changedValues };
};

const NONE = new Float64Array();

/**
 * The values of each field, as hashes in ascending order. Gives the event loop back after each
 * group of entries.
 */
const digestValues = async (
  { json }: ListContent,
  names: readonly string[],
  clock: Pick<Clock, 'turn'>,
): Promise<ReadonlyMap<string, Float64Array>> => {
  const values = new Map(names.map((name): [string, number[]] => [name, []]));
  for (const group of entryGroups(json)) {
    for (const entry of group.filter(isJsonObject))
      for (const [name, value] of Object.entries(entry))
        values.get(name)?.push(digestOf(JSON.stringify(value)));
    // oxlint-disable-next-line no-await-in-loop -- that is the point: one group after the other
    await clock.turn();
  }
  return new Map(
    [...values].map(([name, digests]) => [name, Float64Array.from(digests).toSorted()]),
  );
};

/** How many numbers of `some` are not among `others`. Both ascend. */
const countMissing = (some: Float64Array, others: Float64Array): number => {
  let missing = 0;
  let other = 0;
  for (const one of some) {
    while ((others[other] ?? Infinity) < one) other += 1;
    if (others[other] === one) other += 1;
    else missing += 1;
  }
  return missing;
};

const without = (names: readonly string[], excluded: readonly string[]): string[] =>
  names.filter((name) => !excluded.includes(name));
