import type { BankList, KeptList } from '../banks/bank-list.ts';
import { LoadError } from '../banks/load-error.ts';
import type { Clock } from '../clock.ts';
import {
  StoreError,
  type ListStore,
  type StoredList,
  type StoreEvent,
  type StoreName,
} from './list-store.ts';

// Brings the last good list into the service, at its start and from other replicas, and keeps each renewed one,
// without anybody waiting. Every failure of a store ends here, as an event.

export interface LastGoodListOptions {
  readonly stores: readonly ListStore[];
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly onEvent: (event: StoreEvent) => void;
}

export interface LastGoodList {
  /** Gives `list` the youngest list of the stores, and tells whose it is. Never rejects. */
  restoreInto(list: BankList): Promise<StoreName | undefined>;
  /**
   * Gives `list` what `store` holds, if that is younger, and keeps it in the other stores. Never rejects.
   * @returns what the store holds, and whether it was taken; 'failed' if it could not be read or is refused
   */
  takeFrom(store: ListStore, list: BankList): Promise<Restored | 'failed'>;
  /**
   * Writes a list that is `ageMs` old to every store in the background; while one is being written, only the newest list
   * waits for its turn.
   */
  keep(list: KeptList, ageMs: number, except?: ListStore): void;
  /** What `operation` gives, or 'failed' if it rejects. */
  attempt<T>(store: ListStore, operation: () => Promise<T>): Promise<T | 'failed'>;
  /** Resolves when nothing is being written any more. */
  onSettled(): Promise<void>;
}

/**
 * How far a list may come from the future and count as new, where only clocks can tell its age. Clocks differ by some
 * milliseconds, and without this a list that was just brought would be renewed at once; it is also how much too old an
 * answer may get.
 */
const CLOCK_TOLERANCE_MS = 1_000;

export const createLastGoodList = ({ stores, ttlMs, clock, onEvent }: LastGoodListOptions): LastGoodList => {
  const report = (store: ListStore, error: unknown): void =>
    onEvent({ type: 'store-failed', store: store.name, reason: reasonOf(error) });

  /**
   * Counts from when the provider sent the list. Where only the clocks can tell, a list from the future means that one
   * was wrong, then or now: it is used, but as one that must be renewed at once.
   */
  const ageOf = ({ list, ageMs }: StoredList): number => {
    if (ageMs !== undefined) return Math.max(0, ageMs);
    const age = clock.wallMs() - list.receivedAtMs;
    return age < -CLOCK_TOLERANCE_MS ? ttlMs + 1 : Math.max(0, age);
  };

  const attempt = async <T>(store: ListStore, operation: () => Promise<T>): Promise<T | 'failed'> => {
    try {
      return await operation();
    } catch (error) {
      report(store, error);
      return 'failed';
    }
  };

  const writers = stores.map((store) => {
    let next: { readonly list: KeptList; readonly sentAtMs: number } | undefined;
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
      write: (list: KeptList, sentAtMs: number): void => {
        next = { list, sentAtMs };
        writing ??= writeAll();
      },
      onSettled: async (): Promise<void> => writing,
    };
  });

  const keep = (list: KeptList, ageMs: number, except?: ListStore): void => {
    const sentAtMs = clock.monotonicMs() - ageMs;
    for (const { store, write } of writers) if (store !== except) write(list, sentAtMs);
  };

  const unreadable = new Set<ListStore>();

  /** What `store` holds, and whether `list` has taken it. */
  const restore = async (store: ListStore, list: BankList): Promise<Restored | 'failed'> => {
    const restored = await attempt(store, async () => {
      const stored = await store.read();
      const kept = stored?.list;
      const isTaken = stored !== undefined && (await list.restore(stored.list, ageOf(stored)));
      // A store that can be read again may still not be writable: only what failed has recovered.
      if (kept && unreadable.delete(store)) onEvent({ type: 'store-recovered', store: store.name });
      return { kept, isTaken };
    });
    if (restored === 'failed') unreadable.add(store);
    return restored;
  };

  return {
    restoreInto: async (list) => {
      // Their deadlines pass side by side, and the youngest list wins whatever the order.
      const restoreFrom = async (store: ListStore): Promise<Kept> => {
        const restored = await restore(store, list);
        if (restored === 'failed') return { name: store.name, kept: undefined };
        if (!restored.kept) onEvent({ type: 'store-empty', store: store.name });
        return { name: store.name, kept: restored.kept };
      };
      const found = await Promise.all(stores.map(restoreFrom));
      const { held } = list.status();
      return found.find(({ kept }) => kept && kept.receivedAtMs === held?.receivedAtMs)?.name;
    },
    takeFrom: async (store, list) => {
      const restored = await restore(store, list);
      if (restored !== 'failed' && restored.kept && restored.isTaken)
        keep(restored.kept, list.status().ageMs ?? 0, store);
      return restored;
    },
    keep,
    attempt,
    onSettled: async () => {
      for (const { onSettled } of writers) await onSettled();
    },
  };
};

interface Kept {
  readonly name: StoreName;
  readonly kept: KeptList | undefined;
}

export interface Restored {
  readonly kept: KeptList | undefined;
  readonly isTaken: boolean;
}

const reasonOf = (error: unknown): string => {
  if (error instanceof StoreError) return error.message;
  if (error instanceof LoadError) return `holds a list that is refused: ${error.message}`;
  return 'failed for a reason that was not foreseen';
};
