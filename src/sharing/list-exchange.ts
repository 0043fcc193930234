import { randomUUID } from 'node:crypto';
import type { HeldList, SavedList } from '../banks/cached-list.ts';
import type { ListKeeper } from '../banks/list-keeper.ts';
import { LoadError } from '../banks/load-error.ts';
import { chooseList, isSamePlace, isSaved, type StorePlace } from '../banks/order.ts';
import { describeStoreFailure, type StoreReport } from './list-store.ts';
import type { ListRewrite } from './list-rewrite.ts';
import type { RedisStore, StoreContent } from './redis-store.ts';
import type { RedisView } from './redis-view.ts';
import type { SharedLease } from './shared-lease.ts';

// Makes the list that is held here and the one in Redis the same: takes the one that is there, or
// writes the one that is held.

export interface ListExchangeOptions {
  readonly store: Pick<RedisStore, 'readList' | 'readPreviousVersionsList' | 'isConnected'>;
  readonly view: RedisView;
  readonly lease: Pick<SharedLease, 'end'>;
  readonly rewrite: ListRewrite;
  readonly keeper: ListKeeper;
  readonly report: StoreReport;
}

/** What follows from a look at Redis. */
interface Outcome {
  /** Whether another look is necessary at once. */
  readonly again: boolean;
  /** What is wrong with what Redis has. */
  readonly problem?: string | undefined;
}

const DONE: Outcome = { again: false };
const AGAIN: Outcome = { again: true };

/** The list in Redis; without a head it was saved by the previous version of this service. */
interface TheirList {
  readonly list: SavedList;
  readonly head: Buffer | undefined;
}

export const createListExchange = (options: ListExchangeOptions) => {
  const { store, view, lease, rewrite, keeper, report } = options;
  const { cached } = keeper;
  /** Redis has been looked at before: that it is empty is worth one line. */
  let isKnown = false;
  /** A list that is not used here, and is not replaced either: it need not be read again. */
  let refused: { readonly head: Buffer; readonly problem: string } | undefined;

  /** A list that cannot be used counts as none, and is a problem. */
  const readTheirs = async ({
    head,
    place,
  }: StoreContent): Promise<{
    readonly theirs?: TheirList | undefined;
    readonly problem?: string;
  }> => {
    try {
      if (head) {
        const theirs = await store.readList();
        if (theirs) rewrite.end();
        return { theirs };
      }
      // An upgrade.
      const list = place || cached.served() ? undefined : await store.readPreviousVersionsList();
      return { theirs: list && { list, head } };
    } catch (error) {
      if (!store.isConnected()) throw error;
      return { problem: describeStoreFailure(error) };
    }
  };

  const isTheirsKept = (ours: HeldList | undefined, theirs: SavedList): boolean => {
    if (!ours) return true;
    if (!keeper.isUsable(theirs)) return false;
    return !keeper.isUsable(ours) || chooseList(ours, theirs, keeper.refuses) === 'theirs';
  };

  const adopt = async ({ list, head }: TheirList, ours: HeldList | undefined): Promise<Outcome> => {
    try {
      if (!(await keeper.restore(list, ours))) return AGAIN;
    } catch (error) {
      if (!(error instanceof LoadError)) throw error;
      // It may be right for other replicas: it is not replaced, and what is held here goes on
      // beside it.
      const problem = describeStoreFailure(error);
      if (ours && isSaved(ours)) keeper.confirm(ours, { ...ours.place, id: '' });
      if (head) refused = { head, problem };
      return { again: false, problem };
    }
    // What the previous version has saved is still to be written in this one's place.
    return { again: !head && cached.served() !== undefined };
  };

  const publish = async (ours: HeldList, theirs: StorePlace | undefined): Promise<Outcome> => {
    const next = placeAfter(theirs, ours);
    if (!(await view.writeList(ours, next))) return AGAIN;
    keeper.confirm(ours, next);
    if (cached.freshForMs() > 0) await lease.end(0);
    return DONE;
  };

  /**
   * One look at Redis, and what follows from it.
   * @throws {StoreError | SecretFileError} where Redis cannot be used
   */
  return async (): Promise<Outcome> => {
    const content = await view.look();
    const { head, place } = content;
    const ours = cached.get();
    const isSame = ours !== undefined && place?.id === ours.id;
    if (isSame && !ours.isRestored) {
      // Another replica may have written it again, as another version.
      if (!isSamePlace(place, ours.place)) keeper.confirm(ours, place);
      return DONE;
    }
    if (head && refused?.head.equals(head)) return { again: false, problem: refused.problem };
    const { theirs, problem } = await readTheirs(content);
    if (theirs?.head && head && !theirs.head.equals(head)) return AGAIN;
    if (isSame && theirs) {
      // A snapshot has its age from the wall clock, which may have been wrong; Redis knows better.
      keeper.confirm(ours, place, theirs.list);
      return DONE;
    }
    if (!isKnown && !head && !theirs) report.isEmpty();
    isKnown = true;
    // What the previous version has saved is held already, and is too old to be written again.
    if (ours && theirs && !theirs.head && theirs.list.id === ours.id) return DONE;
    if (theirs && isTheirsKept(ours, theirs.list)) return adopt(theirs, ours);
    const { again } =
      ours && keeper.isUsable(ours)
        ? await publish(ours, theirs?.head && theirs.list.place)
        : { again: head !== undefined && !theirs && (await rewrite.request(head)) };
    return { again, problem };
  };
};

/**
 * The place that `list` gets after the one in the store. A store without any has lost what it
 * had: the versions that it gives from then on have no order with those before.
 */
export const placeAfter = (theirs: StorePlace | undefined, list: HeldList): StorePlace => ({
  register: theirs?.register || randomUUID(),
  version: Math.max(theirs?.version ?? 0, list.place.version) + 1,
  id: list.id,
});
