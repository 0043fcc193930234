// When the provider is asked again: pure arithmetic over a random number in [0, 1).

/**
 * The wait before the renewal of a list that is fresh for another `freshForMs`, in milliseconds. It
 * starts ahead of the expiry by 0.2 % to 1 % of `ttlMs`: enough for the exchange to finish while
 * the list is fresh (7 s of an hour), spread enough that replicas do not call together, and so
 * little that N lifetimes cost N calls.
 */
export const renewalDelayMs = (freshForMs: number, ttlMs: number, random: number): number =>
  Math.max(0, freshForMs - ttlMs * (0.002 + 0.008 * random));

/**
 * The shortest wait after a failure: with less, full jitter could put several calls into an
 * outage's first second.
 */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
const LONGEST_RETRY_AFTER_MS = 3_600_000;

/**
 * The wait after the `failures`-th failure in a row (1 is the first), in milliseconds: exponential
 * with full jitter above a floor of about 1 s, at most the smaller of the TTL and 1 min. At the cap
 * the whole cap is waited, so that a long outage costs one call a minute; the jitter of the earlier
 * steps has spread the replicas by then.
 */
export const retryDelayMs = (failures: number, ttlMs: number, random: number): number => {
  const cap = Math.min(ttlMs, LONGEST_RETRY_MS);
  const floor = Math.min(FIRST_RETRY_MS, cap);
  const step = Math.min(cap, FIRST_RETRY_MS * 1.5 * 2 ** (failures - 1));
  return step === cap ? cap : floor + random * (step - floor);
};

/**
 * How long the provider is left alone after a `Retry-After` of `askedForMs`, in milliseconds: not
 * for longer than the larger of the TTL and 1 h, since a hostile value must not stop the renewal;
 * and while nothing can be served, or from the moment when nothing can be, not beyond 1 min.
 * @param servableForMs how long the cached list may still be served; 0: nothing may be
 */
export const retryAfterMs = (askedForMs: number, ttlMs: number, servableForMs: number): number =>
  Math.min(askedForMs, Math.max(ttlMs, LONGEST_RETRY_AFTER_MS), longestWaitMs(servableForMs));

/** The longest wait after any failure: until nothing may be served any more, and at least 1 min. */
export const longestWaitMs = (servableForMs: number): number =>
  Math.max(untilExpiredMs(servableForMs), LONGEST_RETRY_MS);

/** Milliseconds until nothing may be served any more. In its last one a list still may be. */
export const untilExpiredMs = (servableForMs: number): number =>
  servableForMs > 0 ? servableForMs + 1 : 0;
