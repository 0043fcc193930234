import { describe, expect, test } from '@jest/globals';
import type { ProfiledList } from '../../../src/banks/guard/drift.ts';
import { guard, type Acceptance, type NewList, type GuardPolicy } from '../../../src/banks/guard/guard.ts';
import { LoadError } from '../../../src/banks/load-error.ts';
import { NOTHING_REJECTED } from '../../../src/banks/reading/entry.ts';
import { readList, type ReadList } from '../../../src/banks/reading/list-reader.ts';
import { readBanks } from '../../kit/read-banks.ts';

const POLICY: GuardPolicy = { minBanks: 2, maxShrink: 0.2, maxDrift: 0.2, fields: undefined };

const errorOf = (
  list: NewList,
  cached: ProfiledList | undefined,
  policy: GuardPolicy,
  accept: readonly Acceptance[] = [],
): LoadError | undefined => {
  try {
    guard(list, cached && { cached, largestCount: cached.count }, policy, accept);
    return undefined;
  } catch (error) {
    return LoadError.from(error);
  }
};

describe('with at least 2 banks and a shrink of at most 20 %', () => {
  const unknown = { profile: new Map(), absentFields: [], upstreamFields: [] };
  test.each([
    [1, 0, undefined, 'too_few'],
    [2, 0, undefined, undefined],
    [8, 2, undefined, undefined],
    [7, 3, undefined, 'unusable_entries'],
    [0, 5, undefined, 'unusable_entries'],
    [80, 0, 100, undefined],
    [200, 0, 100, undefined],
    [1, 0, 100, 'too_few'],
  ])('%d banks and %d rejected entries, after %p banks: %s', (count, junk, before, kind) => {
    const list = { count, rejected: { ...NOTHING_REJECTED, not_an_object: junk }, ...unknown };
    const cached = before === undefined ? undefined : { count: before, profile: new Map() };
    expect(errorOf(list, cached, POLICY)?.kind).toBe(kind);
  });

  test.each([
    [100, ''],
    [101, ' in the last days'],
  ])('79 banks are too few after 100, the most of which were %d', (largestCount, since) => {
    const list = { count: 79, rejected: NOTHING_REJECTED, ...unknown };
    const precedent = { cached: { count: 100, profile: new Map() }, largestCount };
    const refusal = new LoadError('shrunk', `the list shrank from ${largestCount} to 79 entries${since}`);
    expect(() => guard(list, precedent, POLICY, [])).toThrow(refusal);
  });
});

describe('a field of BANK_FIELDS that no entry has', () => {
  const read = (banks: readonly unknown[], fields: NonNullable<GuardPolicy['fields']>): Promise<ReadList> =>
    readList(Buffer.from(JSON.stringify(banks)), { fields, requiredFields: [], maxBytes: 10_000 });
  const BANKS = [
    { code: '001', ispb: '1', name: 'A' },
    { code: '002', ispb: '2', name: 'B' },
  ];
  const field = (name: string, from = name, isOptional = false) => ({ name, from, isOptional });
  const verdict = async (
    banks: readonly unknown[],
    fields: NonNullable<GuardPolicy['fields']>,
    cached?: ReadList,
  ): Promise<LoadError | undefined> =>
    errorOf(await read(banks, fields), cached, { ...POLICY, minBanks: 0, fields });

  test('is named with the nearest one that the provider sends', async () => {
    const error = await verdict(BANKS, [field('codigo'), field('ispb'), field('nome')]);
    expect(error).toMatchObject({ kind: 'missing_field', fields: ['codigo', 'nome'] });
    expect(error?.message).toBe(
      'no entry has a value in these fields of BANK_FIELDS: codigo, perhaps code; nome, perhaps name',
    );
  });

  test('is named with the name from which it is published, and without itself where it is null everywhere', async () => {
    const banks = BANKS.map((bank) => ({ ...bank, name: null }));
    const error = await verdict(banks, [field('code'), field('id', 'bankId'), field('name')]);
    expect(error?.message).toBe(
      'no entry has a value in these fields of BANK_FIELDS: id (from bankId); name',
    );
  });

  test('is said before the entries that have nothing else are called unusable', async () => {
    expect((await verdict(BANKS, [field('codigo'), field('nome')]))?.kind).toBe('missing_field');
    expect((await verdict([1, 2, 3], [field('code')]))?.kind).toBe('unusable_entries');
  });

  test('passes when it is optional, when one entry has it, and when there are no entries', async () => {
    const logo = field('logo', 'logo', true);
    expect(await verdict(BANKS, [field('code'), logo])).toBeUndefined();
    expect(
      await verdict([...BANKS, { code: '3', logo: 'x' }], [field('code'), field('logo')]),
    ).toBeUndefined();
    expect(await verdict([], [field('code')])).toBeUndefined();
  });

  test('is drift where a list is cached, and none where it was not there before', async () => {
    const fields = [field('code'), field('name')];
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
    const error = await verdict(
      [{ code: '1', [name]: 'x' }],
      [field('code'), field(name === '__proto__' ? 'proto' : 'name')],
    );
    expect(error?.message.includes(`perhaps ${name}`)).toBe(isShown);
  });
});

describe('a drift', () => {
  const drifted = async (...names: readonly string[]): Promise<LoadError | undefined> => {
    const entry = Object.fromEntries(names.map((name) => [name, 1]));
    const [cached, list] = await Promise.all([readBanks([{ code: 1, ...entry }]), readBanks([{ code: 1 }])]);
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

describe('acceptance', () => {
  test.each<[readonly Acceptance[], string | undefined]>([
    [[], 'shrunk'],
    [['shrunk'], 'drifted'],
    [['drifted'], 'shrunk'],
    [['shrunk', 'drifted'], undefined],
  ])('of %j leaves a list that shrank and drifted refused as %s', async (accept, kind) => {
    const banks = Array.from({ length: 100 }, (_, index) => ({ code: String(index) }));
    const [cached, list] = await Promise.all([
      readBanks(banks),
      readBanks(banks.slice(50).map(({ code }) => ({ code: Number(code) }))),
    ]);
    expect(errorOf(list, cached, POLICY, accept)?.kind).toBe(kind);
  });
});
