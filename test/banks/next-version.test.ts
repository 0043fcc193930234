import { expect, test } from '@jest/globals';
import {
  MAX_NUMBER,
  NO_PLACE,
  NO_VERSION,
  nextVersion,
  type StoreVersion,
} from '../../src/banks/order.ts';
import { versionAt } from '../helpers/list-version.ts';

// The version that a list gets in the shared store.

/** A list that was loaded when the store had `version`. */
const successor = (version: StoreVersion) => ({
  id: 'next',
  place: { kind: 'successor', version } as const,
});

test('the next number of a series is above that of the store, and above that of the list', () => {
  const list = successor(versionAt('a', 3));
  const next = (number: number) => ({ ...versionAt('a', number), listId: 'next' });
  expect(nextVersion(versionAt('a', 7), list, true)).toEqual(next(8));
  expect(nextVersion(versionAt('a', 2), list, true)).toEqual(next(4));
});

test('a store that may have lost something begins another series, and both know how far it got', () => {
  const list = successor(versionAt('a', 3, [{ series: 'z', number: 1 }]));
  for (const [number, reached] of [
    [7, 7],
    [2, 3],
  ] as const) {
    const after = nextVersion(versionAt('a', number), list, false);
    expect(after).toMatchObject({
      number: reached + 1,
      former: [
        { series: 'a', number: reached },
        { series: 'z', number: 1 },
      ],
    });
    expect(after.series).toMatch(/^[\w-]{36}$/);
  }
});

test('after the last number another series begins at 1', () => {
  const list = successor(versionAt('a', 3));
  const theirs = versionAt('a', MAX_NUMBER);
  const after = nextVersion(theirs, list, true);
  expect(after).toMatchObject({ number: 1, former: [{ series: 'a', number: MAX_NUMBER }] });
  expect(after.series).toMatch(/^[\w-]{36}$/);
  expect(nextVersion(versionAt('a', MAX_NUMBER - 1), list, true)).toMatchObject({
    series: 'a',
    number: MAX_NUMBER,
  });
});

test('what is written over another series follows all that both know', () => {
  const theirs = versionAt('b', 7, [{ series: 'a', number: 5 }]);
  const list = successor(versionAt('c', 3, [{ series: 'd', number: 1 }]));
  expect(nextVersion(theirs, list, true)).toEqual({
    series: 'b',
    number: 8,
    listId: 'next',
    former: [
      { series: 'a', number: 5 },
      { series: 'c', number: 3 },
      { series: 'd', number: 1 },
    ],
  });
});

test('a store that has nothing begins another series, above the number of the list', () => {
  const after = nextVersion(undefined, successor(versionAt('a', 3)), true);
  expect(after).toMatchObject({ number: 4, former: [{ series: 'a', number: 3 }] });
  expect(after.series).toMatch(/^[\w-]{36}$/);
  expect(nextVersion(NO_VERSION, { id: 'first', place: NO_PLACE }, true)).toMatchObject({
    number: 1,
  });
});

test('a list that comes again into a store that has nothing keeps the version it had at first', () => {
  const list = (version: StoreVersion) => ({
    id: 'a3',
    place: { kind: 'stored', version } as const,
  });
  const again = nextVersion(undefined, list(versionAt('a', 3)), true);
  expect(again.carriedFrom).toEqual({ series: 'a', number: 3 });
  expect(nextVersion(undefined, list(again), true).carriedFrom).toEqual(again.carriedFrom);
  // One that was chosen over another one is later than that.
  expect(nextVersion(versionAt('b', 1), list(again), true)).not.toHaveProperty('carriedFrom');
  const unsaved = successor(again);
  expect(nextVersion(undefined, unsaved, true)).not.toHaveProperty('carriedFrom');
});
