import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import { freshness, isServable, type Freshness, type FreshnessPolicy } from './freshness.ts';
import type { Decision } from './guard/guard.ts';
import type { EarlierList } from './guard/memory.ts';
import type { LargeChange } from './list-change.ts';
import type { LoadedList } from './reading/list-reader.ts';
import type { Representations } from './representation.ts';

// The cached list and its age. The library stores it and measures its TTL; how long after its TTL it may still be served
// is decided by freshness.ts.

export interface HeldList extends LoadedList, ListTimes, Sent {
  readonly representations: Representations;
  /** What the guard remembers of the lists before it, oldest first. */
  readonly earlier: readonly EarlierList[];
  /** The last one that this replica saw. */
  readonly largeChange?: LargeChange | undefined;
}

/**
 * When the provider sent a list, in monotonic milliseconds of this replica. Lists are put in order by `sentAtMs`, told apart by
 * `receivedAtMs`, and aged by `countedFromMs`.
 */
export interface Sent {
  /** As its store reports it, which all replicas measure alike. */
  readonly sentAtMs: number;
  /** The same, or earlier where the clocks say so. */
  readonly countedFromMs: number;
}

export interface ListTimes {
  /** Wall-clock milliseconds of the replica that received it from the provider. */
  readonly receivedAtMs: number;
  /** Wall-clock milliseconds at which this very content was first received. */
  readonly changedAtMs: number;
  /**
   * Wall-clock milliseconds at which a list was last loaded for which an operator accepted reasons, whether or not the
   * guard would have refused it. Later lists inherit it, so that a replica that missed the decision still learns of it.
   */
  readonly acceptedAtMs?: number | undefined;
  /** What was decided then, where it is known. */
  readonly decision?: Decision | undefined;
}

/** What a store keeps: enough to serve the list again. */
export type SavedList = Pick<
  HeldList,
  'json' | 'count' | 'profile' | 'entryDigests' | 'earlier' | keyof ListTimes
>;

/** A list that may be served now. `freshForMs` is negative once it is stale. */
export interface ServedList {
  readonly list: HeldList;
  readonly freshForMs: number;
}

export type CachedList = ReturnType<typeof createCachedList>;

export const createCachedList = (policy: FreshnessPolicy, clock: Clock) => {
  const cache = new LRUCache<'banks', HeldList>({
    max: 1,
    ttl: policy.ttlMs,
    allowStale: true,
    // Ages are exact: without this the library reads the clock at most once a millisecond.
    ttlResolution: 0,
    perf: { now: () => clock.monotonicMs() },
  });
  /** The list, however old it is. Without a look at the clock: get() would decide whether it is stale. */
  const get = (): HeldList | undefined => cache.peek('banks');
  /** Milliseconds until it is stale: negative once it is, 0 without a list. */
  const freshForMs = (): number => cache.getRemainingTTL('banks');
  /** Milliseconds since the provider sent it; undefined without a list. */
  const ageMs = (): number | undefined => (get() ? policy.ttlMs - freshForMs() : undefined);
  const state = (): Freshness => freshness(ageMs(), policy);
  return {
    /** Replaces the list. To the library a start of 0 means that none was given. */
    set: (list: HeldList): void => void cache.set('banks', list, { start: list.countedFromMs || -1 }),
    get,
    ageMs,
    freshForMs,
    state,
    /** The list, unless it is too old to be served. */
    served: (): ServedList | undefined => {
      const list = get();
      if (!list) return undefined;
      const remainingMs = freshForMs();
      return isServable(freshness(policy.ttlMs - remainingMs, policy))
        ? { list, freshForMs: remainingMs }
        : undefined;
    },
  };
};
