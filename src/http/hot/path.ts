import type { Socket } from 'node:net';
import type { BankList } from '../../banks/bank-list.ts';
import { createNegotiate } from '../banks/encodings.ts';
import type { Cors } from '../cors.ts';
import { toHead, type FlatHeaders } from '../headers.ts';
import { evaluatePreconditions } from '../banks/preconditions.ts';
import {
  mapEncodings,
  stateOf,
  type PerEncoding,
  type PrepareAnswers,
  type PreparedAnswer,
} from '../banks/answers.ts';
import { readRequestHead, type RequestHead } from './head.ts';
import type { RequestLog } from '../log/request-log.ts';

// GET and HEAD /banks straight from the socket, for the ordinary request while a list is held. It skips node:http and
// Express, and nothing else: the coding, the conditions, the fields and the log line come from the same functions as in
// Express's way. That is safe because it takes only what it knows for certain (see request-head.ts) and what it can
// answer at once; with the first request that is anything else, the connection becomes Node's, untouched, for good. A
// table of tests holds the two ways to the same bytes.

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
  const withHeads = createWithHeads(options);

  const answer = (head: RequestHead): boolean => {
    const served = list.served();
    // A drain ends connections with their next answer, which is Express's to say.
    if (!served || options.isDraining()) return false;
    const { headers, socket } = head;
    const answers = withHeads(prepareAnswers(served), cors.headers(headers.origin));
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
      // Most clients ask the same again: the head is reused for identical bytes.
      if (newest?.request.equals(request)) return answer(newest.head);
      const head = readRequestHead(request, socket);
      newest =
        head && request.length <= MAX_REMEMBERED_BYTES ? { request: ownCopy(request), head } : undefined;
      return head !== undefined && answer(head);
    };
  };
};

/** For an idle connection it is all that it costs here; browsers without large cookies send less. */
const MAX_REMEMBERED_BYTES = 2_048;

/** One of many pipelined requests would keep all of their bytes. */
const ownCopy = (bytes: Buffer): Buffer => {
  if (bytes.length === bytes.buffer.byteLength) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
};

/** Tells when the system has taken all that was written, mostly at once, or that it never will. */
const whenTaken = (socket: Socket, tell: (isTaken: boolean) => void): void => {
  if (socket.writableLength === 0) tell(socket.writable);
  // Nothing more, but behind all the rest.
  else socket.write('', (error) => tell(!error));
};

/** A body with the two heads that it can be sent under. */
interface WholeAnswer extends Pick<PreparedAnswer, 'body' | 'validators'> {
  readonly ok: Head;
  readonly notModified: Head;
}

type Head = (requestId: string) => string;

/** No field can hold it. */
const PLACE_OF_ID = '\0';

/** Joins prepared answers with what depends on the origin and what never changes, once for each pair and second. */
const createWithHeads = ({
  securityHeaders,
  keepAliveTimeoutMs,
}: Pick<HotPathOptions, 'securityHeaders' | 'keepAliveTimeoutMs'>) => {
  const keepAlive = Math.floor(keepAliveTimeoutMs / 1_000);
  let newest: PerEncoding<PreparedAnswer> | undefined;
  let second = 0;
  const made = new Map<FlatHeaders, PerEncoding<WholeAnswer>>();

  return (prepared: PerEncoding<PreparedAnswer>, corsHeaders: FlatHeaders): PerEncoding<WholeAnswer> => {
    // Caches subtract the Date from their own clock, so it has to be right whatever else has not changed.
    const now = Math.floor(Date.now() / 1_000);
    if (newest !== prepared || second !== now) {
      newest = prepared;
      second = now;
      made.clear();
    }
    let answers = made.get(corsHeaders);
    if (!answers) {
      const first = ['X-Request-Id', PLACE_OF_ID, ...securityHeaders, ...corsHeaders];
      // As node:http ends the head of an answer that keeps its connection.
      const date = new Date(now * 1_000).toUTCString();
      const last = ['Date', date, 'Connection', 'keep-alive', 'Keep-Alive', `timeout=${keepAlive}`];
      const prepareHead = (status: number, fields: FlatHeaders): Head => {
        const [before = '', after = ''] = toHead(status, [...first, ...fields, ...last]).split(PLACE_OF_ID);
        return (requestId) => before + requestId + after;
      };
      answers = mapEncodings(prepared, ({ body, validators, headers, notModifiedHeaders }) => ({
        body,
        validators,
        ok: prepareHead(200, headers),
        notModified: prepareHead(304, notModifiedHeaders),
      }));
      made.set(corsHeaders, answers);
    }
    return answers;
  };
};
