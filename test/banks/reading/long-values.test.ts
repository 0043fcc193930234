import { expect, test } from '@jest/globals';
import { readList } from '../../../src/banks/reading/list-reader.ts';
import { EVERY_FIELD } from '../../helpers/read-banks.ts';

test.each([
  ['a number', `0.${'0'.repeat(30_000)}1${'0'.repeat(30_000)}`],
  ['a number without a point', '1'.repeat(60_000)],
  ['a string beside a long number', `["${'\\\\'.repeat(30_000)}",4503599627370497.75]`],
])('%s costs no more than its length', async (_what, value) => {
  const before = process.cpuUsage();
  await readList(Buffer.from(`[${`{"a":${value}},`.repeat(40)}{"a":"kept"}]`), EVERY_FIELD);
  // Quadratic, it would take minutes. The time on a processor does not depend on what else runs.
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1e6).toBeLessThan(5);
});
