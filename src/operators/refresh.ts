import type { RequestHandler } from 'express';
import type { BankList } from '../banks/bank-list.ts';
import { ACCEPTANCES, type Acceptance } from '../banks/guard/guard.ts';
import { sendProblem } from '../http/problems.ts';

/**
 * `POST /refresh`: loads now. `?accept=shrunk` takes this one list even if the guard would refuse it for its size, and
 * for no other reason.
 */
export const createRefresh =
  (list: BankList): RequestHandler =>
  async (req, res) => {
    const accept = toAcceptances(req.query['accept']);
    if (!accept) {
      sendProblem(res, 'bad_request', { detail: `accept can be ${ACCEPTANCES.join(', ')}.` });
      return;
    }
    const before = list.served()?.list;
    const failure = await list.refresh(accept);
    if (failure) {
      const hint =
        failure.kind === 'shrunk' ? '; if that is right, POST /refresh?accept=shrunk accepts it' : '';
      sendProblem(res, 'refresh_failed', { detail: `${failure.message}${hint}`, kind: failure.kind });
      return;
    }
    const { held } = list.status();
    const isChanged = before?.representations.identity.etag !== held?.representations.identity.etag;
    res.set('Cache-Control', 'no-store');
    res.json({
      outcome: isChanged ? 'changed' : 'unchanged',
      count: held?.count,
      rejected: held?.rejected,
    });
  };

/** The reasons that the query names; undefined where one is unknown. */
const toAcceptances = (accept: unknown): readonly Acceptance[] | undefined => {
  if (accept === undefined) return [];
  const known = ACCEPTANCES.filter((acceptance) => acceptance === accept);
  return known.length > 0 ? known : undefined;
};
