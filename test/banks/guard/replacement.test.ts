import { expect, test } from '@jest/globals';
import {
  ageOf,
  believable,
  isOvertaken,
  verdictOf,
  type Verdict,
} from '../../../src/banks/guard/replacement.ts';

/** A list's times: the provider's, by which it is identified, when it was sent, and what its age counts from. */
const dated = (receivedAtMs: number, sentAtMs: number, acceptedAtMs?: number, countedFromMs = sentAtMs) => ({
  receivedAtMs,
  sentAtMs,
  countedFromMs,
  acceptedAtMs,
});
const CACHED = dated(100, 950);

test.each<[string, Parameters<typeof verdictOf>[0], Parameters<typeof verdictOf>[1], Verdict]>([
  ['when nothing is cached', undefined, dated(1, -8_999), []],
  ['when it is younger', CACHED, dated(101, 951), []],
  ['not when it is as old', CACHED, dated(101, 950), 'overtaken'],
  ['when it is younger, whatever its clock said', CACHED, dated(1, 951), []],
  ['not when it is the same, measured again', CACHED, dated(100, 951), 'overtaken'],
  ['when an operator accepted it', CACHED, dated(99, 949, 1), ['shrunk', 'drifted']],
  ['when an operator accepted it later', dated(100, 950, 5), dated(99, 949, 6), ['shrunk', 'drifted']],
  ['not when only its store says that it is younger', CACHED, dated(101, 951, undefined, 950), 'overtaken'],
  ['not when only the clocks say so', CACHED, dated(101, 950, undefined, 951), 'overtaken'],
  ['not when an operator accepted the cached one later', dated(100, 950, 6), dated(101, 951, 5), 'overtaken'],
  ['not for a decision that the cached one inherited', dated(100, 950, 6), dated(99, 949, 6), 'overtaken'],
])('a kept list replaces the cached one %s', (_name, cached, kept, verdict) => {
  expect(verdictOf(cached, kept)).toEqual(verdict);
});

test('times from a distant future are brought back, and a decision from there is dropped', () => {
  const now = 10 * 86_400_000;
  const soon = { receivedAtMs: 5, changedAtMs: 7, acceptedAtMs: now + 600_000 };
  expect(believable(soon, now)).toEqual(soon);
  const latest = { receivedAtMs: 5, changedAtMs: now + 86_400_000, acceptedAtMs: now + 86_400_000 };
  expect(believable(latest, now)).toEqual(latest);
  expect(believable({ ...latest, acceptedAtMs: latest.acceptedAtMs + 1 }, now).acceptedAtMs).toBeUndefined();
  const future = now + 2 * 86_400_000;
  const far = { receivedAtMs: future, changedAtMs: future, acceptedAtMs: future };
  expect(believable(far, now)).toEqual({ ...far, changedAtMs: now, acceptedAtMs: undefined });
});

test('an answer is overtaken by what another replica got later, or an operator accepted, and by nothing else', () => {
  const cached = { sentAtMs: 1_000, acceptedAtMs: 5 };
  expect(isOvertaken(1_000, cached, undefined)).toBe(false);
  expect(isOvertaken(1_000, cached, cached)).toBe(false);
  expect(isOvertaken(1_000, cached, { ...cached, sentAtMs: 1_001 })).toBe(true);
  expect(isOvertaken(1_000, cached, { sentAtMs: 0, acceptedAtMs: 6 })).toBe(true);
  expect(isOvertaken(1_000, { acceptedAtMs: undefined }, { ...cached, sentAtMs: 0 })).toBe(true);
  expect(isOvertaken(1_000, undefined, { ...cached, sentAtMs: 0 })).toBe(true);
});

test('an age is what the store reports, but not below what the clocks say, and a list from the future is stale', () => {
  const age = (receivedAtMs: number, reportedMs?: number): number =>
    ageOf({ receivedAtMs }, reportedMs, 1_000_000, 10_000);
  expect([age(999_000, 1_500), age(999_000, 500), age(997_500, 500)]).toEqual([1_500, 500, 1_500]);
  expect([age(1_060_000, 500), age(1_060_001, 500), age(1_060_001, 20_000)]).toEqual([500, 10_001, 20_000]);
  expect([age(997_500), age(1_001_000), age(1_001_001)]).toEqual([2_500, 0, 10_001]);
  expect(age(999_900, -5)).toBe(0);
});
