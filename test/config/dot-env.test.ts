import { beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { printConfig } from '../../src/commands/check-config.ts';
import type { EnvironmentVariables } from '../../src/config/reader.ts';
import { runCommand } from '../helpers/run-command.ts';
import { SANDBOX } from '../helpers/sandbox.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// The .env file: what is not read as its author means it is a problem, and all commands report it.

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

/** `text` is only the problems. */
const check = async (env: EnvironmentVariables = {}) => {
  const { status, text } = await runCommand(printConfig, env, folder);
  return { status, text: text.slice(text.indexOf('The configuration ')) };
};

test('a # that would cut a value of .env is a problem, unless it is in quotes or after a space', async () => {
  const dotEnv = [
    'PROVIDER_ACCESS_TOKEN=SECRET#SECRET-2 # a comment',
    'CORS_ORIGINS=https://SECRET.example\u00a0#x\r',
    'MANAGEMENT_TOKEN=#SECRET',
    `BANK_FIELDS='SECRET'#x`,
    'BANK_LIST="SECRET"SECRET',
    'CACHE_TTL="5m"\t# a "comment"\r',
    'CACHE_MAX_STALE=7d\t#comment#',
    'PORT= # none',
    'HTTP_PROXY="http://a#',
    'b"c',
    'NO_PROXY="a#',
  ];
  writeFileSync(join(folder, '.env'), dotEnv.join('\n'));
  const { status, text } = await check();
  expect(status).toBe(1);
  expect(text.match(/(?<=^ {2})\.env.*/gm)).toEqual([
    '.env line 1, PROVIDER_ACCESS_TOKEN: has a # in its value; put the value in quotes, or a space before the # of a comment',
    '.env line 2, CORS_ORIGINS: has a # in its value; put the value in quotes, or a space before the # of a comment',
    '.env line 3, MANAGEMENT_TOKEN: has a # in its value; put the value in quotes, or a space before the # of a comment',
    '.env line 4, BANK_FIELDS: has more after the closing quote; put all of the value in other quotes, or a space before the # of a comment',
    '.env line 5, BANK_LIST: has more after the closing quote; put all of the value in other quotes, or a space before the # of a comment',
    '.env line 10: is not NAME=value; write = after the name',
  ]);
  expect(text).not.toContain('SECRET');
});

test('a line of .env of which nothing would be read is a problem', async () => {
  // Of the white space that Node's parsers do not expect, this is what none of them does.
  const dotEnv = [
    'export\tBANK_FIELDS=code',
    '\u00a0BANK_LIST=data',
    '  export CACHE_MAX_STALE=1h',
    'HOT_PATH  =  on',
  ];
  writeFileSync(join(folder, '.env'), dotEnv.join('\n'));
  const { status, text } = await check(SANDBOX);
  expect(status).toBe(1);
  expect(text.match(/(?<=^ {2})\.env.*(?=; write)/gm)).toEqual([
    '.env line 1, BANK_FIELDS: is not read',
    '.env line 2, BANK_LIST: is not read',
  ]);
});

test('a .env that is another file is refused, with its first problems', async () => {
  writeFileSync(join(folder, '.env'), 'not a variable\n'.repeat(4_000));
  const garbage = await check(SANDBOX);
  expect(garbage.status).toBe(1);
  expect(garbage.text).toMatch(/at least 100 problems:\n {2}\.env line 1: /);
  expect(garbage.text.split('\n').length).toBeLessThan(110);
  writeFileSync(join(folder, '.env'), '#'.repeat(65_537));
  const large = await check(SANDBOX);
  expect(large.status).toBe(1);
  expect(large.text).toContain('.env: cannot be read (more than 65536 bytes)');
});

test('a .env that is a pipe is not waited for', async () => {
  execFileSync('mkfifo', [join(folder, '.env')]);
  const { status, text } = await check(SANDBOX);
  expect(status).toBe(1);
  expect(text).toContain('\n  .env: cannot be read (not a regular file)');
});

test('a .env that is a link to a file that does not exist is a problem', async () => {
  symlinkSync('nowhere', join(folder, '.env'));
  const { status, text } = await check(SANDBOX);
  expect(status).toBe(1);
  expect(text).toContain(
    '\n  .env: cannot be read (a link to a file that does not exist); make it a readable, regular file',
  );
});
