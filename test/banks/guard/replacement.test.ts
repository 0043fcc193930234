import { describe, expect, test } from '@jest/globals';
import {
  believable,
  isOvertaken,
  shouldReplace,
  type Replacement,
} from '../../../src/banks/guard/replacement.ts';

describe('a kept list replaces the cached one', () => {
  const cached = { receivedAtMs: 100, sentAtMs: 950 };
  test.each<[string, Parameters<typeof shouldReplace>[0], Parameters<typeof shouldReplace>[1], Replacement]>([
    ['when nothing is cached', undefined, { receivedAtMs: 1, sentAtMs: -8_999 }, 'younger'],
    ['when it is younger', cached, { receivedAtMs: 101, sentAtMs: 951 }, 'younger'],
    ['not when it is as old', cached, { receivedAtMs: 101, sentAtMs: 950 }, 'no'],
    ['not when it is older', cached, { receivedAtMs: 99, sentAtMs: 949 }, 'no'],
    ['when it is younger, whatever its clock said', cached, { receivedAtMs: 1, sentAtMs: 951 }, 'younger'],
    ['not when it is the same, measured again', cached, { receivedAtMs: 100, sentAtMs: 951 }, 'no'],
    [
      'when an operator accepted it',
      cached,
      { receivedAtMs: 99, sentAtMs: 949, acceptedAtMs: 1 },
      'accepted',
    ],
    [
      'when an operator accepted it later',
      { ...cached, acceptedAtMs: 5 },
      { receivedAtMs: 99, sentAtMs: 949, acceptedAtMs: 6 },
      'accepted',
    ],
    [
      'not for a decision that the cached one has inherited',
      { ...cached, acceptedAtMs: 6 },
      { receivedAtMs: 99, sentAtMs: 949, acceptedAtMs: 6 },
      'no',
    ],
  ])('%s', (_name, held, kept, verdict) => {
    expect(shouldReplace(held, kept)).toBe(verdict);
  });
});

test('times from a distant future are brought back, and a decision from there is dropped', () => {
  const now = 10 * 86_400_000;
  expect(believable({ receivedAtMs: 5, changedAtMs: 7, acceptedAtMs: now + 600_000 }, now)).toEqual({
    receivedAtMs: 5,
    changedAtMs: 7,
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

test('an answer is overtaken by what another replica got later, or an operator accepted, and by nothing else', () => {
  const question = { askedAtMs: 1_000, acceptedAtMs: 5 };
  const cached = { receivedAtMs: 1, sentAtMs: 1_000, acceptedAtMs: 5 };
  expect(isOvertaken(question, undefined)).toBe(false);
  expect(isOvertaken(question, cached)).toBe(false);
  expect(isOvertaken(question, { ...cached, sentAtMs: 1_001 })).toBe(true);
  expect(isOvertaken(question, { ...cached, sentAtMs: 0, acceptedAtMs: 6 })).toBe(true);
  expect(isOvertaken({ askedAtMs: 1_000, acceptedAtMs: undefined }, { ...cached, sentAtMs: 0 })).toBe(true);
});
