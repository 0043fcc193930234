import { LoadError } from './load-error.ts';

// May a loaded list replace the held one? Pure: counts in, and a LoadError out if the list is too suspicious.

export interface GuardPolicy {
  /** A list with fewer usable entries is refused. */
  readonly minBanks: number;
  /** The greatest share (0 to 1) that may be unusable, or be missing compared with the held list. */
  readonly maxShrink: number;
}

interface Candidate {
  readonly count: number;
  readonly heldBack: number;
}

/** @throws {LoadError} `unusable_entries`, `too_few` or `shrunk`: the list must not be served */
export const guard = (
  { count, heldBack }: Candidate,
  held: { readonly count: number } | undefined,
  { minBanks, maxShrink }: GuardPolicy,
): void => {
  const received = count + heldBack;
  if (heldBack > maxShrink * received) {
    throw new LoadError('unusable_entries', `${heldBack} of ${received} entries are unusable`);
  }
  if (count < minBanks) {
    throw new LoadError('too_few', `the list has ${count} usable entries; GUARD_MIN_BANKS is ${minBanks}`);
  }
  if (held && held.count - count > maxShrink * held.count) {
    throw new LoadError('shrunk', `the list shrank from ${held.count} to ${count} entries`);
  }
};
