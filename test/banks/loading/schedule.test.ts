import { expect, test } from '@jest/globals';
import { renewalDelayMs, retryDelayMs } from '../../../src/banks/loading/schedule.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

test.each([
  [HOUR, 0, HOUR - 7_200],
  [HOUR, 0.999_999, HOUR - 36_000],
  // What is left of its time may have a fraction.
  [7_200.25, 0, 0.25],
  // It is stale already.
  [-1, 0, 0],
])(
  'a renewal of a list fresh for %p ms starts a little ahead: random %p',
  (freshForMs, random, delayMs) => {
    expect(Math.abs(renewalDelayMs(freshForMs, HOUR, random) - delayMs)).toBeLessThan(0.1);
  },
);

const MONTH = 30 * DAY;

test.each([
  ['the first failure', 1_000, 1, undefined, HOUR, 0],
  ['the first failure, at most,', 1_500, 1, undefined, HOUR, 1],
  ['the second', 3_000, 2, undefined, HOUR, 1],
  ['the sixth', 48_000, 6, undefined, HOUR, 1],
  ['the seventh', 60_000, 7, undefined, HOUR, 0],
  ['the hundredth', 60_000, 100, undefined, HOUR, 0],
  ['the ninth with a short TTL', 250, 9, undefined, 250, 0.5],
  ['the first with a short TTL', 250, 1, undefined, 250, 0.5],
  ['the first with a TTL as long', 1_250, 1, undefined, 1_250, 0.5],
  ['a Retry-After longer than the back-off', 30_000, 1, 30_000, HOUR, 0],
  ['a shorter Retry-After', 1_000, 1, 500, HOUR, 0],
  ['a Retry-After of a year', HOUR, 1, 365 * DAY, 5_000, 0],
  ['a Retry-After of a year with a TTL of a day', DAY, 1, 365 * DAY, DAY, 0],
])('after %s a retry waits %d ms', (_what, delayMs, failures, retryAfterMs, ttlMs, random) => {
  expect(retryDelayMs(failures, retryAfterMs, ttlMs, MONTH, random)).toBe(delayMs);
});

test.each([
  ['a list for an hour more', HOUR, HOUR, HOUR],
  ['a list for ten minutes more: until nobody may have it', 600_001, HOUR, 600_000],
  ['a list for ten seconds more', 60_000, HOUR, 10_000],
  ['no list', 60_000, HOUR, 0],
  ['no list and a shorter Retry-After', 20_000, 20_000, 0],
  ['no list and no Retry-After', 1_000, undefined, 0],
])('a Retry-After with %s: %d ms', (_what, delayMs, retryAfterMs, usableForMs) => {
  expect(retryDelayMs(1, retryAfterMs, HOUR, usableForMs, 0)).toBe(delayMs);
});
