import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { parseCommandLine } from '../../src/commands/command-line.ts';
import { runNode } from '../helpers/program.ts';

// The arguments of the program, and what the built one answers to them.

test.each([
  [['snapshot', 'a-file'], { command: 'snapshot', argument: 'a-file' }],
  [['-h'], 'help'],
  [['snapshot', '--help'], 'help'],
  [['doctor', '-v'], 'version'],
])('%j asks for %j', (args, request) => {
  expect(parseCommandLine(args)).toEqual(request);
});

test.each([
  [[''], ''],
  [['--port=SECRET'], '--port'],
  [['--help=SECRET'], '--help'],
  [['\u001b[31m'], String.raw`\u{1b}[31m`],
  [['x'.repeat(41)], 'x'.repeat(40)],
  [['snapshot', 'a-file', 'another'], 'another'],
  [['snapshot', '--force'], '--force'],
])('%j is an error that names %j and what is allowed', (args, name) => {
  expect(parseCommandLine(args)).toEqual({
    problem: `Unknown argument "${name}". Allowed: serve, doctor, snapshot, check-config, --help, --version.`,
  });
});

const manifest: { version?: string; bin?: unknown } = JSON.parse(
  readFileSync('package.json', 'utf8'),
);

test.each([
  // It does not start the service.
  ['dcotor', 2, /^Unknown argument "dcotor"\. Allowed: serve, /],
  ['--version', 0, new RegExp(`^${manifest.version}\n$`)],
  [
    '--help',
    0,
    /^ {2}serve .*\n {2}doctor .*\n {2}snapshot FILE .*\n {2}check-config .*\n\nOptions:\n/m,
  ],
  ['snapshot', 2, /^The command snapshot needs its argument: banks-bff snapshot FILE\n$/],
  ['check-config', 1, /^PORT +default +3000$.*\nThe configuration has \d+ problems:\n/ms],
])('the program answers to %s with status %i', async (argument, status, text) => {
  const { exit, output } = runNode(resolve('dist/src/main.js'), {
    programArgs: [argument],
    cwd: tmpdir(),
  });
  expect(await exit).toBe(status);
  expect(output()).toMatch(text);
});

test('package.json names the program, which can be executed as it stands', () => {
  expect(manifest.bin).toEqual({ 'banks-bff': './dist/src/main.js' });
  expect(readFileSync('dist/src/main.js', 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
});
