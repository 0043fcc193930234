import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BankList } from '../../banks/bank-list.ts';
import type { ServedList } from '../../banks/cached-list.ts';
import { LoadError } from '../../banks/load-error.ts';
import { FAILURE_KINDS } from '../../failure-kinds.ts';
import { setHeaders } from '../headers.ts';
import { sendProblem } from '../problems.ts';
import type { RequestLog } from '../request-log.ts';
import type { AnswerBanks } from './answer.ts';

// GET and HEAD /banks through Express. It waits only while there is no list to serve. hot-path.ts
// is the shorter way for ordinary requests.

export interface BanksRouteOptions {
  readonly list: BankList;
  readonly answerBanks: AnswerBanks;
  readonly requestLog: RequestLog;
}

export const createBanksRoute = ({ list, answerBanks, requestLog }: BanksRouteOptions) => {
  const send = (req: IncomingMessage, res: ServerResponse, served: ServedList): void => {
    const answer = answerBanks(req.headers, served);
    if (answer === 'precondition_failed') return sendProblem(res, answer);
    requestLog.noteList(res, answer.listState);
    // Node sends no body in response to HEAD.
    setHeaders(res, answer.headers);
    res.writeHead(answer.status).end(answer.body);
  };

  /** The list once there is one; undefined after the response that there is none. */
  const waitForList = async (res: ServerResponse): Promise<ServedList | undefined> => {
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

  return async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const served = list.served() ?? (await waitForList(res));
    if (served) send(req, res, served);
  };
};
