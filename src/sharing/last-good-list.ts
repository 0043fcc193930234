import type { BankList, HeldList, KeptList } from '../banks/bank-list.ts';
import { LoadError } from '../banks/load-error.ts';
import type { Clock } from '../clock.ts';
import { StoreError, type ListStore, type StoreEvent } from './list-store.ts';

// Brings the last good list into the service at its start, and keeps each renewed one, without anybody waiting.

export interface LastGoodListOptions {
  readonly stores: readonly ListStore[];
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly onEvent: (event: StoreEvent) => void;
}

export interface LastGoodList {
  /** Gives `list` the youngest list of the stores. Never rejects. */
  restoreInto(list: BankList): Promise<void>;
  /** Writes to every store in the background; while one is being written, only the newest list waits for its turn. */
  keep(list: HeldList): void;
  /** Resolves when nothing is being written any more. */
  settled(): Promise<void>;
}

export const createLastGoodList = ({ stores, ttlMs, clock, onEvent }: LastGoodListOptions): LastGoodList => {
  const report = (store: ListStore, error: unknown): void => {
    const isOurs = error instanceof StoreError || error instanceof LoadError;
    const reason = isOurs ? error.message : 'failed for a reason that was not foreseen';
    onEvent({ type: 'store-failed', store: store.name, reason });
  };

  /**
   * Counts from when the provider sent the list. A list from the future means that a clock was wrong, then or now:
   * it is used, but as one that must be renewed at once.
   */
  const ageMs = ({ receivedAtMs }: KeptList): number => {
    const age = clock.wallMs() - receivedAtMs;
    return age < 0 ? ttlMs + 1 : age;
  };

  const writers = stores.map((store) => {
    let next: KeptList | undefined;
    let writing: Promise<void> | undefined;
    const writeAll = async (): Promise<void> => {
      while (next) {
        const list = next;
        next = undefined;
        try {
          await store.write(list);
          onEvent({ type: 'store-recovered', store: store.name });
        } catch (error) {
          report(store, error);
        }
      }
      writing = undefined;
    };
    return {
      write: (list: KeptList): void => {
        next = list;
        writing ??= writeAll();
      },
      settled: async (): Promise<void> => writing,
    };
  });

  return {
    restoreInto: async (list) => {
      for (const store of stores) {
        try {
          const kept = await store.read();
          if (kept) await list.restore(kept, ageMs(kept));
          else onEvent({ type: 'store-empty', store: store.name });
        } catch (error) {
          report(store, error);
        }
      }
    },
    keep: (list) => {
      for (const { write } of writers) write(list);
    },
    settled: async () => {
      for (const { settled } of writers) await settled();
    },
  };
};
