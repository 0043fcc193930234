import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Backlog } from './backlog.ts';
import { closeGracefully } from './closing.ts';
import type { HotPath } from '../hot/path.ts';
import type { Limits } from '../listener/limits.ts';
import { createNodeSide, type NodeReader } from './node-side.ts';
import type { Turns } from './turns.ts';

// The reading of one connection, from its first byte to its last, whoever answers on it: first the hot path, and from
// the first request that is not ordinary, node:http. Node alone would parse all of a read at once, 2,000 requests in
// 64 KiB, each with objects of about 9 kB. Here a read is cut behind each empty line, and the next piece waits until
// the client has taken the answer to the one before. A cut changes no meaning, for the parser gets the same bytes in the
// same order; but no piece can end more than one head, so a connection is owed one answer at a time (as in nginx and
// Go's net/http), and what it costs is the bytes of one or two reads.

export interface ConnectionOptions {
  /** Answers the ordinary requests; undefined: node:http gets them all. */
  readonly hotPath: HotPath | undefined;
  readonly limits: Pick<Limits, 'headersTimeoutMs' | 'keepAliveTimeoutMs'>;
  readonly turns: Turns;
  readonly backlog: Backlog;
  /** Makes the connection node:http's, except for its reading, and gives the listeners that node:http reads with. */
  readonly giveToNode: () => NodeReader;
  /** Called when the connection, now node:http's, has brought nothing within `headersTimeoutMs`. */
  readonly onSilence: () => void;
  /** A number that is larger with each call, whichever connection calls. */
  readonly nextUse: () => number;
}

/** `idle`: between two requests. `receiving`: a request has begun. `answering`: the client waits, or does not read. */
export type Phase = 'idle' | 'receiving' | 'answering';

export interface Connection {
  phase(): Phase;
  /** When it was opened or brought its newest request, as a number from `nextUse`. */
  lastUse(): number;
  /** How many requests node:http has had from it. */
  requestsByNode(): number;
  /** To be called with each request that node:http emits for it. */
  onNodeRequest(req: IncomingMessage, res: ServerResponse): void;
  /** From now on nothing that it sends is a request. */
  stop(): void;
}

export const openConnection = (socket: Socket, options: ConnectionOptions): Connection => {
  const { limits, turns, backlog, nextUse } = options;
  let answerHot = options.hotPath?.(socket);
  const node = createNodeSide();
  let nodeReader: NodeReader | undefined;
  /** Read, and not yet handled. */
  let rest: Buffer | undefined;
  /** The hot path has answered here. */
  let hasAnswered = false;
  /** `rest` came in one read with a request that the hot path answered. */
  let isBehindHot = false;
  /** `rest` is the beginning of such a request; the next read should bring its end. */
  let isAwaitingEnd = false;
  let hasEnded = false;
  let isStopped = false;
  let lastUse = nextUse();
  let timeoutMs = 0;

  const setTimeoutMs = (ms: number): void => {
    if (timeoutMs !== ms) socket.setTimeout((timeoutMs = ms));
  };
  const onHotAnswer = (): void => {
    lastUse = nextUse();
    hasAnswered = true;
    setTimeoutMs(limits.keepAliveTimeoutMs + KEEP_ALIVE_MARGIN_MS);
  };

  const onData = (chunk: Buffer): void => {
    if (isStopped) return;
    if (rest === undefined) {
      // The ordinary case: one whole request, and nothing before it that the client has not taken.
      if (socket.writableLength === 0 && answerHot?.(chunk)) {
        onHotAnswer();
        return;
      }
      rest = chunk;
      isBehindHot = false;
      handleNext();
    } else {
      rest = Buffer.concat([rest, chunk]);
      if (isAwaitingEnd) handleNext();
      else arrange();
    }
  };
  const onEnd = (): void => {
    hasEnded = true;
    if (isStopped) return;
    if (isAwaitingEnd) handleNext();
    else arrange();
  };

  /** Hands the next piece of `rest` to the hot path or to node:http. */
  const handleNext = (): void => {
    if (rest === undefined || socket.destroyed) return;
    if (isAnswerDue()) {
      arrange();
      return;
    }
    const end = rest.indexOf(END_OF_HEAD);
    const length = end < 0 ? rest.length : end + END_OF_HEAD.length;
    const piece = rest.subarray(0, length);
    if (end >= 0 && answerHot?.(piece)) {
      onHotAnswer();
      isBehindHot = true;
      isAwaitingEnd = false;
      rest = after(rest, length);
    } else if (end < 0 && answerHot && isBehindHot && !isAwaitingEnd && !hasEnded) {
      isAwaitingEnd = true;
      // Not the whole read, of which this is the end.
      rest = Buffer.from(rest);
      setTimeoutMs(END_OF_HEAD_WAIT_MS);
    } else {
      isAwaitingEnd = false;
      rest = after(rest, length);
      node.feed((nodeReader ??= becomeNodes()), piece);
    }
    arrange();
  };

  const isAnswerDue = (): boolean => node.owed() > 0 || socket.writableLength > 0;

  /** Makes sure that what has been read is handled when its time comes, and reads on only when nothing is left. */
  const arrange = (): void => {
    if (isStopped) return;
    if (rest === undefined || isAwaitingEnd) {
      backlog.release(socket);
      if (hasEnded && node.owed() === 0) endReading();
      else if (socket.isPaused()) socket.resume();
      return;
    }
    socket.pause();
    backlog.hold(socket, rest.buffer.byteLength);
    // Otherwise the end of node:http's answer comes back here.
    if (node.owed() > 0) return;
    if (socket.writableLength > 0) socket.write('', handleNext);
    else turns.add(handleNext);
  };

  const endReading = (): void => {
    if (nodeReader) nodeReader.onEnd();
    else socket.end();
  };

  const becomeNodes = (): NodeReader => {
    answerHot = undefined;
    socket.off('data', onData).off('end', onEnd).off('timeout', onTimeout).setTimeout(0);
    const reader = options.giveToNode();
    // Only now, for with a listener of somebody else node:http leaves the reading to the stream.
    socket.on('data', onData).on('end', onEnd);
    // How node:http closes a connection behind its last answer.
    socket.destroySoon = () => {
      stop();
      closeGracefully(socket);
    };
    return reader;
  };

  const onTimeout = (): void => {
    if (isAwaitingEnd) handleNext();
    else if (hasAnswered) socket.destroy();
    else {
      nodeReader = becomeNodes();
      options.onSilence();
    }
  };

  const stop = (): void => {
    isStopped = true;
    rest = undefined;
    turns.remove(handleNext);
    backlog.release(socket);
  };

  // The connection is closed by then, and what is to be done about it is done on 'close'.
  socket.on('error', () => undefined).once('close', stop);
  if (answerHot) {
    socket.on('data', onData).on('end', onEnd).on('timeout', onTimeout);
    setTimeoutMs(limits.headersTimeoutMs);
  } else nodeReader = becomeNodes();

  return {
    phase: () => {
      if (isAnswerDue() || (rest !== undefined && !isAwaitingEnd)) return 'answering';
      return isAwaitingEnd || node.isReceiving() ? 'receiving' : 'idle';
    },
    lastUse: () => lastUse,
    requestsByNode: () => node.requests(),
    onNodeRequest: (req, res) => {
      lastUse = nextUse();
      node.onRequest(req, res, arrange);
    },
    stop,
  };
};

/** What follows the first `length` bytes of `bytes`, if anything does. */
const after = (bytes: Buffer, length: number): Buffer | undefined =>
  length < bytes.length ? bytes.subarray(length) : undefined;

const END_OF_HEAD = '\r\n\r\n';

/** The end of a request that a read has cut follows at once; if it does not, node:http judges what is there. */
const END_OF_HEAD_WAIT_MS = 1_000;

/** node:http's own, with the same aim: a request sent in the last advertised moment still finds the connection open. */
const KEEP_ALIVE_MARGIN_MS = 1_000;
