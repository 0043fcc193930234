import { constants, openSync, write, writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';
import { codeOf } from '../error-code.ts';

// Standard output as the log's destination, and standard error for the last words: neither ever blocks the service, fills
// its memory, or keeps it from ending. Not pino's writer, sonic-boom: its flushSync waits for ever on a pipe that is full,
// and on one that is closed.

export interface LogDestination extends DestinationStream {
  /** Resolves once everything has been written, or after `withinMs`. */
  drained(withinMs: number): Promise<void>;
  /** Writes what is still held, for at most about `withinMs`, in which nothing else runs. Never throws. */
  flushSync(withinMs: number): void;
}

/**
 * Asynchronous, so that a slow reader of the log does not slow the service; bounded, so that one that never reads does
 * not fill the memory: while more than 4 MB wait, new lines are dropped. Lines are gathered as bytes and written together,
 * every few milliseconds: joining texts takes 1.3 µs a line, bytes 0.1. A reader that has gone away (EPIPE) or a
 * full disk ends the log, not the service: what waits is dropped.
 * @param fd one that does not block, see {@link openNonBlocking}
 */
export const createLogDestination = (fd: number): LogDestination => {
  const gathered = Buffer.allocUnsafe(GATHERED_BYTES);
  let length = 0;
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  /** The first of `waiting` is in the hands of the system, or is tried again soon. */
  let state: 'idle' | 'writing' | 'retrying' = 'idle';
  const onDrained = new Set<() => void>();

  const enqueue = (bytes: Buffer): void => {
    if (waitingBytes + bytes.length > MAX_WAITING_BYTES) return;
    waiting.push(bytes);
    waitingBytes += bytes.length;
    if (state === 'idle') writeNext();
  };

  const writeNext = (): void => {
    const [bytes] = waiting;
    state = bytes ? 'writing' : 'idle';
    if (bytes) write(fd, bytes, onWritten);
    else if (length > 0) handOver();
    else for (const resolve of onDrained) resolve();
  };

  const onWritten = (error: unknown, written: number): void => {
    if (isFull(error)) {
      state = 'retrying';
      setTimeout(writeNext, RETRY_MS).unref();
      return;
    }
    if (error) dropAll();
    else release(written);
    writeNext();
  };

  /** Takes away the first `written` bytes. */
  const release = (written: number): void => {
    const first = waiting.shift();
    waitingBytes -= written;
    if (first && written < first.length) waiting.unshift(first.subarray(written));
  };

  const dropAll = (): void => {
    waiting = [];
    waitingBytes = 0;
  };

  /** While the system is slow lines stay gathered, so that few large pieces wait. */
  const handOverIfIdle = (): void => {
    if (state === 'idle') handOver();
  };

  const handOver = (): void => {
    if (length === 0) return;
    const bytes = Buffer.from(gathered.subarray(0, length));
    length = 0;
    enqueue(bytes);
  };

  return {
    write: (line) => {
      const mostBytes = 3 * line.length;
      if (length + mostBytes > GATHERED_BYTES) handOver();
      if (mostBytes > GATHERED_BYTES) {
        enqueue(Buffer.from(line));
        return;
      }
      if (length === 0) setTimeout(handOverIfIdle, GATHER_MS).unref();
      length += gathered.write(line, length);
    },
    drained: async (withinMs) => {
      handOverIfIdle();
      if (state === 'idle') return;
      await new Promise<void>((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          onDrained.delete(done);
          resolve();
        };
        const timer = setTimeout(done, withinMs);
        onDrained.add(done);
      });
    },
    flushSync: (withinMs) => {
      // What the system has in its hands it either takes, or nobody reads.
      const held = state === 'writing' ? waiting.slice(1) : waiting;
      writeWithin(fd, Buffer.concat([...held, gathered.subarray(0, length)]), withinMs);
      length = 0;
      dropAll();
    },
  };
};

/** Writes `bytes`, for at most about `withinMs`, in which nothing else runs. Never throws. */
export const writeWithin = (fd: number, bytes: Buffer, withinMs: number): void => {
  const giveUpAtMs = performance.now() + withinMs;
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      if (!isFull(error) || performance.now() > giveUpAtMs) return;
      Atomics.wait(NOTHING_TO_WAIT_FOR, 0, 0, PAUSE_MS);
    }
  }
};

/**
 * The descriptor of `stream`, so that a write to a full pipe, or to a terminal that somebody has stopped, fails with
 * EAGAIN instead of waiting. Node makes pipes and sockets so when the stream is first asked for. Of a terminal, which
 * the shell shares, it is a descriptor of our own.
 */
export const openNonBlocking = (stream: NodeJS.WriteStream & { readonly fd: number }): number => {
  if (!stream.isTTY) return stream.fd;
  try {
    return openSync(`/dev/fd/${stream.fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return stream.fd;
  }
};

const isFull = (error: unknown): boolean => codeOf(error) === 'EAGAIN' || codeOf(error) === 'EBUSY';

/** Nobody reads a log faster than this. */
const GATHER_MS = 10;
const GATHERED_BYTES = 128 * 1_024;
const MAX_WAITING_BYTES = 4 * 1_024 * 1_024;
const RETRY_MS = 100;
const PAUSE_MS = 10;
const NOTHING_TO_WAIT_FOR = new Int32Array(new SharedArrayBuffer(4));
