import type { BankList } from '../banks/bank-list.ts';
import type { HeldList, ListTimes } from '../banks/cached-list.ts';
import { LoadError } from '../banks/load-error.ts';
import type { Clock } from '../clock.ts';
import {
  StoreError,
  type ListStore,
  type StoredList,
  type StoreEvent,
  type StoreName,
} from './list-store.ts';

// Keeps the stores and the cached list alike: what a store has is offered to the list, and what the list has is written to
// the stores in the background. Every failure of a store ends here, as an event.

export interface LastGoodListOptions {
  readonly stores: readonly ListStore[];
  readonly list: Pick<BankList, 'restore' | 'status'>;
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly onEvent: (event: StoreEvent) => void;
}

export interface LastGoodList {
  /** Pulls from all stores. Resolves with the name of the one that had the list that is cached then. Never rejects. */
  restore(): Promise<StoreName | undefined>;
  /**
   * Reads `store` and offers its list to the service, which takes it if it is younger. The list that is cached then is
   * written in the background to the stores that are known to have an older one or none. Never rejects.
   */
  pull(store: ListStore): Promise<void>;
  /** Writes the cached list to all stores in the background. While one is writing, only the newest list waits for it. */
  save(): void;
  /** The result of `operation`, or 'failed' if it rejects, which is then reported as an event. */
  attempt<T>(store: ListStore, operation: () => Promise<T>): Promise<T | 'failed'>;
  /** Resolves once nothing is being written to `store`, or to any store. */
  onSettled(store?: ListStore): Promise<void>;
}

/**
 * A list whose timestamp is less than this in the future counts as new: clocks differ by some milliseconds, and without a
 * tolerance a list that was just received would be renewed at once. An answer may be too old by as much. And one list is
 * older than another only by at least this: reading takes time, so of two lists of the same moment each would seem older
 * to the replica that has the other, and the two would be written over each other without end.
 */
const TOLERANCE_MS = 1_000;

/** What a store is known to have. */
interface Content extends Partial<ListTimes> {
  /** Monotonic milliseconds; -Infinity where it has no list. */
  readonly sentAtMs: number;
}

type Saving = HeldList & Content;

/** One store, what it is known to have, and what is being written to it. */
interface Shelf {
  readonly store: ListStore;
  /** Undefined: it could not be read or written, or its list is refused here, which may be right for other replicas. */
  content: Content | undefined;
  isUnreadable: boolean;
  next: Saving | undefined;
  writing: Promise<void> | undefined;
}

export const createLastGoodList = (options: LastGoodListOptions): LastGoodList => {
  const { list, ttlMs, clock, onEvent } = options;
  const shelves = options.stores.map((store): Shelf => ({
    store,
    content: undefined,
    isUnreadable: false,
    next: undefined,
    writing: undefined,
  }));

  const attempt: LastGoodList['attempt'] = async (store, operation) => {
    try {
      return await operation();
    } catch (error) {
      onEvent({ type: 'store-failed', store: store.name, reason: describeFailure(error) });
      return 'failed';
    }
  };

  const read = async (shelf: Shelf): Promise<void> => {
    const { store } = shelf;
    const content = await attempt(store, async (): Promise<Content> => {
      const stored = await store.read();
      if (!stored) return { sentAtMs: -Infinity };
      const ageMs = ageOf(stored, ttlMs, clock);
      const { receivedAtMs, acceptedAtMs } = stored.list;
      const found = { receivedAtMs, acceptedAtMs, sentAtMs: clock.monotonicMs() - ageMs };
      await list.restore(stored.list, ageMs);
      // Only reading is known to work again: the store may still not be writable.
      if (shelf.isUnreadable) onEvent({ type: 'store-recovered', store: store.name });
      shelf.isUnreadable = false;
      return found;
    });
    if (content === 'failed') shelf.isUnreadable = true;
    shelf.content = content === 'failed' ? undefined : content;
  };

  const write = (shelf: Shelf, saving: Saving): void => {
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
      const result = await attempt(store, () => store.write(saving, clock.monotonicMs() - saving.sentAtMs));
      if (result === 'failed') shelf.content = undefined;
      else onEvent({ type: 'store-recovered', store: store.name });
    }
  };

  /** Writes the cached list to those shelves that `needIt`. */
  const writeTo = (needIt: (shelf: Shelf, saving: Saving) => boolean): void => {
    const { held, ageMs = 0 } = list.status();
    if (!held) return;
    const saving = { ...held, sentAtMs: clock.monotonicMs() - ageMs };
    for (const shelf of shelves) if (needIt(shelf, saving)) write(shelf, saving);
  };
  const push = (): void =>
    writeTo(({ content }, saving) => content !== undefined && isOlder(content, saving));

  return {
    restore: async () => {
      for (const shelf of shelves) {
        // oxlint-disable-next-line no-await-in-loop -- in order: of two lists of the same moment the first one stays
        await read(shelf);
        if (shelf.content?.sentAtMs === -Infinity) onEvent({ type: 'store-empty', store: shelf.store.name });
      }
      push();
      const { held } = list.status();
      return held && shelves.find(({ content }) => content?.receivedAtMs === held.receivedAtMs)?.store.name;
    },
    pull: async (store) => {
      for (const shelf of shelves) if (shelf.store === store) await read(shelf);
      push();
    },
    save: () => writeTo(() => true),
    attempt,
    onSettled: async (store) => {
      for (const shelf of shelves) if (!store || shelf.store === store) await shelf.writing;
    },
  };
};

/** Whether `content` is to be replaced by the list that is cached. */
const isOlder = (content: Content, cached: Saving): boolean =>
  content.receivedAtMs !== cached.receivedAtMs &&
  ((cached.acceptedAtMs ?? 0) > (content.acceptedAtMs ?? 0) ||
    cached.sentAtMs - content.sentAtMs >= TOLERANCE_MS);

/** How much later than here it may be where a list comes from whose store reports its age. */
const MAX_CLOCK_LEAD_MS = 60_000;

/**
 * Milliseconds since the provider sent the list: what the store reports, but not less than the clocks say. A timestamp in
 * the future means that a clock is or was wrong, or that somebody else wrote the list: it is then used as a stale one,
 * which is renewed at once.
 */
const ageOf = ({ list, ageMs }: StoredList, ttlMs: number, clock: Clock): number => {
  const byClocksMs = clock.wallMs() - list.receivedAtMs;
  if (byClocksMs < -(ageMs === undefined ? TOLERANCE_MS : MAX_CLOCK_LEAD_MS)) return ttlMs + 1;
  return Math.max(0, ageMs === undefined ? byClocksMs : Math.max(ageMs, byClocksMs - TOLERANCE_MS));
};

const describeFailure = (error: unknown): string => {
  if (error instanceof StoreError) return error.message;
  if (error instanceof LoadError) return `contains a list that is refused: ${error.message}`;
  return 'failed with an unexpected error';
};
