import { describe, expect, test } from '@jest/globals';
import { findDrift } from '../../../src/banks/guard/drift.ts';
import { percent } from '../../../src/banks/share.ts';
import { readBanks } from '../../helpers/read-banks.ts';

const filled = (count: number, value: unknown): unknown[] =>
  Array.from({ length: count }, () => value);

/**
 * A hundred entries, of which the first have the field `a` with these values; all have a `code`.
 */
const hundred = (values: readonly unknown[]) =>
  readBanks(Array.from({ length: 100 }, (_, index) => ({ code: String(index), a: values[index] })));

const mixed = (strings: number, numbers: number) => [
  ...filled(strings, 'x'),
  ...filled(numbers, 1),
];
const ALL = filled(100, 'x');
const fewer = (before: number, now: number) =>
  `filled in ${before} % of entries before, ${now} % now`;

describe('a limit of 20 %', () => {
  test.each<[string, unknown[], unknown[], string | undefined]>([
    ['nothing changes', ALL, filled(100, 'y'), undefined],
    ['21 % are lost', ALL, filled(79, 'x'), fewer(100, 79)],
    ['20 % of 40 % are lost', filled(40, 'x'), filled(20, 'x'), undefined],
    ['21 points of 40 are lost', filled(40, 'x'), filled(19, 'x'), fewer(40, 19)],
    [
      'all values become numbers',
      ALL,
      filled(100, 1),
      'string in 100 % before, number in 100 % now',
    ],
    ['20 % become numbers', ALL, mixed(80, 20), undefined],
    [
      '21 % become numbers',
      ALL,
      mixed(79, 21),
      'string in 100 % before, string in 79 %, number in 21 % now',
    ],
    ['it fills up', filled(10, 'x'), ALL, undefined],
    ['it fills up with another type', filled(20, 'x'), filled(100, 1), undefined],
    [
      'it fills up with another type, and more lose theirs',
      filled(21, 'x'),
      filled(100, 1),
      'string in 21 % before, number in 100 % now',
    ],
    ['arrays are emptied', filled(100, ['x']), filled(100, []), fewer(100, 0)],
    ['arrays lose what is in them', filled(100, ['x']), filled(100, ['', null]), fewer(100, 0)],
    ['two types lose 11 % each', mixed(50, 50), mixed(39, 39), fewer(100, 78)],
  ])('is applied to a field where %s', async (_name, before, now, description) => {
    const [cached, next] = await Promise.all([hundred(before), hundred(now)]);
    expect(findDrift(cached, next, 0.2)).toEqual(
      description === undefined ? [] : [{ field: 'a', description }],
    );
  });

  test('is applied to a field that no entry has any more, and not to a new one', async () => {
    const [cached, next] = await Promise.all([
      readBanks([{ a: 1, b: 1 }]),
      readBanks([{ a: 1, c: 1 }]),
    ]);
    expect(findDrift(cached, next, 0.2)).toEqual([{ field: 'b', description: fewer(100, 0) }]);
  });

  test('is applied to the shares in each list, so that neither growing nor shrinking is drift', async () => {
    const long = await readBanks(Array.from({ length: 300 }, (_, index) => ({ a: index })));
    const short = await readBanks([{ a: 1 }]);
    expect([findDrift(long, short, 0), findDrift(short, long, 0)]).toEqual([[], []]);
    const empty = await readBanks([]);
    expect([findDrift(long, empty, 0), findDrift(empty, long, 0)]).toEqual([[], []]);
  });
});

test.each([0, 0.07, 0.29, 0.57, 1])('a share of exactly %f is not too much', async (maxDrift) => {
  const lost = Math.round(maxDrift * 100);
  const [cached, exact, more] = await Promise.all([
    hundred(ALL),
    hundred(filled(100 - lost, 'x')),
    hundred(filled(Math.max(0, 99 - lost), 'x')),
  ]);
  expect(findDrift(cached, exact, maxDrift)).toEqual([]);
  expect(findDrift(cached, more, maxDrift)).toHaveLength(maxDrift < 1 ? 1 : 0);
});

test.each([
  [1, 3, '33.3 %'],
  [7, 8, '87.5 %'],
  [1, 2_000, '0.1 %'],
  [1, 2_001, '0 %'],
])('%d of %d are shown as %s', (part, whole, text) => {
  expect(percent(part, whole)).toBe(text);
});

test('one of more names than are collected is not called lost', async () => {
  const entry = (prefix: string): object =>
    Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`${prefix}${index}`, 1]));
  const [cached, next] = await Promise.all([readBanks([entry('a')]), readBanks([entry('b')])]);
  expect(findDrift(cached, next, 0.2)).toEqual([]);
});
