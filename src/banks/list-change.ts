import type { ReadList } from './list-reader.ts';

// What a new list changed: for operators, who want to know why their users see something else than yesterday.

export interface ListChange {
  /** How many banks are new, and how many are gone; a bank of which any published field changed is both. */
  readonly added: number;
  readonly removed: number;
  /** The provider's fields that were not there before, and those that are no longer. */
  readonly fieldsAppeared: readonly string[];
  readonly fieldsVanished: readonly string[];
}

/** Compares by hashes: 50,000 entries take some 10 ms. */
export const compareLists = (
  previous: Pick<ReadList, 'entryDigests' | 'upstreamFields'>,
  next: Pick<ReadList, 'entryDigests' | 'upstreamFields'>,
): ListChange => {
  const before = new Set(previous.entryDigests);
  const after = new Set(next.entryDigests);
  return {
    added: without(after, before).length,
    removed: without(before, after).length,
    // A restored list does not know the provider's fields.
    fieldsAppeared:
      previous.upstreamFields.length > 0 ? without(next.upstreamFields, previous.upstreamFields) : [],
    fieldsVanished: without(previous.upstreamFields, next.upstreamFields),
  };
};

const without = <T>(items: Iterable<T>, excluded: Iterable<T>): T[] => {
  const known = excluded instanceof Set ? excluded : new Set(excluded);
  return [...items].filter((item) => !known.has(item));
};
