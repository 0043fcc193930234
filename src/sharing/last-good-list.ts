import type { BankList } from '../banks/bank-list.ts';
import type { SavedList } from '../banks/cached-list.ts';
import { LoadError } from '../banks/load-error.ts';
import type { Clock } from '../clock.ts';
import {
  StoreError,
  type ListStore,
  type StoredList,
  type StoreEvent,
  type StoreName,
} from './list-store.ts';

// Restores the last good list at the start and from other replicas, and saves each renewed list in the background. Every
// failure of a store ends here, as an event.

export interface LastGoodListOptions {
  readonly stores: readonly ListStore[];
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly onEvent: (event: StoreEvent) => void;
}

export interface LastGoodList {
  /**
   * Restores the newest list of all stores into `list`, and saves it in the snapshot if it is the shared one. Resolves with the
   * name of its store. Never rejects.
   */
  restoreInto(list: BankList): Promise<StoreName | undefined>;
  /**
   * Restores the list of `store` into `list` if it is newer, and saves it in the other stores. Never rejects.
   * @returns the store's list, and whether it was taken; 'failed' if it could not be read or was refused
   */
  takeFrom(store: ListStore, list: BankList): Promise<Restored | 'failed'>;
  /**
   * Writes a list that is `ageMs` old to every store but `except` in the background. While a store is writing, only the
   * newest list waits for it.
   */
  save(list: SavedList, ageMs: number, except?: ListStore): void;
  /** The result of `operation`, or 'failed' if it rejects, which is then reported as an event. */
  attempt<T>(store: ListStore, operation: () => Promise<T>): Promise<T | 'failed'>;
  /** Resolves once nothing is being written. */
  onSettled(): Promise<void>;
}

/**
 * A list whose timestamp is less than this in the future counts as new: clocks differ by some milliseconds, and without a
 * tolerance a list that was just received would be renewed at once. An answer may be too old by as much.
 */
const CLOCK_TOLERANCE_MS = 1_000;

export const createLastGoodList = ({ stores, ttlMs, clock, onEvent }: LastGoodListOptions): LastGoodList => {
  const report = (store: ListStore, error: unknown): void =>
    onEvent({ type: 'store-failed', store: store.name, reason: describeFailure(error) });

  const attempt = async <T>(store: ListStore, operation: () => Promise<T>): Promise<T | 'failed'> => {
    try {
      return await operation();
    } catch (error) {
      report(store, error);
      return 'failed';
    }
  };

  const writers = stores.map((store) => {
    let next: { readonly list: SavedList; readonly sentAtMs: number } | undefined;
    let writing: Promise<void> | undefined;
    const writeAll = async (): Promise<void> => {
      while (next) {
        const { list, sentAtMs } = next;
        next = undefined;
        if ((await attempt(store, () => store.write(list, clock.monotonicMs() - sentAtMs))) !== 'failed')
          onEvent({ type: 'store-recovered', store: store.name });
      }
      writing = undefined;
    };
    return {
      store,
      write: (list: SavedList, sentAtMs: number): void => {
        next = { list, sentAtMs };
        writing ??= writeAll();
      },
      onSettled: async (): Promise<void> => writing,
    };
  });

  const save = (list: SavedList, ageMs: number, except?: ListStore): void => {
    const sentAtMs = clock.monotonicMs() - ageMs;
    for (const { store, write } of writers) if (store !== except) write(list, sentAtMs);
  };

  const unreadable = new Set<ListStore>();

  const restore = async (store: ListStore, list: BankList): Promise<Restored | 'failed'> => {
    const restored = await attempt(store, async () => {
      const stored = await store.read();
      const saved = stored?.list;
      const isTaken = stored !== undefined && (await list.restore(stored.list, ageOf(stored, ttlMs, clock)));
      // Only a failed read has recovered: the store may still not be writable.
      if (saved && unreadable.delete(store)) onEvent({ type: 'store-recovered', store: store.name });
      return { saved, isTaken };
    });
    if (restored === 'failed') unreadable.add(store);
    return restored;
  };

  return {
    restoreInto: async (list) => {
      // In parallel, so that their deadlines do not add up. The newest list wins in any order.
      const restoreFrom = async (store: ListStore): Promise<SavedList | undefined> => {
        const restored = await restore(store, list);
        if (restored === 'failed') return undefined;
        if (!restored.saved) onEvent({ type: 'store-empty', store: store.name });
        return restored.saved;
      };
      const saved = await Promise.all(stores.map(restoreFrom));
      const { held, ageMs = 0 } = list.status();
      const has = (_store: ListStore, index: number): boolean =>
        held !== undefined && saved[index]?.receivedAtMs === held.receivedAtMs;
      const source = stores.find(has);
      // The other way round, an old snapshot could replace what another replica has just shared.
      if (held && source?.name === SHARED && !stores.every(has)) save(held, ageMs, source);
      return source?.name;
    },
    takeFrom: async (store, list) => {
      const restored = await restore(store, list);
      if (restored !== 'failed' && restored.saved && restored.isTaken)
        save(restored.saved, list.status().ageMs ?? 0, store);
      return restored;
    },
    save,
    attempt,
    onSettled: async () => {
      for (const { onSettled } of writers) await onSettled();
    },
  };
};

/** The store that all replicas write. */
const SHARED: StoreName = 'CACHE_REDIS_URL';

export interface Restored {
  /** The store's list; undefined if it has none. */
  readonly saved: SavedList | undefined;
  /** Whether it became the list in memory. */
  readonly isTaken: boolean;
}

/**
 * Milliseconds since the provider sent the list. If only clocks can tell, a timestamp in the future means that one clock
 * is or was wrong: the list is then used as a stale one, which is renewed at once.
 */
const ageOf = ({ list, ageMs }: StoredList, ttlMs: number, clock: Clock): number => {
  if (ageMs !== undefined) return Math.max(0, ageMs);
  const age = clock.wallMs() - list.receivedAtMs;
  return age < -CLOCK_TOLERANCE_MS ? ttlMs + 1 : Math.max(0, age);
};

const describeFailure = (error: unknown): string => {
  if (error instanceof StoreError) return error.message;
  if (error instanceof LoadError) return `contains a list that is refused: ${error.message}`;
  return 'failed with an unexpected error';
};
