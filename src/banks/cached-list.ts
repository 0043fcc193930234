import { LRUCache } from 'lru-cache';
import type { Clock, MonotonicMs, WallMs } from '../clock.ts';
import { freshness, isServable, type Freshness, type FreshnessPolicy } from './freshness.ts';
import type { Overridable } from './guard/guard.ts';
import type { EarlierList } from './guard/memory.ts';
import type { LargeChange } from './list-change.ts';
import type { OrderedList } from './order.ts';
import type { ListContent, LoadedList } from './reading/list-reader.ts';
import type { Representations } from './representation.ts';

// The cached list and its age, which lru-cache keeps. What it is called at that age is decided by
// freshness.ts.

/** What is known of a list besides its content: which one it is, how old, and what was before. */
export interface ListMetadata extends OrderedList {
  /** When this very content was first received, for `Last-Modified`. */
  readonly changedAtMs: WallMs;
  /** At most {@link MAX_DECISIONS}. */
  readonly decisions: readonly Decision[];
  /**
   * Those of an unconfirmed snapshot that it was loaded over: they count once a list in the shared
   * store has them too.
   */
  readonly unconfirmedDecisions: readonly Decision[];
  /** What the guard remembers of the lists before it, oldest first. */
  readonly earlier: readonly EarlierList[];
}

/** What is kept of the response that a list came with. */
type ResponseFacts = Pick<LoadedList, 'rejected' | 'hasNextPage'>;

/** A list as it comes from a store. The previous release did not save the facts. */
export interface SavedList extends ListMetadata, ListContent, Partial<ResponseFacts> {}

export interface CachedList extends ListMetadata, ListContent, ResponseFacts {
  /**
   * The provider's fields in the last response that this replica has received itself; empty if
   * there was none.
   */
  readonly upstreamFields: readonly string[];
  /** `loadedAtMs` by this machine's clock at the time when the list was taken: for people. */
  readonly loadedAtWallMs: WallMs;
  readonly representations: Representations;
  /** The last one that this replica saw. */
  readonly largeChange?: LargeChange | undefined;
}

/** An operator's, to take a list although the guard would refuse it. */
export interface Decision {
  readonly id: string;
  readonly madeAtMs: MonotonicMs;
  /**
   * The same, by the clock of the replica that was asked: for people, and for the previous release
   * of this service.
   */
  readonly madeAtWallMs: WallMs;
  /** What the guard refused it for. */
  readonly reasons: readonly Overridable[];
  /** Of the operator's request. */
  readonly requestId: string;
}

export const MAX_DECISIONS = 8;

/** `list`, compared with one in the shared store that has these decisions. */
export const confirmDecisions = <L extends ListMetadata>(
  list: L,
  decisions: readonly Decision[],
): L => {
  const confirmed = list.unconfirmedDecisions.filter(({ id }) =>
    decisions.some((decision) => decision.id === id),
  );
  return {
    ...list,
    decisions: [...list.decisions, ...confirmed].slice(0, MAX_DECISIONS),
    unconfirmedDecisions: [],
  };
};

/** A list that may be served now. `freshForMs` is negative once it is stale. */
export interface ServedList {
  readonly list: CachedList;
  readonly freshForMs: number;
}

export const createListCache = (policy: FreshnessPolicy, clock: Pick<Clock, 'monotonicMs'>) => {
  const cache = new LRUCache<'banks', CachedList>({
    max: 1,
    ttl: policy.ttlMs,
    allowStale: true,
    // Ages are exact: without this the library reads the clock at most once a millisecond.
    ttlResolution: 0,
    perf: { now: clock.monotonicMs },
  });
  // Unlike get(), peek() reads no clock where stale lists are allowed.
  const get = (): CachedList | undefined => cache.peek('banks');
  /** Milliseconds until it is stale: negative once it is, 0 without a list. */
  const freshForMs = (): number => cache.getRemainingTTL('banks');
  /** Milliseconds since it was loaded; undefined without a list. */
  const ageMs = (): number | undefined => (get() ? policy.ttlMs - freshForMs() : undefined);
  const state = (): Freshness => freshness(ageMs(), policy);
  return {
    /** The library takes a start of 0 for none. */
    set: (list: CachedList): void =>
      void cache.set('banks', list, { start: list.loadedAtMs || -1 }),
    /** The list, however old it is. */
    get,
    ageMs,
    freshForMs,
    state,
    /**
     * Milliseconds until it has expired; 0 where there is none to serve. At the end of its time it
     * may still be served, so it takes one more.
     */
    expiresInMs: (): number => (isServable(state()) ? freshForMs() + policy.maxStaleMs + 1 : 0),
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
