import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { closeGracefully } from '../connection/closing.ts';
import { toHead, type FlatHeaders } from '../headers.ts';
import { MAX_TARGET_LENGTH } from './limits.ts';
import { problemAnswer, type ProblemCode } from '../problems.ts';

// Requests that never become one: what Node's parser refuses, requests that do not arrive in time, and CONNECT. Each
// gets the same problem+json as any other error, after the answers that its connection still owes, and the
// connection ends.

/** One request that the parser refused, for the log. */
export interface ParserRefusal {
  readonly status: number;
  readonly code: ProblemCode;
  readonly requestId: string;
}

export interface ParserErrorOptions {
  /** What every answer carries. */
  readonly commonHeaders: FlatHeaders;
  readonly onRefusal: (refusal: ParserRefusal) => void;
}

export const answerParserErrors = (
  server: Server,
  { commonHeaders, onRefusal }: ParserErrorOptions,
): void => {
  const newest = new WeakMap<Duplex, ServerResponse>();
  const refused = new WeakSet<Duplex>();

  const sendRefusal = (socket: Duplex, code: ProblemCode, headers: FlatHeaders): void => {
    // The client, or the answer before, has ended the connection.
    if (!socket.writable) return;
    const requestId = randomUUID();
    const answer = problemAnswer(code);
    onRefusal({ status: answer.status, code, requestId });
    const own = ['X-Request-Id', requestId, ...headers, ...answer.headers];
    const last = ['Date', new Date().toUTCString(), 'Connection', 'close'];
    socket.write(`${toHead(answer.status, [...commonHeaders, ...own, ...last])}${answer.body}`);
    closeGracefully(socket);
  };

  const refuse = (socket: Duplex, code: ProblemCode, headers: FlatHeaders = []): void => {
    if (refused.has(socket)) return;
    refused.add(socket);
    const response = newest.get(socket);
    if (!response || mayBeFollowed(response)) sendRefusal(socket, code, headers);
    else if (isOwed(response)) response.once('finish', () => closeGracefully(socket));
    else closeGracefully(socket);
  };

  server.on('request', (req: IncomingMessage, res: ServerResponse) => newest.set(req.socket, res));
  server.on('clientError', (error, socket) => {
    // There is no client left to answer.
    if (isLostConnection(error)) socket.destroy();
    else refuse(socket, codeOf(error));
  });
  server.on('connect', (_req, socket) => {
    socket.on('error', () => socket.destroy());
    refuse(socket, 'method_not_allowed', ['Allow', 'GET, HEAD, OPTIONS']);
  });
};

/** The content of a request is refused that has, or gets, its own answer: one request, one answer. */
const isOfSameRequest = ({ req }: ServerResponse): boolean => !req.complete;

const isSent = (response: ServerResponse): boolean => response.writableFinished || response.destroyed;

/** Whether another answer may come after this one, the newest of its connection. They go out in order. */
const mayBeFollowed = (response: ServerResponse): boolean =>
  isSent(response) &&
  !isOfSameRequest(response) &&
  // RFC 9112 section 9.6: nothing follows an answer with Connection: close.
  response.shouldKeepAlive &&
  response.getHeader('Connection') !== 'close';

const isOwed = (response: ServerResponse): boolean =>
  !isSent(response) && (response.headersSent || !isOfSameRequest(response));

const isLostConnection = (error: NodeJS.ErrnoException): boolean =>
  error.code === 'ECONNRESET' || error.code === 'EPIPE';

const codeOf = (error: NodeJS.ErrnoException & { readonly rawPacket?: unknown }): ProblemCode => {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout';
  if (error.code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 'payload_too_large';
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return isLongTarget(error.rawPacket) ? 'uri_too_long' : 'headers_too_large';
  return 'bad_request';
};

/** The parser counts the target as part of the header section; a request line that does not end tells them apart. */
const isLongTarget = (packet: unknown): boolean =>
  Buffer.isBuffer(packet) &&
  /^[A-Z]+ /.test(packet.toString('latin1', 0, 32)) &&
  !packet.subarray(0, MAX_TARGET_LENGTH).includes('\n');
