import { toWall, wall, type Clock, type WallMs } from '../clock.ts';
import type { CachedList, SavedList } from './cached-list.ts';
import { findLargeChange } from './list-change.ts';
import { NOTHING_REJECTED } from './reading/entry.ts';
import { represent, type Compressors } from './representation.ts';

// Makes a list ready to be cached in place of another one: encodes it, compares the two, and takes
// over what stays the same.

export interface ListEncodingOptions {
  readonly clock: Clock;
  /** From this share (0 to 1) on a change is reported as large. */
  readonly maxShrink: number;
  /** Node's own unless given. */
  readonly compressors?: Compressors | undefined;
}

/** The resolution of an HTTP date. */
const SECOND_MS = 1_000;

/** Gives the function that makes `next` ready to be cached in place of `previous`. */
export const createListEncoding = ({ clock, maxShrink, compressors }: ListEncodingOptions) => {
  /** `Last-Modified` of content that replaces that of `previous`: no later than its list came. */
  const changedAt = (
    changedAtMs: WallMs,
    loadedAtWallMs: WallMs,
    previous: CachedList | undefined,
  ): WallMs => {
    const pastMs = Math.min(changedAtMs, loadedAtWallMs);
    // At least a second later with each change, also after the clock was set back: otherwise
    // If-Modified-Since would take the new content for the old.
    return wall(Math.max(pastMs, (previous?.changedAtMs ?? -Infinity) + SECOND_MS));
  };

  return async (
    next: SavedList & Partial<Pick<CachedList, 'upstreamFields'>>,
    previous: CachedList | undefined,
  ): Promise<CachedList> => {
    const loadedAtWallMs = toWall(next.loadedAtMs, clock);
    const largeChange = previous && (await findLargeChange(previous, next, maxShrink, clock));
    const representations = await represent(next.json, previous?.representations, compressors);
    // An unchanged list is in memory once, with the very bytes that are served.
    const isUnchanged = previous !== undefined && representations === previous.representations;
    return {
      rejected: NOTHING_REJECTED,
      hasNextPage: false,
      upstreamFields: previous?.upstreamFields ?? [],
      ...next,
      json: representations.identity.body,
      representations,
      loadedAtWallMs,
      changedAtMs: isUnchanged
        ? previous.changedAtMs
        : changedAt(next.changedAtMs, loadedAtWallMs, previous),
      largeChange: largeChange ?? previous?.largeChange,
    };
  };
};
