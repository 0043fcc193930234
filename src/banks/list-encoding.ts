import { wall, type Clock, type MonotonicMs, type WallMs } from '../clock.ts';
import type { HeldList, SavedList } from './cached-list.ts';
import { UNKNOWN_IN_STORES } from './list-check.ts';
import { findLargeChange } from './list-change.ts';
import type { LoadedList } from './reading/list-reader.ts';
import { represent, type Compressors } from './representation.ts';

// Makes a list ready to be held instead of another one: encodes it, compares the two, and takes
// over what stays the same.

export interface ListEncodingOptions {
  readonly clock: Clock;
  /** From this share (0 to 1) on a change is reported as large. */
  readonly maxShrink: number;
  /** Node's own unless given. */
  readonly compressors?: Compressors | undefined;
}

/** What only the provider's response tells: as long as a store does not, it is as it was. */
const toldByProvider = ({ rejected, objectFields, upstreamFields, hasNextPage }: HeldList) => ({
  rejected,
  objectFields,
  upstreamFields,
  hasNextPage,
});

/** The resolution of an HTTP date. */
const SECOND_MS = 1_000;

export const createListEncoding = ({ clock, maxShrink, compressors }: ListEncodingOptions) => {
  const receivedAt = (sentAtMs: MonotonicMs): WallMs =>
    wall(clock.wallMs() - (clock.monotonicMs() - sentAtMs));

  /** `Last-Modified` of content that replaces that of `current`. */
  const changedAt = (changedAtMs: WallMs, current: HeldList | undefined): WallMs => {
    const pastMs = Math.min(changedAtMs, clock.wallMs());
    // It goes on by at least a second with each change, also after the clock was set back:
    // otherwise If-Modified-Since would take the new content for the old.
    return wall(Math.max(pastMs, (current?.changedAtMs ?? -Infinity) + SECOND_MS));
  };

  return {
    receivedAt,
    encode: async (
      next: SavedList & Partial<LoadedList>,
      current: HeldList | undefined,
    ): Promise<HeldList> => {
      const receivedAtMs = receivedAt(next.sentAtMs);
      const largeChange = current && (await findLargeChange(current, next, maxShrink, clock));
      const encoded = await represent(next.json, current?.representations, compressors);
      const isUnchanged = current?.representations.identity.etag === encoded.identity.etag;
      // An unchanged list is in memory once, with the very bytes that are served.
      const representations = isUnchanged ? current.representations : encoded;
      return {
        ...UNKNOWN_IN_STORES,
        publishableFields: [],
        hasNextPage: false,
        ...(current && toldByProvider(current)),
        ...next,
        json: representations.identity.body,
        representations,
        receivedAtMs,
        changedAtMs: isUnchanged ? current.changedAtMs : changedAt(next.changedAtMs, current),
        largeChange: largeChange ?? current?.largeChange,
      };
    },
  };
};
