import { constants, openSync, writeSync } from 'node:fs';
import { codeOf } from '../errors.ts';

// Standard output as the log's destination, and standard error for the last message: neither blocks
// the service, fills its memory, or keeps it from ending. Pino's own destination cannot promise
// that: it waits 100 ms for each full pipe, so that a reader that keeps up would lose lines above
// 2,500 a second, and its flushSync retries for ever after EPIPE. docs/decisions/log-stream.md

/** Short enough for a person who watches the log. */
const GATHER_MS = 10;
/** A pipe holds 64 KiB, and a reader that keeps up has emptied it by then. */
const FULL_PIPE_MS = 2;
const MAX_WAITING_BYTES = 4 * 1_024 * 1_024;
const SYNC_PAUSE_MS = 10;
const LF = 10;
const NOTHING_TO_WAIT_FOR = new Int32Array(new SharedArrayBuffer(4));

export type LogDestination = ReturnType<typeof createLogDestination>;

/**
 * Collects lines as bytes for a few milliseconds and writes them together. While a full pipe keeps
 * 2 to 4 MiB waiting, depending on where the free space is, new lines are dropped and counted.
 * After an error, such as EPIPE when the reader has gone or a full disk, the waiting lines are
 * dropped, and the service continues.
 * @param fd non-blocking, see {@link openNonBlocking}
 */
export const createLogDestination = (fd: number) => {
  // The system provides memory only for the part that is used: a few kilobytes while the log is
  // read.
  const buffer = Buffer.allocUnsafe(MAX_WAITING_BYTES);
  /** What waits is `buffer` from `start` to `end`. */
  let start = 0;
  let end = 0;
  let lost = 0;
  let timer: NodeJS.Timeout | undefined;

  const writeWaiting = (): void => {
    const written = tryWrite(fd, buffer.subarray(start, end));
    if (written === undefined) lost += countLines(buffer.subarray(start, end));
    start = written === undefined ? end : start + written;
    if (start === end) start = end = 0;
    else if (start > MAX_WAITING_BYTES / 2) {
      buffer.copyWithin(0, start, end);
      end -= start;
      start = 0;
    }
    timer = start < end ? setTimeout(writeWaiting, FULL_PIPE_MS).unref() : undefined;
  };

  return {
    write: (line: string): void => {
      // In UTF-8 a character of a string takes at most three bytes.
      if (end + 3 * line.length <= MAX_WAITING_BYTES) end += buffer.write(line, end);
      else lost += 1;
      timer ??= setTimeout(writeWaiting, GATHER_MS).unref();
    },
    /** How many lines were lost so far. */
    lostLines: (): number => lost,
    /** Writes everything that waits, blocking for at most about `withinMs`. Never throws. */
    flushSync: (withinMs: number): void => {
      writeWithin(fd, buffer.subarray(start, end), withinMs);
      start = end = 0;
    },
  };
};

/** Writes as much as there is room for. @returns how many bytes; undefined: nobody can read them */
const tryWrite = (fd: number, bytes: Buffer): number | undefined => {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    return ['EAGAIN', 'EBUSY'].includes(codeOf(error)) ? 0 : undefined;
  }
};

const countLines = (bytes: Buffer): number => bytes.reduce((n, byte) => n + Number(byte === LF), 0);

/** Writes `bytes`, blocking for at most about `withinMs`. Never throws. */
export const writeWithin = (fd: number, bytes: Buffer, withinMs: number): void => {
  const giveUpAtMs = performance.now() + withinMs;
  for (let at = 0; at < bytes.length;) {
    const written = tryWrite(fd, bytes.subarray(at));
    if (written === undefined || (written === 0 && performance.now() > giveUpAtMs)) return;
    at += written;
    if (written === 0) Atomics.wait(NOTHING_TO_WAIT_FOR, 0, 0, SYNC_PAUSE_MS);
  }
};

/**
 * A file descriptor for `stream` on which a write to a full pipe or a stopped terminal fails with
 * EAGAIN instead of blocking. Node makes pipes and sockets non-blocking when the stream is first
 * used. A terminal is shared with the shell, so it is opened again.
 */
export const openNonBlocking = (stream: NodeJS.WriteStream & { readonly fd: number }): number => {
  if (!stream.isTTY) return stream.fd;
  try {
    return openSync(
      `/dev/fd/${stream.fd}`,
      constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY,
    );
  } catch {
    return stream.fd;
  }
};
