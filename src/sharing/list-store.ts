import type { KeptList } from '../banks/cached-list.ts';

// Where the last good list lives beyond this process. A store is never trusted and never waited for: whatever it
// does, the service goes on with what it holds.

export type StoreName = 'CACHE_SNAPSHOT_FILE' | 'CACHE_REDIS_URL';

export interface StoredList {
  readonly list: KeptList;
  /** Milliseconds since the provider sent it, where the store can tell; otherwise the clocks must. */
  readonly ageMs?: number | undefined;
}

export interface ListStore {
  /** The variable that configures it. */
  readonly name: StoreName;
  /** The kept list; undefined when there is none. @throws {StoreError} when there is one that cannot be used */
  read(): Promise<StoredList | undefined>;
  /**
   * @param ageMs milliseconds since the provider sent the list
   * @throws {StoreError} when the list could not be kept
   */
  write(list: KeptList, ageMs: number): Promise<void>;
}

/** A store that several replicas use. Each of its operations settles within a deadline of its own. */
export interface SharedStore extends ListStore {
  /**
   * Takes the lease on the next renewal for `forMs`; undefined while another replica has it.
   * @throws {StoreError} when the store cannot tell
   */
  claim(forMs: number): Promise<Lease | undefined>;
  /**
   * Begins to connect; never throws, and never gives up. Calls `onChange` when another replica has written a list, which
   * may be missed, and when the store can be used, for the first time or again.
   */
  open(onChange: () => void): void;
  /** Ends the connection; nothing is told afterwards. */
  close(): void;
}

/** Ends the lease, unless it has ended by itself and is another replica's now. Never rejects. */
export type Lease = () => Promise<void>;

/** A store failed. `message` is for operators' logs and repeats nothing that was stored. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

export type StoreEvent =
  | { readonly type: 'store-empty'; readonly store: StoreName }
  | { readonly type: 'store-failed'; readonly store: StoreName; readonly reason: string }
  | { readonly type: 'store-recovered'; readonly store: StoreName };
