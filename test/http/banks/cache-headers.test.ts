import { describe, expect, test } from '@jest/globals';
import { cacheControl } from '../../../src/http/banks/answer.ts';

describe('Cache-Control', () => {
  const policy = { browserMaxAgeMs: 300_000, ttlMs: 3_600_000, maxStaleMs: 86_400_000 };
  const DAY = 86_400;

  test.each([
    ['a new list may be kept for BROWSER_MAX_AGE', 3_600_000, 300, 300, DAY],
    ['near the expiry for what is left, rounded down', 59_999, 59, 300, DAY],
    ['at the expiry for no time', 0, 0, 300, DAY],
    [
      'a stale list for no time, and stale-if-error is what CACHE_MAX_STALE leaves',
      -1_000,
      0,
      300,
      DAY - 1,
    ],
    ['and so is stale-while-revalidate', -86_390_500, 0, 9, 9],
    ['at the end nothing is left', -86_400_000, 0, 0, 0],
    ['nor after it', -86_400_001, 0, 0, 0],
    ['fractions of a second are not promised', 299_999.9, 299, 300, DAY],
  ])('%s', (_promise, freshForMs, maxAge, whileRevalidate, ifError) => {
    expect(cacheControl(freshForMs, policy)).toBe(
      `public, max-age=${maxAge}, stale-while-revalidate=${whileRevalidate}, stale-if-error=${ifError}`,
    );
  });

  test('a BROWSER_MAX_AGE longer than the TTL is never given whole, and lengthens nothing', () => {
    expect(cacheControl(10_000, { ...policy, browserMaxAgeMs: 60_000, ttlMs: 10_000 })).toMatch(
      /max-age=10, stale-while-revalidate=10,/,
    );
  });
});
