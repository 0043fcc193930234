import type { MonotonicMs } from '../../clock.ts';
import type { CachedList } from '../cached-list.ts';
import type { ListKeeper } from '../list-keeper.ts';
import { LoadError, type LoadErrorKind } from '../load-error.ts';
import type { ProviderWait } from './provider-wait.ts';

// What the renewal needs of the other replicas. No method rejects: without the shared store a
// replica loads by itself.

export interface Fleet {
  /** How often to look at the shared store, in milliseconds. */
  readonly pollMs: number;
  /**
   * After a failed load this replica waits for so much longer than the others, in milliseconds, so
   * that one of them makes the next attempt.
   */
  readonly handoverMs: number;
  /** Looks at the shared store, and makes the cached list and the one in the store the same. */
  synchronize(): Promise<void>;
  /**
   * The lease at the last look; undefined while nobody has it, and without the store. With a
   * failure it is still there after its end: for some seconds, and until a `Retry-After` in it has
   * ended.
   */
  lease(): Lease | undefined;
  /** Claims the lease. @returns false where another replica was quicker */
  claim(): Promise<boolean>;
  /**
   * Takes a list that was loaded while `previous` was cached, and saves it: where the store can be
   * reached and there is something to serve, only if no other replica has saved one meanwhile.
   */
  commit(list: CachedList, previous: CachedList | undefined): Promise<CommitResult>;
  /**
   * Writes into the lease that a load has failed, and that the next attempt is due in `dueInMs`.
   */
  shareFailure(failure: NewFailure, dueInMs: number): Promise<FailureWrite>;
  /** Gives the lease back, if this replica has it for a load. */
  releaseLease(): Promise<void>;
}

/** What became of a list that was loaded here. */
export type CommitResult =
  | {
      readonly kind: 'taken';
      /**
       * Resolves once the shared store has the list too, or cannot be reached. Where the store has
       * another list that is to be kept, that one is the cached list then.
       */
      readonly synchronized: Promise<void>;
    }
  /** The list of another replica came first, and is the cached one. */
  | { readonly kind: 'overtaken' };

/** The right to make the next load. */
export interface Lease {
  /** A new one with each claim and each failure. */
  readonly id: string;
  /** Whether this replica has it. */
  readonly isOwn: boolean;
  /**
   * Where its owner is loading: for how long the others wait for it. After a failure: when the next
   * attempt is due. Nothing but their own plan keeps the others from claiming it earlier, so each
   * of them adopts the failure.
   */
  readonly heldUntilMs: MonotonicMs;
  /** Whether its owner is loading; otherwise it waits after a failure. */
  readonly isLoading: boolean;
  /** The newest failure of which the others need to know; also during the next attempt. */
  readonly failure?: SharedFailure | undefined;
}

export interface SharedFailure {
  /** A new one with each failure. */
  readonly id: string;
  readonly kind: LoadErrorKind;
  /**
   * The loads that have failed since the last success; 0: a list has come since, and only the
   * `Retry-After` holds.
   */
  readonly attempts: number;
  /** When the first of them failed. */
  readonly failingSinceMs: MonotonicMs;
  /** The list in the store that the load was to replace; empty: there was none. */
  readonly listId: string;
  /** The `Retry-After` that still held, of this failure or of earlier ones. */
  readonly retryAfter: ProviderWait | undefined;
}

/** The failure of another replica, as one of this replica. */
export const causeOf = ({ kind }: SharedFailure): LoadError =>
  new LoadError(kind, 'the load of another replica failed');

/** A failure as a replica writes it. */
export interface NewFailure extends Omit<SharedFailure, 'listId'> {
  /** The load has just failed: its `Retry-After` counts as received when it is written. */
  readonly isNew: boolean;
}

/** What became of a failure that was to be written for the others. */
export interface FailureWrite {
  /** Whether nothing is left to be written; false while the store cannot be used. */
  readonly isDone: boolean;
  /**
   * The failure of another replica that was in the lease before, if there was one that this replica
   * had not seen.
   */
  readonly replaced?: SharedFailure | undefined;
}

/** For a replica without others. */
export const createSoleReplica = ({ take }: ListKeeper): Fleet => ({
  pollMs: Infinity,
  handoverMs: 0,
  synchronize: () => Promise.resolve(),
  lease: () => undefined,
  claim: () => Promise.resolve(true),
  commit: (list, previous) =>
    Promise.resolve(
      take(list, previous)
        ? { kind: 'taken', synchronized: Promise.resolve() }
        : { kind: 'overtaken' },
    ),
  shareFailure: () => Promise.resolve({ isDone: true }),
  releaseLease: () => Promise.resolve(),
});
