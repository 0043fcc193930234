import type { Socket } from 'node:net';
import type { Answering, Reader } from './answering.ts';
import type { Backlog } from './backlog.ts';
import type { Turns } from './turns.ts';
import { createUnhandledBytes } from './unhandled-bytes.ts';

// The reading of one connection, from its first byte to its last, whoever answers on it. Node alone would parse all of a
// read at once, 2,000 requests in 64 KiB, each with objects of about 9 kB. Here a read is cut behind each empty line, and
// the next piece waits until the client has taken the answer to the one before. A cut changes no meaning, for the parser
// gets the same bytes in the same order; but no piece can end more than one head, so a connection is owed one answer at a
// time (as in nginx and Go's net/http), and what it costs is the bytes of one or two reads.

export interface ReadingOptions {
  readonly turns: Turns;
  readonly backlog: Backlog;
}

export interface Reading extends Reader {
  /** Whether requests have been read that nobody has answered yet. */
  readonly hasRequestsWaiting: () => boolean;
}

export const createReading = (
  socket: Socket,
  answering: Answering,
  { turns, backlog }: ReadingOptions,
): Reading => {
  const unhandled = createUnhandledBytes();
  /** What is unhandled came in one read with a request that the hot path answered. */
  let isBehindHot = false;
  /** What is unhandled is the beginning of such a request; the next read should bring its end. */
  let isAwaitingEnd = false;
  let hasEnded = false;
  let isStopped = false;

  const onData = (chunk: Buffer): void => {
    if (isStopped) return;
    if (unhandled.isEmpty()) {
      // The ordinary case: one whole request, and nothing before it that the client has not taken.
      if (socket.writableLength === 0 && answering.answerHot(chunk)) return;
      unhandled.add(chunk);
      isBehindHot = false;
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

  /** Hands the next piece to the hot path or to node:http. */
  const handleNext = (): void => {
    if (unhandled.isEmpty() || socket.destroyed) return;
    if (!answering.isDue()) {
      const { bytes, endsHead } = unhandled.next();
      if (endsHead && answering.answerHot(bytes)) {
        isBehindHot = true;
        isAwaitingEnd = false;
        unhandled.drop(bytes.length);
      } else if (!endsHead && answering.isHot() && isBehindHot && !isAwaitingEnd && !hasEnded) {
        isAwaitingEnd = true;
        unhandled.own();
        answering.setTimeoutMs(END_OF_HEAD_WAIT_MS);
      } else {
        isAwaitingEnd = false;
        unhandled.drop(bytes.length);
        answering.giveToNode(bytes);
      }
    }
    arrange();
  };

  /** Makes sure that what has been read is handled when its time comes, and reads on only when nothing is left. */
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
    // Otherwise the end of node:http's answer comes back here.
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

/** The end of a request that a read has cut follows at once; if it does not, node:http judges what is there. */
const END_OF_HEAD_WAIT_MS = 1_000;
