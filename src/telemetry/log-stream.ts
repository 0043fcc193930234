import { constants, openSync, write, writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';
import { codeOf } from '../error-code.ts';

// Standard output as the log's destination, and standard error for the last message: neither may block the service, fill
// its memory, or keep it from ending. Pino's own destination, sonic-boom 4.2, cannot promise the last: its flushSync can be
// bounded for a full pipe (`retryEAGAIN`), but after any other error, such as EPIPE from a closed one, it retries forever.

export interface LogDestination extends DestinationStream {
  /** Resolves once everything has been written, or after `withinMs`. */
  drained(withinMs: number): Promise<void>;
  /** Writes everything that is buffered, blocking for at most about `withinMs`. Never throws. */
  flushSync(withinMs: number): void;
}

/**
 * Asynchronous, so that a slow reader of the log does not slow the service; bounded, so that a stopped reader does not fill
 * its memory: while more than 4 MB are waiting, new lines are dropped. Lines are collected as bytes and written every few
 * milliseconds: joining strings takes 1.3 µs per line, bytes 0.1 µs. After an error, such as EPIPE when the reader has gone
 * or a full disk, the waiting lines are dropped and the service continues.
 * @param fd a non-blocking file descriptor, see {@link openNonBlocking}
 */
export const createLogDestination = (fd: number): LogDestination => {
  const gathered = Buffer.allocUnsafe(GATHERED_BYTES);
  let length = 0;
  /** Whether the first of the gathered lines has waited for long enough. */
  let isDue = false;
  const onDrained = new Set<() => void>();

  const handOver = (): void => {
    isDue = false;
    if (length === 0) return;
    const bytes = Buffer.from(gathered.subarray(0, length));
    length = 0;
    queue.add(bytes);
  };
  const queue = createWriteQueue(fd, () => {
    if (length === 0) for (const resolve of onDrained) resolve();
    else if (isDue) handOver();
  });
  /** While a write is under way lines stay in `gathered`, so that few large buffers wait instead of many small ones. */
  const handOverWhenIdle = (): void => {
    isDue = true;
    if (queue.isIdle()) handOver();
  };

  return {
    write: (line) => {
      const mostBytes = 3 * line.length;
      if (length + mostBytes > GATHERED_BYTES) handOver();
      if (mostBytes > GATHERED_BYTES) {
        queue.add(Buffer.from(line));
        return;
      }
      if (length === 0) setTimeout(handOverWhenIdle, GATHER_MS).unref();
      length += gathered.write(line, length);
    },
    drained: async (withinMs) => {
      handOverWhenIdle();
      if (queue.isIdle()) return;
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
      writeWithin(fd, Buffer.concat([...queue.takeWaiting(), gathered.subarray(0, length)]), withinMs);
      length = 0;
    },
  };
};

interface WriteQueue {
  /** Writes `bytes` after what is waiting, or drops them if too much is waiting. */
  add(bytes: Buffer): void;
  isIdle(): boolean;
  /** Empties the queue, and returns what is not being written already. */
  takeWaiting(): readonly Buffer[];
}

/** Writes one buffer at a time. `onIdle` is called when everything has been written or dropped. */
const createWriteQueue = (fd: number, onIdle: () => void): WriteQueue => {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  /** Whether the first of `waiting` is being written, or will be retried. */
  let state: 'idle' | 'writing' | 'retrying' = 'idle';
  let retryMs = FIRST_RETRY_MS;

  const writeNext = (): void => {
    const [bytes] = waiting;
    state = bytes ? 'writing' : 'idle';
    if (bytes) write(fd, bytes, onWritten);
    else onIdle();
  };
  const onWritten = (error: unknown, written: number): void => {
    if (isFull(error)) {
      state = 'retrying';
      setTimeout(writeNext, retryMs).unref();
      retryMs = Math.min(2 * retryMs, LONGEST_RETRY_MS);
      return;
    }
    retryMs = FIRST_RETRY_MS;
    if (error) dropAll();
    else release(written);
    writeNext();
  };
  /** Removes the first `written` bytes. */
  const release = (written: number): void => {
    const first = waiting.shift();
    waitingBytes -= written;
    if (first && written < first.length) waiting.unshift(first.subarray(written));
  };
  const dropAll = (): void => {
    waiting = [];
    waitingBytes = 0;
  };

  return {
    add: (bytes) => {
      if (waitingBytes + bytes.length > MAX_WAITING_BYTES) return;
      waiting.push(bytes);
      waitingBytes += bytes.length;
      if (state === 'idle') writeNext();
    },
    isIdle: () => state === 'idle',
    takeWaiting: () => {
      // A write that is under way either completes by itself or has no reader.
      const taken = state === 'writing' ? waiting.slice(1) : waiting;
      dropAll();
      return taken;
    },
  };
};

/** Writes `bytes`, blocking for at most about `withinMs`. Never throws. */
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
 * A file descriptor for `stream` on which a write to a full pipe or a stopped terminal fails with EAGAIN instead of
 * blocking. Node makes pipes and sockets non-blocking when the stream is first used. A terminal is shared with the shell,
 * so it is opened again.
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

/** Short enough for a person who watches the log. */
const GATHER_MS = 10;
/** A pipe holds 64 KiB. A reader that keeps up has emptied it by then; with 100 ms it would get 2,500 lines a second. */
const FIRST_RETRY_MS = 1;
/** For a reader that has stopped. */
const LONGEST_RETRY_MS = 100;
const GATHERED_BYTES = 128 * 1_024;
const MAX_WAITING_BYTES = 4 * 1_024 * 1_024;
const PAUSE_MS = 10;
const NOTHING_TO_WAIT_FOR = new Int32Array(new SharedArrayBuffer(4));
