import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { readHeadLength, skipEmptyLines } from './head.ts';
import type { RespondToHead } from './hot-path.ts';
import type { Limits } from './limits.ts';
import { heldBy, type NodeRequest, type Holder } from './memory.ts';
import { hasContent, RequestStream } from './node-http.ts';
import type { RefusalCode } from './refusals.ts';

// One connection, from its first byte to its last. It handles one request at a time, as in nginx
// and Go's net/http: the next is taken once all of the response to the one before has been written.
// A request is taken when its head is whole, by the hot path or, on a stream of its own, by
// node:http. A request with content is the last one of its connection: nothing reads content.

export interface Connection extends Slot, Holder {
  readonly socket: Socket;
  readonly shared: Shared;
  /**
   * What may still be received. `open`: more requests. `lastRequest`: only the rest of the request
   * being handled, which is discarded. `ended`: nothing; the last response is being written, or the
   * connection is closed. `activityOf` says what the connection is doing.
   */
  input: 'open' | 'lastRequest' | 'ended';
  /** What has been received and not taken: the beginning of a head, or pipelined requests. */
  received: Buffer;
  /**
   * How much of `received` has been searched for the end of its first head, without finding it. 0
   * if `received` is empty, or may begin with a complete request.
   */
  searchedBytes: number;
  /**
   * The stream from which node:http reads the requests of this connection. It is kept for up to a
   * second after a request: see activity.ts.
   */
  stream: RequestStream | undefined;
  nodeRequest: NodeRequest | undefined;
  hasHadRequest: boolean;
  /** When it was opened, became idle, began to receive a head, or was closed: see activity.ts. */
  activitySinceMs: number;
  /** How much had been written when that was last seen to have changed, and when it was seen. */
  lastProgress: { writtenBytes: number; atMs: number };
}

/** What was decided when the connection was accepted: see connection-slots.ts. */
export interface Slot {
  /** What the bound per address counts it for; undefined behind a proxy. */
  readonly client: string | undefined;
  /** Gets a 503, except for a probe. */
  readonly isOverCapacity: boolean;
}

/** What all connections of a server have in common. */
export interface Shared {
  /** Requests have to wait: see drain.ts. */
  isPaused: boolean;
  /** Responds to ordinary requests; without it node:http has all. */
  readonly respondToHead: RespondToHead | undefined;
  readonly limits: Limits;
  /** Calls `proceed` when it is the connection's turn. */
  readonly pipelineQueue: { readonly add: (connection: Connection) => void };
  readonly memory: { readonly count: (connection: Connection, bytes: number) => void };
  /** Gives `stream` to node:http as a connection. */
  readonly connectNode: (stream: RequestStream, connection: Connection) => void;
  /**
   * Writes the response to a request that the application does not get, or to which it has not
   * begun to respond: then `pending` is its response.
   */
  readonly writeRefusal: (
    socket: Socket,
    refusal: RefusalCode,
    pending: ServerResponse | undefined,
  ) => void;
}

export const openConnection = (socket: Socket, shared: Shared, place: Slot): Connection => {
  const nowMs = performance.now();
  const connection: Connection = {
    ...place,
    socket,
    shared,
    input: 'open',
    received: NOTHING,
    searchedBytes: 0,
    stream: undefined,
    nodeRequest: undefined,
    heldBytes: 0,
    hasHadRequest: false,
    activitySinceMs: nowMs,
    lastProgress: { writtenBytes: -1, atMs: nowMs },
  };
  socket
    .on('data', (chunk: Buffer) => {
      if (connection.input !== 'open') return;
      const { received } = connection;
      connection.received = received.length === 0 ? chunk : join(received, chunk);
      proceed(connection);
    })
    .on('end', () => proceed(connection))
    // 'close' follows.
    .on('error', () => undefined)
    .once('close', () => {
      connection.input = 'ended';
      releaseAll(connection);
    });
  return connection;
};

/** Takes the next request, if it is whole and may be taken now, and arranges what comes then. */
export const proceed = (connection: Connection): void => {
  if (connection.received.length > 0 && !mustWait(connection)) takeRequest(connection);
  settle(connection);
};

/** Arranges what comes next, and counts the memory that the connection takes until then. */
const settle = (connection: Connection): void => {
  if (connection.input === 'open') waitForNext(connection);
  countMemory(connection);
};

/** Whether no request may be taken now: one is being handled, or its response is being written. */
const mustWait = ({ nodeRequest, shared, socket }: Connection): boolean =>
  nodeRequest !== undefined || socket.writableLength > 0 || shared.isPaused || socket.destroyed;

const takeRequest = (connection: Connection): void => {
  const { socket, shared, isOverCapacity, searchedBytes } = connection;
  const received = (connection.received = skipEmptyLines(connection.received));
  if (received.length === 0) return;
  const length = readHeadLength(received, searchedBytes);
  if (length === undefined) {
    // The client has closed its side: the rest of the head will not arrive.
    if (socket.readableEnded) return refuse(connection, 'bad_request');
    if (searchedBytes === 0) connection.activitySinceMs = performance.now();
    connection.searchedBytes = received.length;
    return;
  }
  if (typeof length === 'string') return refuse(connection, length);
  const head = length < received.length ? received.subarray(0, length) : received;
  connection.received = length < received.length ? received.subarray(length) : NOTHING;
  connection.searchedBytes = 0;
  connection.hasHadRequest = true;
  connection.activitySinceMs = performance.now();
  const responded = isOverCapacity ? undefined : shared.respondToHead?.(head, socket);
  if (!responded) return giveToNode(connection, head);
  const { isLast, end } = responded;
  // All of it has usually been written at once. If not, an empty write ends after all others.
  if (socket.writableLength === 0) end(socket.writable);
  else
    socket.write('', (error) => {
      end(!error);
      // The client gets the time for its next request from here.
      connection.activitySinceMs = performance.now();
      settle(connection);
    });
  if (isLast) close(connection);
};

/**
 * Reads on, unless whole requests may be waiting: then it arranges that the next one is taken.
 * While none may be taken, no more of a head is read: only taking a request checks its length.
 */
const waitForNext = (connection: Connection): void => {
  const { socket, shared, received, searchedBytes } = connection;
  const isWaiting = mustWait(connection);
  if (received.length > 0 && (isWaiting || searchedBytes === 0)) {
    socket.pause();
    // The end of a pause, and of the request being handled, comes here again.
    if (!isWaiting) shared.pipelineQueue.add(connection);
  } else if (socket.readableEnded && !connection.nodeRequest) close(connection);
  else if (socket.isPaused()) socket.resume();
};

/**
 * Counts the memory that the connection takes now. This counts as progress: connections that were
 * counted longest ago have to free their memory first.
 */
const countMemory = (connection: Connection): void =>
  connection.shared.memory.count(connection, connection.input === 'ended' ? 0 : heldBy(connection));

const giveToNode = (connection: Connection, head: Buffer): void => {
  const stream = (connection.stream ??= connectToNode(connection));
  connection.nodeRequest = { headBytes: head.length, response: undefined };
  stream.push(head);
};

const connectToNode = (connection: Connection): RequestStream => {
  const { socket, shared } = connection;
  const stream = new RequestStream(socket, () => {
    // node:http or the application has given up.
    if (connection.stream === stream) socket.destroy();
  });
  shared.connectNode(stream, connection);
  return stream;
};

/** To be called with each response that node:http begins, before the application gets it. */
export const onNodeRequest = (connection: Connection, response: ServerResponse): void => {
  const { nodeRequest } = connection;
  if (!nodeRequest) return;
  nodeRequest.response = response;
  if (hasContent(response.req)) {
    response.setHeader('Connection', 'close');
    connection.input = 'lastRequest';
    connection.received = NOTHING;
  }
  countMemory(connection);
  // The last response of a connection ends its stream before.
  response.once('close', () => {
    if (connection.nodeRequest !== nodeRequest) return;
    if (connection.input === 'lastRequest' || connection.stream?.writableEnded)
      return close(connection);
    connection.nodeRequest = undefined;
    connection.activitySinceMs = performance.now();
    settle(connection);
  });
};

/** Ends what node:http keeps for the connection. */
export const releaseStream = (connection: Connection): void => {
  const { stream } = connection;
  if (!stream) return;
  connection.stream = connection.nodeRequest = undefined;
  stream.destroy();
  countMemory(connection);
};

/** Gives up what the connection holds, for the bound on memory. */
export const freeMemory = (connection: Connection): void => {
  if (connection.nodeRequest || connection.received.length > 0) refuse(connection, 'overloaded');
  else releaseStream(connection);
};

/** Tells the client that no request could be taken or finished, and closes the connection. */
export const refuse = (connection: Connection, refusal: RefusalCode): void => {
  const { input, socket, shared, nodeRequest } = connection;
  if (input === 'ended' || !socket.writable) return;
  // Part of a response has been sent: only the end of the connection can tell the client.
  if (nodeRequest?.response?.headersSent || socket.writableLength > 0) socket.destroy();
  else {
    shared.writeRefusal(socket, refusal, nodeRequest?.response);
    close(connection);
  }
};

/**
 * Ends our side, and lets `endOverdue` close the connection if the client does not. Closing at once
 * with unread bytes would reset it, and the client would lose the last response (RFC 9112 section
 * 9.6).
 */
const close = (connection: Connection): void => {
  if (connection.input === 'ended') return;
  connection.input = 'ended';
  releaseAll(connection);
  connection.activitySinceMs = performance.now();
  connection.socket.end();
  connection.socket.resume();
};

const releaseAll = (connection: Connection): void => {
  connection.received = NOTHING;
  releaseStream(connection);
  countMemory(connection);
};

/** In a buffer of its own: a small one would be part of a larger one, which it would keep. */
const join = (first: Buffer, second: Buffer): Buffer => {
  const joined = Buffer.allocUnsafeSlow(first.length + second.length);
  first.copy(joined);
  second.copy(joined, first.length);
  return joined;
};

const NOTHING = Buffer.alloc(0);
