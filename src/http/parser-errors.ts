import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { toHead, type FlatFields } from './fields.ts';
import { LINGER_MS, MAX_TARGET_LENGTH } from './limits.ts';
import { problemAnswer, type ProblemCode } from './problems.ts';

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
  readonly commonFields: FlatFields;
  readonly onRefusal: (refusal: ParserRefusal) => void;
}

export const answerParserErrors = (server: Server, { commonFields, onRefusal }: ParserErrorOptions): void => {
  const newest = new WeakMap<Duplex, ServerResponse>();
  const refused = new WeakSet<Duplex>();

  const refuse = (socket: Duplex, code: ProblemCode, fields: FlatFields = []): void => {
    // A parser that has failed fails again with each further packet.
    if (refused.has(socket)) return;
    refused.add(socket);
    const requestId = randomUUID();
    const answer = problemAnswer(code);
    const send = (): void => {
      // The last answer said that it is the last, and Node is closing the connection behind it.
      if (!socket.writable) return;
      onRefusal({ status: answer.status, code, requestId });
      const own = ['X-Request-Id', requestId, ...fields, ...answer.fields];
      const last = ['Date', new Date().toUTCString(), 'Connection', 'close'];
      socket.end(`${toHead(answer.status, [...commonFields, ...own, ...last])}${answer.body}`);
      lingerThenDestroy(socket);
    };
    // Pipelined answers go out in order, so the newest one's end is the end of all.
    const owed = newest.get(socket);
    const isOut = !owed || owed.writableFinished || owed.destroyed;
    if (owed && !owed.req.complete) {
      // What failed is the body of a request that has its answer, or is about to: one request, one answer.
      if (isOut || !owed.headersSent) lingerThenDestroy(socket.end());
      else owed.once('finish', () => lingerThenDestroy(socket.end()));
    } else if (isOut) send();
    else owed.once('finish', send);
  };

  server.on('request', (req: IncomingMessage, res: ServerResponse) => newest.set(req.socket, res));
  server.on('clientError', (error, socket) => {
    // Nobody is left to be told.
    if (isLostConnection(error)) socket.destroy();
    else refuse(socket, codeOf(error));
  });
  server.on('connect', (_req, socket) => {
    socket.on('error', () => socket.destroy());
    refuse(socket, 'method_not_allowed', ['Allow', 'GET, HEAD, OPTIONS']);
  });
};

const lingerThenDestroy = (socket: Duplex): void => {
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(timer));
};

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
