import { beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { createLogDestination } from '../../src/telemetry/log-stream.ts';
import { eventually } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// The log into a real pipe, whose reader is the test.

let path: string;
let pipe: number;
/** What has been read so far, a character for each byte. */
let text: string;
beforeEach(() => {
  path = join(temporaryFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  // Not closed: the log of a test may still write into it, and would write into that of the next
  // one.
  pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  text = '';
});

const buffer = Buffer.alloc(1024 * 1024);
/** What is in the pipe now. */
const read = (): string => {
  try {
    return buffer.toString('latin1', 0, readSync(pipe, buffer));
  } catch {
    return '';
  }
};
const readUntil = (isEnough: () => boolean): Promise<void> =>
  eventually(() => {
    text += read();
    return isEnough();
  });
const lineOf = (number: number, rest: string): string =>
  `${String(number).padStart(7, '0')} ${rest}\n`;

test.each(['x', 'ã'])(
  'without a reader, 4 MB of lines of %s are kept and the rest is dropped; a reader that returns gets whole lines',
  async (letter) => {
    const letters = letter.repeat(92 / Buffer.byteLength(letter));
    const log = createLogDestination(pipe);
    for (let number = 0; number < 100_000; number += 1) log.write(lineOf(number, letters));
    let readBefore = 0;
    log.onReadAgain((lost) => {
      readBefore = text.length;
      log.write(`lost ${lost}\n`);
    });
    expect(log.lostLines()).toBeGreaterThan(50_000);
    await readUntil(() => text.endsWith(`lost ${log.lostLines()}\n`));
    // Told once half of the 4 MB has been written, of which a pipe holds up to 64 KiB.
    expect(readBefore).toBeGreaterThan(1.9 * 1024 * 1024);
    log.write('later\n');
    await readUntil(() => text.endsWith('later\n'));
    expect(log.lostLines() + text.split('\n').length - 3).toBe(100_000);

    expect(text.length).toBeLessThan(5 * 1024 * 1024);
    const lines = text.split('\n').slice(0, -3);
    expect(lines.filter((line) => line.length !== 100)).toEqual([]);
    const bytes = Buffer.from(letters).toString('latin1');
    const expected = Array.from({ length: 40_000 }, (_, number) => lineOf(number, bytes).trimEnd());
    expect(lines.slice(0, 40_000)).toEqual(expected);
  },
);

test('a reader that is always a little behind gets every line in order, however many come', async () => {
  const log = createLogDestination(pipe);
  const lines = Array.from({ length: 16_384 }, (_, number) => lineOf(number, 'x'.repeat(1_015)));
  for (let megabytes = 1; megabytes <= 16; megabytes += 1) {
    for (const line of lines.slice(1_024 * (megabytes - 1), 1_024 * megabytes)) log.write(line);
    const behind = megabytes === 16 ? 0 : 300_000;
    // oxlint-disable-next-line no-await-in-loop -- more than 4 MB at once would be dropped
    await readUntil(() => text.length >= megabytes * 1024 * 1024 - behind);
  }
  // Waiting 100 ms for each pipe that is full would take 25 s.
  expect(text === lines.join('')).toBe(true);
}, 10_000);

test('the end waits for a reader that is slow, and not for one that is gone', async () => {
  const log = createLogDestination(pipe);
  log.write(`${'x'.repeat(100_000)}\n`);
  const drained = log.drained(60_000);
  await readUntil(() => text.endsWith('x\n'));
  await drained;

  log.write('y'.repeat(200_000));
  const before = performance.now();
  await log.drained(50);
  log.flushSync(50);
  // Much more than it should take, much less than for ever.
  expect(performance.now() - before).toBeLessThan(5_000);
});

test('at the end, a line that is being written is not written again', async () => {
  const log = createLogDestination(pipe);
  log.write('first\n');
  // Begins to write.
  const drained = log.drained(60_000);
  log.write('second\n');
  log.flushSync(60_000);
  await drained;
  expect(read().split('\n').toSorted()).toEqual(['', 'first', 'second']);
});

test('after the reader has gone, the end does not wait, and a new reader gets the lines that come later', async () => {
  closeSync(pipe);
  pipe = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  closeSync(pipe);
  const log = createLogDestination(fd);
  const lost: number[] = [];
  log.onReadAgain((lines) => lost.push(lines));
  log.write('lost\n');
  log.write('lost with it\n');
  await log.drained(60_000);
  expect([lost, log.lostLines()]).toEqual([[], 2]);
  log.write('lost too\n');
  log.flushSync(60_000);
  pipe = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  log.write('seen\n');
  log.flushSync(60_000);
  log.write('seen too\n');
  await log.drained(60_000);
  expect(read()).toBe('seen\nseen too\n');
  expect([lost, log.lostLines()]).toEqual([[2], 2]);
  closeSync(fd);
});
