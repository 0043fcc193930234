import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import { freshness, isServable, type Freshness, type FreshnessPolicy } from './freshness.ts';
import type { ReadList } from './reading/list-reader.ts';
import type { Representations } from './representation.ts';

// The cached list and its age. The library stores it and measures its TTL; how long after its TTL it may still be served
// is decided by freshness.ts.

/** What one load brings: checked and narrowed banks. */
export interface LoadedList extends ReadList {
  readonly validators: Validators | undefined;
}

/** The provider's own names for a version of its list (RFC 9110 section 8.8), as it sent them. */
export interface Validators {
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
}

export interface HeldList extends LoadedList, ListTimes, Sent {
  readonly representations: Representations;
}

/** When the provider sent a list, in monotonic milliseconds of this replica. */
export interface Sent {
  /** As its store reports it: lists are compared by this, since all replicas measure it alike. */
  readonly sentAtMs: number;
  /** Not later than that, and what its age counts from: earlier where the clocks say so. */
  readonly countedFromMs: number;
}

export interface ListTimes {
  /** Wall-clock milliseconds at which the provider sent it. */
  readonly receivedAtMs: number;
  /** Wall-clock milliseconds at which this very content was first received. */
  readonly changedAtMs: number;
  /**
   * Wall-clock milliseconds at which an operator last accepted a list that the guard refused. Later lists inherit it,
   * so that a replica that missed the decision still learns of it.
   */
  readonly acceptedAtMs?: number | undefined;
}

/** What a store keeps: enough to serve the list again. */
export type SavedList = Pick<
  HeldList,
  'json' | 'count' | 'profile' | 'entryDigests' | 'receivedAtMs' | 'changedAtMs' | 'acceptedAtMs'
>;

/** A list that may be served now. `freshForMs` is negative once it is stale. */
export interface ServedList {
  readonly list: HeldList;
  readonly freshForMs: number;
}

export interface CachedList {
  /** Replaces the list. */
  set(list: HeldList): void;
  /** The list, however old it is. */
  get(): HeldList | undefined;
  /** Milliseconds since the provider sent it; undefined without a list. */
  ageMs(): number | undefined;
  /** Milliseconds until it is stale: negative once it is, 0 without a list. */
  freshForMs(): number;
  state(): Freshness;
  /** The list, unless it is too old to be served. */
  served(): ServedList | undefined;
}

export const createCachedList = (policy: FreshnessPolicy, clock: Clock): CachedList => {
  const cache = new LRUCache<'banks', HeldList>({
    max: 1,
    ttl: policy.ttlMs,
    allowStale: true,
    // Ages are exact: without this the library reads the clock at most once a millisecond.
    ttlResolution: 0,
    perf: { now: () => clock.monotonicMs() },
  });
  // Without a look at the clock: get() would decide whether the list is stale.
  const get = (): HeldList | undefined => cache.peek('banks');
  const freshForMs = (): number => cache.getRemainingTTL('banks');
  const ageMs = (): number | undefined => (get() ? policy.ttlMs - freshForMs() : undefined);
  const state = (): Freshness => freshness(ageMs(), policy);
  return {
    // To the library a start of 0 means that none was given.
    set: (list) => void cache.set('banks', list, { start: list.countedFromMs || -1 }),
    get,
    ageMs,
    freshForMs,
    state,
    served: () => {
      const list = get();
      if (!list) return undefined;
      const remainingMs = freshForMs();
      return isServable(freshness(policy.ttlMs - remainingMs, policy))
        ? { list, freshForMs: remainingMs }
        : undefined;
    },
  };
};
