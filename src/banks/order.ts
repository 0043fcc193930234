import { randomUUID } from 'node:crypto';
import type { MonotonicMs } from '../clock.ts';

// Which of two lists is kept: the cached one, or the one that the shared store has?
// Pure, but for the name of a new series. The order is the one in which the store took the lists;
// no wall clock has a part in it.

/** How far a series of lists in the store got. */
export interface SeriesVersion {
  /**
   * Names the series: lists of which the store has lost none. Where it may have lost one, the next
   * list begins a new series. Empty: no store had a list yet.
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

/** Where a list stands in the order of the shared store. */
export interface Place {
  /**
   * - `stored`: the store has taken the list, and then had `version`. It may have lost it since.
   * - `successor`: the store had `version` when the list was loaded, and has not taken it yet.
   * - `beside`: the store has a list that this one does not replace. `version` is what was known
   *   before.
   */
  readonly kind: 'stored' | 'successor' | 'beside';
  readonly version: StoreVersion;
}

/** Before any store has taken a list. */
export const NO_PLACE: Place = { kind: 'successor', version: NO_VERSION };

/** The place of a list that is loaded while `previous` is cached. */
export const placeAfter = (previous: Pick<OrderedList, 'place'> | undefined): Place => {
  const { kind, version } = previous?.place ?? NO_PLACE;
  return { kind: kind === 'stored' ? 'successor' : kind, version };
};

/** Whether the store took the one after the other; false also if they are not ordered. */
const isAfter = (some: StoreVersion, other: StoreVersion): boolean =>
  some.series === other.series
    ? some.number > other.number
    : some.former.some(({ series, number }) => series === other.series && number >= other.number);

/** What the order of a list depends on. */
export interface OrderedList {
  /** Unique, on all replicas. */
  readonly id: string;
  readonly place: Place;
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

type PlacedList = Pick<OrderedList, 'id' | 'place'>;

/** Whether this is the version at which the store took the list. */
export const isAt = (
  { series, number, listId }: StoreVersion,
  { id, place }: PlacedList,
): boolean =>
  wasStored({ place }) &&
  listId === id &&
  series === place.version.series &&
  number === place.version.number;

/**
 * The version of the store once it has taken this list over the one at `theirs`.
 * @param isSeriesWhole whether the store has lost nothing of its series; otherwise another one
 *   begins, as it does in a store without any list, and after the last number
 */
export const nextVersion = (
  theirs: StoreVersion = NO_VERSION,
  { id, place }: PlacedList,
  isSeriesWhole: boolean,
): StoreVersion => {
  const known = place.version;
  const above = Math.max(theirs.number, known.number) + 1;
  // Somebody else has written such a number.
  const overflows = above > MAX_NUMBER;
  const series = (isSeriesWhole && !overflows && theirs.series) || randomUUID();
  const number = overflows ? 1 : above;
  const isCarried = theirs.series === '' && wasStored({ place });
  const { carriedFrom = { series: known.series, number: known.number } } = known;
  const next = { series, number, listId: id, former: [], ...(isCarried && { carriedFrom }) };
  return withFormer(withFormer(next, theirs), known);
};

/** Whether the store has taken the list, as far as this replica knows. */
export const wasStored = ({ place }: Pick<OrderedList, 'place'>): boolean =>
  place.kind === 'stored';

/** Whether a list that the store has not taken was loaded when the store had the other one. */
const isSuccessor = (some: OrderedList, other: OrderedList): boolean =>
  some.place.kind === 'successor' && some.place.version.listId === other.id;

/** The version at which the store took the list for the first time. */
const originOf = ({ place: { version } }: OrderedList): StoreVersion => ({
  ...version,
  ...version.carriedFrom,
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
  if (ours.isUnconfirmed) return isAfter(ours.place.version, originOf(theirs)) ? 'ours' : 'theirs';
  const later = laterDecision(ours.decisions, theirs.decisions);
  if (later) return later;
  if (wasStored(ours) && isAfter(theirs.place.version, ours.place.version)) return 'theirs';
  // The lists are not ordered: the store was unreachable, or has lost lists.
  const refusesOurs = refuses(ours, theirs);
  if (refusesOurs !== refuses(theirs, ours)) return refusesOurs ? 'theirs' : 'ours';
  return isRequestedLater(ours, theirs) ? 'ours' : 'theirs';
};

/** A list of unknown age counts as older. */
const isRequestedLater = (some: OrderedList, other: OrderedList): boolean =>
  some.isAgeUnknown === other.isAgeUnknown
    ? some.requestedAtMs > other.requestedAtMs
    : other.isAgeUnknown;

/** Whose last decision came later; undefined if both have the same one, or none. */
const laterDecision = (
  ours: OrderedList['decisions'],
  theirs: OrderedList['decisions'],
): Choice | undefined => {
  const [our, their] = [ours[0], theirs[0]];
  if (our?.id === their?.id) return undefined;
  // If one side knows the other's last decision, it decided later.
  if (!our || theirs.some(({ id }) => id === our.id)) return 'theirs';
  if (!their || ours.some(({ id }) => id === their.id)) return 'ours';
  return our.madeAtMs > their.madeAtMs ? 'ours' : 'theirs';
};
