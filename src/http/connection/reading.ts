import type { Socket } from 'node:net';
import type { Answering, Reader } from './answering.ts';
import type { Backlog } from './backlog.ts';
import type { Turns } from './turns.ts';
import type { Outcome } from '../hot/path.ts';
import { createUnhandledBytes } from './unhandled-bytes.ts';

// Reads one connection, from its first byte to its last, for the hot path and for node:http. node:http alone would parse a whole
// read at once: up to 2,000 requests in 64 KiB, each with objects of about 9 kB. Here a read is cut after each empty line, and
// the next piece waits until the client has read the previous response. A cut cannot change the meaning, because the parser
// gets the same bytes in the same order. But no piece contains the end of more than one head, so a connection has one request
// in progress at a time (as in nginx and Go's net/http), and costs the memory of one or two reads.

export interface ReadingOptions {
  readonly turns: Turns;
  readonly backlog: Backlog;
}

export interface Reading extends Reader {
  /** Whether requests have been read and not answered yet. */
  readonly hasRequestsWaiting: () => boolean;
}

export const createReading = (
  socket: Socket,
  answering: Answering,
  { turns, backlog }: ReadingOptions,
): Reading => {
  const unhandled = createUnhandledBytes();
  /** The unhandled bytes are the beginning of a request; the next read should contain its end. */
  let isAwaitingEnd = false;
  let hasEnded = false;
  let isStopped = false;

  const onData = (chunk: Buffer): void => {
    if (isStopped) return;
    if (unhandled.isEmpty()) {
      // The ordinary case: one whole request, after the client has read everything before it.
      if (socket.writableLength === 0 && isAnswered(answering.answerHot(chunk))) return;
      unhandled.add(chunk);
      handleNext();
    } else {
      unhandled.add(chunk);
      proceed();
    }
  };
  const proceed = (): void => {
    if (isAwaitingEnd) handleNext();
    else arrange();
  };

  /** Passes the next piece to the hot path or to node:http. */
  const handleNext = (): void => {
    if (unhandled.isEmpty() || socket.destroyed) return;
    if (!answering.isDue()) {
      const bytes = unhandled.next();
      const outcome = answering.answerHot(bytes);
      if (outcome === 'incomplete' && !isAwaitingEnd && !hasEnded) {
        isAwaitingEnd = true;
        unhandled.own();
        answering.setTimeoutMs(END_OF_HEAD_WAIT_MS);
      } else {
        isAwaitingEnd = false;
        unhandled.drop(bytes.length);
        if (!isAnswered(outcome)) answering.giveToNode(bytes);
      }
    }
    arrange();
  };

  /** Makes sure that the unhandled bytes are handled later, and continues reading only when none are left. */
  const arrange = (): void => {
    if (isStopped) return;
    if (unhandled.isEmpty() || isAwaitingEnd) {
      backlog.release(socket);
      if (hasEnded && answering.owed() === 0) answering.end();
      else if (socket.isPaused()) socket.resume();
      return;
    }
    socket.pause();
    backlog.hold(socket, unhandled.keptBytes());
    // Otherwise this is called again after node:http's response.
    if (answering.owed() > 0) return;
    if (socket.writableLength > 0) socket.write('', handleNext);
    else turns.add(handleNext);
  };

  return {
    onData,
    onEnd: () => {
      hasEnded = true;
      if (!isStopped) proceed();
    },
    onAnswered: arrange,
    handleNext,
    isAwaitingEnd: () => isAwaitingEnd,
    hasRequestsWaiting: () => !unhandled.isEmpty() && !isAwaitingEnd,
    stop: () => {
      isStopped = true;
      unhandled.clear();
      turns.remove(handleNext);
      backlog.release(socket);
    },
  };
};

const isAnswered = (outcome: Outcome): boolean => outcome === 'answered' || outcome === 'answered_last';

/** The rest of a request that is split over two reads follows at once; if not, node:http gets what there is. */
const END_OF_HEAD_WAIT_MS = 1_000;
