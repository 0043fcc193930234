import {
  countFilled,
  JSON_TYPES,
  MAX_FIELD_NAMES,
  newField,
  type FieldProfile,
  type JsonType,
  type ListProfile,
} from '../reading/profile.ts';

// What a new list lost compared with the cached one: for each published field, the share of the
// entries that lack it now, or have it with another JSON type. What it gained is never drift. Pure.

export interface ProfiledList {
  readonly count: number;
  readonly profile: ListProfile;
}

/**
 * The published fields of which `next` lost more than `maxDrift` (0 to 1). The drift of a field is
 * the sum, over the JSON types, of how much smaller the share of the entries with such a value is:
 * a field that is filled as often as before, but with numbers instead of strings, has drifted by
 * 100 %. Each is described by its shares before and now, for people; never by a value.
 */
export const findDrift = (cached: ProfiledList, next: ProfiledList, maxDrift: number) =>
  [...cached.profile].flatMap(([field, before]) => {
    // Names that the provider chooses are collected up to a bound: beyond it, nothing is known of
    // this one.
    if (!next.profile.has(field) && next.profile.size >= MAX_FIELD_NAMES) return [];
    const now = next.profile.get(field) ?? UNFILLED;
    const lost = (type: JsonType): number =>
      // Both shares times both counts, so that they are whole numbers.
      Math.max(0, before.filled[type] * next.count - now.filled[type] * cached.count);
    const drift = JSON_TYPES.reduce((sum, type) => sum + lost(type), 0);
    const whole = cached.count * next.count;
    if (!isMoreThanShare(drift, whole, maxDrift)) return [];
    const unfilled = countFilled(before) * next.count - countFilled(now) * cached.count;
    const describe = isMoreThanShare(unfilled, whole, maxDrift) ? describeFilled : describeTypes;
    return [{ field, description: describe([before, cached.count], [now, next.count]) }];
  });

const UNFILLED = newField();

type Side = readonly [field: FieldProfile, entries: number];

const describeFilled = (before: Side, now: Side): string =>
  `filled in ${percent(countFilled(before[0]), before[1])} of entries before, ${percent(countFilled(now[0]), now[1])} now`;

const describeTypes = (before: Side, now: Side): string =>
  `${typesOf(before)} before, ${typesOf(now)} now`;

const typesOf = ([field, entries]: Side): string =>
  JSON_TYPES.filter((type) => field.filled[type] > 0)
    .map((type) => `${type} in ${percent(field.filled[type], entries)}`)
    .join(', ');

/**
 * Shares are compared in millionths, so that 29 of 100 is exactly 29 %, which `0.29 * 100` is not.
 */
const PARTS = 1_000_000;

/**
 * Whether `part` is more than `share` (0 to 1, to a millionth) of `whole`. Both are whole numbers
 * below 2^53 / 10^6, which is more than a product of two lists' lengths.
 */
export const isMoreThanShare = (part: number, whole: number, share: number): boolean =>
  part * PARTS > Math.round(share * PARTS) * whole;

/**
 * `part` of `whole`, which is not 0, for people: a whole percentage, or one with a decimal where it
 * would mislead.
 */
export const percent = (part: number, whole: number): string => {
  const exact = (100 * part) / whole;
  const rounded = Math.round(exact);
  return `${Math.abs(exact - rounded) < 0.05 ? rounded : exact.toFixed(1)} %`;
};
