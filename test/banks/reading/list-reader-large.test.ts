import { expect, test } from '@jest/globals';
import { MAX_ENTRIES } from '../../../src/banks/reading/entry-groups.ts';
import { readList } from '../../../src/banks/reading/list-reader.ts';
import { EVERY_FIELD, expectedOf, verdictOf } from '../../kit/read-banks.ts';

// What takes seconds: many texts, long ones, and how long they take.

/** A deterministic text of at most `length` pieces that JSON is made of. */
const piecesOf = (seed: number, length: number): string => {
  const pieces = [...'[ ] { } , : "a" " \\ 1 - 0.5 e3 null'.split(' '), ' ', '\n', '{"a":1}'];
  let state = seed;
  const next = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0);
  return Array.from({ length: next() % length }, () => pieces[(next() >>> 8) % pieces.length]).join('');
};

test('what is read is what JSON.parse reads, for 20,000 texts made of its pieces', async () => {
  const different: unknown[] = [];
  for (let seed = 1; seed <= 20_000; seed += 1) {
    const text = piecesOf(seed, 8);
    for (const each of [text, `[${text}]`]) {
      const [actual, expected] = [await verdictOf(each), expectedOf(each)];
      if (actual !== expected) different.push({ each, actual, expected });
    }
  }
  expect(different).toEqual([]);
});

test('long numbers and strings cost no more than their length', async () => {
  for (const value of [
    `0.${'0'.repeat(30_000)}1${'0'.repeat(30_000)}`,
    '1'.repeat(60_000),
    `["${'\\\\'.repeat(30_000)}",4503599627370497.75]`,
  ]) {
    const before = process.cpuUsage();
    await readList(Buffer.from(`[${`{"a":${value}},`.repeat(40)}{"a":"kept"}]`), EVERY_FIELD);
    // Quadratic, each would take minutes. The time on a processor does not depend on what else runs.
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(5);
  }
});

test('reading a large list yields to the event loop', async () => {
  let turns = 0;
  const count = setInterval(() => (turns += 1), 1);
  const entries = Array.from({ length: MAX_ENTRIES }, (_, index) => ({ a: index + 'x'.repeat(85) }));
  await readList(Buffer.from(JSON.stringify(entries)), EVERY_FIELD);
  clearInterval(count);
  expect(turns).toBeGreaterThan(2);
});
