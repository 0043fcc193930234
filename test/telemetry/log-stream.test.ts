import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogDestination } from '../../src/telemetry/log-stream.ts';
import { eventually } from '../kit/rig.ts';

// The log into a real pipe, whose reader is the test.

let directory: string;
let pipe: number;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'banks-bff-'));
  execFileSync('mkfifo', [join(directory, 'pipe')]);
  pipe = openSync(join(directory, 'pipe'), constants.O_RDWR | constants.O_NONBLOCK);
});
afterEach(() => {
  closeSync(pipe);
  rmSync(directory, { recursive: true });
});

const buffer = Buffer.alloc(1024 * 1024);
/** What is in the pipe now, a character for each byte. */
const read = (): string => {
  try {
    return buffer.toString('latin1', 0, readSync(pipe, buffer));
  } catch {
    return '';
  }
};

test.each(['x', 'ã'])(
  'without a reader, 4 MB of lines of %s are kept and the rest is dropped; a reader that returns gets whole lines',
  async (letter) => {
    const letters = letter.repeat(92 / Buffer.byteLength(letter));
    const log = createLogDestination(pipe);
    const lineOf = (number: number): string => `${String(number).padStart(7, '0')} ${letters}\n`;
    for (let number = 0; number < 100_000; number += 1) log.write(lineOf(number));
    let text = '';
    await eventually(() => (text += read()).length >= 4_000_000);
    await eventually(() => {
      const part = read();
      text += part;
      return part === '' && text.endsWith('\n');
    });
    log.write('later\n');
    await eventually(() => (text += read()).endsWith('later\n'));

    expect(text.length).toBeLessThan(5 * 1024 * 1024);
    const lines = text.split('\n').slice(0, -2);
    expect(lines.filter((line) => line.length !== 100)).toEqual([]);
    const bytesOf = (number: number): string => Buffer.from(lineOf(number).trimEnd()).toString('latin1');
    expect(lines.slice(0, 40_000)).toEqual(Array.from({ length: 40_000 }, (_, number) => bytesOf(number)));
  },
);

test('a reader that is always a little behind gets every line in order, however many come', async () => {
  const log = createLogDestination(pipe);
  const lineOf = (number: number): string => `${String(number).padStart(7, '0')} ${'x'.repeat(1_015)}\n`;
  let received = '';
  for (let megabytes = 1; megabytes <= 16; megabytes += 1) {
    for (let line = 0; line < 1_024; line += 1) log.write(lineOf(1_024 * (megabytes - 1) + line));
    const behind = megabytes === 16 ? 0 : 300_000;
    // oxlint-disable-next-line no-await-in-loop -- more than 4 MB at once would be dropped
    await eventually(() => (received += read()).length >= megabytes * 1024 * 1024 - behind);
  }
  // Waiting 100 ms for each pipe that is full would take 25 s.
  expect(received === Array.from({ length: 16_384 }, (_, number) => lineOf(number)).join('')).toBe(true);
}, 10_000);

test('the end waits for a reader that is slow, and not for one that is gone', async () => {
  const log = createLogDestination(pipe);
  log.write(`${'x'.repeat(100_000)}\n`);
  const drained = log.drained(60_000);
  let text = '';
  await eventually(() => (text += read()).endsWith('x\n'));
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
  const path = join(directory, 'pipe');
  closeSync(pipe);
  pipe = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  closeSync(pipe);
  const log = createLogDestination(fd);
  log.write('lost\n');
  await log.drained(60_000);
  log.write('lost too\n');
  log.flushSync(60_000);
  pipe = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  log.write('seen\n');
  log.flushSync(60_000);
  log.write('seen too\n');
  await log.drained(60_000);
  expect(read()).toBe('seen\nseen too\n');
  closeSync(fd);
});
