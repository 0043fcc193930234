import type { MonotonicMs } from '../clock.ts';

// Which of two lists is kept: the one that is held here, or the one that the shared store has?
// Pure. The order is the one in which the store took the lists; no wall clock has a part in it.

/** Where a list stands in the order of the shared store. */
export interface StorePlace {
  /** Names the series of versions in the store; empty while no store has taken any. */
  readonly register: string;
  /** Grows with each list that the store takes. */
  readonly version: number;
  /**
   * The id of the list that the store took at this version: this list, or the one that it is to
   * follow.
   */
  readonly id: string;
}

/** Of a list before any store has taken one. */
export const NO_PLACE: StorePlace = { register: '', version: 0, id: '' };

/** A list as far as the order is concerned. */
export interface OrderedList {
  readonly id: string;
  readonly place: StorePlace;
  /**
   * It came from the snapshot, and no store has confirmed it since: what it says may be long past.
   */
  readonly isRestored: boolean;
  /** The operators' decisions that it is based on, newest first. */
  readonly decisions: readonly { readonly id: string; readonly madeAtMs: MonotonicMs }[];
  /** When the provider sent it. */
  readonly sentAtMs: MonotonicMs;
  readonly isAgeUnknown?: boolean | undefined;
}

export const isSamePlace = (some: StorePlace, other: StorePlace): boolean =>
  some.register === other.register && some.version === other.version && some.id === other.id;

/** Whether the store has taken the list. */
export const isSaved = ({ id, place }: Pick<OrderedList, 'id' | 'place'>): boolean =>
  place.id === id;

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
  // Nobody has written since the list from which ours was loaded.
  if (ours.place.id === theirs.id) return 'ours';
  const isSameSeries = ours.place.register === theirs.place.register;
  if (ours.isRestored) {
    const isLater = isSameSeries && ours.place.version > theirs.place.version;
    return isLater ? 'ours' : 'theirs';
  }
  const later = laterDecision(ours.decisions, theirs.decisions);
  if (later) return later;
  if (isSameSeries && isSaved(ours) && theirs.place.version > ours.place.version) return 'theirs';
  // Two histories, because the store was away, or has lost what it had.
  const refusesOurs = refuses(ours, theirs);
  if (refusesOurs !== refuses(theirs, ours)) return refusesOurs ? 'theirs' : 'ours';
  const [isOurAgeUnknown, isTheirAgeUnknown] = [ours.isAgeUnknown, theirs.isAgeUnknown].map(
    Boolean,
  );
  if (isOurAgeUnknown !== isTheirAgeUnknown) return isOurAgeUnknown ? 'theirs' : 'ours';
  return ours.sentAtMs > theirs.sentAtMs ? 'ours' : 'theirs';
};

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
