import { confirmDecisions, type CachedList } from '../banks/cached-list.ts';
import type { ListKeeper } from '../banks/list-keeper.ts';
import type { CommitResult } from '../banks/loading/fleet.ts';
import { placeAfter, wasStored } from '../banks/order.ts';
import type { RedisStore } from './redis-store.ts';
import type { SharedLease } from './shared-lease.ts';

// Takes a list that this replica has loaded. Where Redis has the list that it is to replace, it is
// written to Redis first, so that of two replicas that load at once only one has its list served.
// A first list, or one that Redis cannot take, is taken at once, because requests may wait for it;
// an exchange then writes it.

export interface ListCommitOptions {
  readonly store: RedisStore;
  readonly lease: Pick<SharedLease, 'endForFreshList' | 'release'>;
  readonly keeper: ListKeeper;
  /** Runs `work` while no exchange is under way. */
  readonly exclusively: <T>(work: () => Promise<T>) => Promise<T>;
  readonly synchronize: () => Promise<void>;
}

/** A second one writes over the list of another replica, or after Redis has lost its data. */
const MAX_ATTEMPTS = 2;

export const createListCommit = (options: ListCommitOptions) => {
  const { store, lease, keeper, exclusively, synchronize } = options;
  const { cache } = keeper;

  const mustWriteFirst = (): boolean => {
    const served = cache.served();
    return served !== undefined && wasStored(served.list) && store.isAvailable();
  };

  /**
   * It is not taken if another list is cached or in Redis by now, Redis fails, or another list is
   * taken during the write.
   */
  const writeThenTake = async (
    list: CachedList,
    previous: CachedList | undefined,
  ): Promise<'taken' | 'not taken'> => {
    const cached = cache.get();
    if (!cached || cached.id !== previous?.id || store.version()?.listId !== cached.id)
      return 'not taken';
    const known = confirmDecisions(list, cached.decisions);
    const version = await store.writeList(known, cached.place.version).catch(store.failed);
    if (!version) return 'not taken';
    const isTaken = keeper.take({ ...known, place: { kind: 'stored', version } }, previous);
    await lease.endForFreshList();
    return isTaken ? 'taken' : 'not taken';
  };

  /** @param previous is still the cached list */
  const takeThenWrite = (list: CachedList, previous: CachedList | undefined): CommitResult => {
    keeper.take({ ...list, place: placeAfter(cache.get()) }, previous);
    // Where Redis has a list that is not replaced, the others need not wait for this load either.
    return { kind: 'taken', synchronized: synchronize().then(lease.release) };
  };

  /** See `commit` of the fleet. */
  return async (list: CachedList, previous: CachedList | undefined): Promise<CommitResult> => {
    /* oxlint-disable no-await-in-loop -- one write after the other */
    for (let attempt = 0; cache.get()?.id === previous?.id; attempt += 1) {
      // The head may change again and again without a new list: requests do not wait for that.
      if (attempt === MAX_ATTEMPTS || !mustWriteFirst()) return takeThenWrite(list, previous);
      const result = await exclusively(() => writeThenTake(list, previous));
      if (result === 'taken') return { kind: 'taken', synchronized: Promise.resolve() };
      if (store.isAvailable()) await synchronize();
    }
    /* oxlint-enable no-await-in-loop */
    return { kind: 'overtaken' };
  };
};
