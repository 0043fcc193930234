import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { parseCommandLine } from '../../src/commands/command-line.ts';
import { runNode } from '../kit/program.ts';

// The arguments of the built program, and what it answers to them.

const run = async (...programArgs: string[]): Promise<{ status: number | null; text: string }> => {
  const { exit, output } = runNode(resolve('dist/src/main.js'), { programArgs, cwd: tmpdir() });
  return { status: await exit, text: output() };
};

test.each([
  [[], 'serve'],
  [['serve'], 'serve'],
  [['doctor'], 'doctor'],
  [['check-config'], 'check-config'],
])('%j is the command %s', (args, name) => {
  expect(parseCommandLine(args)).toEqual({ kind: 'command', name });
});

test.each([
  [['--help'], 'help'],
  [['-h'], 'help'],
  [['doctor', '--help'], 'help'],
  [['--version'], 'version'],
  [['-v'], 'version'],
])('%j asks for the %s', (args, kind) => {
  expect(parseCommandLine(args)).toEqual({ kind });
});

test.each([
  [['start'], 'start'],
  [['Doctor'], 'Doctor'],
  [['toString'], 'toString'],
  [[''], ''],
  [['doctor', 'sandbox'], 'sandbox'],
  [['--port=SECRET'], '--port'],
  [['PROVIDER_ACCESS_TOKEN=SECRET'], 'PROVIDER_ACCESS_TOKEN'],
  [['--help=SECRET'], '--help'],
  [['serve', '--watch'], '--watch'],
  [['-x'], '-x'],
  [['\u001b[31m'], String.raw`\u{1b}[31m`],
])('%j is an error that names %j and what is allowed', (args, name) => {
  expect(parseCommandLine(args)).toEqual({
    kind: 'usage-error',
    problem: `Unknown argument "${name}". Allowed: serve, doctor, check-config, --help, --version.`,
  });
});

test('an unknown argument ends the program with status 2 instead of starting the service', async () => {
  const { status, text } = await run('dcotor');
  expect(status).toBe(2);
  expect(text).toMatch(/^Unknown argument "dcotor"\. Allowed: serve, /);
});

test('--version is that of package.json', async () => {
  const manifest: { version?: string } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(await run('--version')).toEqual({ status: 0, text: `${manifest.version}\n` });
});

test('--help names every command', async () => {
  const { status, text } = await run('--help');
  expect(status).toBe(0);
  for (const name of ['serve', 'doctor', 'check-config'])
    expect(text).toMatch(new RegExp(`^  ${name} `, 'm'));
});

test('package.json names the program, which can be executed as it stands', () => {
  const manifest: { bin?: unknown } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(manifest.bin).toEqual({ 'banks-bff': './dist/src/main.js' });
  expect(readFileSync('dist/src/main.js', 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
});
