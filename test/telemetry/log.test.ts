import { afterEach, expect, test } from '@jest/globals';
import type { Emulator } from '../../emulator/emulator.ts';
import { pretty } from '../../src/telemetry/pretty.ts';
import { eventually, startRig, type Rig } from '../kit/rig.ts';

// Text of the provider and of clients in the log is bounded, and cannot control a terminal.

let rig: Rig;
afterEach(() => rig.close());

const answerWith = (emulator: Emulator, fields: readonly string[]): void => {
  const bank = { code: '1', ...Object.fromEntries(fields.map((name) => [name, ''])) };
  emulator.respondWith((_req, res) =>
    res.setHeader('content-type', 'application/json').end(JSON.stringify([bank])),
  );
};

const start = async (fields: readonly string[]): Promise<void> => {
  rig = await startRig({ env: { BANK_FIELDS: '' }, before: (emulator) => answerWith(emulator, fields) });
  await eventually(() => rig.service.list.status().nextLoadInMs > 0);
};

const longestLine = (): number =>
  Math.max(
    ...rig
      .log()
      .split('\n')
      .map(({ length }) => length),
  );

test('a line with hundreds of long field names has a few kilobytes', async () => {
  const names = (prefix: string): string[] =>
    Array.from({ length: 400 }, (_, index) => `${prefix}${index}${'x'.repeat(90)}`);
  await start(names('a'));
  // Of the names, 200 are collected, and 50 of those are logged.
  expect(rig.log()).toContain('… and 150 more');
  answerWith(rig.emulator, names('b'));
  rig.clock.next();
  await eventually(() => rig.log().includes("the provider's fields changed"));
  // `code` is in both lists.
  expect(rig.log()).toContain('… and 149 more');
  expect(longestLine()).toBeLessThan(12_000);
});

test('escape sequences and bidirectional characters of the provider do not reach a terminal', async () => {
  await start(['a\u001b[31mred\u001b]0;title\u0007', 'b\u202Egnp.exe', 'c\u009b2J', 'línea']);
  let shown = '';
  const terminal = pretty({ write: (line: string) => void (shown += line) });
  for (const line of rig.log().split(/(?<=\n)/)) terminal.write(line);
  terminal.write('no JSON \u001b[2J\n');
  expect(shown).toContain(String.raw`a\u{1b}[31mred\u{1b}]0;title\u{7},b\u{202e}gnp.exe,c\u{9b}2J,línea`);
  expect(shown).toContain(String.raw`no JSON \u{1b}[2J`);
  expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

test('a forged client address is cut', async () => {
  rig = await startRig({ env: { TRUST_PROXY: '1' } });
  await fetch(`${rig.url}/banks`, { headers: { 'x-forwarded-for': '\\'.repeat(8_000) } });
  await eventually(() => rig.log().includes('"request"'));
  expect(rig.log()).toMatch(/"ip":"(?:\\\\){64}"/);
});
