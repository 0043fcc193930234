import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BankList } from '../../banks/bank-list.ts';
import { LoadError } from '../../banks/load-error.ts';
import type { ChooseResponse, Found } from './responses.ts';
import type { RequestLog } from '../request-log.ts';
import { FAILURE_KINDS } from '../../failure-kinds.ts';
import { sendProblem } from '../problems.ts';

// GET and HEAD /banks: the cached bytes as they are, in the encoding that the client prefers. It
// waits only while there is no list to serve. hot-path.ts is the shorter way for ordinary requests.

export interface BanksRouteOptions {
  readonly list: BankList;
  readonly chooseResponse: ChooseResponse;
  readonly requestLog: RequestLog;
}

export const createBanksRoute = ({ list, chooseResponse, requestLog }: BanksRouteOptions) => {
  /** How many requests wait for a load now. */
  let waiting = 0;

  return async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    let served = list.served();
    let found: Found = 'hit';
    if (!served) {
      const { state, isLoading, nextLoadInMs } = list.status();
      // The first load is under way also while the stores are asked for a list.
      const isUnderWay = waiting > 0 || isLoading || (state === 'empty' && nextLoadInMs === 0);
      found = isUnderWay ? 'collapsed' : 'miss';
      waiting += 1;
      // A request whose connection has been closed keeps nothing: neither itself nor its headers.
      const closed = new AbortController();
      res.once('close', () => closed.abort());
      try {
        served = await list.waitUntilServed(closed.signal);
      } catch (error) {
        if (closed.signal.aborted) return;
        requestLog.note(req, { listState: list.status().state });
        res.setHeader('Retry-After', Math.max(1, Math.ceil(list.retryInMs() / 1_000)));
        sendProblem(res, FAILURE_KINDS[LoadError.from(error).kind].problem);
        return;
      } finally {
        waiting -= 1;
      }
    }
    const { response, status } = chooseResponse(req.headers, served, found);
    if (status === 412) {
      sendProblem(res, 'precondition_failed');
      return;
    }
    requestLog.note(req, { listState: response.listState });
    // Node sends no body in response to HEAD.
    if (status === 200) res.writeHead(status, [...response.headers]).end(response.body);
    else res.writeHead(status, [...response.notModifiedHeaders]).end();
  };
};
