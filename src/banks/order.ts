import { randomUUID } from 'node:crypto';
import type { MonotonicMs } from '../clock.ts';

// Which of two lists is kept: the cached one, or the one that the shared store has?
// Pure, but for the name of a new series. The order is the one in which the store took the lists;
// no wall clock has a part in it.

/** How far a series of lists in the store got. */
export interface SeriesVersion {
  /**
   * Names the series, of which nothing is lost in between: where a store may have lost something,
   * the next list begins a new one. Empty: no store had a list yet.
   */
  readonly series: string;
  /** Grows with each list that the store takes. At most {@link MAX_NUMBER}. */
  readonly number: number;
}

/** Numbers count up by one: a million a second would take 30 years to get there. */
export const MAX_NUMBER = 1e15;

/** A version of the store: the last list that it has taken, and what came before. */
export interface StoreVersion extends SeriesVersion {
  /** The list that the store has at this version. */
  readonly listId: string;
  /**
   * How far the series before this one got, newest first, as far as its writer knew. A store may
   * come back with an earlier one.
   */
  readonly former: readonly SeriesVersion[];
  /**
   * Where an empty store took this list again: the version that the list had before. Its place in
   * the order is still that one.
   */
  readonly carriedFrom?: SeriesVersion | undefined;
}

/** More series than that are forgotten. Some begin with each restart of all replicas. */
export const MAX_FORMER = 32;

/** Before any store has taken a list. */
export const NO_VERSION: StoreVersion = { series: '', number: 0, listId: '', former: [] };

/** `next`, with the series that came before it: that of `earlier`, and those before that. */
export const withFormer = (next: StoreVersion, earlier: StoreVersion): StoreVersion => {
  const reached = new Map<string, number>();
  for (const { series, number } of [...next.former, earlier, ...earlier.former])
    reached.set(series, Math.max(number, reached.get(series) ?? 0));
  reached.delete('');
  reached.delete(next.series);
  const former = [...reached].map(([series, number]) => ({ series, number }));
  return { ...next, former: former.slice(0, MAX_FORMER) };
};

/** Whether the store took the one after the other; false also where they have no order. */
const isAfter = (some: StoreVersion, other: StoreVersion): boolean =>
  some.series === other.series
    ? some.number > other.number
    : some.former.some(({ series, number }) => series === other.series && number >= other.number);

/** What the order of a list depends on. */
export interface OrderedList {
  /** Unique, on all replicas. */
  readonly id: string;
  /**
   * The version that the store had when it took this list; until it has, the one that it had when
   * the list was loaded. `listId` is empty where the store has another list, which this one does
   * not replace.
   */
  readonly storeVersion: StoreVersion;
  /**
   * It comes from the snapshot, and this replica has not compared it with the shared store yet: the
   * store may have had many others since.
   */
  readonly isUnconfirmed: boolean;
  /** The operators' decisions that it is based on, newest first. */
  readonly decisions: readonly { readonly id: string; readonly madeAtMs: MonotonicMs }[];
  /** When the provider was asked for it. Where nothing else orders two lists, this does. */
  readonly requestedAtMs: MonotonicMs;
  /** When the provider's response was complete. Every age is counted from here. */
  readonly loadedAtMs: MonotonicMs;
  /** It was saved in the future, by the clock that read it: its age is a guess. */
  readonly isAgeUnknown: boolean;
}

type VersionedList = Pick<OrderedList, 'id' | 'storeVersion'>;

/** Whether this is the version at which the store took the list. */
export const isAt = (
  { series, number, listId }: StoreVersion,
  { id, storeVersion }: VersionedList,
): boolean =>
  listId === id &&
  storeVersion.listId === id &&
  series === storeVersion.series &&
  number === storeVersion.number;

/**
 * The version of the store once it has taken this list over the one at `theirs`.
 * @param isSeriesWhole whether the store has lost nothing of its series; otherwise another one
 *   begins, as it does in a store without any list, and after the last number
 */
export const nextVersion = (
  theirs: StoreVersion = NO_VERSION,
  { id, storeVersion }: VersionedList,
  isSeriesWhole: boolean,
): StoreVersion => {
  const above = Math.max(theirs.number, storeVersion.number) + 1;
  // Somebody else has written such a number.
  const isFull = above > MAX_NUMBER;
  const series = (isSeriesWhole && !isFull && theirs.series) || randomUUID();
  const number = isFull ? 1 : above;
  const isCarried = theirs.series === '' && wasStored({ id, storeVersion });
  const { carriedFrom = { series: storeVersion.series, number: storeVersion.number } } =
    storeVersion;
  const next = { series, number, listId: id, former: [], ...(isCarried && { carriedFrom }) };
  return withFormer(withFormer(next, theirs), storeVersion);
};

/**
 * Whether the store has taken the list, as far as this replica knows: it need not have it still.
 */
export const wasStored = ({ id, storeVersion }: VersionedList): boolean =>
  storeVersion.listId === id;

/** Whether a list that the store has not taken was loaded when the store had the other one. */
const isSuccessor = (some: OrderedList, other: OrderedList): boolean =>
  some.storeVersion.listId === other.id;

/** The version at which the store took the list for the first time. */
const originOf = ({ storeVersion }: OrderedList): StoreVersion => ({
  ...storeVersion,
  ...storeVersion.carriedFrom,
});

type Choice = 'ours' | 'theirs';

/**
 * Both lists can be served, and they are not the same.
 * @param refuses whether the guard would refuse `next` as the successor of `current`
 */
export const chooseList = <L extends OrderedList>(
  ours: L,
  theirs: L,
  refuses: (next: L, current: L) => boolean,
): Choice => {
  // Nobody has written since ours was loaded.
  if (isSuccessor(ours, theirs)) return 'ours';
  // Its age has only the wall clock, which may stand still or be wrong by years.
  if (ours.isUnconfirmed) return isAfter(ours.storeVersion, originOf(theirs)) ? 'ours' : 'theirs';
  const later = laterDecision(ours.decisions, theirs.decisions);
  if (later) return later;
  if (wasStored(ours) && isAfter(theirs.storeVersion, ours.storeVersion)) return 'theirs';
  // The lists have no order: the store was unreachable, or has lost lists.
  const refusesOurs = refuses(ours, theirs);
  if (refusesOurs !== refuses(theirs, ours)) return refusesOurs ? 'theirs' : 'ours';
  return isRequestedLater(ours, theirs) ? 'ours' : 'theirs';
};

/** A list of unknown age counts as the earlier one. */
const isRequestedLater = (some: OrderedList, other: OrderedList): boolean =>
  some.isAgeUnknown === other.isAgeUnknown
    ? some.requestedAtMs > other.requestedAtMs
    : other.isAgeUnknown;

/** Whose last decision came later; undefined where both have the same one, or none. */
const laterDecision = (
  ours: OrderedList['decisions'],
  theirs: OrderedList['decisions'],
): Choice | undefined => {
  const [our, their] = [ours[0], theirs[0]];
  if (our?.id === their?.id) return undefined;
  // Who knows the other's last decision decided after it.
  if (!our || theirs.some(({ id }) => id === our.id)) return 'theirs';
  if (!their || ours.some(({ id }) => id === their.id)) return 'ours';
  return our.madeAtMs > their.madeAtMs ? 'ours' : 'theirs';
};
