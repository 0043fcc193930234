import { afterEach, expect, test } from '@jest/globals';
import type { Emulator } from '../../emulator/emulator.ts';
import { pretty } from '../../src/telemetry/pretty.ts';
import { eventually, startRig, type Rig } from '../kit/rig.ts';

// What the provider and clients can put into the log: bounded, and nothing that a terminal obeys.

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

test('thousands of long field names make a line of a few kilobytes', async () => {
  const names = (prefix: string): string[] =>
    Array.from({ length: 5_000 }, (_, index) => `${prefix}${index}${'x'.repeat(200)}`);
  await start(names('a'));
  expect(rig.log()).toContain('… and 4951 more');
  answerWith(rig.emulator, names('b'));
  rig.clock.next();
  await eventually(() => rig.log().includes('the provider sends other fields'));
  expect(rig.log()).toContain('… and 4950 more');
  expect(longestLine()).toBeLessThan(12_000);
});

test('no escape sequence and no change of direction of the provider’s reaches a terminal', async () => {
  await start(['a\u001b[31mred\u001b]0;title\u0007', 'b\u202Egnp.exe', 'c\u009b2J', 'línea']);
  let shown = '';
  const terminal = pretty({ write: (line: string) => void (shown += line) });
  for (const line of rig.log().split(/(?<=\n)/)) terminal.write(line);
  terminal.write('no JSON \u001b[2J\n');
  expect(shown).toContain(String.raw`a\u{1b}[31mred\u{1b}]0;title\u{7},b\u{202e}gnp.exe,c\u{9b}2J,línea`);
  expect(shown).toContain(String.raw`no JSON \u{1b}[2J`);
  expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

test('an address that a client made up is cut', async () => {
  rig = await startRig({ env: { TRUST_PROXY: '1' } });
  await fetch(`${rig.url}/banks`, { headers: { 'x-forwarded-for': '\\'.repeat(8_000) } });
  await eventually(() => rig.log().includes('"request"'));
  expect(rig.log()).toMatch(/"ip":"(?:\\\\){64}"/);
});
