import { describe, expect, test } from '@jest/globals';
import { renewalDelayMs, retryDelayMs } from '../../../src/banks/loading/schedule.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe('a renewal', () => {
  test.each([
    [HOUR, 0, HOUR - 7_200],
    [HOUR, 0.999_999, HOUR - 36_000],
    // What is left of its time may have a fraction.
    [7_200.25, 0, 0.25],
  ])(
    'of a list fresh for %p ms starts ahead of the expiry, by little: random %p',
    (freshForMs, random, delayMs) => {
      expect(Math.abs(renewalDelayMs(freshForMs, HOUR, random) - delayMs)).toBeLessThan(0.1);
    },
  );

  test('of a list that is stale already starts at once', () => {
    expect(renewalDelayMs(-1, HOUR, 0)).toBe(0);
  });
});

describe('a retry', () => {
  test.each([
    [1, 0, 1_000],
    [1, 1, 1_500],
    [2, 1, 3_000],
    [6, 1, 48_000],
    [7, 0, 60_000],
    [100, 0, 60_000],
  ])('after failure %d with random %d waits %d ms', (failures, random, delayMs) => {
    expect(retryDelayMs(failures, undefined, HOUR, random)).toBe(delayMs);
  });

  test('waits no longer than a short TTL', () => {
    expect(retryDelayMs(9, undefined, 250, 0.5)).toBe(250);
    expect(retryDelayMs(1, undefined, 250, 0.5)).toBe(250);
    expect(retryDelayMs(1, undefined, 1_250, 0.5)).toBe(1_250);
  });

  test.each([
    ['longer than the back-off is obeyed', 30_000, 30_000, HOUR],
    ['shorter than the back-off changes nothing', 500, 1_000, HOUR],
    ['of a year is cut to an hour', 365 * DAY, HOUR, 5_000],
    ['of a year is cut to a TTL that is longer', 365 * DAY, DAY, DAY],
  ])('whose Retry-After is %s', (_name, retryAfterMs, delayMs, ttlMs) => {
    expect(retryDelayMs(1, retryAfterMs, ttlMs, 0)).toBe(delayMs);
  });
});
