import { nearestName } from '../../nearest-name.ts';
import { LoadError } from '../load-error.ts';
import { countRejected, type FieldRule } from '../reading/entry.ts';
import type { ReadList } from '../reading/list-reader.ts';
import { findDrift, isMoreThanShare, type ProfiledList } from './drift.ts';
import { showableNames, showName } from './field-names.ts';

// May a loaded list replace the cached one? Pure: counts in, and a LoadError out if the list is too suspicious.

export interface GuardPolicy {
  /** A list with fewer usable entries is refused. */
  readonly minBanks: number;
  /** The greatest share (0 to 1) that may be unusable, or be missing compared with the largest of the last lists. */
  readonly maxShrink: number;
  /** The greatest share (0 to 1) of the entries that may have lost a published field, or changed its JSON type. */
  readonly maxDrift: number;
  /** The configured fields; undefined: every field is published, and none is promised. */
  readonly fields: readonly FieldRule[] | undefined;
}

/** Reasons to refuse a list that an operator can accept, for one list at a time. */
export const ACCEPTANCES = ['shrunk', 'drifted'] as const;
export type Acceptance = (typeof ACCEPTANCES)[number];

/** An operator's acceptance of a list: for which reasons, and by which request. */
export interface Decision {
  readonly reasons: readonly Acceptance[];
  readonly requestId: string;
}

export type NewList = Pick<
  ReadList,
  'count' | 'rejected' | 'profile' | 'absentFields' | 'objectFields' | 'upstreamFields'
>;

/** What a new list is compared with. */
export interface Precedent {
  readonly cached: ProfiledList;
  /** The entries of the largest list that the guard remembers. */
  readonly largestCount: number;
}

/**
 * @param precedent undefined while nothing is cached
 * @param accept the reasons for which this one list is not refused
 * @throws {LoadError} `missing_field`, `unusable_entries`, `too_few`, `shrunk` or `drifted`: it must not be served
 */
export const guard = (
  list: NewList,
  precedent: Precedent | undefined,
  policy: GuardPolicy,
  accept: readonly Acceptance[],
): void => {
  // Beside a cached list this is drift, which depends on whether the field was ever there.
  if (!precedent) assertFieldsExist(list, policy);
  assertEnough(list, policy);
  if (!precedent) return;
  if (!accept.includes('shrunk')) assertNotShrunk(list, precedent, policy);
  if (!accept.includes('drifted')) assertNotDrifted(list, precedent.cached, policy);
};

/** A field that no entry has is a wrong name in BANK_FIELDS, or was renamed: nulls under a promised name help nobody. */
const assertFieldsExist = ({ absentFields, upstreamFields }: NewList, { fields }: GuardPolicy): void => {
  const missing = fields?.filter(({ name, isOptional }) => !isOptional && absentFields.includes(name)) ?? [];
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

const assertEnough = (list: NewList, { minBanks, maxShrink, fields }: GuardPolicy): void => {
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
  if (count < minBanks)
    throw new LoadError('too_few', `the list has ${count} usable entries; GUARD_MIN_BANKS is ${minBanks}`);
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
    const wayOut =
      paths.length > 0
        ? `BANK_FIELDS can name what is in it: ${paths.map(renamed).join(', ')}`
        : 'remove it from BANK_FIELDS';
    return [`the field ${showName(from)} is an object, or has objects; ${wayOut}`];
  });

/** Published as its own name, without what leads there. */
const renamed = (path: string): string => `${path.slice(path.lastIndexOf('.') + 1)}:${path}`;

const assertNotShrunk = (
  { count }: NewList,
  { cached, largestCount }: Precedent,
  { maxShrink }: GuardPolicy,
): void => {
  if (!isMoreThanShare(largestCount - count, largestCount, maxShrink)) return;
  const since = largestCount > cached.count ? ' in the last days' : '';
  throw new LoadError('shrunk', `the list shrank from ${largestCount} to ${count} entries${since}`);
};

const assertNotDrifted = (list: NewList, cached: ProfiledList, { maxDrift }: GuardPolicy): void => {
  const drifts = findDrift(cached, list, maxDrift);
  if (drifts.length === 0) return;
  const described = drifts
    .slice(0, MAX_DESCRIBED_FIELDS)
    .map(({ field, description }) => `${showName(field)}: ${description}`);
  const rest = drifts.length - described.length;
  const message = [...described, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ');
  throw new LoadError('drifted', `published fields changed: ${message}`, {
    fields: drifts.map(({ field }) => showName(field)),
  });
};
