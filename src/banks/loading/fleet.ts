import type { MonotonicMs } from '../../clock.ts';
import type { CachedList } from '../cached-list.ts';
import type { ListKeeper } from '../list-keeper.ts';
import type { LoadErrorKind } from '../load-error.ts';

// What the renewal needs of the other replicas. None of it ever rejects: without the shared store a
// replica goes on by itself.

export interface Fleet {
  /** How often the shared store is looked at, in milliseconds. */
  readonly pollMs: number;
  /**
   * After a failed load, the other replicas have this much longer to make the next attempt, in
   * milliseconds.
   */
  readonly handoverMs: number;
  /** Makes the cached list and the one in the store the same. */
  synchronize(): Promise<void>;
  /** The lease at the last look; undefined while nobody has it, and without the store. */
  lease(): Lease | undefined;
  /** Takes the lease. @returns false where another replica was quicker */
  claim(): Promise<boolean>;
  /**
   * Takes a list that was loaded while `previous` was cached, and saves it: where the store can be
   * reached and there is something to serve, only if no other replica has saved one meanwhile.
   * @param isForOperator an operator waits for it: the store is waited for in any case
   * @returns whether it was taken
   */
  commit(
    list: CachedList,
    previous: CachedList | undefined,
    isForOperator: boolean,
  ): Promise<boolean>;
  /**
   * Tells the others that the load has failed, and that the next attempt is not due for `waitMs`.
   * @returns the failure that another replica has shared meanwhile, if one has
   */
  fail(failure: NewFailure, waitMs: number): Promise<SharedFailure | undefined>;
}

/** The right to make the next request. */
export interface Lease {
  /** Another one with each claim and each wait. */
  readonly id: string;
  /** Whether it is this replica that has it. */
  readonly isOwn: boolean;
  readonly heldUntilMs: MonotonicMs;
  /** Whether the request is being made; otherwise its owner waits after a failure. */
  readonly isLoading: boolean;
  /**
   * The failure of the fleet that no success has followed yet; also while the next attempt is under
   * way.
   */
  readonly failure?: SharedFailure | undefined;
}

export interface SharedFailure {
  /** Another one with each failure. */
  readonly id: string;
  readonly kind: LoadErrorKind;
  readonly attempts: number;
  readonly failingForMs: number;
  /** The list that the store had then, which the load was to replace; empty: none. */
  readonly listId: string;
  /**
   * What is left of the provider's `Retry-After`, in milliseconds: bounded by the replica that got
   * it, and then by each other one.
   */
  readonly askedForMs: number;
  /** When that one came, or a little later; it stays with it when a later failure passes it on. */
  readonly askedAtMs: MonotonicMs;
}

/** As the replica tells it whose load failed. */
export type NewFailure = Omit<SharedFailure, 'listId' | 'askedAtMs'>;

/** A replica that has no others beside it. */
export const createSoleReplica = ({ take }: ListKeeper): Fleet => ({
  pollMs: Infinity,
  handoverMs: 0,
  synchronize: () => Promise.resolve(),
  lease: () => undefined,
  claim: () => Promise.resolve(true),
  commit: (list, previous) => Promise.resolve(take(list, previous)),
  fail: () => Promise.resolve(undefined),
});
