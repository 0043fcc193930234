import type { SavedList } from '../banks/cached-list.ts';

// Where the last good list is saved outside the process. Stores are neither trusted nor relied on: whatever one does, the
// service continues with the list in memory.

export type StoreName = 'CACHE_SNAPSHOT_FILE' | 'CACHE_REDIS_URL';

export interface ListStore {
  /** The variable that configures the store. */
  readonly name: StoreName;
  /**
   * The saved list; undefined if there is none. `ageMs`: milliseconds since the provider sent it, if the store knows; otherwise
   * clocks are compared.
   * @throws {StoreError} if it cannot be read or used
   */
  read(): Promise<{ readonly list: SavedList; readonly ageMs?: number | undefined } | undefined>;
  /**
   * @param ageMs milliseconds since the provider sent the list
   * @throws {StoreError} if the list could not be saved
   */
  write(list: SavedList, ageMs: number): Promise<void>;
  /** Absent where there is no connection to lose. */
  readonly isConnected?: () => boolean;
}

/** A store that several replicas use. Each operation has its own deadline. */
export interface SharedStore extends ListStore {
  /**
   * Takes the lease on the next renewal for `forMs`; undefined while another replica holds it.
   * @throws {StoreError} if the store does not answer
   */
  claim(forMs: number): Promise<ReleaseLease | undefined>;
  /**
   * Starts connecting and keeps reconnecting; never throws. Calls `onChange` after each connection, and when another
   * replica has written a list; such a message may be lost.
   */
  open(onChange: () => void): void;
  /** Closes the connection; no event follows. */
  close(): void;
}

/** Releases the lease, unless it has expired and another replica holds it now. Never rejects. */
export type ReleaseLease = () => Promise<void>;

/** A store failed. The message is for the log and never quotes stored data. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

export type StoreEvent =
  | { readonly type: 'store-empty'; readonly store: StoreName }
  | { readonly type: 'store-failed'; readonly store: StoreName; readonly reason: string }
  | { readonly type: 'store-recovered'; readonly store: StoreName };
