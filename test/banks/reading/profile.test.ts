import { expect, test } from '@jest/globals';
import { NOTHING_REJECTED } from '../../../src/banks/reading/entry.ts';
import { countFilled } from '../../../src/banks/reading/profile.ts';
import { observeFields } from '../../../src/http/openapi.ts';
import { readBanks } from '../../helpers/read-banks.ts';

test('values are counted by JSON type; null, missing, empty and blank ones are not filled', async () => {
  const values = ['x', '', ' \t\u00a0', null, undefined, 1, 0, false, true, {}, { x: 1 }];
  const arrays = [[1], [null, 0], ['', ['x']], [{}], [], [null], [''], [' ', [[], ['\n']]]];
  const banks = [...values, ...arrays].map((value, code) => ({ code, value }));
  const { profile } = await readBanks(banks);
  expect(profile.get('value')).toEqual({
    filled: { string: 1, number: 2, boolean: 2, object: 2, array: 4 },
    blank: { string: 2, number: 0, boolean: 0, object: 0, array: 4 },
  });
  expect(countFilled(profile.get('value'))).toBe(11);
  expect(countFilled(profile.get('unknown'))).toBe(0);
});

test('an empty string or array is observed as one, which frontends get, though it fills nothing', async () => {
  const list = await readBanks([
    { code: 1, note: '', site: '', tags: [], uses: [null] },
    { code: 2, note: 'y', site: 3, tags: null, uses: [] },
  ]);
  expect(observeFields(list)).toEqual([
    { name: 'code', types: ['number'], isNullable: false },
    { name: 'note', types: ['string'], isNullable: false },
    { name: 'site', types: ['string', 'number'], isNullable: false },
    { name: 'tags', types: ['array'], isNullable: true },
    { name: 'uses', types: ['array'], isNullable: false },
  ]);
});

test('only published entries count, and each once; the others are counted by what is wrong with them', async () => {
  const objects = [{ a: 1 }, { a: 1 }, { a: Number.MAX_VALUE }, {}, { a: null }, { a: ' ' }];
  const { profile, rejected, count } = await readBanks([...objects, 5, null, 'text', [1]]);
  expect([countFilled(profile.get('a')), count]).toEqual([1, 1]);
  const junk = { not_an_object: 4, nothing_published: 3, altered_number: 1, duplicate: 1 };
  expect(rejected).toEqual({ ...NOTHING_REJECTED, ...junk });
});
