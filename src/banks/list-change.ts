import type { LoadedList } from './bank-list.ts';

// What a new list changed: for operators, who want to know why their users see something else than yesterday.

export interface ListChange {
  /** How many banks are new, and how many are gone; a bank of which any published field changed is both. */
  readonly added: number;
  readonly removed: number;
  /** The provider's fields that were not there before, and those that are no longer. */
  readonly fieldsAppeared: readonly string[];
  readonly fieldsVanished: readonly string[];
}

export const compareLists = (previous: LoadedList, next: LoadedList): ListChange => {
  const before = new Set(previous.banks.map((bank) => JSON.stringify(bank)));
  const after = new Set(next.banks.map((bank) => JSON.stringify(bank)));
  return {
    added: without(after, before).length,
    removed: without(before, after).length,
    // A restored list does not know the provider's fields.
    fieldsAppeared:
      previous.upstreamFields.length > 0 ? without(next.upstreamFields, previous.upstreamFields) : [],
    fieldsVanished: without(previous.upstreamFields, next.upstreamFields),
  };
};

const without = (names: Iterable<string>, excluded: Iterable<string>): string[] => {
  const known = new Set(excluded);
  return [...names].filter((name) => !known.has(name));
};
