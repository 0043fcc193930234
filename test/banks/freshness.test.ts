import { describe, expect, test } from '@jest/globals';
import { freshness, isServable } from '../../src/banks/freshness.ts';

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
