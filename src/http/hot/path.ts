import type { Socket } from 'node:net';
import type { BankList } from '../../banks/bank-list.ts';
import { createNegotiate } from '../banks/encodings.ts';
import type { Cors } from '../cors.ts';
import type { FlatHeaders } from '../headers.ts';
import { evaluatePreconditions } from '../banks/preconditions.ts';
import { stateOf, type PrepareAnswers } from '../banks/answers.ts';
import { createWholeAnswers } from './whole-answers.ts';
import { readRequestHead, type RequestHead } from './head.ts';
import type { RequestLog } from '../log/request-log.ts';

// GET and HEAD /banks straight from the socket, for ordinary requests while there is a list to serve. It skips node:http and
// Express, and nothing else: the encoding, the conditions, the headers and the log line come from the same functions. It
// takes only requests that head.ts can read with certainty and that can be answered at once. With the first other request
// the connection becomes Node's for good. A table of tests compares the bytes of both paths.

/** For one connection: what answers `request` there and returns true, or does nothing and returns false. */
export type HotPath = (socket: Socket) => (request: Buffer) => boolean;

export interface HotPathOptions {
  readonly list: BankList;
  readonly prepareAnswers: PrepareAnswers;
  readonly cors: Cors;
  readonly securityHeaders: FlatHeaders;
  readonly requestLog: RequestLog;
  readonly keepAliveTimeoutMs: number;
  readonly isDraining: () => boolean;
}

export const createHotPath = (options: HotPathOptions): HotPath => {
  const { list, prepareAnswers, cors, requestLog } = options;
  const negotiate = createNegotiate();
  const wholeAnswers = createWholeAnswers(options);

  const answer = (head: RequestHead): boolean => {
    const served = list.served();
    // A drain ends connections with their next answer: Express sends `Connection: close`.
    if (!served || options.isDraining()) return false;
    const { headers, socket } = head;
    const answers = wholeAnswers(prepareAnswers(served), cors.headers(headers.origin));
    const { body, validators, ok, notModified } =
      answers[negotiate(headers['accept-encoding'])] ?? answers.identity;
    const verdict = evaluatePreconditions(headers, validators);
    if (verdict === 'precondition_failed') return false;

    const state = stateOf(served);
    const requestId = requestLog.identify(head);
    const finished = requestLog.watch(head, requestId);
    if (verdict === 'not_modified') {
      socket.write(notModified(requestId), 'latin1');
      whenTaken(socket, (isTaken) => finished(304, 0, isTaken, state));
    } else {
      // One system call for both.
      socket.cork();
      socket.write(ok(requestId), 'latin1');
      if (head.method === 'GET') socket.write(body);
      socket.uncork();
      whenTaken(socket, (isTaken) => finished(200, body.length, isTaken, state));
    }
    return true;
  };

  return (socket) => {
    let newest: { readonly request: Buffer; readonly head: RequestHead } | undefined;
    return (request) => {
      // Most clients send the same request again: reuse the parsed head for identical bytes.
      if (newest?.request.equals(request)) return answer(newest.head);
      const head = readRequestHead(request, socket);
      newest =
        head && request.length <= MAX_REMEMBERED_BYTES ? { request: ownCopy(request), head } : undefined;
      return head !== undefined && answer(head);
    };
  };
};

/** What an idle connection may keep in memory; browsers without large cookies send less. */
const MAX_REMEMBERED_BYTES = 2_048;

/** A slice of a read would keep the whole read in memory. */
const ownCopy = (bytes: Buffer): Buffer => {
  if (bytes.length === bytes.buffer.byteLength) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
};

/** Calls back when the system has accepted all output, usually at once, or when it never will. */
const whenTaken = (socket: Socket, onTaken: (isTaken: boolean) => void): void => {
  if (socket.writableLength === 0) onTaken(socket.writable);
  // An empty write, after all others.
  else socket.write('', (error) => onTaken(!error));
};
