import { nearestName } from '../../nearest-name.ts';
import { LoadError } from '../load-error.ts';
import { countRejected, type FieldRule } from '../reading/entry.ts';
import type { ReadList } from '../reading/list-reader.ts';
import { isMoreThanShare } from '../share.ts';
import { findDrift, findSlowDrift, type ProfiledList } from './drift.ts';
import { showableNames, showName } from '../field-names.ts';
import type { BestRates } from './memory.ts';

// May a loaded list replace the cached one? Pure: counts in, and a LoadError out if the list is too
// suspicious.

export interface GuardPolicy {
  /** A list with fewer usable entries is refused. */
  readonly minBanks: number;
  /**
   * The greatest share (0 to 1) that may be unusable, or be missing compared with the largest of
   * the last lists.
   */
  readonly maxShrink: number;
  /**
   * The greatest share (0 to 1) of the entries that may have lost a published field, or changed its
   * JSON type.
   */
  readonly maxDrift: number;
  /** The configured fields; undefined: every field is published, and none is promised. */
  readonly fields: readonly FieldRule[] | undefined;
}

/** Reasons to refuse a list that an operator can override, for one list at a time. */
export const OVERRIDABLE = ['shrunk', 'drifted'] as const;
export type Overridable = (typeof OVERRIDABLE)[number];

export const isOverridable = (text: string | undefined): text is Overridable =>
  OVERRIDABLE.some((known) => known === text);

export type NewList = Pick<
  ReadList,
  'count' | 'rejected' | 'profile' | 'absentFields' | 'objectFields' | 'upstreamFields'
>;

/** What a new list is compared with. */
export interface Precedent {
  readonly cached: ProfiledList;
  /** The entries of the largest list of the window, the cached one included. */
  readonly largestCount: number;
  /** How well each published field was filled in the lists of the window. */
  readonly bestFilled: ReadonlyMap<string, BestRates>;
  /** How long the guard remembers, in milliseconds. */
  readonly windowMs: number;
  /** The new list has the content of the cached one, or of one in the window. */
  readonly hasKnownContent: boolean;
}

/**
 * @param precedent undefined while there is no list to serve
 * @param overrides the reasons for which this one list is not refused
 * @returns those of them for which it would have been
 * @throws {LoadError} `missing_field`, `unusable_entries`, `too_few`, `shrunk` or `drifted`: it
 *   must not be served
 */
export const guard = (
  list: NewList,
  precedent: Precedent | undefined,
  policy: GuardPolicy,
  overrides: readonly Overridable[],
): readonly Overridable[] => {
  // With a cached list, a field that is gone is drift, and one that it lacks too is accepted.
  if (!precedent) assertFieldsExist(list, policy);
  assertUsable(list, policy);
  assertMinimum(list.count, policy);
  const refusals = precedent ? findRefusals(list, precedent, policy) : {};
  return OVERRIDABLE.filter((reason) => {
    const refusal = refusals[reason];
    if (refusal && !overrides.includes(reason)) throw refusal;
    return refusal !== undefined;
  });
};

/** Why a list is not accepted after `precedent`, unless an operator overrides it. */
export const findRefusals = (
  list: ProfiledList,
  precedent: Precedent,
  policy: GuardPolicy,
): Partial<Readonly<Record<Overridable, LoadError | undefined>>> =>
  // What was right before is neither shrunk nor drifted.
  precedent.hasKnownContent
    ? {}
    : {
        shrunk: findShrinkage(list, precedent, policy),
        drifted: findDrifted(list, precedent, policy),
      };

/**
 * A field that no entry has is a wrong name in BANK_FIELDS, or was renamed. Publishing only nulls
 * under its name would hide that.
 */
const assertFieldsExist = (
  { absentFields, upstreamFields }: NewList,
  { fields }: GuardPolicy,
): void => {
  const missing =
    fields?.filter(({ name, isOptional }) => !isOptional && absentFields.includes(name)) ?? [];
  if (missing.length === 0) return;
  const descriptions = missing.map(({ name, from }) => {
    const nearest = nearestName(from, showableNames(from, upstreamFields));
    const field = name === from ? name : `${name} (from ${from})`;
    return nearest === undefined || nearest === from ? field : `${field}, perhaps ${nearest}`;
  });
  throw new LoadError(
    'missing_field',
    `no entry has a value in these fields of BANK_FIELDS: ${descriptions.join('; ')}`,
    { fields: missing.map(({ name }) => name) },
  );
};

const assertUsable = (list: NewList, { maxShrink, fields }: GuardPolicy): void => {
  const { count, rejected, objectFields } = list;
  const unusable = countRejected(rejected);
  const received = count + unusable;
  if (isMoreThanShare(unusable, received, maxShrink)) {
    const objects = describeObjects(objectFields, fields).map((text) => `; ${text}`);
    throw new LoadError(
      'unusable_entries',
      `${unusable} of ${received} entries are unusable${objects.join('')}`,
      { fields: [...objectFields.keys()] },
    );
  }
};

/** @throws {LoadError} `too_few` */
export const assertMinimum = (count: number, { minBanks }: GuardPolicy): void => {
  if (count < minBanks)
    throw new LoadError(
      'too_few',
      `the list has ${count} usable entries; GUARD_MIN_BANKS is ${minBanks}`,
    );
};

/** More would make an unreadable message. */
const MAX_DESCRIBED_FIELDS = 5;

/** What BANK_FIELDS may name in place of each field that is an object. */
const describeObjects = (
  objectFields: NewList['objectFields'],
  fields: readonly FieldRule[] = [],
): readonly string[] =>
  fields.flatMap(({ name, from }) => {
    const inside = objectFields.get(name);
    if (!inside) return [];
    const paths = showableNames(from, inside).slice(0, MAX_DESCRIBED_FIELDS);
    const advice =
      paths.length > 0
        ? `BANK_FIELDS can name what is in it: ${paths.map(renamed).join(', ')}`
        : 'remove it from BANK_FIELDS';
    return [`the field ${showName(from)} is an object, or has objects; ${advice}`];
  });

/** Published as its own name, without what leads there. */
const renamed = (path: string): string => `${path.slice(path.lastIndexOf('.') + 1)}:${path}`;

const findShrinkage = (
  { count }: ProfiledList,
  { cached, largestCount, windowMs }: Precedent,
  { maxShrink }: GuardPolicy,
): LoadError | undefined => {
  if (!isMoreThanShare(largestCount - count, largestCount, maxShrink)) return undefined;
  const period = largestCount > cached.count ? ` in the last ${describeWindow(windowMs)}` : '';
  return new LoadError(
    'shrunk',
    `the list shrank from ${largestCount} to ${count} entries${period}`,
  );
};

const UNITS = [
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
] as const;

/** For example `7 days`: rounded up, in the largest unit of which there are at least two. */
const describeWindow = (windowMs: number): string => {
  const [name, unitMs] = UNITS.find(([, ms]) => windowMs >= 2 * ms) ?? ['seconds', 1_000];
  return `${Math.ceil(windowMs / unitMs)} ${name}`;
};

const findDrifted = (
  list: ProfiledList,
  { cached, bestFilled }: Precedent,
  { maxDrift }: GuardPolicy,
): LoadError | undefined => {
  const sudden = findDrift(cached, list, maxDrift);
  const drifts =
    sudden.length > 0
      ? sudden
      : findSlowDrift([...cached.profile.keys()], bestFilled, list, maxDrift);
  if (drifts.length === 0) return undefined;
  const described = drifts
    .slice(0, MAX_DESCRIBED_FIELDS)
    .map(({ field, description }) => `${showName(field)}: ${description}`);
  const rest = drifts.length - described.length;
  const message = [...described, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ');
  return new LoadError('drifted', `published fields changed: ${message}`, {
    fields: drifts.map(({ field }) => showName(field)),
  });
};
