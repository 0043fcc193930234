import type { BankList } from '../banks/bank-list.ts';
import type { HeldList, ListTimes } from '../banks/cached-list.ts';
import { LoadError } from '../banks/load-error.ts';
import type { Clock } from '../clock.ts';
import { StoreError, type ListStore, type StoreEvent, type StoreName } from './list-store.ts';

// Keeps the stores and the cached list alike: what a store has is offered to the list, and what the list has is written to
// the stores in the background. Every failure of a store ends here, as an event.

export interface LastGoodListOptions {
  readonly stores: readonly ListStore[];
  readonly list: Pick<BankList, 'restore' | 'served' | 'status'>;
  readonly clock: Clock;
  readonly onEvent: (event: StoreEvent) => void;
}

export type LastGoodList = ReturnType<typeof createLastGoodList>;

/**
 * One list is older than another only by at least this: reading takes time, so of two lists of the same moment each would
 * seem older to the replica that has the other, and the two would be written over each other without end. As long as two
 * answers of a store may take.
 */
const OLDER_BY_MS = 1_000;

/** What a store is known to have, or will have once the write that is under way ends. */
interface Content extends Partial<ListTimes> {
  /** Monotonic milliseconds; -Infinity where it has no list. */
  readonly sentAtMs: number;
}

const EMPTY: Content = { sentAtMs: -Infinity };

/** One store, what it is known to have, and what is being written to it. */
interface Shelf {
  readonly store: ListStore;
  /** Undefined: not read yet, it could not be read, or its list is refused here, which may be right for other replicas. */
  content?: Content | undefined;
  isUnreadable: boolean;
  /** The last write failed, perhaps only its answer: if the store has the list, other replicas were not told. */
  isUnwritten: boolean;
  next?: HeldList | undefined;
  writing?: Promise<void> | undefined;
}

export const createLastGoodList = (options: LastGoodListOptions) => {
  const { list, clock, onEvent } = options;
  const shelves = options.stores.map(
    // Whether a file can be written shows only when it is: at the start, and not with the first renewal.
    (store): Shelf => ({ store, isUnreadable: false, isUnwritten: !store.isConnected }),
  );

  /** The result of `operation`, or 'failed' if it rejects, which is then reported as an event. */
  const attempt = async <T>(store: ListStore, operation: () => Promise<T>): Promise<T | 'failed'> => {
    try {
      return await operation();
    } catch (error) {
      onEvent({ type: 'store-failed', store: store.name, reason: describeFailure(error) });
      return 'failed';
    }
  };

  const read = async (shelf: Shelf): Promise<void> => {
    const { store, content: before } = shelf;
    const content = await attempt(store, async (): Promise<Content> => {
      const stored = await store.read();
      if (!stored) return EMPTY;
      const { receivedAtMs, acceptedAtMs } = stored.list;
      const ageMs = stored.ageMs ?? clock.wallMs() - receivedAtMs;
      // While the clock is behind, a list must not seem to come from the future: nothing younger would be written over it.
      const found = { receivedAtMs, acceptedAtMs, sentAtMs: clock.monotonicMs() - Math.max(0, ageMs) };
      try {
        await list.restore(stored.list, stored.ageMs);
      } catch (error) {
        // What has been written meanwhile has replaced what is refused.
        if (shelf.content === before) throw error;
      }
      // The connection may have been lost while the list was encoded.
      if (!shelf.isUnreadable || store.isConnected?.() === false) return found;
      // Only reading is known to work again: the store may still not be writable.
      onEvent({ type: 'store-recovered', store: store.name });
      shelf.isUnreadable = false;
      return found;
    });
    if (content === 'failed') shelf.isUnreadable = true;
    // What has been written meanwhile has replaced what was read.
    if (shelf.content === before) shelf.content = content === 'failed' ? undefined : content;
  };

  const write = (shelf: Shelf, saving: HeldList): void => {
    shelf.next = saving;
    shelf.content = saving;
    shelf.writing ??= writeAll(shelf).finally(() => (shelf.writing = undefined));
  };

  const writeAll = async (shelf: Shelf): Promise<void> => {
    const { store } = shelf;
    while (shelf.next) {
      const saving = shelf.next;
      shelf.next = undefined;
      // oxlint-disable-next-line no-await-in-loop -- one list after the other
      const result = await attempt(store, () =>
        store.write(saving, clock.monotonicMs() - saving.countedFromMs),
      );
      shelf.isUnwritten = result === 'failed';
      if (!shelf.isUnwritten) onEvent({ type: 'store-recovered', store: store.name });
    }
  };

  /** Writes the cached list to those shelves that `needIt`. */
  const writeTo = (needIt: (shelf: Shelf, saving: HeldList) => boolean): void => {
    // A list past its life would be gone from Redis at once, and be written again at the next look.
    const held = list.served()?.list;
    if (held) for (const shelf of shelves) if (needIt(shelf, held)) write(shelf, held);
  };
  /** Without `source`, stores of unknown content are left alone; with it, they are written once read, except `source`. */
  const push = (source?: ListStore): void => writeTo((shelf, saving) => isOutdated(shelf, saving, source));

  return {
    /** Pulls from all stores. Resolves with the name of the one that had the list that is cached then. Never rejects. */
    restore: async (): Promise<StoreName | undefined> => {
      for (const shelf of shelves) {
        // oxlint-disable-next-line no-await-in-loop -- in order: of two lists of the same moment the first one stays
        await read(shelf);
        if (shelf.content === EMPTY) onEvent({ type: 'store-empty', store: shelf.store.name });
      }
      const { held } = list.status();
      const source =
        held && shelves.find(({ content }) => content?.receivedAtMs === held.receivedAtMs)?.store.name;
      push();
      return source;
    },
    /**
     * Reads `store` and offers its list to the service, which takes it if it is younger. The list that is cached then is
     * written in the background to those that are known to have an older one or none, and to other stores that could not be
     * read. Never rejects.
     */
    pull: async (store: ListStore): Promise<void> => {
      for (const shelf of shelves) if (shelf.store === store) await read(shelf);
      push(store);
    },
    /** Writes the cached list to all stores in the background. While one is writing, only the newest list waits for it. */
    save: (): void => writeTo(() => true),
    attempt,
    /** Resolves once nothing is being written to `store`, or to any store. */
    onSettled: async (store?: ListStore): Promise<void> => {
      for (const shelf of shelves) if (!store || shelf.store === store) await shelf.writing;
    },
  };
};

/** Whether what `shelf` has is to be replaced by the list that is cached, which `source`, if given, may have brought. */
const isOutdated = (shelf: Shelf, cached: HeldList, source: ListStore | undefined): boolean => {
  const { store, content, isUnreadable, isUnwritten } = shelf;
  if (!content) return isUnreadable && source !== undefined && store !== source;
  const [accepted, acceptedThere] = [cached.acceptedAtMs ?? 0, content.acceptedAtMs ?? 0];
  if (accepted !== acceptedThere) return accepted > acceptedThere;
  if (content.receivedAtMs === cached.receivedAtMs) return isUnwritten;
  // Another replica's newer list may be one that this replica does not take. Compared as it would be read back: otherwise two
  // replicas whose clocks differ could write over each other without end.
  return cached.countedFromMs - content.sentAtMs >= OLDER_BY_MS;
};

const describeFailure = (error: unknown): string => {
  if (error instanceof StoreError) return error.message;
  if (error instanceof LoadError) return `contains a list that is refused: ${error.message}`;
  return 'failed with an unexpected error';
};
