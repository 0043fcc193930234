import type { KeptList } from '../banks/bank-list.ts';

// Where the last good list lives beyond this process. A store is never trusted and never waited for: whatever it
// does, the service goes on with what it holds.

export interface ListStore {
  /** For the log. */
  readonly name: string;
  /** The kept list; undefined when there is none. @throws {StoreError} when there is one that cannot be used */
  read(): Promise<KeptList | undefined>;
  /** @throws {StoreError} when the list could not be kept */
  write(list: KeptList): Promise<void>;
}

/** A store failed. `message` is for operators' logs and repeats nothing that was stored. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

export type StoreEvent =
  | { readonly type: 'store-empty'; readonly store: string }
  | { readonly type: 'store-failed'; readonly store: string; readonly reason: string }
  | { readonly type: 'store-recovered'; readonly store: string };
