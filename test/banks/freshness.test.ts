import { describe, expect, test } from '@jest/globals';
import { freshness, isServable } from '../../src/banks/freshness.ts';
import { guard } from '../../src/banks/guard.ts';
import { renewalDelayMs, retryDelayMs } from '../../src/banks/schedule.ts';

const HOUR = 3_600_000;

describe('freshness, with a TTL of 1,000 ms and 500 ms more while stale', () => {
  test.each([
    [undefined, 'empty', false],
    [0, 'fresh', true],
    [999, 'fresh', true],
    [1_000, 'fresh', true],
    [1_001, 'stale', true],
    [1_499, 'stale', true],
    [1_500, 'stale', true],
    [1_501, 'expired', false],
    [Infinity, 'expired', false],
  ] as const)('at age %p the list is %s, servable: %p', (ageMs, state, servable) => {
    expect(freshness(ageMs, { ttlMs: 1_000, maxStaleMs: 500 })).toBe(state);
    expect(isServable(state)).toBe(servable);
  });
});

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

describe('the guard, with at least 2 banks and a shrink of at most 20 %', () => {
  const policy = { minBanks: 2, maxShrink: 0.2 };
  const judge = (count: number, heldBack: number, held?: number): string => {
    try {
      guard({ count, heldBack }, held === undefined ? undefined : { count: held }, policy);
      return 'accepted';
    } catch (error) {
      return typeof error === 'object' && error !== null && 'kind' in error ? String(error.kind) : 'unknown';
    }
  };

  test.each([
    [0, 0, undefined, 'too_few'],
    [1, 0, undefined, 'too_few'],
    [2, 0, undefined, 'accepted'],
    [8, 2, undefined, 'accepted'],
    [7, 3, undefined, 'unusable_entries'],
    [0, 5, undefined, 'unusable_entries'],
    [80, 0, 100, 'accepted'],
    [79, 0, 100, 'shrunk'],
    [200, 0, 100, 'accepted'],
    [1, 0, 100, 'too_few'],
  ])('finds %d banks and %d held back, after %p banks: %s', (count, heldBack, held, verdict) => {
    expect(judge(count, heldBack, held)).toBe(verdict);
  });
});
