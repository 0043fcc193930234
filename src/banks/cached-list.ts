import { monotonic, type Clock, type MonotonicMs, type WallMs } from '../clock.ts';
import { freshness, isServable, type Freshness, type FreshnessPolicy } from './freshness.ts';
import type { Acceptance } from './guard/guard.ts';
import type { EarlierList } from './guard/memory.ts';
import type { LargeChange } from './list-change.ts';
import type { StorePlace } from './order.ts';
import type { LoadedList, ReadList } from './reading/list-reader.ts';
import type { Representations } from './representation.ts';

// The cached list and its age. What it is called at that age is decided by freshness.ts.

/** A list as a store keeps it, with all that is known of its past. */
export interface PastList {
  /** Tells it from every other list, on all replicas. */
  readonly id: string;
  readonly place: StorePlace;
  /** See {@link OrderedList}. */
  readonly isRestored: boolean;
  /** When the provider sent it. Every age is counted from here. */
  readonly sentAtMs: MonotonicMs;
  /** It was saved in the future, by the clock that read it: its age is a guess. */
  readonly isAgeUnknown?: boolean | undefined;
  /** When this very content was first received, for `Last-Modified`. */
  readonly changedAtMs: WallMs;
  /** The operators' decisions that it is based on, newest first; at most {@link MAX_DECISIONS}. */
  readonly decisions: readonly Decision[];
  /** What the guard remembers of the lists before it, oldest first. */
  readonly earlier: readonly EarlierList[];
}

/** What a store keeps: enough to serve the list again. */
export type SavedList = PastList &
  Pick<ReadList, 'json' | 'count' | 'profile' | 'entryDigests'> &
  Partial<Pick<LoadedList, 'hasNextPage'>>;

export interface HeldList extends LoadedList, PastList {
  /** When the provider sent it, by this machine's clock at the time when it was taken. */
  readonly receivedAtMs: WallMs;
  readonly representations: Representations;
  /** The last one that this replica saw. */
  readonly largeChange?: LargeChange | undefined;
}

/** An operator accepted a list that the guard refused. */
export interface Decision {
  readonly id: string;
  readonly madeAtMs: MonotonicMs;
  /**
   * By the clock of the replica that was asked: for people, and for the previous version of
   * this service.
   */
  readonly acceptedAtMs: WallMs;
  /** What the guard refused it for. */
  readonly reasons: readonly Acceptance[];
  /** Of the operator's request. */
  readonly requestId: string;
}

export const MAX_DECISIONS = 8;

/** A list that may be served now. `freshForMs` is negative once it is stale. */
export interface ServedList {
  readonly list: HeldList;
  readonly freshForMs: number;
}

export const createCachedList = (policy: FreshnessPolicy, clock: Pick<Clock, 'monotonicMs'>) => {
  let held: HeldList | undefined;
  /** Milliseconds since the provider sent it; undefined without a list. */
  const ageMs = (): number | undefined => held && clock.monotonicMs() - held.sentAtMs;
  const state = (): Freshness => freshness(ageMs(), policy);
  /** Milliseconds until it is stale: negative once it is, 0 without a list. */
  const freshForMs = (): number =>
    held ? policy.ttlMs - (clock.monotonicMs() - held.sentAtMs) : 0;
  return {
    set: (list: HeldList): void => void (held = list),
    /** The list, however old it is. */
    get: (): HeldList | undefined => held,
    ageMs,
    freshForMs,
    state,
    /** Milliseconds for which it may still be served; 0 where there is none to serve. */
    servableForMs: (): number => (isServable(state()) ? freshForMs() + policy.maxStaleMs : 0),
    /** The list, unless it is too old to be served. */
    served: (): ServedList | undefined => {
      if (!held) return undefined;
      const remainingMs = freshForMs();
      return isServable(freshness(policy.ttlMs - remainingMs, policy))
        ? { list: held, freshForMs: remainingMs }
        : undefined;
    },
  };
};

/** The time at which something happened that is `ageMs` old at `nowMs`. */
export const before = (nowMs: MonotonicMs, ageMs: number): MonotonicMs => monotonic(nowMs - ageMs);
