import { beforeEach, expect, test } from '@jest/globals';
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { removeAbandoned, replaceFile } from '../../src/sharing/replace-file.ts';
import { runProgram } from '../helpers/program.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

let directory: string;
beforeEach(() => {
  directory = temporaryFolder();
});

const path = (name: string): string => join(directory, name);
const content = (name: string): string => readFileSync(path(name), 'utf8');

test('a file is created and replaced, readable by its owner only', async () => {
  await replaceFile(path('list'), Buffer.from('first'));
  // Of writers that run at once one is the last, and no content is a mixture.
  const contents = Array.from({ length: 20 }, (_, index) => String(index).repeat(100_000));
  await Promise.all(contents.map((text) => replaceFile(path('list'), Buffer.from(text))));
  expect(contents).toContain(content('list'));
  expect(statSync(path('list')).mode & 0o777).toBe(0o600);
  expect(readdirSync(directory)).toEqual(['list']);
});

test('a failure leaves nothing behind', async () => {
  mkdirSync(path('list'));
  await expect(replaceFile(path('list'), Buffer.from('x'))).rejects.toMatchObject({
    code: 'EISDIR',
  });
  expect(readdirSync(directory)).toEqual(['list']);
});

test('the content is on the disk before it gets the name, and then the name is', async () => {
  const replacing = `import { replaceFile } from ${JSON.stringify(pathToFileURL(resolve('dist/src/sharing/replace-file.js')))};
    await replaceFile('list', Buffer.from('text'));`;
  const { exit } = runProgram(process.execPath, {
    args: [
      '--trace-event-categories=node.fs.async',
      '--trace-event-file-pattern=trace.json',
      '--input-type=module',
      `--eval=${replacing}`,
    ],
    cwd: directory,
  });
  expect(await exit).toBe(0);
  const began = content('trace.json').matchAll(/"ph":"b"[^}]*?"name":"(write|fsync|rename)"/g);
  expect([...began].map(([, operation]) => operation)).toEqual([
    'write',
    'fsync',
    'rename',
    'fsync',
  ]);
});

test('temporary files of killed writers are removed, recent ones and other files are not', async () => {
  const [abandoned, recent] = ['list.1-0123456789ab.tmp', 'list.1-ab0123456789.tmp'];
  const others = ['list.tmp', 'list.backup', 'other.1-0123456789ab.tmp'];
  for (const name of [abandoned, recent, ...others]) {
    writeFileSync(path(name), '');
    if (name !== recent) utimesSync(path(name), 0, 0);
  }
  await removeAbandoned(path('list'));
  expect(new Set(readdirSync(directory))).toEqual(new Set([recent, ...others]));
  await expect(removeAbandoned(path('nowhere/list'))).resolves.toBeUndefined();
});
