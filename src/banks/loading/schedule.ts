// How long to wait for the next load. Pure: `random` is a number in [0, 1).

/** This share of the TTL is the most that a slow provider makes a renewal earlier. */
const LONGEST_LOAD_SHARE = 0.05;

/**
 * The wait before the renewal of a list that is fresh for another `freshForMs`, in milliseconds. So
 * that it ends while the list is fresh, the renewal starts as long before the list is stale as the
 * last load took, `loadMs`, but at most 5 % of `ttlMs`; and 0.2 % to 1 % of `ttlMs` before that, at
 * different times on different replicas. That adds no requests: there is one per TTL.
 */
export const renewalDelayMs = (
  freshForMs: number,
  ttlMs: number,
  loadMs: number,
  random: number,
): number => {
  const leadMs = Math.min(loadMs, ttlMs * LONGEST_LOAD_SHARE) + ttlMs * (0.002 + 0.008 * random);
  return Math.max(0, freshForMs - leadMs);
};

/**
 * The shortest wait after a failure: with less, full jitter could put several calls into an
 * outage's first second.
 */
const FIRST_RETRY_MS = 1_000;
/** The longest wait between attempts without a `Retry-After`. */
export const LONGEST_RETRY_MS = 60_000;
const LONGEST_RETRY_AFTER_MS = 3_600_000;

/**
 * The wait after the `failures`-th failure in a row (1 is the first), in milliseconds: exponential
 * with full jitter above a floor of about 1 s, at most the smaller of the TTL and 1 min. At the cap
 * there is no jitter, so that a long outage costs one call a minute; that of the earlier steps has
 * spread the replicas by then.
 */
export const retryDelayMs = (failures: number, ttlMs: number, random: number): number => {
  const cap = Math.min(ttlMs, LONGEST_RETRY_MS);
  const floor = Math.min(FIRST_RETRY_MS, cap);
  const step = Math.min(cap, FIRST_RETRY_MS * 1.5 * 2 ** (failures - 1));
  return step === cap ? cap : floor + random * (step - floor);
};

/**
 * What is obeyed of a `Retry-After`, in milliseconds: at most the larger of the TTL and 1 h, since
 * a hostile value must not stop the renewal.
 */
export const boundedRetryAfterMs = (retryAfterMs: number, ttlMs: number): number =>
  Math.min(retryAfterMs, Math.max(ttlMs, LONGEST_RETRY_AFTER_MS));

/**
 * For how much of a `Retry-After` a replica without a list waits, in milliseconds: for at most 1 min
 * from when it was received.
 */
export const retryAfterWithoutListMs = (retryAfterMs: number): number =>
  Math.min(retryAfterMs, LONGEST_RETRY_MS);

/**
 * The longest wait after any failure, in milliseconds: until what is in use expires, and at least
 * 1 min.
 */
export const longestWaitMs = (expiresInMs: number): number =>
  Math.max(expiresInMs, LONGEST_RETRY_MS);
