import { expect, test } from '@jest/globals';
import { readList } from '../../../src/banks/reading/list-reader.ts';
import { countFilled } from '../../../src/banks/reading/profile.ts';
import { observeFields } from '../../../src/http/openapi.ts';
import { readBanks } from '../../kit/read-banks.ts';

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

test('what is observed is what frontends get: types of empty strings included, and whether entries lack it', async () => {
  const list = await readBanks([
    { code: 1, name: 'A', note: '', site: '' },
    { code: 2, name: 'B', note: 'y', site: 3, logo: 'x' },
    { code: 'x', name: 'C', note: 'z', site: null },
  ]);
  expect(observeFields(list)).toEqual([
    { name: 'code', types: ['string', 'number'], isNullable: false },
    { name: 'name', types: ['string'], isNullable: false },
    { name: 'note', types: ['string'], isNullable: false },
    { name: 'site', types: ['string', 'number'], isNullable: true },
    { name: 'logo', types: ['string'], isNullable: true },
  ]);
});

test('a configured field that no entry has is observed without a type', async () => {
  const list = await readList(Buffer.from('[{"a":1}]'), {
    fields: [
      { name: 'a', from: 'a' },
      { name: 'b', from: 'b' },
    ],
    requiredFields: [],
    maxBytes: 100,
  });
  expect(observeFields(list)).toEqual([
    { name: 'a', types: ['number'], isNullable: false },
    { name: 'b', types: [], isNullable: true },
  ]);
});

test('only published entries count, and each once', async () => {
  const { profile, rejected, count } = await readBanks([{ a: 1 }, { a: 1 }, { a: Number.MAX_VALUE }, 5, {}]);
  expect([countFilled(profile.get('a')), count]).toEqual([1, 1]);
  expect(rejected).toEqual({
    not_an_object: 1,
    required_field: 0,
    nothing_published: 1,
    altered_number: 1,
    unsafe_key: 0,
    duplicate: 1,
  });
});
