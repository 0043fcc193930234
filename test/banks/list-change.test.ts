import { expect, test } from '@jest/globals';
import { compareLists } from '../../src/banks/list-change.ts';
import { readBanks } from '../kit/read-banks.ts';

test('two lists are compared by what they publish', async () => {
  const [before, after] = await Promise.all([
    readBanks([{ a: 1 }, { a: 2 }, { b: 3 }]),
    readBanks([{ a: 2 }, { a: 4 }]),
  ]);
  expect(compareLists(before, after)).toEqual({
    added: 1,
    removed: 2,
    fieldsAppeared: [],
    fieldsVanished: ['b'],
  });
});
