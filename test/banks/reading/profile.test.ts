import { expect, test } from '@jest/globals';
import { NOTHING_REJECTED } from '../../../src/banks/reading/entry.ts';
import { countFilled } from '../../../src/banks/reading/profile.ts';
import { observeFields } from '../../../src/http/openapi.ts';
import { readBanks } from '../../helpers/read-banks.ts';

test('values are counted by JSON type; null, missing, empty and blank ones are not filled', async () => {
  const values = ['x', '', ' \t\u00a0', null, undefined, 1, 0, false, true, [], [1], {}, { x: 1 }];
  const { profile } = await readBanks(values.map((value, code) => ({ code, value })));
  expect(profile.get('value')).toEqual({
    filled: { string: 1, number: 2, boolean: 2, object: 2, array: 2 },
    blankStrings: 2,
  });
  expect(countFilled(profile.get('value'))).toBe(9);
  expect(countFilled(profile.get('unknown'))).toBe(0);
});

test('an empty string is observed as a string, which frontends get, though it fills nothing', async () => {
  const list = await readBanks([
    { code: 1, note: '', site: '' },
    { code: 2, note: 'y', site: 3 },
  ]);
  expect(observeFields(list)).toEqual([
    { name: 'code', types: ['number'], isNullable: false },
    { name: 'note', types: ['string'], isNullable: false },
    { name: 'site', types: ['string', 'number'], isNullable: false },
  ]);
});

test('only published entries count, and each once; the others are counted by what is wrong with them', async () => {
  const objects = [{ a: 1 }, { a: 1 }, { a: Number.MAX_VALUE }, {}, { a: null }, { a: ' ' }];
  const { profile, rejected, count } = await readBanks([...objects, 5, null, 'text', [1]]);
  expect([countFilled(profile.get('a')), count]).toEqual([1, 1]);
  const junk = { not_an_object: 4, nothing_published: 3, altered_number: 1, duplicate: 1 };
  expect(rejected).toEqual({ ...NOTHING_REJECTED, ...junk });
});
