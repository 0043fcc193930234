import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { RespondToHead } from './hot-path.ts';
import { LINGER_BYTES, ON_ITS_WAY_MS, type Limits } from './limits.ts';
import { writeRefusal, type RefusalCode, type RefusalResponse } from './refusals.ts';
import { createRequestStream } from './request-stream.ts';

// One connection, from its first byte to its last. It has one request at a time: the hot path
// responds to an ordinary one, and any other head goes to node:http as it arrives. What comes before
// the response has been written, content or further requests, is discarded, and the connection ends
// with the response: clients that pipeline must be ready to send again (RFC 9112 section 9.3.2), and
// nothing here reads content.

export interface Connection {
  readonly socket: Socket;
  readonly shared: Shared;
  state: State;
  /** For how long it has been in this state, in steps of `checkIntervalMs`. */
  waitedMs: number;
  /** The last bytes of a head that has begun, until node:http has made a request of it. */
  tail: Buffer;
  /** Whether the connection ends with the response to the request that is being handled. */
  isLast: boolean;
  /** What has been discarded since its last response. */
  lingeringBytes: number;
  /** What node:http has in place of the socket, from its first request on. */
  stream: Duplex | undefined;
}

/** What is known of a request: if it could not be read, only who has sent it. */
export type RequestHead = Readonly<Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'socket'>>;

/** What all connections of a server have in common. */
export interface Shared {
  readonly limits: Limits;
  /** Responds to ordinary requests; without it node:http has all. */
  readonly respondToHead: RespondToHead | undefined;
  /** Gets a stream in place of each socket, and responds to what the hot path does not. */
  readonly nodeServer: Server;
  readonly respondToRefused: (code: RefusalCode, head: RequestHead) => RefusalResponse;
  /** `draining`: each response is the last of its connection. `closed`: idle connections end. */
  phase: 'open' | 'draining' | 'closed';
}

/**
 * `idle`: between two requests. `receiving`: a head is awaited or has begun. `responding`: the
 * client waits, or has not read all of its response. `closing`: it has its last response.
 */
type State = 'idle' | 'receiving' | 'responding' | 'closing';

export const openConnection = (socket: Socket, shared: Shared): Connection => {
  const connection: Connection = {
    socket,
    shared,
    state: 'receiving',
    waitedMs: 0,
    tail: NOTHING,
    isLast: false,
    lingeringBytes: 0,
    stream: undefined,
  };
  socket
    .on('data', (chunk: Buffer) => takeBytes(connection, chunk))
    .on('end', () => takeEnd(connection))
    // 'close' follows.
    .on('error', () => undefined)
    .once('close', () => {
      enter(connection, 'closing');
      connection.stream?.destroy();
    });
  return connection;
};

const enter = (connection: Connection, state: State): void => {
  connection.state = state;
  connection.waitedMs = 0;
};

const takeBytes = (connection: Connection, chunk: Buffer): void => {
  const { state, tail, socket } = connection;
  if (state === 'closing') {
    connection.lingeringBytes += chunk.length;
    if (connection.lingeringBytes > LINGER_BYTES) socket.pause();
    return;
  }
  const bytes = tail.length === 0 ? skipEmptyLines(chunk) : chunk;
  if (bytes.length === 0) return;
  if (state === 'responding') {
    connection.isLast = true;
    socket.pause();
  } else if (tail.length > 0 || !respondOnHotPath(connection, bytes)) giveToNode(connection, bytes);
};

/** The client has closed its side. */
const takeEnd = (connection: Connection): void => {
  if (connection.tail.length > 0) refuse(connection, 'bad_request');
  else if (connection.state === 'responding') connection.isLast = true;
  else close(connection);
};

const respondOnHotPath = (connection: Connection, bytes: Buffer): boolean => {
  const { socket, shared } = connection;
  const responded = shared.phase === 'open' && shared.respondToHead?.(bytes, socket);
  if (!responded) return false;
  connection.isLast = responded.isLast;
  enter(connection, 'responding');
  const finish = (isWritten: boolean): void => {
    responded.end(isWritten);
    proceed(connection);
  };
  // All of it has usually been written at once. If not, an empty write ends after all others.
  if (socket.writableLength === 0) finish(socket.writable);
  else socket.write('', (error) => finish(!error));
  return true;
};

/** Passes the head on, and no byte behind it. */
const giveToNode = (connection: Connection, bytes: Buffer): void => {
  const { tail } = connection;
  if (connection.state === 'idle') enter(connection, 'receiving');
  const head = tail.length > 0 ? Buffer.concat([tail, bytes]) : bytes;
  const endAt = head.indexOf(END_OF_HEAD);
  const end = endAt < 0 ? bytes.length : endAt + END_OF_HEAD.length - tail.length;
  // A copy: a part would keep all that was read at once.
  connection.tail = Buffer.from(head.subarray(1 - END_OF_HEAD.length));
  if (endAt >= 0) connection.isLast = skipEmptyLines(bytes.subarray(end)).length > 0;
  connection.stream ??= connectToNode(connection);
  connection.stream.push(bytes.subarray(0, end));
};

const connectToNode = (connection: Connection): Duplex => {
  const { socket, shared } = connection;
  const stream = createRequestStream(socket, () => {
    if (connection.state !== 'closing') socket.destroy();
  });
  byStream.set(stream, connection);
  shared.nodeServer.emit('connection', stream);
  return stream;
};

const byStream = new WeakMap<Duplex, Connection>();

/** To be called with each request that the application is about to get, and its response. */
export const beginResponse = (req: IncomingMessage, res: ServerResponse): void => {
  const connection = byStream.get(req.socket);
  if (!connection) return;
  enter(connection, 'responding');
  connection.tail = NOTHING;
  connection.isLast ||= hasContent(req) || connection.shared.phase !== 'open';
  if (connection.isLast) res.setHeader('Connection', 'close');
  res.once('close', () => proceed(connection));
};

/** A response has been written: the next request may come. */
const proceed = (connection: Connection): void => {
  const { state, isLast, stream, shared } = connection;
  if (state === 'closing') return;
  if (isLast || stream?.writableEnded || shared.phase === 'closed') return close(connection);
  enter(connection, 'idle');
};

/** Ends our side. The client gets the time to close its own. */
const close = (connection: Connection): void => {
  const { state, socket } = connection;
  if (state === 'closing') return;
  enter(connection, 'closing');
  socket.end(() => (connection.waitedMs = 0));
  socket.resume();
};

/** The same for a request that node:http has read; `req` is undefined if it could not. */
export const refuseOn = (stream: Duplex, code: RefusalCode, req?: IncomingMessage): void => {
  const connection = byStream.get(stream);
  if (connection) refuse(connection, code, req);
};

/** Tells the client that its request cannot be taken, and closes the connection. */
const refuse = (connection: Connection, code: RefusalCode, req?: IncomingMessage): void => {
  const { state, socket, stream, shared } = connection;
  if (state === 'closing') return;
  const response = shared.respondToRefused(code, req ?? { headers: {}, socket });
  writeRefusal(socket, req?.method, response);
  close(connection);
  stream?.destroy();
};

/** To be called every `checkIntervalMs`: ends what takes too long. */
export const endOverdue = (connection: Connection): void => {
  const { socket, state, shared } = connection;
  const { checkIntervalMs, slowReaderMs, headersTimeoutMs, keepAliveTimeoutMs } = shared.limits;
  connection.waitedMs += checkIntervalMs;
  const { waitedMs } = connection;
  if (socket.writableLength > 0) {
    if (waitedMs > slowReaderMs) socket.destroy();
  } else if (state === 'responding') connection.waitedMs = 0;
  else if (state === 'receiving') {
    if (waitedMs > headersTimeoutMs) refuse(connection, 'request_timeout');
  } else {
    const openMs = state === 'idle' ? keepAliveTimeoutMs : 0;
    if (waitedMs > openMs + ON_ITS_WAY_MS) socket.destroy();
  }
};

/** Closes it, if no request of it is being handled or may be on its way. */
export const closeIdle = ({ socket, state, waitedMs }: Connection): void => {
  if (state === 'idle' || (state === 'receiving' && waitedMs > ON_ITS_WAY_MS)) socket.destroy();
};

/** Whether content follows the head. */
const hasContent = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** RFC 9112 section 2.2: empty lines before a request are ignored. */
const skipEmptyLines = (bytes: Buffer): Buffer => {
  let start = 0;
  while (isLineEnd(bytes[start])) start += 1;
  return start > 0 ? bytes.subarray(start) : bytes;
};

const isLineEnd = (byte = 0): boolean => byte === 0x0d || byte === 0x0a;

const END_OF_HEAD = Buffer.from('\r\n\r\n');
const NOTHING = Buffer.alloc(0);
