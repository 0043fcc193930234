import type { RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import type { BankList } from '../../banks/bank-list.ts';
import type { ServedList } from '../../banks/cached-list.ts';
import { LoadError } from '../../banks/load-error.ts';
import { FAILURE_KINDS } from '../../failure-kinds.ts';
import type { HotPath } from '../../http-front/index.ts';
import type { CommonHeaders } from '../common-headers.ts';
import { setHeaders } from '../headers.ts';
import { sendProblem } from '../problem-details.ts';
import type { RequestLog } from '../request-log.ts';
import type { AnswerBanks } from './answer.ts';

// The two ways to send what answer.ts gives: the route of Express, which waits while there is no
// list, and the hot path for ordinary requests, which skips nothing but node:http and Express.

interface BanksOptions {
  readonly list: BankList;
  readonly answerBanks: AnswerBanks;
  readonly requestLog: RequestLog;
}

/** `GET` and `HEAD /banks`. */
export const createBanksRoute = (options: BanksOptions): RequestHandler => {
  const { list, answerBanks, requestLog } = options;
  /** The list once there is one; undefined after the response that there is none. */
  const waitForList = async (res: Response): Promise<ServedList | undefined> => {
    // A request whose connection has been closed keeps nothing: neither itself nor its headers.
    const closed = new AbortController();
    res.once('close', () => closed.abort());
    try {
      return await list.waitUntilServed(closed.signal);
    } catch (error) {
      if (closed.signal.aborted) return undefined;
      if (!(error instanceof LoadError)) throw error;
      requestLog.noteList(res, list.status().state);
      res.setHeader('Retry-After', Math.max(1, Math.ceil(list.retryInMs() / 1_000)));
      sendProblem(res, FAILURE_KINDS[error.kind].problem);
      return undefined;
    }
  };

  return async (req, res) => {
    const served = list.served() ?? (await waitForList(res));
    if (!served) return;
    const answer = answerBanks(req.headers, served);
    if (answer === 'precondition_failed') {
      sendProblem(res, answer);
      return;
    }
    requestLog.noteList(res, answer.listState);
    // Node sends no body in response to HEAD.
    setHeaders(res, answer.headers);
    res.writeHead(answer.status).end(answer.body);
  };
};

interface HotPathOptions extends BanksOptions {
  readonly commonHeaders: CommonHeaders;
  readonly logger: Logger;
}

/** `GET /banks`, while there is a list. A table of tests compares the bytes of both ways. */
export const createHotPath = (options: HotPathOptions): HotPath => {
  const { list, answerBanks, commonHeaders, requestLog, logger } = options;
  return {
    path: '/banks',
    headers: [
      'origin',
      'accept-encoding',
      'if-match',
      'if-none-match',
      'if-modified-since',
      'if-unmodified-since',
      'x-request-id',
      'x-forwarded-for',
      'traceparent',
    ],
    respond: (request) => {
      const served = list.served();
      if (!served) return undefined;
      const answer = answerBanks(request.headers, served);
      if (answer === 'precondition_failed') return undefined;
      const { status, headers, body, listState } = answer;
      const { requestId, end } = requestLog.startOnHotPath(request, listState, status, body.length);
      const common = commonHeaders(request.headers.origin);
      return { status, common, headers, body, requestId, end };
    },
    onError: (error) => logger.error({ err: error }, 'unexpected error on the hot path'),
  };
};
