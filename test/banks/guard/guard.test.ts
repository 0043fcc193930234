import { describe, expect, test } from '@jest/globals';
import type { ProfiledList } from '../../../src/banks/guard/drift.ts';
import {
  guard,
  type Overridable,
  type NewList,
  type GuardPolicy,
} from '../../../src/banks/guard/guard.ts';
import { LoadError } from '../../../src/banks/load-error.ts';
import { NOTHING_REJECTED, type FieldRule } from '../../../src/banks/reading/entry.ts';
import { readList, type ReadList } from '../../../src/banks/reading/list-reader.ts';
import { readBanks } from '../../helpers/read-banks.ts';

const POLICY: GuardPolicy = { minBanks: 2, maxShrink: 0.2, maxDrift: 0.2, fields: undefined };

const NO_MEMORY = { bestFilled: new Map(), windowMs: 7 * 86_400_000, hasKnownContent: false };

const errorOf = (
  list: NewList,
  cached: ProfiledList | undefined,
  policy: GuardPolicy,
  accept: readonly Overridable[] = [],
): LoadError | undefined => {
  try {
    const precedent = cached && { cached, largestCount: cached.count, ...NO_MEMORY };
    guard(list, precedent, policy, accept);
    return undefined;
  } catch (error) {
    return LoadError.from(error);
  }
};

describe('with at least 2 banks and a shrink of at most 20 %', () => {
  const unknown = {
    profile: new Map(),
    absentFields: [],
    objectFields: new Map(),
    upstreamFields: [],
  };
  test.each([
    [1, 0, undefined, 'too_few'],
    [2, 0, undefined, undefined],
    [8, 2, undefined, undefined],
    [7, 3, undefined, 'unusable_entries'],
    [0, 5, undefined, 'unusable_entries'],
    [80, 0, 100, undefined],
    [200, 0, 100, undefined],
    [1, 0, 100, 'too_few'],
  ])(
    'a list of %d banks and %d rejected entries, after one of %p, ends as %s',
    (count, junk, before, kind) => {
      const list = { count, rejected: { ...NOTHING_REJECTED, not_an_object: junk }, ...unknown };
      const cached = before === undefined ? undefined : { count: before, profile: new Map() };
      expect(errorOf(list, cached, POLICY)?.kind).toBe(kind);
    },
  );

  test.each([
    [100, 86_400_000, ''],
    [101, 7 * 86_400_000, ' in the last 7 days'],
    [101, 86_400_000, ' in the last 24 hours'],
    [101, 90_000, ' in the last 90 seconds'],
  ])(
    '79 banks are too few after 100, the most of which were %d',
    (largestCount, windowMs, since) => {
      const list = { count: 79, rejected: NOTHING_REJECTED, ...unknown };
      const precedent = {
        cached: { count: 100, profile: new Map() },
        largestCount,
        ...NO_MEMORY,
        windowMs,
      };
      const refusal = new LoadError(
        'shrunk',
        `the list shrank from ${largestCount} to 79 entries${since}`,
      );
      expect(() => guard(list, precedent, POLICY, [])).toThrow(refusal);
    },
  );
});

test('entries that are unusable for their objects are refused with what BANK_FIELDS can name instead', async () => {
  const ids = { ispb: 1, cnpj: { root: 2 }, [`long${'x'.repeat(30)}`]: 3 };
  const fields = [{ name: 'id', from: 'ids' }];
  const list = await readList(Buffer.from(JSON.stringify([{ ids }])), {
    fields,
    requiredFields: [],
    maxBytes: 1_000,
  });
  const refusal = errorOf(list, undefined, { ...POLICY, fields });
  expect(refusal).toMatchObject({
    kind: 'unusable_entries',
    message:
      '1 of 1 entries are unusable; the field ids is an object, or has objects; BANK_FIELDS can name what is in it: ispb:ids.ispb, root:ids.cnpj.root',
    fields: ['id'],
  });
});

describe('a field of BANK_FIELDS that no entry has', () => {
  const read = (banks: readonly unknown[], fields: readonly FieldRule[]): Promise<ReadList> =>
    readList(Buffer.from(JSON.stringify(banks)), { fields, requiredFields: [], maxBytes: 10_000 });
  const BANKS = [
    { code: '001', ispb: '1', name: 'A' },
    { code: '002', ispb: '2', name: 'B' },
  ];
  const field = (name: string, from = name, isOptional = false) => ({ name, from, isOptional });
  const fieldsOf = (...names: string[]) => names.map((name) => field(name));
  const verdict = async (
    banks: readonly unknown[],
    fields: readonly FieldRule[],
    cached?: ReadList,
  ): Promise<LoadError | undefined> =>
    errorOf(await read(banks, fields), cached, { ...POLICY, minBanks: 0, fields });

  const NONE = 'no entry has a value in these fields of BANK_FIELDS:';
  const nameless = BANKS.map((bank) => ({ ...bank, name: null }));
  const sourced = [field('nome'), field('id', 'bankId')];
  const withLogo = [...BANKS, { code: '3', logo: 'x' }];
  test.each<[string, readonly unknown[], readonly FieldRule[], string | undefined]>([
    [
      'is named with the nearest one',
      BANKS,
      fieldsOf('codigo', 'ispb'),
      `${NONE} codigo, perhaps code`,
    ],
    ['is named with its source', BANKS, sourced, `${NONE} nome, perhaps name; id (from bankId)`],
    ['is named alone where it is null', nameless, fieldsOf('code', 'name'), `${NONE} name`],
    [
      'is said before entries are called unusable',
      BANKS,
      fieldsOf('cod'),
      `${NONE} cod, perhaps code`,
    ],
    ['is not said without objects', [1, 2, 3], fieldsOf('code'), '3 of 3 entries are unusable'],
    ['passes where it is optional', BANKS, [field('code'), field('logo', 'logo', true)], undefined],
    ['passes where one entry has it', withLogo, fieldsOf('code', 'logo'), undefined],
    ['passes where there are no entries', [], fieldsOf('code'), undefined],
  ])('%s', async (_what, banks, fields, message) => {
    expect((await verdict(banks, fields))?.message).toBe(message);
  });

  test('is in the details of the failure', async () => {
    const failure = { kind: 'missing_field', fields: ['codigo', 'nome'] };
    expect(await verdict(BANKS, fieldsOf('codigo', 'ispb', 'nome'))).toMatchObject(failure);
  });

  test('is drift where a list is cached, and none where it was not there before', async () => {
    const fields = fieldsOf('code', 'name');
    const renamed = BANKS.map(({ code, name }) => ({ code, bankName: name }));
    const [before, without] = await Promise.all([read(BANKS, fields), read(renamed, fields)]);
    expect((await verdict(renamed, fields, before))?.kind).toBe('drifted');
    expect(await verdict(renamed, fields, without)).toBeUndefined();
  });

  test.each([
    ['name-0123456789a', true],
    ['name-0123456789ab', false],
    ['name!', false],
    ['__name__', true],
    // Configured under this name, the field would be refused.
    ['__proto__', false],
  ])('may be called %s: %p', async (name, isShown) => {
    const fields = fieldsOf('code', name === '__proto__' ? 'proto' : 'name');
    const error = await verdict([{ code: '1', [name]: 'x' }], fields);
    expect(error?.message.includes(`perhaps ${name}`)).toBe(isShown);
  });
});

describe('a drift', () => {
  const drifted = async (...names: readonly string[]): Promise<LoadError | undefined> => {
    const entry = Object.fromEntries(names.map((name) => [name, 1]));
    const [cached, list] = await Promise.all([
      readBanks([{ code: 1, ...entry }]),
      readBanks([{ code: 1 }]),
    ]);
    return errorOf(list, cached, { ...POLICY, minBanks: 1 });
  };
  const LOST = 'filled in 100 % of entries before, 0 % now';

  test('names five fields in its message, counts the rest, and lists all', async () => {
    expect(await drifted('a', 'b', 'c', 'd', 'e')).toMatchObject({
      message: `published fields changed: a: ${LOST}; b: ${LOST}; c: ${LOST}; d: ${LOST}; e: ${LOST}`,
    });
    expect(await drifted('a', 'b', 'c', 'd', 'e', 'f', 'g')).toMatchObject({
      message: `published fields changed: a: ${LOST}; b: ${LOST}; c: ${LOST}; d: ${LOST}; e: ${LOST}; and 2 more`,
      fields: ['a', 'b', 'c', 'd', 'e', 'f', 'g'],
    });
  });

  test('of a field whose name could be something else is reported without the name', async () => {
    expect(await drifted('\u001b[31m')).toMatchObject({
      message: `published fields changed: (a name that cannot be shown): ${LOST}`,
      fields: ['(a name that cannot be shown)'],
    });
  });
});

test.each<[readonly Overridable[], string | undefined]>([
  [[], 'shrunk'],
  [['shrunk'], 'drifted'],
  [['drifted'], 'shrunk'],
  [['shrunk', 'drifted'], undefined],
])('overriding %j leaves a list that shrank and drifted refused as %s', async (accept, kind) => {
  const banks = Array.from({ length: 100 }, (_, index) => ({ code: String(index) }));
  const [cached, list] = await Promise.all([
    readBanks(banks),
    readBanks(banks.slice(50).map(({ code }) => ({ code: Number(code) }))),
  ]);
  expect(errorOf(list, cached, POLICY, accept)?.kind).toBe(kind);
});
