import type { ListStatus } from '../../src/banks/bank-list.ts';

/** The status of a list before its first load, but for `changes`. */
export const listStatusOf = (changes: Partial<ListStatus> = {}): ListStatus => ({
  state: 'empty',
  cached: undefined,
  ageMs: undefined,
  failure: undefined,
  failing: undefined,
  lastFailure: undefined,
  isShared: undefined,
  isLoading: false,
  nextLoadInMs: 0,
  ...changes,
});
