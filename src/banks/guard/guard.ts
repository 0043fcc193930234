import { LoadError } from '../load-error.ts';

// May a loaded list replace the cached one? Pure: counts in, and a LoadError out if the list is too suspicious.

export interface GuardPolicy {
  /** A list with fewer usable entries is refused. */
  readonly minBanks: number;
  /** The greatest share (0 to 1) that may be unusable, or be missing compared with the cached list. */
  readonly maxShrink: number;
}

/** Reasons to refuse a list that an operator can accept, for one list at a time. */
export const ACCEPTANCES = ['shrunk'] as const;
export type Acceptance = (typeof ACCEPTANCES)[number];

interface Candidate {
  readonly count: number;
  readonly rejected: number;
}

/**
 * @param accept the reasons for which this one list is not refused
 * @throws {LoadError} `unusable_entries`, `too_few` or `shrunk`: the list must not be served
 */
export const guard = (
  { count, rejected }: Candidate,
  cached: { readonly count: number } | undefined,
  { minBanks, maxShrink }: GuardPolicy,
  accept: readonly Acceptance[] = [],
): void => {
  const received = count + rejected;
  if (rejected > maxShrink * received) {
    throw new LoadError('unusable_entries', `${rejected} of ${received} entries are unusable`);
  }
  if (count < minBanks) {
    throw new LoadError('too_few', `the list has ${count} usable entries; GUARD_MIN_BANKS is ${minBanks}`);
  }
  if (cached && cached.count - count > maxShrink * cached.count && !accept.includes('shrunk')) {
    throw new LoadError('shrunk', `the list shrank from ${cached.count} to ${count} entries`);
  }
};
