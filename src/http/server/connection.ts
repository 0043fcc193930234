import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ProblemCode } from '../problems.ts';
import type { HotPath } from './hot-path.ts';
import { KEEP_ALIVE_MARGIN_MS, LINGER_MS, type Limits } from './limits.ts';
import { createNodeStream } from './node-http.ts';

// One connection, from its first byte to its last. What is read is passed on in pieces, each up to the end of one head or content,
// and the next waits until the client has taken the answer to the one before. So a connection has one request in work at a time, as
// in nginx and Go's net/http, and no piece ends one request and begins another; node:http alone would parse a whole read, perhaps
// 2,000 requests of about 9 kB of heap each. A cut cannot change the meaning: who gets the pieces gets the same bytes in order.
//
//   hot ──── a piece that is not ordinary ────> node
//   hot <─── answered, complete, and nothing of another request is passed on ── node
//   hot, node ── the last answer is written ──> closed

export interface Connection extends Place {
  readonly socket: Socket;
  readonly shared: Shared;
  /**
   * `hot`: the next piece is for the hot path; nothing is in work. `node`: node:http has the connection, as `stream`. `closed`:
   * the last answer is on its way, and what still arrives is discarded.
   */
  state: 'hot' | 'node' | 'closed';
  /** What has been read and not passed on. */
  rest: Buffer;
  /** The client has closed its side after `rest`, and that has not been passed on yet. */
  restEnds: boolean;
  stream: Duplex | undefined;
  /** node:http's answer to the newest request on `stream`. */
  response: ServerResponse | undefined;
  isAnswering: boolean;
  /** How much of the newest request's content `stream` has not got yet, by its Content-Length. */
  contentLeft: number;
  /** The last bytes that `stream` got, in which the end of a head may have begun; empty after the end of a head or of content. */
  tail: Buffer;
  hasHadRequest: boolean;
  /** When it was opened, or got its newest request. */
  lastUsedMs: number;
  /** When it became idle, began to receive a request, or was closed. */
  sinceMs: number;
  /** How much the client had taken when it was last seen to take something, and when that was. */
  taken: { bytes: number; atMs: number };
}

/** What was decided when it was accepted: see places.ts. */
export interface Place {
  /** What the bound per address counts it for; undefined behind a proxy. */
  readonly client: string | undefined;
  /** Gets a 503, except for a probe. */
  readonly isOverCapacity: boolean;
}

/** What all connections of a server have in common. */
export interface Shared {
  /** Requests have to wait. */
  isHeld: boolean;
  /** Answers ordinary requests; without it node:http answers all. */
  readonly hotPath: HotPath | undefined;
  readonly limits: Limits;
  readonly turns: Readonly<Record<'add' | 'remove', (connection: Connection) => void>>;
  readonly backlog: { hold(socket: Socket, bytes: number): void; release(socket: Socket): void };
  /** Gives `stream` to node:http as a connection. */
  readonly connectNode: (stream: Duplex, connection: Connection) => void;
  /** Writes the refusal of a request that never became one. */
  readonly writeRefusal: (socket: Socket, code: ProblemCode) => void;
}

export const openConnection = (socket: Socket, shared: Shared, place: Place): Connection => {
  const nowMs = performance.now();
  const connection: Connection = {
    ...place,
    socket,
    shared,
    state: 'hot',
    rest: NOTHING,
    restEnds: false,
    stream: undefined,
    response: undefined,
    isAnswering: false,
    contentLeft: 0,
    tail: NOTHING,
    hasHadRequest: false,
    lastUsedMs: nowMs,
    sinceMs: nowMs,
    taken: { bytes: -1, atMs: nowMs },
  };
  socket
    .on('data', (chunk: Buffer) => {
      connection.rest = connection.rest.length === 0 ? chunk : Buffer.concat([connection.rest, chunk]);
      passOn(connection);
    })
    .on('end', () => {
      connection.restEnds = true;
      passOn(connection);
    })
    // It is then closed, and 'close' does the rest.
    .on('error', () => undefined)
    .once('close', () => {
      markClosed(connection);
      connection.stream?.destroy();
    });
  return connection;
};

/**
 * `arriving`: just accepted, its first request may be on its way. `idle`: between two requests. `receiving`: in the middle of
 * one. `answering`: the client waits, or does not read. `closing`: it has the last answer.
 */
export type Phase = 'arriving' | 'idle' | 'receiving' | 'answering' | 'closing';

export const phaseOf = (connection: Connection, arrivalMs = connection.shared.limits.arrivalMs): Phase => {
  const { state, socket, rest, response, hasHadRequest } = connection;
  if (connection.isAnswering || socket.writableLength > 0 || rest.length > 0) return 'answering';
  if (state === 'closed') return 'closing';
  if (state === 'node' && !response?.req.complete) return 'receiving';
  const isArriving = !hasHadRequest && performance.now() - connection.lastUsedMs < arrivalMs;
  return isArriving ? 'arriving' : 'idle';
};

/** Passes on the next piece, if nothing is in work, and arranges that the one after it follows. */
export const passOn = (connection: Connection): void => {
  const { state, socket, shared, rest, isOverCapacity } = connection;
  // What still arrives after the last answer is discarded.
  if (state === 'closed' || socket.destroyed) connection.rest = NOTHING;
  else if (rest.length > 0 && !isInWork(connection)) {
    const answered = state === 'hot' && !isOverCapacity ? shared.hotPath?.(rest, socket) : undefined;
    const length = answered?.length ?? nextLength(connection);
    connection.rest = length < rest.length ? rest.subarray(length) : NOTHING;
    if (answered) {
      connection.hasHadRequest = true;
      connection.lastUsedMs = connection.sinceMs = performance.now();
      if (answered.isLast) close(connection);
    } else giveToNode(connection, rest.subarray(0, length));
  }
  waitForNext(connection);
};

/** Whether something must end before the next piece: an answer, the client's reading of one, or node:http's of a piece. */
const isInWork = (connection: Connection): boolean =>
  connection.shared.isHeld || isNodeAtWork(connection) || connection.socket.writableLength > 0;

const isNodeAtWork = ({ isAnswering, stream }: Connection): boolean =>
  isAnswering || (stream !== undefined && stream.readableLength > 0);

/** Reads on if nothing is left. Otherwise reads no more until what is left has been passed on, and arranges for that. */
const waitForNext = (connection: Connection): void => {
  const { state, socket, shared, rest, stream } = connection;
  if (state === 'closed') return;
  if (rest.length > 0) {
    socket.pause();
    shared.backlog.hold(socket, rest.buffer.byteLength);
    if (!isInWork(connection)) shared.turns.add(connection);
    // A hold and node:http call `passOn` or `waitForNext` when they end; for the client, an empty write does.
    else if (socket.writableLength > 0 && !isNodeAtWork(connection))
      socket.write('', () => passOn(connection));
    return;
  }
  shared.backlog.release(socket);
  if (!connection.restEnds) socket.resume();
  else if (state === 'hot') close(connection);
  else if (!isNodeAtWork(connection)) {
    connection.restEnds = false;
    stream?.push(null);
  }
};

/** How much has been read up to the end of the content that arrives, or of the next head. That of chunks ends as a head does. */
const nextLength = ({ rest, tail, contentLeft }: Connection): number => {
  if (contentLeft > 0) return Math.min(contentLeft, rest.length);
  if (tail.length > 0) {
    const end = Buffer.concat([tail, rest.subarray(0, END_LENGTH - 1)]).indexOf(END_OF_HEAD);
    if (end >= 0) return end + END_LENGTH - tail.length;
  }
  const end = rest.indexOf(END_OF_HEAD);
  return end < 0 ? rest.length : end + END_LENGTH;
};

const giveToNode = (connection: Connection, piece: Buffer): void => {
  // Whatever follows a complete request is another one.
  if (connection.state === 'hot' || connection.response?.req.complete) {
    connection.response = undefined;
    connection.sinceMs = performance.now();
  }
  connection.state = 'node';
  connection.stream ??= openStream(connection);
  const end = Buffer.concat([connection.tail, piece.subarray(-END_LENGTH)]).subarray(-END_LENGTH);
  const isContent = connection.contentLeft > 0;
  if (isContent) connection.contentLeft -= piece.length;
  const isAtEnd = isContent ? connection.contentLeft === 0 : end.equals(END_OF_HEAD);
  connection.tail = isAtEnd ? NOTHING : end.subarray(1 - END_LENGTH);
  connection.stream.push(piece);
  settle(connection);
};

const openStream = (connection: Connection): Duplex => {
  const { socket, shared } = connection;
  const stream = createNodeStream(socket, {
    // node:http asks for more bytes: the next piece is passed on later, not within this call.
    read: () => {
      if (connection.rest.length > 0 || connection.restEnds) shared.turns.add(connection);
    },
    end: () => close(connection),
    destroy: () => {
      if (connection.state === 'node' && connection.stream === stream) socket.destroy();
    },
  });
  shared.connectNode(stream, connection);
  return stream;
};

/** To be called with each response that node:http begins on the connection's stream. */
export const onNodeRequest = (connection: Connection, response: ServerResponse): void => {
  connection.hasHadRequest = true;
  connection.lastUsedMs = performance.now();
  connection.response = response;
  connection.contentLeft = Number(response.req.headers['content-length'] ?? 0);
  connection.isAnswering = true;
  response.once('close', () => {
    connection.isAnswering = false;
    settle(connection);
    waitForNext(connection);
  });
};

/**
 * When its request is answered and complete, the connection is idle from now on; and it is taken back for the hot path if nothing
 * of another request has been passed on.
 */
const settle = (connection: Connection): void => {
  const { state, shared, stream, isAnswering, response, tail } = connection;
  if (state !== 'node' || isAnswering || stream?.writableEnded || !response?.req.complete) return;
  connection.sinceMs = performance.now();
  // At such an end node:http's parser expects a request. Elsewhere only the parser knows what it expects.
  if (tail.length > 0 || !shared.hotPath) return;
  connection.state = 'hot';
  connection.stream = connection.response = undefined;
  stream?.destroy();
};

/** Answers that what has arrived is no request that can be answered, and closes the connection. */
export const refuse = (connection: Connection, code: ProblemCode): void => {
  const { state, socket, shared, isAnswering, response } = connection;
  if (state === 'closed' || !socket.writable) return;
  if (isAnswering) response?.once('close', () => close(connection));
  else {
    // One request, one answer: if this is about the content of one, it has its answer.
    if (!response || response.req.complete) shared.writeRefusal(socket, code);
    close(connection);
  }
};

/**
 * Ends our side, and lets `endOverdue` close the connection if the client does not. Closing at once with unread bytes would reset
 * it, and the client would lose the last answer (RFC 9112 section 9.6).
 */
const close = (connection: Connection): void => {
  if (connection.state === 'closed') return;
  markClosed(connection);
  connection.sinceMs = performance.now();
  connection.socket.end();
  connection.socket.resume();
};

const markClosed = (connection: Connection): void => {
  const { socket, shared } = connection;
  connection.state = 'closed';
  connection.rest = NOTHING;
  shared.turns.remove(connection);
  shared.backlog.release(socket);
};

/** Ends what takes too long. To be called every `checkIntervalMs`. */
export const endOverdue = (connection: Connection, nowMs: number): void => {
  const { socket, taken, response, hasHadRequest } = connection;
  const { limits } = connection.shared;
  if (socket.writableLength > 0) {
    const bytes = socket.bytesWritten - socket.writableLength;
    if (bytes !== taken.bytes) connection.taken = { bytes, atMs: nowMs };
    else if (nowMs - taken.atMs >= limits.slowReaderMs) socket.destroy();
    // The client gets its time to close once it has everything.
    if (connection.state === 'closed') connection.sinceMs = nowMs;
    return;
  }
  const passedMs = nowMs - connection.sinceMs;
  const phase = phaseOf(connection);
  if (phase === 'closing') {
    if (passedMs >= LINGER_MS) socket.destroy();
  } else if (phase === 'idle' && hasHadRequest) {
    if (passedMs >= limits.keepAliveTimeoutMs + KEEP_ALIVE_MARGIN_MS) socket.destroy();
  } else if (phase !== 'answering') {
    if (passedMs >= (response ? limits.requestTimeoutMs : limits.headersTimeoutMs))
      refuse(connection, 'request_timeout');
  }
};

const NOTHING = Buffer.alloc(0);
const END_OF_HEAD = Buffer.from('\r\n\r\n');
const END_LENGTH = END_OF_HEAD.length;
