import type { ListContent } from '../reading/list-reader.ts';
import type { BestRates } from './memory.ts';
import {
  countFilled,
  JSON_TYPES,
  MAX_FIELD_NAMES,
  newField,
  type FieldProfile,
} from '../reading/profile.ts';
import { isMoreThanShare, percent } from '../share.ts';

// What a new list lost compared with the cached one: for each published field, the share of the
// entries that lack it now, or have it with another JSON type. What it gained is never drift. Pure.

export type ProfiledList = Pick<ListContent, 'count' | 'profile'>;

export interface Drift {
  readonly field: string;
  /** The shares before and now, for people. */
  readonly description: string;
}

/**
 * The published fields of which `next` lost more than `maxDrift` (0 to 1). The drift of a field is
 * the sum, over the JSON types, of how much smaller the share of the entries with such a value is:
 * a field that is filled as often as before, but with numbers instead of strings, has drifted by
 * 100 %. Each is described by its shares before and now, for people; never by a value.
 */
export const findDrift = (
  cached: ProfiledList,
  next: ProfiledList,
  maxDrift: number,
): readonly Drift[] => {
  const drifts: Drift[] = [];
  for (const [field, filledBefore] of cached.profile) {
    if (!isKnown(next, field)) continue;
    const before: Side = [filledBefore, cached.count];
    const now: Side = [next.profile.get(field) ?? UNFILLED, next.count];
    const whole = cached.count * next.count;
    if (isMoreThanShare(lostValues(before, now), whole, maxDrift))
      drifts.push({ field, description: describeFilled(before, now) });
    else if (isMoreThanShare(lostByType(before, now), whole, maxDrift))
      drifts.push({ field, description: describeTypes(before, now) });
  }
  return drifts;
};

/**
 * The same in comparison with the best of several lists. Each JSON type counts by itself: the
 * greatest shares of two of them may be those of two lists, and be more than all entries together.
 * @param names the fields that the cached list has
 */
export const findSlowDrift = (
  names: readonly string[],
  best: ReadonlyMap<string, BestRates>,
  next: ProfiledList,
  maxDrift: number,
): readonly Drift[] => {
  const drifts: Drift[] = [];
  for (const field of names) {
    const rates = best.get(field);
    if (!rates || !isKnown(next, field)) continue;
    const now = next.profile.get(field) ?? UNFILLED;
    const lost = [
      compared('filled', rates.filled, countFilled(now)),
      ...JSON_TYPES.map((type) => compared(type, rates.byType[type], now.filled[type])),
    ].find(({ before, filledNow }) =>
      isMoreThanShare(before * next.count - filledNow * ENTRIES, ENTRIES * next.count, maxDrift),
    );
    if (!lost) continue;
    const [before, after] = [percent(lost.before, ENTRIES), percent(lost.filledNow, next.count)];
    drifts.push({
      field,
      description: `${lost.what} in ${before} of entries before, ${after} now`,
    });
  }
  return drifts;
};

/**
 * Names that the provider chooses are collected up to a bound: beyond it, nothing is known of
 * another one.
 */
const isKnown = ({ profile }: ProfiledList, field: string): boolean =>
  profile.has(field) || profile.size < MAX_FIELD_NAMES;

/** Whole numbers, so that shares are compared exactly; rounded in favour of the new list. */
const ENTRIES = 10_000;
const compared = (what: string, best: number, filledNow: number) => ({
  what,
  before: Math.floor(best * ENTRIES),
  filledNow,
});

/** How much smaller the share of the filled entries is, times both counts: a whole number. */
const lostValues = ([before, countBefore]: Side, [now, countNow]: Side): number =>
  countFilled(before) * countNow - countFilled(now) * countBefore;

/** The same by JSON type. What one type gained does not make up for it, so it is never less. */
const lostByType = ([before, countBefore]: Side, [now, countNow]: Side): number => {
  let lost = 0;
  for (const type of JSON_TYPES)
    lost += Math.max(0, before.filled[type] * countNow - now.filled[type] * countBefore);
  return lost;
};

const UNFILLED = newField();

type Side = readonly [field: FieldProfile, entries: number];

const describeFilled = (before: Side, now: Side): string =>
  `filled in ${shareFilled(before)} of entries before, ${shareFilled(now)} now`;

const shareFilled = ([field, entries]: Side): string => percent(countFilled(field), entries);

const describeTypes = (before: Side, now: Side): string =>
  `${typesOf(before)} before, ${typesOf(now)} now`;

const typesOf = ([field, entries]: Side): string =>
  JSON_TYPES.filter((type) => field.filled[type] > 0)
    .map((type) => `${type} in ${percent(field.filled[type], entries)}`)
    .join(', ');
