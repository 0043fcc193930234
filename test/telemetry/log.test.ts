import { afterEach, expect, test } from '@jest/globals';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import { pretty } from '../../src/telemetry/pretty.ts';
import { eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

// The log as people read it. Text of the provider and of clients is bounded, and cannot control a terminal. Which line comes
// when is shown where it is caused.

let rig: Rig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

const start = async (options?: RigOptions): Promise<Rig> => {
  const started = await startRig(options);
  rig = started;
  await eventually(() => started.service.list.status().nextLoadInMs > 0);
  return started;
};

/** What a terminal shows of the lines, without the times. */
const shown = (lines: string): string => {
  let text = '';
  const terminal = pretty({ write: (line: string) => void (text += line) });
  for (const line of lines.split(/(?<=\n)/)) terminal.write(line);
  return text.replaceAll(/^\d\d:\d\d:\d\d/gm, 'hh:mm:ss');
};

test('at a terminal three lines give the addresses, the configuration and the source of the list', async () => {
  const provider = await startEmulator();
  const env = { CACHE_SNAPSHOT_FILE: join(mkdtempSync(join(tmpdir(), 'banks-bff-')), 'list') };
  const first = await start({ env, provider });
  expect(shown(first.log()).split('\n').slice(0, 4)).toEqual([
    'hh:mm:ss  CACHE_SNAPSHOT_FILE: no saved list yet  store=CACHE_SNAPSHOT_FILE',
    `hh:mm:ss  banks-bff 0.0.0-test is listening on ${first.url}/banks; management port on ${first.operatorsUrl}/`,
    '          environment: sandbox; token from PROVIDER_ACCESS_TOKEN; fields: code,ispb,name',
    '          no saved list, loading from the provider',
  ]);
  expect(shown(first.log())).not.toContain('emulator-access-token');
  await first.close();
  const { log, clock, service } = await start({ env, provider });
  expect(shown(log())).toContain('  list restored from CACHE_SNAPSHOT_FILE\n');
  await provider.behave('unavailable');
  clock.next();
  await eventually(() => service.list.status().failure !== undefined);
  expect(shown(log())).toMatch(/^hh:mm:ss {2}WARN {2}list: load failed: .*kind=unavailable {2}state=fresh$/m);
  await provider.close();
});

const answerWith = (emulator: Emulator, fields: readonly string[]): void => {
  const bank = { code: '1', ...Object.fromEntries(fields.map((name) => [name, ''])) };
  emulator.respondWith((_req, res) =>
    res.setHeader('content-type', 'application/json').end(JSON.stringify([bank])),
  );
};
const startWith = (fields: readonly string[]): Promise<Rig> =>
  start({ env: { BANK_FIELDS: '' }, before: (emulator) => answerWith(emulator, fields) });

test('a line with hundreds of long field names has a few kilobytes', async () => {
  const names = (prefix: string): string[] =>
    Array.from({ length: 400 }, (_, index) => `${prefix}${index}${'x'.repeat(90)}`);
  const { log, emulator, clock } = await startWith(names('a'));
  // Of the names, 200 are collected, and 50 of those are logged.
  expect(log()).toContain('… and 150 more');
  answerWith(emulator, names('b'));
  clock.next();
  await eventually(() => log().includes("the provider's fields changed"));
  // `code` is in both lists.
  expect(log()).toContain('… and 149 more');
  answerWith(emulator, []);
  clock.next();
  await eventually(() => log().includes('"fieldsAppeared":[]'));
  const lengths = log()
    .split('\n')
    .map(({ length }) => length);
  expect(Math.max(...lengths)).toBeLessThan(12_000);
});

test('escape sequences and bidirectional characters of the provider do not reach a terminal', async () => {
  const fields = ['a\u001b[31mred\u001b]0;title\u0007', 'b\u202Egnp.exe', 'c\u009b2J', 'línea'];
  const { log } = await startWith(fields);
  const text = shown(`${log()}no JSON \u001b[2J\n`);
  expect(text).toContain(String.raw`a\u{1b}[31mred\u{1b}]0;title\u{7},b\u{202e}gnp.exe,c\u{9b}2J,línea`);
  expect(text).toContain(String.raw`no JSON \u{1b}[2J`);
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

test('a forged client address is cut', async () => {
  const { url, log } = await start({ env: { TRUST_PROXY: '1' } });
  await fetch(`${url}/banks`, { headers: { 'x-forwarded-for': '\\'.repeat(8_000) } });
  await eventually(() => log().includes('"request"'));
  expect(log()).toMatch(/"ip":"(?:\\\\){64}"/);
});
