// Which of two lists goes on: the one that is held here, or the one that the shared store has?
// Pure: numbers in, an answer out. The order is the one in which the store took the lists; no wall
// clock has a part in it.

/** Where a list stands in the order of the shared store. */
export interface Position {
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
export const NOWHERE: Position = { register: '', version: 0, id: '' };

/** A list as far as the order is concerned. */
export interface Ordered {
  readonly id: string;
  readonly place: Position;
  /**
   * It came from the snapshot, and no store has confirmed it since: what it says may be long past.
   */
  readonly isRestored: boolean;
  /** The operators' decisions that it is based on, newest first. */
  readonly decisions: readonly { readonly id: string; readonly ageMs: number }[];
  readonly ageMs: number;
}

/** Whether the store has taken the list. */
export const isSaved = ({ id, place }: Pick<Ordered, 'id' | 'place'>): boolean => place.id === id;

/**
 * Both lists can be served, and they are not the same.
 * @param refuses whether the guard would refuse `next` as the successor of `current`
 */
export const whichGoesOn = (
  ours: Ordered,
  theirs: Ordered,
  refuses: (next: 'ours' | 'theirs') => boolean,
): 'ours' | 'theirs' => {
  // Nobody has written since the list from which ours was loaded.
  if (ours.place.id === theirs.id) return 'ours';
  const isSameSeries = ours.place.register === theirs.place.register;
  if (ours.isRestored) {
    const goesOn = isSameSeries && ours.place.version > theirs.place.version;
    return goesOn ? 'ours' : 'theirs';
  }
  const later = laterDecision(ours.decisions, theirs.decisions);
  if (later) return later;
  if (isSameSeries && isSaved(ours) && theirs.place.version > ours.place.version) return 'theirs';
  // Two histories, because the store was away, or has lost what it had.
  const [refusesOurs, refusesTheirs] = [refuses('ours'), refuses('theirs')];
  if (refusesOurs !== refusesTheirs) return refusesOurs ? 'theirs' : 'ours';
  return ours.ageMs < theirs.ageMs ? 'ours' : 'theirs';
};

/** Whose last decision came later; undefined where both have the same one, or none. */
const laterDecision = (
  ours: Ordered['decisions'],
  theirs: Ordered['decisions'],
): 'ours' | 'theirs' | undefined => {
  const [our, their] = [ours[0], theirs[0]];
  if (our?.id === their?.id) return undefined;
  // Who knows the other's last decision decided after it.
  if (!our || theirs.some(({ id }) => id === our.id)) return 'theirs';
  if (!their || ours.some(({ id }) => id === their.id)) return 'ours';
  return our.ageMs < their.ageMs ? 'ours' : 'theirs';
};
