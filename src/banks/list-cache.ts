import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import { freshness, type Freshness, type FreshnessPolicy } from './freshness.ts';
import type { CachedList, ServedList } from './cached-list.ts';

// The list, in lru-cache with the life that is left of it: what is too old to be served is not
// returned.

export const createListCache = (
  { ttlMs, maxStaleMs }: FreshnessPolicy,
  clock: Pick<Clock, 'monotonicMs'>,
) => {
  const cache = new LRUCache<'banks', CachedList>({
    max: 1,
    ttl: ttlMs + maxStaleMs,
    // Ages are exact: without this the library reads the clock at most once a millisecond.
    ttlResolution: 0,
    // An expired list is not served, but its age is still shown.
    noDeleteOnStaleGet: true,
    perf: { now: clock.monotonicMs },
  });
  /** The list, however old it is. */
  const get = (): CachedList | undefined => cache.peek('banks', { allowStale: true });
  const ageMs = (): number | undefined => {
    const list = get();
    return list && clock.monotonicMs() - list.askedAtMs;
  };
  return {
    get,
    ageMs,
    /** lru-cache takes a start of 0 for "not set". */
    set: (list: CachedList): void => void cache.set('banks', list, { start: list.askedAtMs || -1 }),
    state: (): Freshness => freshness(ageMs(), { ttlMs, maxStaleMs }),
    /** The list, unless it is too old to be served. */
    served: (): ServedList | undefined => {
      const list = cache.get('banks');
      return list && { list, freshForMs: ttlMs - (clock.monotonicMs() - list.askedAtMs) };
    },
  };
};
