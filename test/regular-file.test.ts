import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readRegularFile } from '../src/regular-file.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'banks-bff-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const path = (name: string): string => join(directory, name);

test.each(['', 'a', 'eight by'])('returns the content: %j', async (content) => {
  writeFileSync(path('data'), content);
  symlinkSync('data', path('link'));
  expect((await readRegularFile(path('link'), 8)).toString()).toBe(content);
});

test('refuses a file above the limit', async () => {
  writeFileSync(path('data'), 'nine byte');
  await expect(readRegularFile(path('data'), 8)).rejects.toThrow('more than 8 bytes');
});

test('refuses a file of unknown size once it exceeds the limit', async () => {
  expect((await readRegularFile('/proc/self/status', 100_000)).length).toBeGreaterThan(100);
  await expect(readRegularFile('/proc/self/status', 100)).rejects.toThrow('more than 100 bytes');
});

test('refuses pipes, devices and directories without waiting', async () => {
  execFileSync('mkfifo', [path('pipe')]);
  for (const file of [path('pipe'), '/dev/zero', directory]) {
    // oxlint-disable-next-line no-await-in-loop -- one file after the other
    await expect(readRegularFile(file, 8)).rejects.toThrow('not a regular file');
  }
});

test("passes on Node's error if the file does not exist", async () => {
  await expect(readRegularFile(path('missing'), 8)).rejects.toMatchObject({ code: 'ENOENT' });
});
