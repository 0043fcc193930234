import { describe, expect, test } from '@jest/globals';
import { believable, shouldReplace, type Replacement } from '../../../src/banks/guard/replacement.ts';

describe('a kept list replaces the cached one', () => {
  const cached = { receivedAtMs: 100, ageMs: 50 };
  test.each<[string, Parameters<typeof shouldReplace>[0], Parameters<typeof shouldReplace>[1], Replacement]>([
    ['when nothing is cached', undefined, { receivedAtMs: 1, ageMs: 9_999 }, 'younger'],
    ['when it is younger', cached, { receivedAtMs: 101, ageMs: 49 }, 'younger'],
    ['not when it is as old', cached, { receivedAtMs: 101, ageMs: 50 }, 'no'],
    ['not when it is older', cached, { receivedAtMs: 99, ageMs: 51 }, 'no'],
    ['when it is younger, whatever its clock said', cached, { receivedAtMs: 1, ageMs: 49 }, 'younger'],
    ['not when it is the same, measured again', cached, { receivedAtMs: 100, ageMs: 49 }, 'no'],
    ['when an operator accepted it', cached, { receivedAtMs: 99, ageMs: 51, acceptedAtMs: 1 }, 'accepted'],
    [
      'when an operator accepted it later',
      { ...cached, acceptedAtMs: 5 },
      { receivedAtMs: 99, ageMs: 51, acceptedAtMs: 6 },
      'accepted',
    ],
    [
      'not for a decision that the cached one has inherited',
      { ...cached, acceptedAtMs: 6 },
      { receivedAtMs: 99, ageMs: 51, acceptedAtMs: 6 },
      'no',
    ],
  ])('%s', (_name, held, kept, verdict) => {
    expect(shouldReplace(held, kept)).toBe(verdict);
  });
});

test('times that cannot be true are brought back to now, and a decision from a distant future is dropped', () => {
  const now = 10 * 86_400_000;
  expect(believable({ receivedAtMs: 5, changedAtMs: 7, acceptedAtMs: now + 600_000 }, now)).toEqual({
    receivedAtMs: 5,
    changedAtMs: 5,
    acceptedAtMs: now + 600_000,
  });
  const latest = { receivedAtMs: 5, changedAtMs: 5, acceptedAtMs: now + 86_400_000 };
  expect(believable(latest, now)).toEqual(latest);
  expect(believable({ ...latest, acceptedAtMs: latest.acceptedAtMs + 1 }, now).acceptedAtMs).toBeUndefined();
  const future = now + 2 * 86_400_000;
  expect(believable({ receivedAtMs: future, changedAtMs: future, acceptedAtMs: future }, now)).toEqual({
    receivedAtMs: future,
    changedAtMs: now,
    acceptedAtMs: undefined,
  });
});
