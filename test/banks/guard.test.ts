import { describe, expect, test } from '@jest/globals';
import {
  guard,
  MAX_KNOWN,
  remember,
  type GuardedList,
  type GuardPolicy,
  type Overridable,
} from '../../src/banks/guard.ts';
import { LoadError } from '../../src/banks/load-error.ts';
import type { FieldRule } from '../../src/banks/reading/entry.ts';
import { readList } from '../../src/banks/reading/list-reader.ts';

// Which lists are refused, and what is remembered of those that are not. Lists are read as the
// service reads them. What users and operators see of a refusal: failures.test.ts and
// management/.

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const POLICY: GuardPolicy = {
  minBanks: 2,
  maxShrink: 0.2,
  maxDrift: 0.2,
  fields: undefined,
  maxStaleMs: 7 * DAY,
};

const read = (banks: readonly unknown[], fields?: readonly FieldRule[]) => ({
  ...readList(Buffer.from(JSON.stringify(banks)), { fields, requiredFields: [] }),
  hasNextPage: false,
});

/** This many banks; with another name, another content. */
const banks = (count: number, name = 'A') =>
  Array.from({ length: count }, (_, code) => ({ code, name }));

/** A hundred banks, of which as many as there are values have the field `a`. */
const hundred = (values: readonly unknown[]) =>
  Array.from({ length: 100 }, (_, code) => ({ code, a: values[code] }));

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

/** A replica that is given one list after the other. */
const replica = (policy: Partial<GuardPolicy> = {}) => {
  const rules = { ...POLICY, ...policy };
  let held: GuardedList | undefined;
  let nowMs = 5_000;
  return {
    /** @returns why the list is refused, or undefined, and then it is held */
    offer: (entries: readonly unknown[], overrides: readonly Overridable[] = []) => {
      const next = read(entries, rules.fields);
      try {
        const accepted = guard(next, held, rules, overrides, nowMs);
        held = { ...next, ...remember(held, next, accepted.length > 0, nowMs, rules) };
        return undefined;
      } catch (error) {
        return LoadError.from(error);
      }
    },
    pass: (ms: number): void => void (nowMs += ms),
    known: () => held?.known ?? [],
  };
};

const verdict = (
  before: readonly unknown[] | undefined,
  next: readonly unknown[],
  policy: Partial<GuardPolicy> = {},
): string | undefined => {
  const { offer } = replica({ minBanks: 0, ...policy });
  if (before) expect(offer(before)).toBeUndefined();
  return offer(next)?.message;
};

describe('whatever is held', () => {
  test('a list with fewer entries than GUARD_MIN_BANKS is refused', () => {
    expect(verdict(undefined, banks(2), { minBanks: 2 })).toBeUndefined();
    const message = 'the list has 1 usable entry; GUARD_MIN_BANKS is 2';
    expect(verdict(undefined, banks(1), { minBanks: 2 })).toBe(message);
    expect(verdict(banks(2), banks(1), { minBanks: 2 })).toBe(message);
  });

  test('a list of which more than GUARD_MAX_SHRINK of the entries are unusable is refused', () => {
    const withJunk = (count: number, junk: number) => [...banks(count), ...times(junk, 7)];
    expect(verdict(undefined, withJunk(8, 2))).toBeUndefined();
    expect(verdict(undefined, withJunk(79, 21))).toBe(
      '21 of 100 entries are unusable (21 not_an_object)',
    );
    expect(verdict(banks(79), [...withJunk(79, 21), ...banks(1)])).toBe(
      '21 of 101 entries are unusable (21 not_an_object)',
    );
  });

  test('repeated entries are no fault, and are no entries that are lost either', () => {
    expect(verdict(undefined, times(100, { name: 'A' }))).toBeUndefined();
    expect(verdict(banks(10), [...banks(10), ...banks(10)])).toBeUndefined();
    // They were received: 2 of 10 are unusable, not 2 of 2.
    expect(verdict(undefined, [...times(8, { name: 'A' }), 7, 7])).toBeUndefined();
  });
});

describe('with nothing to compare with', () => {
  const fields = [
    { name: 'code', from: 'code' },
    { name: 'id', from: 'bankId' },
    { name: 'logo', from: 'logo', isOptional: true },
  ];
  const NONE = 'no entry has a value in these fields of BANK_FIELDS:';

  test('a field of BANK_FIELDS that no entry has refuses the list, unless it is optional', () => {
    const offered = (entries: readonly unknown[]) => verdict(undefined, entries, { fields });
    expect(offered([{ code: 1 }, { code: 2, bankId: ' ' }])).toBe(`${NONE} id (from bankId)`);
    expect(offered([{ ispb: 1 }])).toBe(`${NONE} code; id (from bankId)`);
    expect(offered([{ code: 1 }, { bankId: 2 }])).toBeUndefined();
    // Also not one that an unusable entry has.
    expect(offered([...times(4, { code: 1 }), { code: {}, bankId: 2 }])).toBeUndefined();
    // No entry is an object: that is what is wrong.
    expect(offered([1, 2])).toBe('2 of 2 entries are unusable (2 not_an_object)');
  });
});

describe('a list that shrank', () => {
  test('by exactly GUARD_MAX_SHRINK is taken, by one entry more is refused', () => {
    for (const [percent, count] of [
      [0, 100],
      [7, 93],
      [20, 80],
      [29, 71],
      [57, 43],
    ] as const) {
      const policy = { maxShrink: percent / 100, maxDrift: 1 };
      expect(verdict(banks(100), banks(count), policy)).toBeUndefined();
      expect(verdict(banks(100), banks(count - 1), policy)).toBe(
        `the list shrank from 100 to ${count - 1} entries`,
      );
    }
  });

  test('is compared with the largest since the marks began, for 7 days and not longer', () => {
    const { offer, pass } = replica();
    for (const count of [100, 90, 85]) {
      expect(offer(banks(count))).toBeUndefined();
      pass(DAY);
    }
    pass(4 * DAY);
    expect(offer(banks(79))?.message).toBe('the list shrank from 100 to 79 entries');
    // Exactly 7 days after the first.
    expect(offer(banks(81))).toBeUndefined();
    pass(1);
    // The first list of a new week: from here the largest is the one that was held.
    expect(offer(banks(64))?.message).toBe('the list shrank from 81 to 64 entries');
    expect(offer(banks(82))).toBeUndefined();
    pass(6 * DAY);
    expect(offer(banks(66))).toBeUndefined();
    expect(offer(banks(65))?.message).toBe('the list shrank from 82 to 65 entries');
  });

  test('is compared for no longer than CACHE_MAX_STALE', () => {
    const { offer, pass } = replica({ maxStaleMs: HOUR });
    offer(banks(100));
    offer(banks(90));
    pass(HOUR + 1);
    expect(offer(banks(90))).toBeUndefined();
    expect(offer(banks(72))).toBeUndefined();
  });
});

describe('a field that drifted', () => {
  const lost = (before: string, now: string) =>
    `published fields changed: a: ${before} before, ${now} now`;
  const all = times(100, 'x');

  test.each<[string, unknown[], unknown[], string | undefined]>([
    ['changes its values', all, times(100, 'y'), undefined],
    ['loses exactly 20 %', all, times(80, 'x'), undefined],
    ['loses 21 %', all, times(79, 'x'), lost('filled in 100 % of entries', '79 %')],
    ['loses 20 of 40 %', times(40, 'x'), times(20, 'x'), undefined],
    ['loses 21 of 40 %', times(40, 'x'), times(19, 'x'), lost('filled in 40 % of entries', '19 %')],
    ['is emptied', all, times(100, ' '), lost('filled in 100 % of entries', '0 %')],
    [
      'has empty arrays',
      times(100, ['x']),
      times(100, ['', null]),
      lost('filled in 100 % of entries', '0 %'),
    ],
    ['becomes a number in 20 %', all, [...times(80, 'x'), ...times(20, 1)], undefined],
    [
      'becomes a number in 21 %',
      all,
      [...times(79, 'x'), ...times(21, 1)],
      lost('a string in 100 % of entries', '79 %'),
    ],
    ['fills up', times(10, 'x'), all, undefined],
    ['fills up with another type', times(20, 'x'), times(100, true), undefined],
  ])('%s', (_what, before, now, message) => {
    expect(verdict(hundred(before), hundred(now))).toBe(message);
  });

  test('slowly is compared with the best share since the marks began', () => {
    const { offer, pass } = replica();
    for (const filled of [100, 90, 81]) {
      expect(offer(hundred(times(filled, 'x')))).toBeUndefined();
      pass(DAY);
    }
    expect(offer(hundred(times(79, 'x')))?.kind).toBe('drifted');
    pass(7 * DAY);
    // The marks are those of the list that is held once it has been loaded again.
    expect(offer(hundred(times(81, 'x')))).toBeUndefined();
    expect(offer(hundred(times(79, 'x')))).toBeUndefined();
  });

  test('is refused where it is gone, and a new one is not', () => {
    expect(verdict([{ a: 1, b: 1 }], [{ a: 1, c: 1 }])).toBe(
      'published fields changed: b: filled in 100 % of entries before, 0 % now',
    );
  });

  test('counts by its share, so that a list that grows or shrinks does not drift', () => {
    const policy = { maxShrink: 1, maxDrift: 0 };
    expect(verdict(banks(300), banks(1), policy)).toBeUndefined();
    expect(verdict(banks(1), banks(300), policy)).toBeUndefined();
  });

  test('is described with at most five names, and with none that could be something else', () => {
    const names = ['\u001B[31m', 'b', 'c', 'd', 'e', 'f', 'g'];
    const entry = Object.fromEntries(names.map((name) => [name, 1]));
    const { offer } = replica({ minBanks: 1 });
    offer([{ code: 1, ...entry }]);
    const error = offer([{ code: 1 }]);
    expect(error?.message).toMatch(/^published fields changed: \(a name that cannot be shown\): /);
    expect(error?.message).toMatch(/e: filled in 100 % of entries before, 0 % now; and 2 more$/);
    expect(error?.fields).toEqual(['(a name that cannot be shown)', 'b', 'c', 'd', 'e', 'f', 'g']);
  });

  test('is not called lost where there are more names than are collected', () => {
    const entry = (prefix: string) =>
      Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`${prefix}${index}`, 1]));
    expect(verdict([entry('a')], [entry('b')])).toBeUndefined();
  });
});

describe('a content that was held before', () => {
  test('is taken again, and the next list is compared with it alone', () => {
    const { offer } = replica();
    for (const count of [10, 12, 500, 600]) offer(banks(count));
    expect(offer(banks(12, 'B'))?.kind).toBe('shrunk');
    expect(offer(banks(12).toReversed())).toBeUndefined();
    expect(offer(banks(10, 'B'))).toBeUndefined();
  });

  test(`is one of the last ${MAX_KNOWN}`, () => {
    const { offer, known } = replica();
    for (let count = 10; count < 10 + MAX_KNOWN; count += 1) offer(banks(count));
    offer(banks(100));
    expect(known()).toHaveLength(MAX_KNOWN);
    // The same again changes nothing.
    offer(banks(100));
    expect(known()).toHaveLength(MAX_KNOWN);
    offer(banks(101));
    expect(known()).toHaveLength(MAX_KNOWN);
    expect(offer(banks(10))?.kind).toBe('shrunk');
    expect(offer(banks(11))).toBeUndefined();
  });

  test('is not compared, but has to be usable', () => {
    const { offer } = replica();
    offer(banks(2));
    offer(banks(100));
    expect(offer([...banks(2), 7])?.kind).toBe('unusable_entries');
    expect(offer(banks(2))).toBeUndefined();
  });
});

describe('an operator', () => {
  test('who accepts a list makes it the mark, and what was known before is compared again', () => {
    const { offer, known } = replica();
    for (const count of [10, 12, 100]) offer(banks(count));
    expect(offer(banks(50), ['shrunk'])).toBeUndefined();
    expect(known()).toEqual([]);
    expect(offer(banks(12))?.message).toBe('the list shrank from 50 to 12 entries');
    expect(offer(banks(41))).toBeUndefined();
  });

  test('who accepts what would not have been refused changes nothing', () => {
    const { offer, known } = replica();
    offer(banks(100));
    expect(offer(banks(90), ['shrunk', 'drifted'])).toBeUndefined();
    expect(known()).toHaveLength(1);
    expect(offer(banks(79))?.message).toBe('the list shrank from 100 to 79 entries');
  });
});
