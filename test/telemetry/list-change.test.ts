import { expect, test } from '@jest/globals';
import { compareLists } from '../../src/telemetry/list-change.ts';
import { readBanks } from '../kit/read-banks.ts';

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
