// How old a list may be, and what it is called at that age. Pure. The only other place that decides
// this is list-cache.ts: its lru-cache has TTL + max stale as ttl.
//
//   age   0 ─────────── TTL ─────────────────────── TTL + max stale ─────────
//           fresh         stale (still served)         expired (never served)

export const STATES = ['empty', 'fresh', 'stale', 'expired'] as const;
export type Freshness = (typeof STATES)[number];

export interface FreshnessPolicy {
  readonly ttlMs: number;
  readonly maxStaleMs: number;
}

/**
 * The freshness of a list of `ageMs`; `undefined` stands for no list. At exactly the TTL a list is
 * still fresh.
 */
export const freshness = (
  ageMs: number | undefined,
  { ttlMs, maxStaleMs }: FreshnessPolicy,
): Freshness => {
  if (ageMs === undefined) return 'empty';
  if (ageMs <= ttlMs) return 'fresh';
  return ageMs <= ttlMs + maxStaleMs ? 'stale' : 'expired';
};

/** Whether a list that was asked for at `askedAtMs` may be given to anybody at `nowMs`. */
export const isServableAt = (
  { askedAtMs }: { readonly askedAtMs: number },
  nowMs: number,
  policy: FreshnessPolicy,
): boolean => isServable(freshness(nowMs - askedAtMs, policy));

/** Whether a list of this freshness may be given to anybody. */
export const isServable = (state: Freshness): boolean => state === 'fresh' || state === 'stale';
