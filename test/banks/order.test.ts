import { expect, test } from '@jest/globals';
import {
  chooseList,
  NO_VERSION,
  nextVersion,
  withFormer,
  type StoreVersion,
  type OrderedList,
} from '../../src/banks/order.ts';
import { monotonic } from '../../src/clock.ts';
import { toPlace } from '../../src/sharing/saved-version.ts';
import { versionAt } from '../helpers/list-version.ts';

// The order of lists, where the shared store has lost what it had, once or many times.

/** A list that the store took as `version`, and that the provider sent at `loadedAtMs`. */
const listAt = (
  version: StoreVersion,
  loadedAtMs: number,
  more: Partial<OrderedList> = {},
): OrderedList => ({
  id: version.listId,
  place: toPlace(version, more.id ?? version.listId),
  isUnconfirmed: false,
  decisions: [],
  requestedAtMs: monotonic(loadedAtMs),
  loadedAtMs: monotonic(loadedAtMs),
  isAgeUnknown: false,
  ...more,
});

const choose = (ours: OrderedList, theirs: OrderedList) => chooseList(ours, theirs, () => false);

const decision = (id: string, madeAtMs: number) => ({ id, madeAtMs: monotonic(madeAtMs) });

test('a series knows how far each one before it got, the last one first', () => {
  const second = withFormer(versionAt('b', 3), versionAt('a', 7));
  const third = withFormer(versionAt('c', 4), second);
  expect(third.former).toEqual([
    { series: 'b', number: 3 },
    { series: 'a', number: 7 },
  ]);
  expect(withFormer(versionAt('a', 1), NO_VERSION).former).toEqual([]);
});

test('a list that goes on in its series keeps what came before, and each series once', () => {
  const before = versionAt('b', 3, [{ series: 'a', number: 7 }]);
  expect(withFormer(versionAt('b', 4), before).former).toEqual([{ series: 'a', number: 7 }]);
  const known = versionAt('b', 4, [{ series: 'a', number: 8 }]);
  expect(withFormer(known, before).former).toEqual([{ series: 'a', number: 8 }]);
});

test('two replicas that begin a series each: the one that is written over knows both', () => {
  const lost = versionAt('a', 7);
  const one = withFormer(versionAt('b', 8), lost);
  const two = withFormer(versionAt('c', 8), lost);
  const next = withFormer({ ...versionAt('b', 9), former: one.former }, two);
  expect(next.former.map(({ series }) => series)).toEqual(['a', 'c']);
  // Neither knows of the other: the younger list stays.
  expect(choose(listAt(one, 10), listAt(two, 20))).toBe('theirs');
  expect(choose(listAt(two, 20), listAt(one, 10))).toBe('ours');
  // What follows both is later than both, however young they are.
  for (const earlier of [one, two, lost]) {
    expect(choose(listAt(earlier, 20), listAt(next, 10))).toBe('theirs');
    expect(choose(listAt(next, 10, { isUnconfirmed: true }), listAt(earlier, 20))).toBe('ours');
  }
});

test('the last 32 series are known, those before them are forgotten', () => {
  let version = versionAt('0', 1);
  for (let series = 1; series <= 33; series += 1)
    version = withFormer(versionAt(String(series), series + 1), version);
  const known = version.former.map(({ series }) => series);
  expect([known.length, known[0], known.at(-1)]).toEqual([32, '32', '1']);
});

test('a series got as far as the one knows who has seen more of it', () => {
  const next = versionAt('b', 9, [{ series: 'a', number: 5 }]);
  for (const [number, reached] of [
    [4, 5],
    [7, 7],
  ] as const)
    expect(withFormer(next, versionAt('a', number)).former).toEqual([
      { series: 'a', number: reached },
    ]);
});

test('a list of a former series is later where that one had gone on', () => {
  const next = versionAt('b', 9, [{ series: 'a', number: 7 }]);
  expect(choose(listAt(versionAt('a', 7), 20), listAt(next, 10))).toBe('theirs');
  // Two histories: the younger list stays.
  expect(choose(listAt(versionAt('a', 8), 20), listAt(next, 10))).toBe('ours');
  expect(choose(listAt(versionAt('a', 8), 10), listAt(next, 20))).toBe('theirs');
});

test('a list that no store has taken has no order: the younger one stays', () => {
  const version = versionAt('a', 1);
  const later = listAt(versionAt('a', 2), 10);
  expect(choose(listAt(version, 20, { id: 'unsaved' }), later)).toBe('ours');
  expect(choose(listAt(version, 5, { id: 'unsaved' }), later)).toBe('theirs');
  // Unless the store still has the one that it follows.
  expect(choose(listAt(version, 5, { id: 'unsaved' }), listAt(version, 10))).toBe('ours');
});

test('without an order the list stays that was requested later, though its response came first', () => {
  const late = listAt(versionAt('a', 1), 30, { requestedAtMs: monotonic(10) });
  const quick = listAt(versionAt('b', 1), 20, { requestedAtMs: monotonic(15) });
  expect([choose(late, quick), choose(quick, late)]).toEqual(['theirs', 'ours']);
});

test('of two lists at one version, as a store that lost the last writes gives them, the younger one stays', () => {
  const one = listAt({ ...versionAt('a', 2), listId: 'one' }, 20);
  const two = listAt({ ...versionAt('a', 2), listId: 'two' }, 10);
  expect([choose(one, two), choose(two, one)]).toEqual(['ours', 'theirs']);
});

test('a list of a snapshot gives way to any that it does not certainly follow', () => {
  const restored = { isUnconfirmed: true };
  const [first, second] = [versionAt('a', 1), versionAt('a', 2)];
  expect(choose(listAt(second, 10, restored), listAt(first, 20))).toBe('ours');
  expect(choose(listAt(first, 20, restored), listAt(second, 10))).toBe('theirs');
  // By its clock it is the younger one.
  expect(choose(listAt(second, 20, restored), listAt(versionAt('b', 1), 10))).toBe('theirs');
});

test('a list of a snapshot follows an earlier one that came into an empty store again', () => {
  const earlier = versionAt('a', 1);
  const again = (theirs: StoreVersion | undefined, version: StoreVersion) =>
    nextVersion(theirs, { id: earlier.listId, place: { kind: 'stored', version } }, true);
  const ours = listAt(versionAt('a', 2), 10, { isUnconfirmed: true });
  const carried = again(undefined, earlier);
  expect(choose(ours, listAt(carried, 20))).toBe('ours');
  expect(choose(ours, listAt(again(undefined, carried), 20))).toBe('ours');
  // What was loaded over it is no earlier list, nor one that was written over another one.
  const loaded = nextVersion(
    carried,
    { id: 'loaded', place: { kind: 'successor', version: carried } },
    true,
  );
  expect(choose(ours, listAt(loaded, 20))).toBe('theirs');
  expect(choose(ours, listAt(again(versionAt('b', 1), earlier), 20))).toBe('theirs');
});

test('of two histories the list stays that the guard takes after the other one', () => {
  const small = listAt(versionAt('a', 1), 20);
  const large = listAt(versionAt('b', 1), 10);
  const refuses = (next: OrderedList): boolean => next === small;
  expect(chooseList(small, large, refuses)).toBe('theirs');
  expect(chooseList(large, small, refuses)).toBe('ours');
  // Where each refuses the other one, the younger list stays.
  expect(chooseList(small, large, () => true)).toBe('ours');
});

test('who knows the last decision of the other decided after it, whatever the clocks say', () => {
  const [first, second] = [decision('first', 20), decision('second', 10)];
  const one = listAt(versionAt('a', 1), 0, { id: 'one', decisions: [first] });
  const two = listAt(versionAt('b', 1), 0, { id: 'two', decisions: [second, first] });
  expect([choose(one, two), choose(two, one)]).toEqual(['theirs', 'ours']);
});

test('of two decisions that do not know each other the later one stays', () => {
  const one = listAt(versionAt('a', 1), 5, { id: 'one', decisions: [decision('first', 10)] });
  const two = listAt(versionAt('b', 1), 0, { id: 'two', decisions: [decision('second', 20)] });
  const none = listAt(versionAt('c', 1), 30, { id: 'none' });
  expect([choose(one, two), choose(two, one)]).toEqual(['theirs', 'ours']);
  expect([choose(one, none), choose(none, one)]).toEqual(['ours', 'theirs']);
});
