import { editDistance } from '../../edit-distance.ts';

// Names of fields in messages: some are the provider's text.

/**
 * Whether a name that the provider chose may be shown to people and can stand in BANK_FIELDS: letters, digits and a few
 * signs. Anything else could be an escape sequence, or a text that is not a name.
 */
export const isPlainName = (name: string): boolean =>
  /^[\p{L}\p{N}_.$@/-]{1,64}$/u.test(name) && name !== '__proto__';

/** A name as a message may show it. */
export const showName = (name: string): string =>
  isPlainName(name) ? name : '(a name that cannot be shown)';

/** Letters that a longer name may add, such as `bankName` for `name`. Fewer than any token has. */
const MAX_ADDED_LETTERS = 12;

/**
 * The one of `candidates` that is spelled most like `name`, letter case and punctuation apart; undefined where none is:
 * more than half of its letters differ, and neither contains the other.
 */
export const nearestName = (name: string, candidates: readonly string[]): string | undefined => {
  const wanted = lettersOf(name);
  const [nearest] = candidates
    .filter((candidate) => isPlainName(candidate) && candidate.length <= name.length + MAX_ADDED_LETTERS)
    .map((candidate) => ({ candidate, unlike: unlikeness(wanted, lettersOf(candidate)) }))
    .toSorted((a, b) => a.unlike - b.unlike);
  return nearest && nearest.unlike <= 0.5 ? nearest.candidate : undefined;
};

const lettersOf = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

/** 0: the same letters; 1: nothing in common. */
const unlikeness = (a: string, b: string): number => {
  const share = editDistance(a, b) / Math.max(a.length, b.length, 1);
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return short.length >= 3 && long.includes(short) ? Math.min(share, 0.5) : share;
};
