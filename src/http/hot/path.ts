import type { Socket } from 'node:net';
import type { BankList } from '../../banks/bank-list.ts';
import { createNegotiate } from '../banks/encodings.ts';
import type { Cors } from '../cors.ts';
import type { FlatHeaders } from '../headers.ts';
import { evaluatePreconditions } from '../banks/preconditions.ts';
import { stateOf, type PrepareAnswers } from '../banks/answers.ts';
import { createWholeAnswers } from './whole-answers.ts';
import { createReadRequestHead } from './head.ts';
import type { RequestLog } from '../log/request-log.ts';

// GET and HEAD /banks straight from the socket, for ordinary requests while there is a list to serve. It skips node:http and
// Express, and nothing else: the encoding, the conditions, the headers and the log line come from the same functions. It
// takes only requests that head.ts can read with certainty and that can be answered at once. With the first other request
// the connection becomes Node's for good. A table of tests compares the bytes of both paths.

/** Answers the request that `bytes` are, if it can. */
export type HotPath = (bytes: Buffer, socket: Socket) => Outcome;

/**
 * `answered_last`: the connection must end with the answer. `incomplete`: not answered, but it may be with more bytes.
 * `other`: not answered, node:http has to do it.
 */
export type Outcome = 'answered' | 'answered_last' | 'incomplete' | 'other';

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
  const readRequestHead = createReadRequestHead();
  const negotiate = createNegotiate();
  const wholeAnswers = createWholeAnswers(options);

  return (bytes, socket) => {
    const head = readRequestHead(bytes, socket);
    if (typeof head === 'string') return head;
    const served = list.served();
    // A drain ends connections with their next answer: Express sends `Connection: close`.
    if (!served || options.isDraining()) return 'other';
    const { headers, isLast } = head;
    const answers = wholeAnswers(prepareAnswers(served), cors.headers(headers.origin));
    const { body, validators, sendOk, sendNotModified } =
      answers[negotiate(headers['accept-encoding'])] ?? answers.identity;
    const verdict = evaluatePreconditions(headers, validators);
    if (verdict === 'precondition_failed') return 'other';

    const requestId = requestLog.identify(head);
    const finished = requestLog.watch(head, requestId, stateOf(served));
    const isModified = verdict === 'proceed';
    const send = isModified ? sendOk : sendNotModified;
    send(socket, { requestId, isLast, isWithoutBody: head.method === 'HEAD' });
    const status = isModified ? 200 : 304;
    const contentBytes = isModified ? body.length : 0;
    // The system has usually taken all of it at once. If not, an empty write ends after all others.
    if (socket.writableLength === 0) finished(status, contentBytes, socket.writable);
    else socket.write('', (error) => finished(status, contentBytes, !error));
    return isLast ? 'answered_last' : 'answered';
  };
};
