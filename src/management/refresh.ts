import type { Request, RequestHandler } from 'express';
import type { BankList } from '../banks/bank-list.ts';
import { OVERRIDABLE, isOverridable, type Overridable } from '../banks/guard.ts';
import { STOPPING, type LoadErrorKind } from '../banks/load-error.ts';
import { countUnusable } from '../banks/reading/entry.ts';
import { toIso } from '../clock.ts';
import { sendJson } from '../http/headers.ts';
import { sendProblem } from '../http/problem-details.ts';
import type { SecretFileState } from '../secrets/secret-files.ts';

// `POST /refresh`: an operator's load, and what became of it.

export interface RefreshOptions {
  readonly list: BankList;
  /** Reads all secrets again, and says what failed. */
  readonly renewSecrets: () => Promise<readonly string[]>;
  readonly secretFiles: () => readonly SecretFileState[];
}

/**
 * `POST /refresh`: renews the secrets and loads with them now. `?accept=shrunk` takes this one list
 * even if the guard would refuse it for its size, `?accept=drifted` even if published fields
 * changed, and `?accept=shrunk,drifted` both; none for any other reason. It fails unless every
 * secret file is usable, a new token was granted and the list was renewed. `secretFiles` says since
 * when the content of each file is in use. `shared` is false while Redis cannot be reached: the
 * other replicas get the list once it can.
 */
export const createRefresh =
  ({ list, renewSecrets, secretFiles }: RefreshOptions): RequestHandler =>
  async (req, res) => {
    const overrides = toOverrides(req.query);
    if (!overrides) return sendProblem(res, 'bad_request', { detail: PARAMETERS });
    const problems = await renewSecrets();
    const before = list.status().cached;
    const result = await list.refresh(overrides, res.get('X-Request-Id'));
    const files = { secretFiles: toMembers(secretFiles()) };
    if (result.outcome === 'overtaken') return sendProblem(res, 'overtaken', files);
    if (result.outcome === 'failed') {
      const { kind, message } = result.error;
      if (result.error === STOPPING) return sendProblem(res, 'draining');
      const detail = [...problems, `${message}${hintFor(kind, overrides)}`].join('. ');
      return sendProblem(res, 'refresh_failed', { detail, kind });
    }
    if (problems.length > 0) {
      const detail = ['The list was renewed', ...problems].join('. ');
      return sendProblem(res, 'secrets_not_renewed', { detail, ...files });
    }
    const { cached } = list.status();
    return sendJson(res, {
      outcome: cached?.representations === before?.representations ? 'unchanged' : 'changed',
      count: cached?.count,
      rejected: cached && countUnusable(cached.rejected),
      // Undefined, and so left out, without Redis.
      shared: result.isShared,
      ...files,
    });
  };

const PARAMETERS = `The only parameter is accept: ${OVERRIDABLE.join(' or ')}, or both, separated by a comma.`;

/** Each variable with when the service first used the current content of its file. */
const toMembers = (files: readonly SecretFileState[]) =>
  Object.fromEntries(
    files.map(({ variable, contentSinceMs }) => [
      variable,
      { contentSince: contentSinceMs === undefined ? null : toIso(contentSinceMs) },
    ]),
  );

/** The reasons in `?accept=`; undefined if one of them, or another parameter, is unknown. */
const toOverrides = ({
  accept,
  ...others
}: Request['query']): readonly Overridable[] | undefined => {
  if (Object.keys(others).length > 0) return undefined;
  if (accept === undefined) return [];
  const named = typeof accept === 'string' ? accept.split(',') : [''];
  return named.every(isOverridable) ? named : undefined;
};

/** How to accept a list that was refused for `kind` despite these overrides. */
const hintFor = (kind: LoadErrorKind, overrides: readonly Overridable[]): string =>
  isOverridable(kind)
    ? `; if that is right, POST /refresh?accept=${[...overrides, kind].join(',')} accepts it`
    : '';
