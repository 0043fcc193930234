import { describe, expect, test } from '@jest/globals';
import { MAX_ENTRIES, MAX_ENTRY_BYTES } from '../../../src/banks/reading/entry-groups.ts';
import { readList, type ListContract } from '../../../src/banks/reading/list-reader.ts';
import { EVERY_FIELD, expectedOf, readBanks, verdictOf } from '../../kit/read-banks.ts';

const MEBIBYTE = 1024 * 1024;
const read = (text: string, contract: ListContract = EVERY_FIELD) => readList(Buffer.from(text), contract);
/** Different entries, `#` standing for the number of each. */
const entries = (count: number, entry = '{"a":#}'): string =>
  `[${Array.from({ length: count }, (_, index) => entry.replace('#', String(index))).join(',')}]`;

describe('what is read is what JSON.parse reads', () => {
  test('wherever the entries are cut into groups', async () => {
    const filler = ' '.repeat(20_000);
    for (const text of [
      `[1${filler},2,3${filler}]`,
      `[1${filler},]`,
      `[${filler},1]`,
      `[1${filler},,2]`,
      `[1${filler},2${filler},]`,
      `[${filler}]`,
      `[${filler}1}`,
      `[1${filler},2]]`,
      `[1${filler},2] []`,
    ]) {
      expect(await verdictOf(text)).toBe(expectedOf(text));
    }
  });

  test('in the order of the provider, to the byte, over many groups', async () => {
    const banks = Array.from({ length: 20_000 }, (_, index) => ({
      code: index,
      name: `Banço "${index}" [,]{}\\`,
    }));
    const { json, count } = await readBanks(banks);
    expect(count).toBe(20_000);
    expect(json.toString()).toBe(JSON.stringify(banks));
  });
});

describe('bounds', () => {
  test(`${MAX_ENTRIES} entries are read, one more is too large`, async () => {
    expect(await read(entries(MAX_ENTRIES))).toMatchObject({ count: MAX_ENTRIES });
    await expect(read(entries(MAX_ENTRIES + 1))).rejects.toMatchObject({ kind: 'too_large' });
    // Unusable ones count as well.
    await expect(read(entries(MAX_ENTRIES + 1, '{}'))).rejects.toMatchObject({ kind: 'too_large' });
  });

  test('an entry of 64 KiB is read, a larger one is too large', async () => {
    const entry = (bytes: number): string => `[{"a":"${'x'.repeat(bytes - 8)}"}]`;
    expect(await read(entry(MAX_ENTRY_BYTES))).toMatchObject({ count: 1 });
    await expect(read(entry(MAX_ENTRY_BYTES + 1))).rejects.toMatchObject({ kind: 'too_large' });
  });

  test('a list that grows when it is narrowed is bounded in its published bytes', async () => {
    const fields = Array.from({ length: 50 }, (_, index) => ({
      name: `field${index}`,
      from: `field${index}`,
    }));
    const contract = { fields, requiredFields: [], maxBytes: MEBIBYTE };
    const text = entries(10_000, '{"field0":#}');
    expect(text.length).toBeLessThan(MEBIBYTE / 4);
    await expect(read(text, contract)).rejects.toMatchObject({ kind: 'too_large' });
    const small = { ...contract, maxBytes: 11 };
    expect(
      (await read('[{"field0":1}]', { ...small, fields: fields.slice(0, 1), maxBytes: 14 })).json,
    ).toHaveLength(14);
    await expect(
      read('[{"field0":1}]', { ...small, fields: fields.slice(0, 1), maxBytes: 13 }),
    ).rejects.toMatchObject({
      kind: 'too_large',
    });
  });

  test('of the field names the first 200 are collected, and none that is longer than 100 characters', async () => {
    const names = Array.from({ length: 5_000 }, (_, index) => `f${index}`);
    const entry = Object.fromEntries([['x'.repeat(101), 1], ...names.map((name) => [name, 1])]);
    const { upstreamFields, count } = await readBanks([entry, { later: 1 }]);
    expect(count).toBe(2);
    expect(upstreamFields).toEqual(names.slice(0, 200));
  });
});
