import { expect, test } from '@jest/globals';
import {
  boundedRetryAfterMs,
  longestWaitMs,
  renewalDelayMs,
  retryDelayMs,
} from '../../../src/banks/loading/schedule.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

test.each([
  [HOUR, 0, 0, HOUR - 7_200],
  [HOUR, 0, 0.999_999, HOUR - 36_000],
  // What is left of its time may have a fraction.
  [7_200.25, 0, 0, 0.25],
  // It is stale already.
  [-1, 0, 0, 0],
  // So much earlier that a load as long as the last one ends in time, and not far earlier.
  [HOUR, 5_000, 0, HOUR - 12_200],
  [HOUR, 600_000, 0, HOUR - 187_200],
])(
  'a renewal of a list fresh for %p ms, after a load of %p ms, starts a little ahead: random %p',
  (freshForMs, loadMs, random, delayMs) => {
    const plannedMs = renewalDelayMs(freshForMs, HOUR, loadMs, random);
    expect(Math.abs(plannedMs - delayMs)).toBeLessThan(0.1);
  },
);

test.each([
  ['the first failure', 1_000, 1, HOUR, 0],
  ['the first failure, at most,', 1_500, 1, HOUR, 1],
  ['the second', 3_000, 2, HOUR, 1],
  ['the sixth', 48_000, 6, HOUR, 1],
  ['the seventh', 60_000, 7, HOUR, 0],
  ['the hundredth', 60_000, 100, HOUR, 0],
  ['the ninth with a short TTL', 250, 9, 250, 0.5],
  ['the first with a short TTL', 250, 1, 250, 0.5],
  ['the first with a TTL as long', 1_250, 1, 1_250, 0.5],
])('after %s a retry waits %d ms', (_what, delayMs, failures, ttlMs, random) => {
  expect(retryDelayMs(failures, ttlMs, random)).toBe(delayMs);
});

test.each([
  ['of half a minute', 30_000, 30_000, HOUR],
  ['of a year', HOUR, 365 * DAY, 5_000],
  ['of a year with a TTL of a day', DAY, 365 * DAY, DAY],
])('a Retry-After %s postpones a load by %d ms', (_what, delayMs, retryAfterMs, ttlMs) => {
  expect(boundedRetryAfterMs(retryAfterMs, ttlMs)).toBe(delayMs);
});

test.each([
  ['with a list for ten minutes more', 600_000, 600_000],
  ['with a list for ten seconds more', 60_000, 10_000],
  ['without a list', 60_000, 0],
])('%s a load waits for %d ms at most', (_what, delayMs, expiresInMs) => {
  expect(longestWaitMs(expiresInMs)).toBe(delayMs);
});
