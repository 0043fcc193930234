import { expect, test } from '@jest/globals';
import { entryGroups, mayHaveLongNumber } from '../../../src/banks/reading/entry-groups.ts';

// How a list is cut, which saves time. What is read in the end is in list-reader.test.ts.

const sizesOf = (text: string): number[] => [...entryGroups(Buffer.from(text))].map(({ length }) => length);

test('entries are taken together up to 16 KiB', () => {
  const entry = JSON.stringify('x'.repeat(1_021));
  expect(entry).toHaveLength(1_023);
  expect(sizesOf(`[${Array.from({ length: 40 }, () => entry).join(',')}]`)).toEqual([17, 17, 6]);
  expect(sizesOf(`["${'x'.repeat(16_382)}",1]`)).toEqual([1, 1]);
});

test.each([
  ['[123456789012345,-12345.1234567890]', false],
  ['[1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9]', false],
  ['[true,false,null,{"e":1},"12345678000195"]', false],
  ['[0.1234567890123456]', true],
  // Looked at in vain.
  ['["12345678901234567890"]', true],
])('%s may have a number that a double does not hold: %p', (text, mayHave) => {
  expect(mayHaveLongNumber(text)).toBe(mayHave);
});
