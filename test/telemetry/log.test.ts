import { expect, test } from '@jest/globals';
import type { Emulator } from '../../emulator/emulator.ts';
import { nextLoad, startLoadedRig, type Rig } from '../helpers/rig.ts';

// Text of the provider in the log is bounded, and cannot control a terminal.

const answerWith = (emulator: Emulator, fields: readonly string[], value = ''): void => {
  const bank = { code: '1', ...Object.fromEntries(fields.map((name) => [name, value])) };
  emulator.respondWith((_req, res) =>
    res.setHeader('content-type', 'application/json').end(JSON.stringify([bank])),
  );
};
const startWith = (fields: readonly string[]): Promise<Rig> =>
  startLoadedRig({
    env: { BANK_FIELDS: '' },
    before: (emulator) => answerWith(emulator, fields, '1'),
  });

test('a line with hundreds of long field names has a few kilobytes', async () => {
  const names = (prefix: string, chars: number): string[] =>
    Array.from({ length: 400 }, (_, index) => `${prefix}${index}${'x'.repeat(chars)}`);
  const rig = await startWith(names('a', 60));
  // Of the names, 200 are collected, and 50 of those are logged.
  expect(rig.log()).toContain('… and 150 more');
  answerWith(rig.emulator, names('b', 90));
  await nextLoad(rig);
  // `code` is in both lists.
  expect(rig.log()).toContain('… and 149 more');
  const longest = Math.max(
    ...rig
      .log()
      .split('\n')
      .map((line) => line.length),
  );
  expect(longest).toBeLessThan(12_000);
});

test('escape sequences and bidirectional characters of the provider do not reach a terminal', async () => {
  const fields = ['a\u001b[31mred\u001b]0;title\u0007', 'b\u202Egnp.exe', 'c\u009b2J', 'línea'];
  const rig = await startWith([]);
  answerWith(rig.emulator, fields);
  await nextLoad(rig);
  expect(rig.log()).toContain(
    String.raw`a\\u{1b}[31mred\\u{1b}]0;title\\u{7}","b\\u{202e}gnp.exe","c\\u{9b}2J","línea`,
  );
  expect(rig.log().replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});
