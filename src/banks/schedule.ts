// How long to wait for the next load. Pure: `random` is a number in [0, 1).

/**
 * How long before it is stale a list is renewed, in milliseconds: a slow load still ends in time,
 * and replicas start at different times.
 */
export const renewalLeadMs = (ttlMs: number, loadTimeoutMs: number, random: number): number =>
  Math.min(loadTimeoutMs, 0.05 * ttlMs) + 0.01 * ttlMs * random;

/** With less, full jitter could put several calls into an outage's first second. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/**
 * The wait after the `attempts`-th failure in a row (1 is the first), in milliseconds: exponential
 * with full jitter above a floor of about 1 s, at most the smaller of the TTL and 1 min. At the cap
 * there is no jitter, so that a long outage costs one call a minute.
 */
export const retryDelayMs = (attempts: number, ttlMs: number, random: number): number => {
  const cap = Math.min(ttlMs, LONGEST_RETRY_MS);
  const floor = Math.min(FIRST_RETRY_MS, cap);
  const step = Math.min(cap, FIRST_RETRY_MS * 1.5 * 2 ** (attempts - 1));
  return step === cap ? cap : floor + random * (step - floor);
};
