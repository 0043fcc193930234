import { describe, expect, test } from '@jest/globals';
import { MAX_ENTRIES, MAX_ENTRY_BYTES } from '../../../src/banks/reading/entry-groups.ts';
import { readList, type ListContract } from '../../../src/banks/reading/list-reader.ts';
import { EVERY_FIELD, expectedOf, readBanks, verdictOf } from '../../kit/read-banks.ts';

const MEBIBYTE = 1024 * 1024;
const read = (text: string, contract: ListContract = EVERY_FIELD) => readList(Buffer.from(text), contract);
const list = (count: number, entry: (index: number) => string): string =>
  `[${Array.from({ length: count }, (_, index) => entry(index)).join(',')}]`;
/** Longer than a group of entries. */
const FILLER = ' '.repeat(20_000);

describe('what is read is what JSON.parse reads', () => {
  test('wherever the entries are cut into groups', async () => {
    for (const text of [
      `[1${FILLER},2,3${FILLER}]`,
      `[1${FILLER},]`,
      `[${FILLER},1]`,
      `[1${FILLER},,2]`,
      `[1${FILLER},2${FILLER},]`,
      `[${FILLER}]`,
      `[${FILLER}1}`,
      `[1${FILLER},2]]`,
      `[1${FILLER},2] []`,
      ' \t\r\n[ \t\r\n1 \t\r\n,2 ] \t\r\n',
      ' [ \t\r\n] ',
      // Each has two of the three bytes of a byte order mark.
      '\u1eff[1]',
      '\uff3f[1]',
      '\ufefe[1]',
    ]) {
      expect(await verdictOf(text)).toBe(expectedOf(text));
    }
  });

  test('in the order of the provider, to the byte, over many groups', async () => {
    const banks = Array.from({ length: 1_000 }, (_, index) => ({
      code: index,
      name: `Banço "${index}" [,]{}\\`,
    }));
    const { json, count } = await readBanks(banks);
    expect(count).toBe(1_000);
    expect(json.toString()).toBe(JSON.stringify(banks));
  });
});

describe('bounds', () => {
  test(`${MAX_ENTRIES} entries are read, one more is too large`, async () => {
    // Unusable ones count as well, and take no time.
    const numbers = (count: number): string => list(count, () => '1');
    expect((await read(numbers(MAX_ENTRIES))).rejected.not_an_object).toBe(MAX_ENTRIES);
    await expect(read(numbers(MAX_ENTRIES + 1))).rejects.toMatchObject({ kind: 'too_large' });
  });

  test('an entry of 64 KiB is read, a larger one is too large', async () => {
    const entry = (bytes: number): string => `[1,{"a":"${'x'.repeat(bytes - 8)}"}]`;
    expect(await read(entry(MAX_ENTRY_BYTES))).toMatchObject({ count: 1 });
    await expect(read(entry(MAX_ENTRY_BYTES + 1))).rejects.toMatchObject({ kind: 'too_large' });
    await expect(read(`["${','.repeat(MAX_ENTRY_BYTES)}"]`)).rejects.toMatchObject({ kind: 'too_large' });
  });

  test('a list that grows when it is narrowed is bounded in its published bytes', async () => {
    const fields = Array.from({ length: 50 }, (_, index) => ({
      name: `field${index}`,
      from: `field${index}`,
    }));
    const contract = { fields, requiredFields: [], maxBytes: 64 * 1024 };
    const text = list(200, (index) => `{"field0":${index}}`);
    expect(text.length).toBeLessThan(contract.maxBytes / 4);
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

  test('text of 1 MiB is looked at to say whether it is JSON at all', async () => {
    expect(await verdictOf('x'.repeat(MEBIBYTE))).toBe('malformed');
    expect(await verdictOf('x'.repeat(MEBIBYTE + 1))).toBe('not_a_list');
  });

  test('of the field names the first 200 are collected, and none that is longer than 100 characters', async () => {
    const names = ['x'.repeat(100), ...Array.from({ length: 300 }, (_, index) => `f${index}`)];
    const entry = Object.fromEntries(['x'.repeat(101), ...names].map((name) => [name, 1]));
    const { upstreamFields, profile, count } = await readBanks([entry, { later: 1 }]);
    expect(count).toBe(2);
    expect(upstreamFields).toEqual(names.slice(0, 200));
    expect([...profile.keys()]).toEqual(names.slice(0, 200));
  });
});

test('entries without a required field are rejected, and a group of which nothing is left leaves no comma', async () => {
  const contract = { ...EVERY_FIELD, requiredFields: ['a', 'b'] };
  const bank = '{"a":null,"b":1}';
  const { json, rejected } = await read(
    `[${bank}${FILLER},{"a":"","b":1},{"a":1}${FILLER},${bank.replace('null', '0')},5,{"b":false,"a":[]}]`,
    contract,
  );
  expect(json.toString()).toBe('[{"a":0,"b":1},{"b":false,"a":[]}]');
  expect(rejected).toMatchObject({ required_field: 3, not_an_object: 1 });
});

test('members with the value null, and __proto__ as a value, harm nothing', async () => {
  const text = '[{"a":null,"b":{"c":null,"d":"__proto__"}}]';
  expect((await read(text)).json.toString()).toBe(text);
});

test('in a string nothing is taken for a number, also beside a long one', async () => {
  const text = String.raw`[{"n":1234567890123456,"a":"","b":"1e400","c":"x \" 1e400 \\","d":"\\","e":"\"1e400\"1e400"}]`;
  expect((await read(text)).json.toString()).toBe(text);
});

test('what may not be published is found at any depth, beside other members', async () => {
  const { rejected } = await read(
    '[{"a":1,"b":[{"c":1},{"d":{"__proto__":1}}]},{"a":1,"b":[{"c":1},{"d":-1e400}]}]',
  );
  expect(rejected).toMatchObject({ unsafe_key: 1, altered_number: 1 });
});

test('the configured fields that no entry fills are named, unless there were no objects', async () => {
  const fields = ['a', 'b', 'c', 'd'].map((name) => ({ name, from: `from-${name}` }));
  const contract = { fields, requiredFields: ['a'], maxBytes: 1_000 };
  const text = '[{"from-a":1,"from-b":"","from-c":null,"d":1},{"from-d":1}]';
  expect(await read(text, contract)).toMatchObject({ count: 1, absentFields: ['b', 'c'] });
  expect(await read('[1]', contract)).toMatchObject({ count: 0, absentFields: [] });
});

test('the entries have digests, in ascending order whatever the order of the list is', async () => {
  const digestsOf = async (banks: readonly unknown[]) => [...(await readBanks(banks)).entryDigests];
  const banks = Array.from({ length: 20 }, (_, code) => ({ code }));
  const digests = await digestsOf(banks);
  expect(new Set(digests).size).toBe(20);
  expect(digests).toEqual(digests.toSorted((a, b) => a - b));
  expect(await digestsOf(banks.toReversed())).toEqual(digests);
});

test('an aborted signal ends the reading of a list that takes longer than 10 ms', async () => {
  const text = list(20_000, (index) => `{"a":${index}}`);
  const signal = AbortSignal.abort('given up');
  await expect(readList(Buffer.from(text), EVERY_FIELD, { signal })).rejects.toBe('given up');
});
