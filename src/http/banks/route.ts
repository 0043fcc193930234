import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BankList } from '../../banks/bank-list.ts';
import { LoadError } from '../../banks/load-error.ts';
import { createNegotiate } from './encodings.ts';
import { evaluatePreconditions } from './preconditions.ts';
import type { PerCoding, PrepareAnswers, PreparedAnswer } from './answers.ts';
import { PROBLEM_OF_LOAD_ERROR, sendProblem } from '../problems.ts';

// GET and HEAD /banks: the held bytes as they are, in the coding that the client prefers. Only before the first list
// does it wait for anything. It needs nothing of Express; hot-path.ts is its shorter way for the ordinary request.

export interface BanksRouteOptions {
  readonly list: BankList;
  readonly prepareAnswers: PrepareAnswers;
}

export const createBanksRoute = ({ list, prepareAnswers }: BanksRouteOptions) => {
  const negotiate = createNegotiate();

  const answer = (req: IncomingMessage, res: ServerResponse, answers: PerCoding<PreparedAnswer>): void => {
    const choice = answers[negotiate(req.headers['accept-encoding'])] ?? answers.identity;
    switch (evaluatePreconditions(req.headers, choice.validators)) {
      case 'proceed':
        // Node sends no body in answer to HEAD.
        res.writeHead(200, [...choice.fields]).end(choice.body);
        return;
      case 'not_modified':
        res.writeHead(304, [...choice.notModifiedFields]).end();
        return;
      case 'precondition_failed':
        sendProblem(res, 'precondition_failed');
    }
  };

  return async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    let served = list.served();
    if (!served) {
      try {
        served = await list.arrival();
      } catch (error) {
        // Retry-After on every one: the list's own back-off knows when asking again can help.
        res.setHeader('Retry-After', Math.max(1, Math.ceil(list.status().nextLoadInMs / 1_000)));
        sendProblem(res, PROBLEM_OF_LOAD_ERROR[LoadError.from(error).kind]);
        return;
      }
    }
    answer(req, res, prepareAnswers(served));
  };
};
