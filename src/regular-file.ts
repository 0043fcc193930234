import { constants } from 'node:fs';
import { open, readlink, realpath } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { systemClock, type Clock } from './clock.ts';
import { withDeadline } from './deadline.ts';
import { codeOf } from './error-code.ts';

// Reads files that an operator names, within a bounded time. Only regular files are read: reading a
// pipe can block forever, and takes its content away from the process that it was meant for.

/**
 * The file exists, but the service does not read it. The message leaves the path out; the caller
 * knows it.
 */
class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
}

/** It may be read later, so the advice is another one. */
class SlowFile extends UnusableFile {}

export interface ReadLimits {
  readonly clock?: Clock;
  readonly limitMs?: number;
}

/** Reading a file on a network may never end. */
const LONGEST_READ_MS = 2_000;

/**
 * The content of the regular file at `path`, links followed.
 * @throws what {@link describeReadError} explains: it is not a regular file, has more than
 *   `maxBytes`, cannot be read, or not within `limitMs`
 */
export const readRegularFile = async (
  path: string,
  maxBytes: number,
  limits?: ReadLimits,
): Promise<Buffer> => {
  // One byte more than is allowed, whatever size the file reports: it may grow, and files in /proc
  // report 0.
  const content = await readStart(path, maxBytes + 1, limits);
  if (content.length > maxBytes) throw new UnusableFile(`more than ${maxBytes} bytes`);
  return content;
};

/**
 * The first `bytes` of a regular file, or all of a shorter one. @throws as {@link readRegularFile}
 */
export const readStart = async (
  path: string,
  bytes: number,
  { clock = systemClock, limitMs = LONGEST_READ_MS }: ReadLimits = {},
): Promise<Buffer> => {
  const folder = folderOf(path);
  const timeoutError = (): SlowFile => new SlowFile(`not within ${limitMs} ms`);
  if (folder.isHanging) throw timeoutError();
  const reading = folder.lastRead.then(() => readNow(path, bytes));
  folder.lastRead = reading.catch(() => undefined);
  try {
    return await withDeadline(() => reading, { limitMs, clock, timeoutError });
  } catch (error) {
    if (error instanceof SlowFile) markHanging(folder);
    throw error;
  }
};

/**
 * A folder is read one file after the other, and not at all while a read hangs. Node has four
 * threads for files and host names, and a read on a file system that hangs keeps one of them.
 */
interface Folder {
  lastRead: Promise<unknown>;
  isHanging: boolean;
}

const folders = new Map<string, Folder>();

const folderOf = (path: string): Folder => {
  const name = dirname(resolve(path));
  const folder = folders.get(name) ?? { lastRead: Promise.resolve(), isHanging: false };
  folders.set(name, folder);
  return folder;
};

/** Also where this read only waited behind one that hangs. It ends with the last read begun. */
const markHanging = (folder: Folder): void => {
  folder.isHanging = true;
  void folder.lastRead.then(() => (folder.isHanging = false));
};

/** Whether a read has not ended in its time, and still keeps a thread. */
export const isReadHanging = (): boolean => [...folders.values()].some((each) => each.isHanging);

/** Waits until reads that are late have ended, for `limitMs` at most. */
export const lateReads = async (limitMs: number): Promise<void> => {
  const late = [...folders.values()].filter((each) => each.isHanging);
  if (late.length === 0) return;
  // A read keeps the process running by itself.
  const timeout = setTimeout(limitMs, undefined, { ref: false });
  await Promise.race([Promise.all(late.map(({ lastRead }) => lastRead)), timeout]);
};

const readNow = async (path: string, bytes: number): Promise<Buffer> => {
  const file = await open(path, OPEN_FLAGS);
  try {
    if (!(await file.stat()).isFile()) throw new UnusableFile('not a regular file');
    return await buffer(file.createReadStream({ end: bytes - 1, autoClose: false }));
  } finally {
    await file.close();
  }
};

/**
 * The same as text, without the byte order mark that some editors write.
 * @throws also where it is not UTF-8
 */
export const readTextFile = async (
  path: string,
  maxBytes: number,
  limits?: ReadLimits,
): Promise<string> =>
  new TextDecoder('utf-8', { fatal: true }).decode(await readRegularFile(path, maxBytes, limits));

/** The file that `path` names, links followed: also to one that does not exist yet. */
export const targetOf = async (path: string): Promise<string> => {
  try {
    return await realpath(path);
  } catch (error) {
    const link =
      codeOf(error) === 'ENOENT' ? await readlink(path).catch(() => undefined) : undefined;
    return link === undefined ? path : targetOf(resolve(await realpath(dirname(path)), link));
  }
};

/** Opening a pipe without O_NONBLOCK waits for its writer; opening a terminal may take it over. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * Why a file could not be read: `not a regular file`, `more than 8192 bytes`, `not within
 * 2000 ms`, `not UTF-8`, or Node's code, such as `ENOENT`.
 */
export const describeReadError = (error: unknown): string => {
  if (error instanceof UnusableFile) return error.message;
  const code = codeOf(error);
  return code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'not UTF-8' : code || 'unexpected error';
};

/** The same for the operator who named the file, with what to do. */
export const describeUnreadable = (error: unknown, maxBytes: number): string => {
  const advice =
    error instanceof SlowFile
      ? 'check the file system that it is on'
      : `name a regular file of at most ${maxBytes} bytes that this user may read`;
  return `cannot be read (${describeReadError(error)}); ${advice}`;
};
