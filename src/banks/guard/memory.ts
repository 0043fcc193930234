import { createHash } from 'node:crypto';
import type { FreshnessPolicy } from '../freshness.ts';
import type { ReadList } from '../reading/list-reader.ts';

// What the guard remembers of the lists before the cached one. Each load may lose a share of its entries; without a memory
// twenty such loads would lose nearly all of them. Pure: the wall clock is used because a memory outlives the process.

/** A list that was cached once. */
export interface EarlierList {
  /** From {@link contentOf}. */
  readonly content: string;
  readonly count: number;
  /** Wall-clock milliseconds at which another list replaced it. */
  readonly heldUntilMs: number;
}

/** A list with those before it, oldest first. */
type RememberingList = Pick<ReadList, 'count' | 'entryDigests'> & {
  readonly earlier: readonly EarlierList[];
};

/** The time now and how long lists are remembered, in milliseconds. */
export interface Remembrance {
  readonly nowMs: number;
  readonly windowMs: number;
}

const WEEK_MS = 7 * 86_400_000;

/** No longer than a list may be served. */
export const remembrance = ({ maxStaleMs }: FreshnessPolicy, nowMs: number): Remembrance => ({
  nowMs,
  windowMs: Math.min(WEEK_MS, maxStaleMs),
});

/** Identifies a list by its entries, in any order. */
const contentOf = ({ entryDigests }: Pick<ReadList, 'entryDigests'>): string =>
  createHash('sha256').update(entryDigests).digest('base64url').slice(0, CONTENT_CHARS);

export const CONTENT_CHARS = 22;

/** Whether `next` was held before `cached`: the right list comes back by itself after a wrong one. */
export const wasHeld = (
  cached: RememberingList,
  next: Pick<ReadList, 'entryDigests'>,
  now: Remembrance,
): boolean => {
  const content = contentOf(next);
  return remembered(cached.earlier, now).some((list) => list.content === content);
};

/** The entries of the largest list of the window, `cached` included. */
export const largestCount = (cached: RememberingList, now: Remembrance): number => {
  const known = cached.earlier.filter((list) => isInWindow(list, now));
  return Math.max(cached.count, ...known.map(({ count }) => count));
};

/**
 * What is remembered once `next`, with what its sender remembers, has replaced `cached`.
 * @param cached undefined: nothing from before it counts
 */
export const remember = (
  cached: RememberingList | undefined,
  next: RememberingList,
  now: Remembrance,
): readonly EarlierList[] => {
  const nextContent = contentOf(next);
  const own = cached ? [...remembered(cached.earlier, now), toEarlier(cached, now)] : [];
  const returnsTo = own.findIndex(({ content }) => content === nextContent);
  // What came after the list to which `next` returns was wrong.
  const known = [...(returnsTo === -1 ? own : own.slice(0, returnsTo)), ...next.earlier]
    .filter(({ content }) => content !== nextContent)
    // A time in the future was written by a wrong clock, and counts as now.
    .map((list) => ({ ...list, heldUntilMs: Math.min(list.heldUntilMs, now.nowMs) }))
    .toSorted((one, other) => one.heldUntilMs - other.heldUntilMs)
    // Of the same content the last one: it was held longest.
    .filter(({ content }, index, lists) => lists.findLastIndex((list) => list.content === content) === index);
  return thinned(remembered(known, now), now);
};

const toEarlier = (list: RememberingList, { nowMs }: Remembrance): EarlierList => ({
  content: contentOf(list),
  count: list.count,
  heldUntilMs: nowMs,
});

const isInWindow = ({ heldUntilMs }: EarlierList, { nowMs, windowMs }: Remembrance): boolean =>
  nowMs - heldUntilMs <= windowMs;

/**
 * Those of the window, and the last one however old it is: a list that takes long to be noticed as wrong can still be taken
 * back.
 */
const remembered = (lists: readonly EarlierList[], now: Remembrance): readonly EarlierList[] =>
  lists.filter((list, index) => index === lists.length - 1 || isInWindow(list, now));

/** So many lists are all remembered; of older ones, the largest of each part of the window. */
const RECENT_LISTS = 12;
const WINDOW_PARTS = 14;
/** At most so many lists are remembered: the window may begin and end within a part, and one may be from before it. */
export const MAX_EARLIER_LISTS = RECENT_LISTS + WINDOW_PARTS + 2;

const thinned = (lists: readonly EarlierList[], { windowMs }: Remembrance): readonly EarlierList[] => {
  const largest = new Map<number, EarlierList>();
  for (const list of lists.slice(0, -RECENT_LISTS)) {
    const part = Math.floor((list.heldUntilMs * WINDOW_PARTS) / windowMs);
    const known = largest.get(part);
    const isLarger = !known || list.count > known.count;
    // The larger one counts until the later end, so that no list is forgotten too early.
    largest.set(part, isLarger ? list : { ...known, heldUntilMs: list.heldUntilMs });
  }
  return [...largest.values(), ...lists.slice(-RECENT_LISTS)];
};
