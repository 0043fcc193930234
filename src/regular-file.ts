import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import { codeOf } from './error-code.ts';

// Reads files that an operator names. Only regular files are read: reading a pipe can block forever, and takes its content
// away from the process that it was meant for.

/** The file exists, but the service does not read it. The message leaves the path out; the caller knows it. */
export class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
  readonly code: 'NOT_A_REGULAR_FILE' | 'FILE_TOO_LARGE';

  constructor(code: UnusableFile['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * The content of the regular file at `path`, links followed.
 * @throws {UnusableFile} when it is not a regular file, or has more than `maxBytes`; Node's error when it cannot be read
 */
export const readRegularFile = async (path: string, maxBytes: number): Promise<Buffer> => {
  const file = await open(path, OPEN_FLAGS);
  try {
    const buffer = bufferFor(await file.stat(), maxBytes);
    let length = 0;
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- reads are sequential
      const { bytesRead } = await file.read(buffer, length, buffer.length - length);
      length += bytesRead;
      if (bytesRead === 0 || length === buffer.length) return filled(buffer, length);
    }
  } finally {
    await file.close();
  }
};

/** {@link readRegularFile} for the start, before any request is served. */
export const readRegularFileSync = (path: string, maxBytes: number): Buffer => {
  const fd = openSync(path, OPEN_FLAGS);
  try {
    const buffer = bufferFor(fstatSync(fd), maxBytes);
    let length = 0;
    for (;;) {
      const bytesRead = readSync(fd, buffer, length, buffer.length - length, null);
      length += bytesRead;
      if (bytesRead === 0 || length === buffer.length) return filled(buffer, length);
    }
  } finally {
    closeSync(fd);
  }
};

/** Opening a pipe without O_NONBLOCK waits for its writer; opening a terminal may take it over. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Why a file could not be read: `not a regular file`, `more than 8192 bytes`, or Node's code, such as `ENOENT`. */
export const describeReadError = (error: unknown): string =>
  error instanceof UnusableFile ? error.message : codeOf(error) || 'unexpected error';

/**
 * A buffer with room for one byte more than is allowed, which shows that a file is too large. It is larger than the
 * reported size because a file may grow while it is read, and files in /proc report a size of 0. A file that grows to
 * more than twice its size is still being written; it is refused as too large.
 */
const bufferFor = (stats: Stats, maxBytes: number): Buffer => {
  if (!stats.isFile()) throw new UnusableFile('NOT_A_REGULAR_FILE', 'not a regular file');
  if (stats.size > maxBytes) throw tooLarge(maxBytes);
  return Buffer.allocUnsafe(Math.min(maxBytes, Math.max(2 * stats.size, 65_536)) + 1);
};

const filled = (buffer: Buffer, length: number): Buffer => {
  if (length === buffer.length) throw tooLarge(length - 1);
  return buffer.subarray(0, length);
};

const tooLarge = (maxBytes: number): UnusableFile =>
  new UnusableFile('FILE_TOO_LARGE', `more than ${maxBytes} bytes`);
