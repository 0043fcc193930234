import { expect, test } from '@jest/globals';
import { compareLists, findLargeChange } from '../../src/banks/list-change.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { readBanks } from '../helpers/read-banks.ts';

interface Bank {
  readonly code: string;
  readonly name: string;
}
const BANKS: readonly Bank[] = Array.from({ length: 100 }, (_, index) => ({
  code: String(index),
  name: `Banco ${index}`,
}));

test('two lists are compared by what they publish, and by the fields of the provider', async () => {
  const [before, after] = await Promise.all([
    readBanks([{ a: 1 }, { a: 2 }, { b: 3 }]),
    readBanks([{ a: 2 }, { a: 4, c: 1, d: 2 }]),
  ]);
  const change = { added: 1, removed: 2, fieldsAppeared: ['c', 'd'], fieldsVanished: ['b'] };
  expect(compareLists(before, after)).toEqual(change);
  // As after a restart: nothing is known of the fields before.
  expect(compareLists({ ...before, upstreamFields: [] }, after).fieldsAppeared).toEqual([]);
});

test('an entry that changes is one removed and one added, wherever its digest sorts', async () => {
  const banks = Array.from({ length: 50 }, (_, index) => ({ code: index }));
  const before = await readBanks(banks);
  for (const bank of banks) {
    const after = await readBanks(
      banks.map((each) => (each === bank ? { code: 'changed' } : each)),
    );
    expect(compareLists(before, after)).toMatchObject({ added: 1, removed: 1 });
  }
});

/** The first banks have other codes. */
const replaceCodes = (count: number): Bank[] =>
  BANKS.map((bank, index) => (index < count ? { ...bank, code: 'x' } : bank));
const growBy = (count: number): Bank[] => [
  ...BANKS,
  ...Array.from({ length: count }, (_, index) => ({ code: `new ${index}`, name: 'Banco 7' })),
];

test.each<[string, readonly object[], object]>([
  ['its fields', BANKS.map(({ code }) => ({ code, city: code })), { code: 0, city: 100 }],
  [
    'all names',
    BANKS.map((bank) => ({ ...bank, name: `${bank.name} S.A.` })),
    { code: 0, name: 100 },
  ],
  [
    'all names to the same text',
    BANKS.map((bank) => ({ ...bank, name: 'Banco 7' })),
    { code: 0, name: 99 },
  ],
  ['a fifth and one of the entries', replaceCodes(21), { code: 21, name: 0 }],
  ['its size by a fifth and one', growBy(21), { code: 21, name: 21 }],
  ['nothing but its order', BANKS.toReversed(), {}],
  ['just a fifth of the entries', replaceCodes(20), {}],
  ['its size by just a fifth', growBy(20), {}],
])('a list that changes %s is told with its values, by field', async (_what, banks, expected) => {
  const [before, after] = await Promise.all([readBanks(BANKS), readBanks(banks)]);
  const change = await findLargeChange(before, after, 0.2, createManualClock());
  expect(Object.fromEntries(change?.changedValues ?? [])).toEqual(expected);
});
