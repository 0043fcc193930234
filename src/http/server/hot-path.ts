import type { Socket } from 'node:net';
import type { BankList } from '../../banks/bank-list.ts';
import { stateOf, type PrepareAnswers } from '../banks/answers.ts';
import { createNegotiate } from '../banks/encodings.ts';
import { evaluatePreconditions } from '../banks/preconditions.ts';
import type { Cors } from '../cors.ts';
import { toLines, toStatusLine, type FlatHeaders } from '../headers.ts';
import type { RequestLog } from '../log/request-log.ts';
import { readOrdinaryRequest } from './ordinary-request.ts';

// GET and HEAD /banks straight from the socket, for ordinary requests while there is a list to serve. It skips node:http and
// Express, and nothing else: the encoding, the conditions, the headers and the log line come from the same functions. It
// takes only requests that ordinary-request.ts can read with certainty and that can be answered at once. A table of tests
// compares the bytes of both paths.

/**
 * Answers the request that `bytes` are, if it can. `answered_last`: the connection must end with the answer. `other`: not answered,
 * node:http has to do it.
 */
export type HotPath = (bytes: Buffer, socket: Socket) => 'answered' | 'answered_last' | 'other';

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
  const securityLines = toLines(options.securityHeaders);
  const linesOf = createLinesOf();
  const lastLines = createLastLines(options.keepAliveTimeoutMs);

  return (bytes, socket) => {
    const request = readOrdinaryRequest(bytes, socket);
    if (!request) return 'other';
    const served = list.served();
    // A drain ends connections with their next answer: Express sends `Connection: close`.
    if (!served || options.isDraining()) return 'other';
    const { headers, isLast } = request;
    const answers = prepareAnswers(served);
    const answer = answers[negotiate(headers['accept-encoding'])] ?? answers.identity;
    const verdict = evaluatePreconditions(headers, answer.validators);
    if (verdict === 'precondition_failed') return 'other';

    const requestId = requestLog.identify(request);
    const finished = requestLog.watch(request, requestId, stateOf(served));
    const isModified = verdict === 'proceed';
    const status = isModified ? 200 : 304;
    const corsLines = linesOf(cors.headers(headers.origin));
    const lines = linesOf(isModified ? answer.headers : answer.notModifiedHeaders);
    // One system call for both.
    socket.cork();
    socket.write(
      `${START[status]}${requestId}\r\n${securityLines}${corsLines}${lines}${lastLines(isLast)}`,
      'latin1',
    );
    if (isModified && request.method === 'GET') socket.write(answer.body);
    socket.uncork();
    const contentBytes = isModified ? answer.body.length : 0;
    // The system has usually taken all of it at once. If not, an empty write ends after all others.
    if (socket.writableLength === 0) finished(status, contentBytes, socket.writable);
    else socket.write('', (error) => finished(status, contentBytes, !error));
    return isLast ? 'answered_last' : 'answered';
  };
};

const START = { 200: `${toStatusLine(200)}X-Request-Id: `, 304: `${toStatusLine(304)}X-Request-Id: ` };

/** Makes the lines of the same headers once. */
const createLinesOf = (): ((headers: FlatHeaders) => string) => {
  const known = new WeakMap<FlatHeaders, string>();
  return (headers) => {
    let lines = known.get(headers);
    if (lines === undefined) known.set(headers, (lines = toLines(headers)));
    return lines;
  };
};

/** The end of a head as node:http writes it for a connection that stays open, and for one that does not. */
const createLastLines = (keepAliveTimeoutMs: number): ((isLast: boolean) => string) => {
  const keepAlive = [
    'Connection',
    'keep-alive',
    'Keep-Alive',
    `timeout=${Math.floor(keepAliveTimeoutMs / 1_000)}`,
  ];
  let second = 0;
  let open = '';
  let closing = '';
  return (isLast) => {
    // Caches subtract the Date from their own clock, so it must be right whatever else has not changed.
    const now = Math.floor(Date.now() / 1_000);
    if (now !== second) {
      second = now;
      const date = ['Date', new Date(second * 1_000).toUTCString()];
      open = `${toLines([...date, ...keepAlive])}\r\n`;
      closing = `${toLines([...date, 'Connection', 'close'])}\r\n`;
    }
    return isLast ? closing : open;
  };
};
