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

test('without a reader, 4 MB of lines are kept and the rest is dropped; a reader that returns gets whole lines', async () => {
  const log = createLogDestination(pipe);
  // As UTF-8, 100 bytes.
  for (let number = 0; number < 100_000; number += 1) log.write(lineOf(number, 'ã'.repeat(45)));
  const lost = log.lostLines();
  expect(lost).toBeGreaterThan(50_000);
  await readUntil(() => text.length === 99 * (100_000 - lost));
  log.write('later\n');
  await readUntil(() => text.endsWith('later\n'));
  const lines = text.split('\n').slice(0, -2);
  const letters = Buffer.from('ã'.repeat(45)).toString('latin1');
  expect(lines).toEqual(lines.map((_, number) => lineOf(number, letters).trimEnd()));
  expect(log.lostLines()).toBe(lost);
});

test('a reader that is always a little behind gets every line in order, however many come', async () => {
  const log = createLogDestination(pipe);
  const lines = Array.from({ length: 16_384 }, (_, number) => lineOf(number, 'x'.repeat(1_015)));
  for (let megabytes = 1; megabytes <= 16; megabytes += 1) {
    for (const line of lines.slice(1_024 * (megabytes - 1), 1_024 * megabytes)) log.write(line);
    const behind = megabytes === 16 ? 0 : 300_000;
    await readUntil(() => text.length >= megabytes * 1024 * 1024 - behind);
  }
  // Waiting 100 ms for each pipe that is full would take 25 s.
  expect(text === lines.join('')).toBe(true);
}, 10_000);

test('after the reader has gone, lines are lost and counted, and a new reader gets the later ones', async () => {
  closeSync(pipe);
  pipe = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  closeSync(pipe);
  const log = createLogDestination(fd);
  log.write('lost\n');
  log.write('lost with it\n');
  await eventually(() => log.lostLines() === 2);
  pipe = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  log.write('seen\n');
  await readUntil(() => text === 'seen\n');
  log.write('seen too\n');
  await readUntil(() => text.endsWith('seen too\n'));
  expect(text).toBe('seen\nseen too\n');
  closeSync(fd);
});
