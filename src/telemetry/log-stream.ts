import { constants, openSync, write, writeSync } from 'node:fs';
import { codeOf } from '../error-code.ts';

// Standard output as the log's destination, and standard error for the last message: neither may
// block the service, fill its memory, or keep it from ending. Pino's own destination cannot promise
// that: the flushSync of its sonic-boom 4.2 retries forever after EPIPE, and it waits 100 ms for
// each full pipe, so that a reader that keeps up would lose lines above 2,500 a second. Sonic-boom
// 5 has fixed the first.

export type LogDestination = ReturnType<typeof createLogDestination>;

/** What a log knows about the lines that it lost: they had no room, or nobody could read them. */
export type LostLines = Pick<LogDestination, 'lostLines' | 'onReadAgain'>;

/**
 * Asynchronous, so that a slow reader of the log does not slow the service; bounded, so that a
 * stopped reader does not fill its memory: while the buffer of 4 MiB is full, new lines are dropped
 * and counted. The space of written lines is used again once they fill more than half of the
 * buffer, so lines can be lost while only 2 MiB are waiting. Lines are collected as bytes for a few
 * milliseconds and written together. After an error, such as EPIPE when the reader has gone or a
 * full disk, the waiting lines are dropped and the service continues.
 * @param fd a non-blocking file descriptor, see {@link openNonBlocking}
 */
export const createLogDestination = (fd: number) => {
  // The system provides memory only for the part that is used: a few kilobytes while the log is
  // read.
  const buffer = Buffer.allocUnsafe(MAX_WAITING_BYTES);
  /** What waits is `buffer` from `start` to `end`; its first `inFlight` bytes are being written. */
  let start = 0;
  let end = 0;
  let inFlight = 0;
  /**
   * The wait for more lines, or for a full pipe; undefined while bytes are written or none wait.
   */
  let pause: NodeJS.Timeout | undefined;
  let onIdle = (): void => undefined;
  let lost = 0;
  /** How many of `lost` the listener was told of. */
  let reported = 0;
  let onReadAgain: (lines: number) => void = () => undefined;

  const writeAfter = (ms: number): void => void (pause = setTimeout(writeNow, ms).unref());

  const writeNow = (): void => {
    clearTimeout(pause);
    pause = undefined;
    // Bytes may be moved only now. Moving fewer would cost more than it gains.
    if (start > MAX_WAITING_BYTES / 2) {
      buffer.copyWithin(0, start, end);
      end -= start;
      start = 0;
    }
    inFlight = end - start;
    write(fd, buffer, start, inFlight, onWritten);
  };

  const onWritten = (error: unknown, written: number): void => {
    const isPartial = written < inFlight;
    inFlight = 0;
    if (isFull(error)) {
      writeAfter(FULL_PIPE_MS);
      return;
    }
    if (error) lost += countLines(buffer.subarray(start, end));
    start = error ? end : start + written;
    if (start === end) {
      start = end = 0;
      onIdle();
    } else if (isPartial) writeNow();
    else writeAfter(GATHER_MS);
    // Not each time that a slow reader frees a little space.
    if (lost > reported && !error && end - start < MAX_WAITING_BYTES / 2) {
      const lines = lost - reported;
      reported = lost;
      onReadAgain(lines);
    }
  };

  return {
    write: (line: string): void => {
      const isIdle = start === end;
      // In UTF-8 a character of a string takes at most three bytes.
      if (end + 3 * line.length <= MAX_WAITING_BYTES) end += buffer.write(line, end);
      else lost += 1;
      if (isIdle && start < end) writeAfter(GATHER_MS);
    },
    /** How many lines were lost so far. */
    lostLines: (): number => lost,
    /**
     * Calls `listener` once the log is read again, with the number of lines that were lost until
     * then.
     */
    onReadAgain: (listener: (lines: number) => void): void => {
      onReadAgain = listener;
    },
    /** Resolves once everything has been written, or after `withinMs`. */
    drained: async (withinMs: number): Promise<void> => {
      if (start === end) return;
      if (pause) writeNow();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, withinMs);
        onIdle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
    /** Writes everything that waits, blocking for at most about `withinMs`. Never throws. */
    flushSync: (withinMs: number): void => {
      clearTimeout(pause);
      // A write that is under way either completes by itself or has no reader.
      writeWithin(fd, buffer.subarray(start + inFlight, end), withinMs);
      end = start + inFlight;
    },
  };
};

const countLines = (bytes: Buffer): number => {
  let lines = 0;
  for (let at = bytes.indexOf('\n'); at >= 0; at = bytes.indexOf('\n', at + 1)) lines += 1;
  return lines;
};

/** Writes `bytes`, blocking for at most about `withinMs`. Never throws. */
export const writeWithin = (fd: number, bytes: Buffer, withinMs: number): void => {
  const giveUpAtMs = performance.now() + withinMs;
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      if (!isFull(error) || performance.now() > giveUpAtMs) return;
      Atomics.wait(NOTHING_TO_WAIT_FOR, 0, 0, SYNC_PAUSE_MS);
    }
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

const isFull = (error: unknown): boolean => codeOf(error) === 'EAGAIN' || codeOf(error) === 'EBUSY';

/** Short enough for a person who watches the log. */
const GATHER_MS = 10;
/**
 * A pipe holds 64 KiB, and a reader that keeps up has emptied it by then. An attempt that fails
 * costs almost nothing.
 */
const FULL_PIPE_MS = 2;
const MAX_WAITING_BYTES = 4 * 1_024 * 1_024;
const SYNC_PAUSE_MS = 10;
const NOTHING_TO_WAIT_FOR = new Int32Array(new SharedArrayBuffer(4));
