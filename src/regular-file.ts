import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';

// Reads files that an operator names. A pipe, a device or a directory in their place is refused: reading a pipe may wait
// for ever, and empties it, so that whoever reads it next finds nothing.

/** The file is there, but is none that the service reads. Without the file's name, which the caller knows. */
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
 * @throws {UnusableFile} when it is no regular file, or has more than `maxBytes`; Node's error when it cannot be read
 */
export const readRegularFile = async (path: string, maxBytes: number): Promise<Buffer> => {
  const file = await open(path, OPEN_FLAGS);
  try {
    const buffer = bufferFor(await file.stat(), maxBytes);
    let length = 0;
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one part after the other
      const { bytesRead } = await file.read(buffer, length, buffer.length - length);
      length += bytesRead;
      if (bytesRead === 0 || length === buffer.length) return filled(buffer, length);
    }
  } finally {
    await file.close();
  }
};

/** As {@link readRegularFile}, for the start, when nobody is served yet. */
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

/**
 * Room for one byte more than is allowed. A file can grow while it is read, and /proc calls its files empty; one that has
 * grown to more than twice its size is in the middle of being written, and refused as too large.
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
