import { describe, expect, test } from '@jest/globals';
import { guard } from '../../../src/banks/guard/guard.ts';

describe('the guard, with at least 2 banks and a shrink of at most 20 %', () => {
  const policy = { minBanks: 2, maxShrink: 0.2 };
  const judge = (count: number, rejected: number, cached?: number): string => {
    try {
      guard({ count, rejected }, cached === undefined ? undefined : { count: cached }, policy);
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
  ])('finds %d banks and %d rejected, after %p banks: %s', (count, rejected, cached, verdict) => {
    expect(judge(count, rejected, cached)).toBe(verdict);
  });
});
