import { expect, test } from '@jest/globals';
import { LoadError } from '../../../src/banks/load-error.ts';
import { MAX_ENTRIES } from '../../../src/banks/reading/entry-groups.ts';
import { readList } from '../../../src/banks/reading/list-reader.ts';
import { EVERY_FIELD } from '../../kit/read-banks.ts';

// What reading costs; what it results in is in list-reader.test.ts.

test('long numbers and strings cost no more than their length', async () => {
  for (const value of [
    `0.${'0'.repeat(30_000)}1${'0'.repeat(30_000)}`,
    '1'.repeat(60_000),
    `["${'\\\\'.repeat(30_000)}",4503599627370497.75]`,
  ]) {
    const startedAtMs = performance.now();
    await readList(Buffer.from(`[${`{"a":${value}},`.repeat(40)}{"a":"kept"}]`), EVERY_FIELD);
    // Quadratic, each would take minutes.
    expect(performance.now() - startedAtMs).toBeLessThan(5_000);
  }
});

test('reading a large list yields to the event loop, and stops when aborted', async () => {
  let turns = 0;
  const controller = new AbortController();
  const count = setInterval(() => (turns += 1), 1);
  const text = JSON.stringify(
    Array.from({ length: MAX_ENTRIES }, (_, index) => ({ a: index + 'x'.repeat(85) })),
  );
  const json = Buffer.from(text);
  await readList(json, EVERY_FIELD);
  clearInterval(count);
  expect(turns).toBeGreaterThan(2);
  const reading = readList(json, EVERY_FIELD, controller.signal);
  controller.abort(new LoadError('timeout', 'given up'));
  await expect(reading).rejects.toMatchObject({ kind: 'timeout' });
});
