import { describe, expect, test } from '@jest/globals';
import { renewalDelayMs, retryDelayMs } from '../../../src/banks/loading/schedule.ts';

const HOUR = 3_600_000;

describe('a renewal', () => {
  test.each([
    [0, HOUR - 7_200],
    [0.5, HOUR - 21_600],
    [0.999_999, HOUR - 36_000],
  ])('starts ahead of the expiry, by little: random %p', (random, delayMs) => {
    expect(renewalDelayMs(HOUR, HOUR, random)).toBeCloseTo(delayMs, -1);
  });

  test('of a list that is stale already starts at once', () => {
    expect(renewalDelayMs(-1, HOUR, 0)).toBe(0);
  });
});

describe('a retry', () => {
  test.each([
    [1, 0, 1_000],
    [1, 1, 1_500],
    [2, 0, 1_000],
    [2, 1, 3_000],
    [5, 0, 1_000],
    [5, 1, 24_000],
    [6, 1, 48_000],
    [7, 0, 60_000],
    [100, 0, 60_000],
  ])('after failure %d with random %d waits %d ms', (failures, random, delayMs) => {
    expect(retryDelayMs(failures, undefined, HOUR, random)).toBe(delayMs);
  });

  test('waits no longer than a short TTL', () => {
    expect(retryDelayMs(9, undefined, 250, 0.5)).toBe(250);
  });

  test.each([
    ['longer than the back-off is obeyed', 30_000, 30_000],
    ['shorter than the back-off changes nothing', 500, 1_000],
    ['of a year is cut to the TTL', 365 * 24 * HOUR, HOUR],
  ])('whose Retry-After is %s', (_name, retryAfterMs, delayMs) => {
    expect(retryDelayMs(1, retryAfterMs, HOUR, 0)).toBe(delayMs);
  });
});
