import { expect, test } from '@jest/globals';
import {
  CONTENT_CHARS,
  largestCount,
  MAX_EARLIER_LISTS,
  remember,
  remembrance,
  wasHeld,
  type EarlierList,
} from '../../../src/banks/guard/memory.ts';
import { readBanks } from '../../kit/read-banks.ts';

// What the guard remembers and compares with: lists of numbered banks, on a clock that counts hours.

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const BEGINNING = Date.UTC(2026, 0, 1);

type Banks = Awaited<ReturnType<typeof readBanks>>;

/** This many banks; with another name, another content. */
const banks = (count: number, name = ''): Promise<Banks> =>
  readBanks(Array.from({ length: count }, (_, code) => ({ code, name })));

/** A replica's list and its memory. */
const replica = (maxStaleMs = 7 * DAY) => {
  let cached: Banks | undefined;
  const at = (hours: number) => remembrance({ ttlMs: HOUR, maxStaleMs }, BEGINNING + hours * HOUR);
  return {
    at,
    take: async (hours: number, count: number, name?: string): Promise<void> => {
      const next = await banks(count, name);
      cached = { ...next, earlier: remember(cached, next, at(hours)) };
    },
    earlier: (): readonly EarlierList[] => cached?.earlier ?? [],
    largest: (hours: number): number => (cached ? largestCount(cached, at(hours)) : 0),
    wasHeld: async (hours: number, count: number, name?: string): Promise<boolean> =>
      cached !== undefined && wasHeld(cached, await banks(count, name), at(hours)),
  };
};

test('the largest list of the week counts, to the millisecond', async () => {
  const { take, largest } = replica();
  for (const [hour, count] of [100, 90, 80].entries()) await take(hour, count);
  expect(largest(3)).toBe(100);
  // The first was replaced at the first hour, the second at the second.
  expect(largest(1 + 7 * 24)).toBe(100);
  expect(largest(1 + 7 * 24 + 1 / HOUR)).toBe(90);
  expect(largest(3 + 7 * 24)).toBe(80);
});

test('a list that was held before is known, and once it is back, those after it are forgotten', async () => {
  const { take, largest, wasHeld: knows } = replica();
  await take(0, 10);
  await take(1, 12);
  await take(2, 500);
  await take(3, 600);
  expect(await knows(4, 12, 'another name')).toBe(false);
  expect(await knows(4, 12)).toBe(true);
  await take(4, 12);
  expect(largest(5)).toBe(12);
  expect(await knows(5, 500)).toBe(false);
  expect(await knows(5, 10)).toBe(true);
});

test('the list before the cached one is known however long ago that was, and counts no longer than CACHE_MAX_STALE', async () => {
  const { take, largest, wasHeld: knows } = replica(HOUR);
  await take(0, 510);
  await take(1, 500);
  expect(await knows(100, 510)).toBe(true);
  expect([largest(2), largest(2.1), largest(100)]).toEqual([510, 500, 500]);
});

test('the same list again changes nothing', async () => {
  const { take, earlier } = replica();
  await take(0, 10);
  expect(earlier()).toEqual([]);
  await take(1, 12);
  const before = earlier();
  await take(2, 12);
  expect(earlier()).toEqual(before);
});

test('a clock that was set back keeps a list no longer than from then on', async () => {
  const { take, largest } = replica();
  await take(1_000, 100);
  await take(1_001, 90);
  await take(0, 85);
  expect(largest(7 * 24)).toBe(100);
  expect(largest(7 * 24 + 1)).toBe(85);
});

test('however often the list changes, the memory stays small and knows the largest of the week', async () => {
  const { take, largest, earlier } = replica();
  const sizes: number[] = [];
  for (let hour = 0; hour < 400; hour += 1) {
    // A saw: ten days up and down, and never the same content.
    sizes.push(100 + Math.abs((hour % 240) - 120));
    await take(hour, sizes.at(-1) ?? 0, `hour ${hour}`);
    expect(earlier().length).toBeLessThan(MAX_EARLIER_LISTS);
    const week = Math.max(...sizes.slice(-7 * 24 - 1));
    const known = largest(hour + 1);
    expect(known).toBeGreaterThanOrEqual(week);
    // The oldest part of the week counts until the newest list in it is a week old.
    expect(known).toBeLessThanOrEqual(Math.max(...sizes.slice(-8 * 24 - 1)));
  }
  expect(earlier().length).toBeGreaterThan(20);
});

test('two replicas together remember what either of them held, each once and as long as it was held', async () => {
  const memoryOf = async (...taken: readonly (readonly [hour: number, count: number])[]) => {
    const one = replica();
    for (const [hour, count] of taken) await one.take(hour, count);
    return one.earlier();
  };
  const own = await memoryOf([0, 100], [2, 90], [3, 80]);
  // What a list's own sender says was before it is not believed of the list itself.
  const others = await memoryOf([0, 110], [1, 100], [4, 95], [5, 80], [6, 70]);
  const [cached, next] = [await banks(80), await banks(80)];
  const merged = remember({ ...cached, earlier: own }, { ...next, earlier: others }, replica().at(6));
  const hours = ({ heldUntilMs }: EarlierList): number => (heldUntilMs - BEGINNING) / HOUR;
  expect(merged.map((list) => [list.count, hours(list), list.content.length])).toEqual([
    [110, 1, CONTENT_CHARS],
    [90, 3, CONTENT_CHARS],
    [100, 4, CONTENT_CHARS],
    [95, 5, CONTENT_CHARS],
  ]);
});
