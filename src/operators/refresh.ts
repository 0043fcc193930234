import type { RequestHandler } from 'express';
import type { BankList } from '../banks/bank-list.ts';
import { ACCEPTANCES, type Acceptance } from '../banks/guard/guard.ts';
import type { LoadErrorKind } from '../banks/load-error.ts';
import { countRejected } from '../banks/reading/entry.ts';
import { sendProblem } from '../http/problems.ts';

/**
 * `POST /refresh`: loads now. `?accept=shrunk` takes this one list even if the guard would refuse it for its size,
 * `?accept=drifted` even if published fields changed, and `?accept=shrunk,drifted` both; none for any other reason.
 */
export const createRefresh =
  (list: BankList): RequestHandler =>
  async (req, res) => {
    const accept = toAcceptances(req.query['accept']);
    if (!accept) {
      sendProblem(res, 'bad_request', {
        detail: `accept can be ${ACCEPTANCES.join(' or ')}, or both with a comma between them.`,
      });
      return;
    }
    const before = list.served()?.list;
    const failure = await list.refresh(accept);
    if (failure) {
      const { kind, message } = failure;
      sendProblem(res, 'refresh_failed', { detail: `${message}${hintFor(kind, accept)}`, kind });
      return;
    }
    const { held } = list.status();
    const isChanged = before?.representations.identity.etag !== held?.representations.identity.etag;
    res.set('Cache-Control', 'no-store');
    res.json({
      outcome: isChanged ? 'changed' : 'unchanged',
      count: held?.count,
      rejected: held && countRejected(held.rejected),
    });
  };

/** The reasons that the query names; undefined where one is unknown. */
const toAcceptances = (accept: unknown): readonly Acceptance[] | undefined => {
  if (accept === undefined) return [];
  const named = typeof accept === 'string' ? accept.split(',') : [''];
  return named.every(isAcceptance) ? named : undefined;
};

const isAcceptance = (text: string): text is Acceptance => ACCEPTANCES.some((known) => known === text);

/** How a list that is refused for `kind` can be accepted, together with what was accepted already. */
const hintFor = (kind: LoadErrorKind, accepted: readonly Acceptance[]): string =>
  isAcceptance(kind)
    ? `; if that is right, POST /refresh?accept=${[...accepted, kind].join(',')} accepts it`
    : '';
