import { expect, test } from '@jest/globals';
import {
  bestFilled,
  largestCount,
  MAX_EARLIER_LISTS,
  remember,
  memoryWindow,
  wasCached,
  type EarlierList,
} from '../../../src/banks/guard/memory.ts';
import { monotonic } from '../../../src/clock.ts';
import { readBanks } from '../../helpers/read-banks.ts';

// What the guard remembers and compares with: lists of numbered banks, on a clock that counts
// hours.

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const BEGINNING = 5_000;

type Banks = Awaited<ReturnType<typeof readBanks>>;

/** This many banks; with another name, another content. */
const banks = (count: number, name = ''): Promise<Banks> =>
  readBanks(Array.from({ length: count }, (_, code) => ({ code, name })));

/** A replica's list and its memory. */
const replica = (maxStaleMs = 7 * DAY) => {
  let cached: (Banks & { readonly earlier: readonly EarlierList[] }) | undefined;
  const at = (hours: number) =>
    memoryWindow({ ttlMs: HOUR, maxStaleMs }, monotonic(BEGINNING + hours * HOUR));
  return {
    at,
    take: async (hours: number, count: number, name?: string): Promise<void> => {
      const next = await banks(count, name);
      cached = { ...next, earlier: cached ? remember(cached, next, at(hours)) : [] };
    },
    earlier: (): readonly EarlierList[] => cached?.earlier ?? [],
    largest: (hours: number): number => (cached ? largestCount(cached, at(hours)) : 0),
    wasCached: async (hours: number, count: number, name?: string): Promise<boolean> =>
      cached !== undefined && wasCached(cached, await banks(count, name), at(hours)),
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
  const { take, largest, wasCached: knows } = replica();
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

test('a list is known, and counts, for no longer than the window', async () => {
  const { take, largest, wasCached: knows } = replica(HOUR);
  await take(0, 510);
  await take(1, 500);
  expect([await knows(2, 510), await knows(2.1, 510)]).toEqual([true, false]);
  expect([largest(2), largest(2.1), largest(100)]).toEqual([510, 500, 500]);
});

test('the best filled list of the window is known by field and type', async () => {
  const named = (filled: number) =>
    readBanks(
      Array.from({ length: 10 }, (_, code) => ({ code, name: code < filled ? 'A' : null })),
    );
  const now = (hours: number) =>
    memoryWindow({ ttlMs: HOUR, maxStaleMs: DAY }, monotonic(BEGINNING + hours * HOUR));
  let cached = { ...(await named(10)), earlier: [] as readonly EarlierList[] };
  for (const [hour, filled] of [9, 8, 7].entries()) {
    const next = await named(filled);
    cached = { ...next, earlier: remember(cached, next, now(hour)) };
  }
  const rate = (hours: number) => bestFilled(cached, now(hours)).get('name')?.byType.string;
  expect([rate(3), rate(24), rate(25), rate(26), rate(27)]).toEqual([1, 1, 0.9, 0.8, undefined]);
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

test('however often the list changes, the memory stays small and knows the largest of the week', async () => {
  const { take, largest, earlier } = replica();
  const sizes: number[] = [];
  for (let hour = 0; hour < 400; hour += 1) {
    // A saw: ten days up and down, and never the same content.
    sizes.push(100 + Math.abs((hour % 240) - 120));
    await take(hour, sizes.at(-1) ?? 0, `hour ${hour}`);
    expect(earlier().length).toBeLessThanOrEqual(MAX_EARLIER_LISTS);
    const week = Math.max(...sizes.slice(-7 * 24 - 1));
    const known = largest(hour + 1);
    expect(known).toBeGreaterThanOrEqual(week);
    // The oldest part of the week counts until the newest list in it is a week old.
    expect(known).toBeLessThanOrEqual(Math.max(...sizes.slice(-8 * 24 - 1)));
  }
  expect(earlier().length).toBeGreaterThan(20);
});
