import { pino, type DestinationStream } from 'pino';

// Standard output as the log's destination: it never blocks the service, and never fills its memory.

export interface LogDestination extends DestinationStream {
  /** Writes what is still held. For the moment before the process ends. */
  flushSync(): void;
}

/**
 * Asynchronous, so that a slow reader of the log does not slow the service; bounded, so that one that never reads does
 * not fill the memory: what comes above 4 MB is dropped. Lines are handed over together every few milliseconds: at
 * each write sonic-boom, pino's writer, counts the bytes of the string that it is filling, up to 16 kB, which takes 5 µs
 * and more.
 */
export const createLogDestination = (fd: number): LogDestination => {
  const stream = pino.destination({ fd, sync: false, maxLength: 4 * 1024 * 1024 });
  // A reader that has gone away (EPIPE) ends the log, not the service.
  stream.on('error', () => undefined);
  let gathered = '';

  const handOver = (): void => {
    const lines = gathered;
    gathered = '';
    if (lines !== '') stream.write(lines);
  };
  const flushSync = (): void => {
    handOver();
    stream.flushSync();
  };
  // Before pino's own listener, which closes the stream.
  process.prependListener('exit', flushSync);
  return {
    write: (line) => {
      if (gathered === '') setTimeout(handOver, GATHER_MS);
      gathered += line;
    },
    flushSync,
  };
};

/** Nobody reads a log faster than this. */
const GATHER_MS = 10;
