import { expect, test } from '@jest/globals';
import { join } from 'node:path';
import type { Emulator } from '../../emulator/emulator.ts';
import { pretty } from '../../src/telemetry/pretty.ts';
import { emulate } from '../helpers/emulate.ts';
import { nextLoad, startLoadedRig, type Rig } from '../helpers/rig.ts';
import { eventually } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// The log as people read it. Text of the provider and of clients is bounded, and cannot control a
// terminal. Which line comes when is shown where it is caused.

/** What a terminal shows of the lines, without the times. */
const shown = (lines: string): string => {
  let text = '';
  const terminal = pretty({ write: (line: string) => void (text += line) });
  for (const line of lines.split(/(?<=\n)/)) terminal.write(line);
  return text.replaceAll(/^\d\d:\d\d:\d\d/gm, 'hh:mm:ss');
};

test('at a terminal three lines give the addresses, the configuration and the source of the list', async () => {
  const provider = await emulate();
  const env = { CACHE_SNAPSHOT_FILE: join(temporaryFolder(), 'list') };
  const first = await startLoadedRig({ env, provider });
  expect(shown(first.log()).split('\n').slice(0, 4)).toEqual([
    'hh:mm:ss  CACHE_SNAPSHOT_FILE: no saved list yet  store=CACHE_SNAPSHOT_FILE',
    `hh:mm:ss  banks-bff 0.0.0-test is listening on ${first.url}/banks; management port on ${first.managementUrl}/`,
    '          environment: sandbox; token from PROVIDER_ACCESS_TOKEN; fields: code,ispb,name',
    '          no saved list, loading from the provider',
  ]);
  expect(shown(first.log())).not.toContain('emulator-access-token');
  await first.close();
  const second = await startLoadedRig({ env, provider });
  expect(shown(second.log())).toContain('  list restored from CACHE_SNAPSHOT_FILE\n');
  await provider.behave('unavailable');
  await nextLoad(second);
  expect(shown(second.log())).toMatch(
    /^hh:mm:ss {2}WARN {2}list: load failed: .*kind=unavailable {2}state=fresh$/m,
  );
});

test('at a terminal a line has its time, a mark from warnings on, its message and its facts', () => {
  const line = (level: number): string =>
    `{"level":${level},"severity":"X","time":"2026-01-02T03:04:05.678Z","a":"b","c":[1],"msg":"so"}\n`;
  const lines = [20, 30, 40, 50].map((level) => shown(line(level)));
  expect(lines).toEqual(
    ['', '', 'WARN  ', 'ERROR  '].map((mark) => `hh:mm:ss  ${mark}so  a=b  c=[1]\n`),
  );
  const started =
    '{"level":30,"time":"2026-01-02T03:04:05.678Z","url":"http://a","msg":"listening"}';
  expect(shown(started)).toContain('http://a/banks; management port off\n');
});

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
  answerWith(rig.emulator, []);
  await nextLoad(rig);
  expect(rig.log()).toContain('"fieldsAppeared":[]');
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
  const text = shown(`${rig.log()}no JSON \u001b[2J\n`);
  expect(text).toContain(
    String.raw`a\\u{1b}[31mred\\u{1b}]0;title\\u{7}","b\\u{202e}gnp.exe","c\\u{9b}2J","línea`,
  );
  expect(text).toContain(String.raw`no JSON \u{1b}[2J`);
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

test('a forged client address is cut', async () => {
  const { url, log } = await startLoadedRig({ env: { TRUST_PROXY: '1' } });
  await fetch(`${url}/banks`, { headers: { 'x-forwarded-for': '\\'.repeat(200) } });
  await eventually(() => log().includes('"request"'));
  expect(log()).toMatch(/"ip":"(?:\\\\){64}"/);
});
