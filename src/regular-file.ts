import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { codeOf } from './errors.ts';

// Reads files that an operator names, up to a bound. Only regular files are read: reading a pipe
// can block forever, and takes its content away from the process that it was meant for.

/** The message leaves the path out; the caller knows it. */
class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
}

/**
 * The content of the regular file at `path`, links followed.
 * @throws what {@link describeReadError} explains
 */
export const readRegularFile = async (path: string, maxBytes: number): Promise<Buffer> => {
  // One byte more than is allowed, whatever size the file reports: it may grow.
  const content = await readStart(path, maxBytes + 1);
  if (content.length > maxBytes) throw new UnusableFile(`more than ${maxBytes} bytes`);
  return content;
};

/** The first `bytes` of a regular file, or all of a shorter one. */
export const readStart = async (path: string, bytes: number): Promise<Buffer> => {
  const file = await open(path, OPEN_FLAGS);
  try {
    if (!(await file.stat()).isFile()) throw new UnusableFile('not a regular file');
    return await buffer(file.createReadStream({ end: bytes - 1, autoClose: false }));
  } finally {
    await file.close();
  }
};

/** Opening a pipe without O_NONBLOCK waits for its writer; opening a terminal may take it over. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** The same in UTF-8, without the byte order mark that some editors write. */
export const readTextFile = async (path: string, maxBytes: number): Promise<string> =>
  new TextDecoder('utf-8', { fatal: true }).decode(await readRegularFile(path, maxBytes));

/**
 * Why a file could not be read: `not a regular file`, `more than 8192 bytes`, `not UTF-8`, or
 * Node's code, such as `ENOENT`.
 */
export const describeReadError = (error: unknown): string => {
  if (error instanceof UnusableFile) return error.message;
  const code = codeOf(error);
  return code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'not UTF-8' : code || 'unexpected error';
};

/** The same for an operator, with what would be right. */
export const describeUnreadable = (error: unknown, maxBytes: number): string =>
  `cannot be read (${describeReadError(error)}); it must be a regular file of at most ${maxBytes} bytes that this user may read`;
