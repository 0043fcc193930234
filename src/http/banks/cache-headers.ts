import type { ServedList } from '../../banks/cached-list.ts';

// The caching headers of a list: how long browsers may use it without asking, and how fresh it is. Pure functions.

export interface CachePolicy {
  readonly browserMaxAgeMs: number;
  readonly ttlMs: number;
  readonly maxStaleMs: number;
}

/**
 * `Cache-Control` of a list that is fresh for another `freshForMs` (negative: stale). No cache that obeys it shows a
 * list older than TTL + max stale: `max-age` ends with the freshness, and what may be added to it (RFC 5861) ends
 * where this service would refuse. `stale-while-revalidate` is at most as long as `max-age` can be, so that no browser
 * shows a replaced list for longer than twice BROWSER_MAX_AGE; `stale-if-error` is for the outage and takes all that is left.
 */
export const cacheControl = (freshForMs: number, policy: CachePolicy): string => {
  const maxAge = toWholeSeconds(Math.max(0, Math.min(policy.browserMaxAgeMs, freshForMs)));
  const leftMs = Math.max(0, policy.maxStaleMs + Math.min(0, freshForMs));
  const whileRevalidate = toWholeSeconds(Math.min(policy.ttlMs, policy.browserMaxAgeMs, leftMs));
  return `public, max-age=${maxAge}, stale-while-revalidate=${whileRevalidate}, stale-if-error=${toWholeSeconds(leftMs)}`;
};

/** How a request came to the list: it was there, or the request waited for a load, its own or one that it shared. */
export type Found = 'hit' | 'miss' | 'collapsed';

/** `Cache-Status` (RFC 9211). The detail of a stale list is the kind of the failure that no success has followed. */
export const cacheStatus = (
  { freshForMs }: Pick<ServedList, 'freshForMs'>,
  failureKind: string | undefined,
  found: Found,
): string => {
  const detail = freshForMs < 0 ? `; detail=${failureKind ?? 'renewing'}` : '';
  return `banks-bff; ${FOUND_MEMBERS[found]}; ttl=${toWholeSeconds(freshForMs)}${detail}`;
};

const FOUND_MEMBERS = { hit: 'hit', miss: 'fwd=miss', collapsed: 'fwd=miss; collapsed' } as const;

/** Rounded down: a promise about the future must not be longer than the truth. */
const toWholeSeconds = (ms: number): number => Math.floor(ms / 1_000);
