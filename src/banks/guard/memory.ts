import { createHash } from 'node:crypto';
import { monotonic, type MonotonicMs } from '../../clock.ts';
import type { FreshnessPolicy } from '../freshness.ts';
import type { ListContent } from '../reading/list-reader.ts';
import {
  JSON_TYPES,
  MAX_FIELD_NAMES,
  type JsonType,
  type ListProfile,
} from '../reading/profile.ts';

// What the guard remembers of the lists before the cached one. Each load may lose a share of its
// entries, or of a field's values; without a memory twenty such loads would lose nearly all of
// them. Pure.

/** The share of the entries (0 to 1) in which a field is filled, by the JSON type of its value. */
export type FillRates = Readonly<Record<JsonType, number>>;

/** A list that was cached once; or several, of which it has the greatest numbers. */
export interface EarlierList {
  /** From {@link contentOf}; of several, that of the largest. */
  readonly content: string;
  readonly count: number;
  /** By published field. */
  readonly filled: ReadonlyMap<string, FillRates>;
  /** When another list replaced it; of several, the first and the last time. */
  readonly firstUntilMs: MonotonicMs;
  readonly lastUntilMs: MonotonicMs;
}

/** A list with those before it, oldest first. */
export interface RememberingList extends Omit<ListContent, 'json'> {
  readonly earlier: readonly EarlierList[];
}

const WEEK_MS = 7 * 86_400_000;

/** The time now, and how long lists are remembered: no longer than one may be served. */
export const memoryWindow = ({ maxStaleMs }: FreshnessPolicy, nowMs: MonotonicMs) => ({
  nowMs,
  windowMs: Math.min(WEEK_MS, maxStaleMs),
});

type MemoryWindow = ReturnType<typeof memoryWindow>;

/** Identifies a list by its entries, in any order. */
const contentOf = ({ entryDigests }: Pick<ListContent, 'entryDigests'>): string =>
  createHash('sha256').update(entryDigests).digest('base64url').slice(0, CONTENT_CHARS);

export const CONTENT_CHARS = 22;

/**
 * Whether `next` is cached, or was in the window. Such a list is not refused as smaller or drifted:
 * it may come back after a wrong one, or may have been taken with other limits.
 */
export const wasCached = (
  cached: RememberingList,
  next: Pick<ListContent, 'entryDigests'>,
  now: MemoryWindow,
): boolean => {
  const content = contentOf(next);
  return (
    content === contentOf(cached) ||
    inWindow(cached.earlier, now).some((list) => list.content === content)
  );
};

/** The entries of the largest list of the window, `cached` included. */
export const largestCount = (cached: RememberingList, now: MemoryWindow): number =>
  Math.max(cached.count, ...inWindow(cached.earlier, now).map(({ count }) => count));

/** How well a field was filled at best: shares of the entries (0 to 1), each of one list. */
export interface BestRates {
  /** With whatever value. */
  readonly filled: number;
  /** By JSON type; the types may be those of different lists. */
  readonly byType: FillRates;
}

/** By published field, how well it was filled in the lists of the window, `cached` not included. */
export const bestFilled = (
  cached: RememberingList,
  now: MemoryWindow,
): ReadonlyMap<string, BestRates> => {
  const best = new Map<string, BestRates>();
  for (const list of inWindow(cached.earlier, now))
    for (const [name, rates] of list.filled) {
      const known = best.get(name);
      if (!known && best.size >= MAX_FIELD_NAMES) continue;
      best.set(name, {
        filled: Math.max(known?.filled ?? 0, filledShare(list, rates)),
        byType: known ? greaterRates(known.byType, rates) : rates,
      });
    }
  return best;
};

/** Of several lists together only the types are known: one of them had at least the greatest. */
const filledShare = ({ firstUntilMs, lastUntilMs }: EarlierList, rates: FillRates): number => {
  const shares = JSON_TYPES.map((type) => rates[type]);
  return firstUntilMs === lastUntilMs
    ? shares.reduce((sum, share) => sum + share, 0)
    : Math.max(...shares);
};

const greaterRates = (some: FillRates, others: FillRates): FillRates =>
  ratesOf((type) => Math.max(some[type], others[type]));

/** What is remembered once `next` has replaced `cached`. */
export const remember = (
  cached: RememberingList,
  next: Pick<ListContent, 'entryDigests'>,
  now: MemoryWindow,
): readonly EarlierList[] => {
  const known = [...inWindow(cached.earlier, now), toEarlier(cached, now)];
  const content = contentOf(next);
  const returnsTo = known.findIndex((list) => list.content === content);
  // Where `next` has an earlier list's content again, the lists since that one were wrong.
  return thinned(returnsTo === -1 ? known : known.slice(0, returnsTo), now);
};

/** What is remembered where two lists without an order meet, and `kept` is used. */
export const rememberBoth = (
  kept: RememberingList,
  other: RememberingList,
  now: MemoryWindow,
): readonly EarlierList[] => {
  const known = [...remember(other, kept, now), ...inWindow(kept.earlier, now)];
  return thinned(
    known.toSorted((one, later) => one.lastUntilMs - later.lastUntilMs),
    now,
  );
};

const toEarlier = (list: RememberingList, { nowMs }: MemoryWindow): EarlierList => ({
  content: contentOf(list),
  count: list.count,
  filled: fillRates(list.profile, list.count),
  firstUntilMs: nowMs,
  lastUntilMs: nowMs,
});

const fillRates = (profile: ListProfile, count: number): ReadonlyMap<string, FillRates> =>
  new Map(
    [...profile].map(([name, { filled }]) => [
      name,
      ratesOf((type) => (count > 0 ? filled[type] / count : 0)),
    ]),
  );

const ratesOf = (rate: (type: JsonType) => number): FillRates => {
  const rates: Record<JsonType, number> = { string: 0, number: 0, boolean: 0, object: 0, array: 0 };
  for (const type of JSON_TYPES) rates[type] = rate(type);
  return rates;
};

const inWindow = (
  lists: readonly EarlierList[],
  { nowMs, windowMs }: MemoryWindow,
): readonly EarlierList[] => lists.filter(({ lastUntilMs }) => nowMs - lastUntilMs <= windowMs);

/** So many lists are remembered one by one; older ones together, in parts of the window. */
const RECENT_LISTS = 12;
const WINDOW_PARTS = 14;
/** Parts begin where the one before ends, so that one more may have its end in the window. */
export const MAX_EARLIER_LISTS = RECENT_LISTS + WINDOW_PARTS + 1;

/**
 * The oldest lists together, by parts of the window, and the recent ones as they are:
 * `[a b] [c d e] [f] g h i ...`
 * @param known may have the same content more than once: the last one counts
 */
const thinned = (
  known: readonly EarlierList[],
  { windowMs }: MemoryWindow,
): readonly EarlierList[] => {
  const lists = known.filter(
    ({ content }, index) => known.findLastIndex((other) => other.content === content) === index,
  );
  const parts: EarlierList[] = [];
  for (const list of lists.slice(0, -RECENT_LISTS)) {
    const part = parts.at(-1);
    // Counted from the first list of the part: from its last one, it could grow without end.
    const isSamePart = part && list.lastUntilMs - part.firstUntilMs < windowMs / WINDOW_PARTS;
    if (isSamePart) parts[parts.length - 1] = together(part, list);
    else parts.push(list);
  }
  return [...parts, ...lists.slice(-RECENT_LISTS)].slice(-MAX_EARLIER_LISTS);
};

const together = (one: EarlierList, later: EarlierList): EarlierList => ({
  ...(later.count > one.count ? later : one),
  filled: greatestOf(one.filled, later.filled),
  firstUntilMs: one.firstUntilMs,
  // So the earlier one is remembered for longer than the window, by a part of it at most.
  lastUntilMs: monotonic(Math.max(one.lastUntilMs, later.lastUntilMs)),
});

const greatestOf = (
  some: ReadonlyMap<string, FillRates>,
  others: ReadonlyMap<string, FillRates>,
): ReadonlyMap<string, FillRates> => {
  const greatest = new Map(some);
  for (const [name, rates] of others) {
    const known = greatest.get(name);
    if (known) greatest.set(name, greaterRates(known, rates));
    else if (greatest.size < MAX_FIELD_NAMES) greatest.set(name, rates);
  }
  return greatest;
};
