import { expect, test } from '@jest/globals';
import { compareLists, findLargeChange } from '../../src/banks/list-change.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { readBanks } from '../kit/read-banks.ts';

interface Bank {
  readonly code: string;
  readonly name: string;
}
const BANKS: readonly Bank[] = Array.from({ length: 100 }, (_, index) => ({
  code: String(index),
  name: `Banco ${index}`,
}));

test('two lists are compared by what they publish', async () => {
  const [before, after] = await Promise.all([
    readBanks([{ a: 1 }, { a: 2 }, { b: 3 }]),
    readBanks([{ a: 2 }, { a: 4 }]),
  ]);
  expect(compareLists(before, after)).toEqual({
    added: 1,
    removed: 2,
    fieldsAppeared: [],
    fieldsVanished: ['b'],
  });
});

test("the provider's new fields are named, unless nothing is known of those before, as after a restart", async () => {
  const [before, after] = await Promise.all([readBanks([{ a: 1 }]), readBanks([{ a: 1, b: 2, c: 3 }])]);
  expect(compareLists(before, after)).toMatchObject({ fieldsAppeared: ['b', 'c'], fieldsVanished: [] });
  expect(compareLists({ ...before, upstreamFields: [] }, after).fieldsAppeared).toEqual([]);
});

test('an entry that changes is one removed and one added, wherever its digest sorts', async () => {
  const banks = Array.from({ length: 50 }, (_, index) => ({ code: index }));
  const before = await readBanks(banks);
  for (const bank of banks) {
    const after = await readBanks(banks.map((each) => (each === bank ? { code: 'changed' } : each)));
    expect(compareLists(before, after)).toMatchObject({ added: 1, removed: 1 });
  }
});

test.each<[string, (bank: Bank, index: number) => Bank, object]>([
  ['all names', (bank) => ({ ...bank, name: `${bank.name} S.A.` }), { code: 0, name: 100 }],
  ['all names by the same text', (bank) => ({ ...bank, name: 'Banco 7' }), { code: 0, name: 99 }],
  [
    'a fifth and one',
    (bank, index) => ({ ...bank, code: index < 21 ? 'x' : bank.code }),
    { code: 21, name: 0 },
  ],
  ['none but their order', (bank, index) => BANKS[99 - index] ?? bank, {}],
  ['a fifth', (bank, index) => ({ ...bank, code: index < 20 ? 'x' : bank.code }), {}],
])('a list that replaces %s is told with its values, by field', async (_what, replace, expected) => {
  const [before, after] = await Promise.all([readBanks(BANKS), readBanks(BANKS.map(replace))]);
  const change = await findLargeChange(before, after, 0.2, createManualClock());
  expect(Object.fromEntries(change?.changedValues ?? [])).toEqual(expected);
});

test('growth by more than the share is told, and by just the share is not', async () => {
  const grown = async (by: number) => {
    const more = Array.from({ length: by }, (_, index) => ({ code: `new ${index}`, name: 'Banco 7' }));
    const [before, after] = await Promise.all([readBanks(BANKS), readBanks([...BANKS, ...more])]);
    return findLargeChange(before, after, 0.2, createManualClock());
  };
  expect(await grown(20)).toBeUndefined();
  expect(await grown(21)).toMatchObject({
    added: 21,
    removed: 0,
    changedValues: new Map([
      ['code', 21],
      ['name', 21],
    ]),
  });
});
