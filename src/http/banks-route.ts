import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BankList } from '../banks/bank-list.ts';
import { LoadError } from '../banks/load-error.ts';
import { PROBLEM_OF_LOAD_ERROR, sendProblem } from './problems.ts';

// GET and HEAD /banks: the held bytes as they are. Only before the first list does a request wait for anything.

export interface BanksRouteOptions {
  readonly list: BankList;
}

/** Answers from `list`; it looks at nothing of the request but its method. */
export const createBanksRoute =
  ({ list }: BanksRouteOptions) =>
  async (_req: IncomingMessage, res: ServerResponse): Promise<void> => {
    try {
      const { representation } = (list.served() ?? (await list.arrival())).list;
      res.setHeader('Content-Type', 'application/json; charset=utf-8');
      res.setHeader('Content-Length', representation.body.length);
      res.setHeader('ETag', representation.etag);
      // Node sends no body in answer to HEAD.
      res.end(representation.body);
    } catch (error) {
      // Retry-After on every one: the list's own back-off knows when asking again can help.
      res.setHeader('Retry-After', Math.max(1, Math.ceil(list.status().nextLoadInMs / 1_000)));
      sendProblem(res, PROBLEM_OF_LOAD_ERROR[LoadError.from(error).kind]);
    }
  };
