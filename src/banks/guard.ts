import { formatCount } from '../format.ts';
import { LoadError } from './load-error.ts';
import { countUnusable, describeUnusable, type FieldRule } from './reading/entry.ts';
import type { ListContent, LoadedList } from './reading/list-reader.ts';
import { countFilled, JSON_TYPES, MAX_FIELD_NAMES } from './reading/profile.ts';
import { showName } from './reading/provider-fields.ts';

// May a loaded list replace the one that is cached? A list that lost too many entries, or too many
// values of a field, is refused until an operator accepts it. Pure. Messages name fields, counts
// and shares, never values.

export interface GuardPolicy {
  /** A list with fewer entries is refused. */
  readonly minBanks: number;
  /** The greatest share (0 to 1) of the entries that may be unusable, or missing. */
  readonly maxShrink: number;
  /** The greatest share (0 to 1) of the entries that may lose a field, or change its JSON type. */
  readonly maxDrift: number;
  /** The configured fields; undefined: every field is published, and none is promised. */
  readonly fields: readonly FieldRule[] | undefined;
  /** How long a list may be served past its TTL. */
  readonly maxStaleMs: number;
}

/** Reasons to refuse a list that an operator can override, for one list at a time. */
export const OVERRIDABLE = ['shrunk', 'drifted'] as const;
export type Overridable = (typeof OVERRIDABLE)[number];

export const isOverridable = (text: string | undefined): text is Overridable =>
  OVERRIDABLE.some((known) => known === text);

/** What is remembered with each list. */
export interface GuardMemory {
  readonly marks: Marks;
  /** The content hashes of the last {@link MAX_KNOWN} other lists, oldest first. */
  readonly known: readonly string[];
}

/** The best of the lists since `sinceMs`: with these a new list is compared. */
export interface Marks {
  /** By this process's clock. */
  readonly sinceMs: number;
  /** The entries of the largest list. */
  readonly count: number;
  readonly shares: Shares;
}

/**
 * In which share (0 to 1) of the entries a published field is filled, and in which with each JSON
 * type: `filled code`, `string code`. What no entry has is left out.
 */
export type Shares = ReadonlyMap<string, number>;

export const MAX_KNOWN = 16;
const LONGEST_MEMORY_MS = 7 * 86_400_000;

/** What is compared of a list. */
type Compared = Omit<ListContent, 'json'>;
/** The cached list, as far as the guard needs it. */
export type GuardedList = GuardMemory & Compared;
/** The loaded list. */
type Offered = Omit<LoadedList, 'json'>;

/** Without BANK_FIELDS a provider could send other names each day. */
const MAX_SHARES = MAX_FIELD_NAMES * (JSON_TYPES.length + 1);
/** So that exactly 20 % passes, whatever a double makes of it. */
const ROUNDING = 1e-9;
/** More would make an unreadable message. */
const MAX_DESCRIBED_FIELDS = 5;

/**
 * @param base undefined while no list can be served
 * @param overrides the reasons for which this one list is not refused
 * @param nowMs by this process's clock
 * @returns the overrides that were needed
 * @throws {LoadError} `too_few`, `unusable_entries`, `missing_field`, `shrunk` or `drifted`
 */
export const guard = (
  next: Offered,
  base: GuardedList | undefined,
  policy: GuardPolicy,
  overrides: readonly Overridable[],
  nowMs: number,
): readonly Overridable[] => {
  if (!base) assertFieldsExist(next, policy);
  assertUsable(next, policy);
  if (next.count < policy.minBanks)
    throw new LoadError(
      'too_few',
      `the list has ${formatCount(next.count, 'usable entry', 'usable entries')}; GUARD_MIN_BANKS is ${policy.minBanks}`,
    );
  if (!base || next.contentHash === base.contentHash || base.known.includes(next.contentHash))
    return [];
  const marks = currentMarks(base, nowMs, policy.maxStaleMs);
  const found = {
    shrunk: findShrinkage(next, marks, policy),
    drifted: findDrift(next, marks, policy),
  };
  const reasons = OVERRIDABLE.filter((reason) => found[reason]);
  const refused = reasons.find((reason) => !overrides.includes(reason));
  if (refused) throw found[refused];
  return reasons;
};

/** What is remembered once `next` has replaced `base`, the list that could be served before. */
export const remember = (
  base: GuardedList | undefined,
  next: Compared,
  isAccepted: boolean,
  nowMs: number,
  { maxStaleMs }: Pick<GuardPolicy, 'maxStaleMs'>,
): GuardMemory => {
  const own = marksOf(next, nowMs);
  if (!base || isAccepted) return { marks: own, known: [] };
  const isKnown = base.known.includes(next.contentHash);
  const others = [...base.known, base.contentHash].filter((hash) => hash !== next.contentHash);
  return {
    marks: isKnown ? own : bestOf(currentMarks(base, nowMs, maxStaleMs), own),
    known: others.slice(-MAX_KNOWN),
  };
};

/** The figures to compare with; once they are too old, those of the cached list. */
const currentMarks = (base: GuardedList, nowMs: number, maxStaleMs: number): Marks =>
  nowMs - base.marks.sinceMs > Math.min(LONGEST_MEMORY_MS, maxStaleMs)
    ? marksOf(base, nowMs)
    : base.marks;

const marksOf = (list: Compared, sinceMs: number): Marks => ({
  sinceMs,
  count: list.count,
  shares: sharesOf(list),
});

const sharesOf = ({ count, profile }: Compared): Shares => {
  const shares = new Map<string, number>();
  for (const [name, field] of profile) {
    const filled = { filled: countFilled(field), ...field.filled };
    for (const [what, entries] of Object.entries(filled))
      if (entries > 0) shares.set(`${what} ${name}`, entries / count);
  }
  return shares;
};

const bestOf = (some: Marks, others: Marks): Marks => {
  const shares = new Map(some.shares);
  for (const [key, share] of others.shares)
    if (shares.has(key) || shares.size < MAX_SHARES)
      shares.set(key, Math.max(share, shares.get(key) ?? 0));
  return { sinceMs: some.sinceMs, count: Math.max(some.count, others.count), shares };
};

/**
 * A field that no entry has is a wrong name in BANK_FIELDS, or was renamed. Publishing only nulls
 * under its name would hide that.
 */
const assertFieldsExist = ({ absentFields }: Offered, { fields = [] }: GuardPolicy): void => {
  const missing = fields.filter(
    ({ name, isOptional }) => !isOptional && absentFields.includes(name),
  );
  if (missing.length === 0) return;
  const names = missing.map(({ name, from }) => (name === from ? name : `${name} (from ${from})`));
  throw new LoadError(
    'missing_field',
    `no entry has a value in these fields of BANK_FIELDS: ${names.join('; ')}`,
    { fields: missing.map(({ name }) => name) },
  );
};

const assertUsable = ({ count, rejected }: Offered, policy: GuardPolicy): void => {
  const unusable = countUnusable(rejected);
  const received = count + unusable + rejected.duplicate;
  if (unusable <= policy.maxShrink * received + ROUNDING) return;
  throw new LoadError(
    'unusable_entries',
    `${unusable} of ${received} entries are unusable (${describeUnusable(rejected)})`,
  );
};

const findShrinkage = (
  { count, hasNextPage }: Offered,
  marks: Marks,
  { maxShrink }: GuardPolicy,
): LoadError | undefined =>
  count < (1 - maxShrink) * marks.count - ROUNDING
    ? new LoadError(
        'shrunk',
        `the list shrank from ${marks.count} to ${count} entries${hasNextPage ? NEXT_PAGE : ''}`,
      )
    : undefined;

const NEXT_PAGE = ', and the response names a next page; see PROVIDER_QUERY';

const findDrift = (
  next: Compared,
  marks: Marks,
  { maxDrift }: GuardPolicy,
): LoadError | undefined => {
  const shares = sharesOf(next);
  const losses = new Map<string, string>();
  for (const [key, before] of marks.shares) {
    const now = shares.get(key) ?? 0;
    const [what, name] = [key.slice(0, key.indexOf(' ')), key.slice(key.indexOf(' ') + 1)];
    // Names beyond MAX_FIELD_NAMES are not collected, so a missing one proves nothing.
    const isUnknown = !next.profile.has(name) && next.profile.size >= MAX_FIELD_NAMES;
    if (before - now > maxDrift + ROUNDING && !isUnknown && !losses.has(name))
      losses.set(name, describeLoss(what, before, now));
  }
  if (losses.size === 0) return undefined;
  const described = [...losses].map(([name, text]) => `${showName(name)}: ${text}`);
  const rest = described.splice(MAX_DESCRIBED_FIELDS).length;
  if (rest > 0) described.push(`and ${rest} more`);
  return new LoadError('drifted', `published fields changed: ${described.join('; ')}`, {
    fields: [...losses.keys()].map(showName),
  });
};

const describeLoss = (what: string, before: number, now: number): string =>
  `${what === 'filled' ? what : `a ${what}`} in ${percent(before)} of entries before, ${percent(now)} now`;

/** A share (0 to 1) for people: a whole percentage, or one with a decimal where it would mislead. */
const percent = (share: number): string => {
  const exact = 100 * share;
  const rounded = Math.round(exact);
  return `${Math.abs(exact - rounded) < 0.05 ? rounded : exact.toFixed(1)} %`;
};
