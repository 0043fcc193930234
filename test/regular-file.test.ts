import { expect, test } from '@jest/globals';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularFile } from '../src/regular-file.ts';
import { temporaryFolder } from './helpers/temporary-folder.ts';

// What is no regular file: snapshot-file.test.ts.

test('a file is read through a link up to exactly the limit, whatever size it reports', async () => {
  const directory = temporaryFolder();
  const [data, link] = [join(directory, 'data'), join(directory, 'link')];
  symlinkSync('data', link);
  for (const content of ['', 'a', 'eight by']) {
    writeFileSync(data, content);
    expect((await readRegularFile(link, 8)).toString()).toBe(content);
  }
  writeFileSync(data, 'nine byte');
  await expect(readRegularFile(link, 8)).rejects.toThrow('more than 8 bytes');
  // It reports none.
  await expect(readRegularFile('/proc/self/status', 100)).rejects.toThrow('more than 100 bytes');
});
