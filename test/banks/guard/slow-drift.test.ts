import { expect, test } from '@jest/globals';
import { startRig } from '../../helpers/rig.ts';

// Drift in comparison with all lists of the last days, through the whole service.

type Code = (index: number) => string | number | null;

const text: Code = (index) => `code ${index}`;
/** The first so many entries have none. */
const withoutFirst =
  (missing: number): Code =>
  (index) =>
    index < missing ? null : text(index);

/** Loads the lists in turn. @returns why each is refused; undefined: it is not */
const loadInTurn = async (
  env: Readonly<Record<string, string>>,
  lists: readonly (readonly [size: number, code: Code])[],
): Promise<readonly unknown[]> => {
  let version = 0;
  const toBanks = ([size, code]: (typeof lists)[number]) =>
    Array.from({ length: size }, (_, index) => ({
      name: index === 0 ? `version ${(version += 1)}` : `bank ${index}`,
      code: code(index),
    }));
  const rig = await startRig({
    env: { BANK_FIELDS: 'name,code', ...env },
    emulator: { banks: [{ name: 'a', code: 'a' }] },
  });
  const refusals: unknown[] = [];
  for (const list of lists) {
    rig.emulator.setBanks(toBanks(list));
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    refusals.push((await rig.service.list.refresh())?.message);
  }
  return refusals;
};

test('a field that gets emptier with each list is refused once it has lost more than GUARD_MAX_DRIFT', async () => {
  const lists = [0, 10, 20, 21].map((missing) => [100, withoutFirst(missing)] as const);
  expect(await loadInTurn({}, lists)).toEqual([
    undefined,
    undefined,
    undefined,
    'published fields changed: code: filled in 100 % of entries before, 79 % now',
  ]);
});

test('an empty list does not hide how well a field was filled', async () => {
  const env = { GUARD_MIN_BANKS: '0', GUARD_MAX_SHRINK: '100%' };
  const lists = [
    [0, text] as const,
    ...[0, 0, 15, 30].map((missing) => [100, withoutFirst(missing)] as const),
  ];
  expect((await loadInTurn(env, lists)).at(-1)).toMatch(/code: filled in 100 % .* 70 % now/);
});

test('types that came and went are not counted as more than all entries', async () => {
  const numbers: Code = (index) => (index < 82 ? text(index) : index);
  const lists = [text, numbers, text, withoutFirst(5)].map((code) => [100, code] as const);
  expect(await loadInTurn({}, lists)).toEqual([undefined, undefined, undefined, undefined]);
  const codes: readonly Code[] = [text, (index) => index, text, () => null];
  const swapped = codes.map((code) => [10, code] as const);
  const refusals = await loadInTurn({ GUARD_MAX_DRIFT: '100%' }, swapped);
  expect(refusals.at(-1)).toBeUndefined();
});

test('of a field that loses its numbers slowly, the numbers are named', async () => {
  const withNumbers =
    (count: number): Code =>
    (index) =>
      index < count ? index : text(index);
  const lists = [60, 48, 39].map((count) => [100, withNumbers(count)] as const);
  expect(await loadInTurn({}, lists)).toEqual([
    undefined,
    undefined,
    'published fields changed: code: number in 60 % of entries before, 39 % now',
  ]);
});
