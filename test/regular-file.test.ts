import { expect, test } from '@jest/globals';
import { readdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  describeUnreadable,
  isReadHanging,
  lateReads,
  readRegularFile,
} from '../src/regular-file.ts';
import { createManualClock } from './helpers/manual-clock.ts';
import { eventually } from './helpers/wait-until.ts';
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
  expect(openFiles()).not.toContain(data);
});

/** Of this process. */
const openFiles = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(join('/proc/self/fd', fd))];
    } catch {
      // That of the folder itself is closed by now.
      return [];
    }
  });

test('a read that is late is waited for, so that it is not taken for one that hangs', async () => {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, 'text');
  const clock = createManualClock();
  const reading = readRegularFile(file, 8, { clock });
  clock.advance(2_000);
  await expect(reading).rejects.toThrow('not within 2000 ms');
  expect(isReadHanging()).toBe(true);
  await lateReads(20_000);
  expect(isReadHanging()).toBe(false);
});

test('a read that hangs ends in time, and none in its folder is begun before it has ended', async () => {
  const directory = temporaryFolder();
  const [first, second] = [join(directory, 'first'), join(directory, 'second')];
  for (const file of [first, second]) writeFileSync(file, 'text');
  const clock = createManualClock();
  const read = (file: string) => readRegularFile(file, 8, { clock });
  const readings = [read(first), read(second)];
  // Before the event loop turns no file has been read.
  clock.advance(2_000);
  const [error, next] = await Promise.allSettled(readings);
  expect(error).toEqual(next);
  expect(describeUnreadable(error?.status === 'rejected' && error.reason, 8)).toBe(
    'cannot be read (not within 2000 ms); check the file system that it is on',
  );
  expect(isReadHanging()).toBe(true);
  await expect(read(second)).rejects.toThrow('not within 2000 ms');
  // What is in another folder does not wait for it.
  await expect(readRegularFile('/proc/self/cmdline', 10_000)).resolves.toBeDefined();

  await eventually(() => !isReadHanging());
  expect((await read(second)).toString()).toBe('text');
});
