import { isServable } from '../../banks/freshness.ts';
import type { Action } from '../../failure-kinds.ts';
import { formatDuration, formatTime } from './format.ts';
import { problemsOf, type Problem, type Situation } from './problems.ts';

// What the service's state means for its users, what is wrong and what to do. Pure; knows no HTML.

export interface PageVerdict {
  readonly severity: 'ok' | 'warning' | 'error' | 'unknown';
  readonly headline: string;
  /** What users get. */
  readonly meaning: string;
  readonly problems: readonly Problem[];
  readonly actions: readonly Action[];
}

export const verdictOf = (situation: Situation): PageVerdict => {
  const problems = problemsOf(situation);
  const actions = [...new Set(problems.flatMap((problem) => problem.actions))];
  const users = whatUsersGet(situation);
  const verdict = { ...users, problems, actions };
  if (situation.isDraining)
    return {
      ...verdict,
      severity: users.severity === 'error' ? 'error' : 'warning',
      headline: 'This instance is shutting down.',
      meaning: `Requests in progress can finish within SHUTDOWN_GRACE; then it exits. For now: ${users.headline} ${users.meaning}`,
    };
  return users.severity === 'ok' && problems.length > 0
    ? {
        ...verdict,
        severity: 'warning',
        headline: 'Users get the current list, but something needs attention.',
      }
    : verdict;
};

/**
 * What the script shows when the page can no longer be renewed; `asOf` is the time of what it shows
 * below.
 */
export const noContact = (asOf: string): PageVerdict => ({
  severity: 'unknown',
  headline: 'No contact with this instance.',
  meaning: `The management port has not answered since ${asOf} UTC. Users may still get the list, because /banks is on another port. Everything below is as of ${asOf} UTC.`,
  problems: [],
  actions: [
    'Check that the process is running, and that your tunnel or port forwarding is still open.',
    'This page keeps trying and recovers automatically.',
  ],
});

const whatUsersGet = ({
  status: { state, ageMs = 0, failing },
  policy: { ttlMs, maxStaleMs },
  nowMs,
}: Situation): Pick<PageVerdict, 'severity' | 'headline' | 'meaning'> => {
  if (!isServable(state) && !failing)
    return {
      severity: 'warning',
      headline: 'A list is being loaded.',
      meaning:
        'There is no list to serve. Requests for /banks wait for one, at most for PROVIDER_TIMEOUT; after that they get an error.',
    };
  if (state === 'empty')
    return {
      severity: 'error',
      headline: 'Users get errors: there is no cached list.',
      meaning:
        'No list has been loaded since this instance started, and no saved one could be used.',
    };
  if (state === 'expired')
    return {
      severity: 'error',
      headline: 'Users get errors: the cached list has expired.',
      meaning:
        'It is older than CACHE_TTL plus CACHE_MAX_STALE and is not served. Users get errors until a load succeeds.',
    };
  if (state === 'stale') {
    const leftMs = ttlMs + maxStaleMs - ageMs;
    return {
      severity: 'warning',
      headline: 'Users get an old list.',
      meaning: `Every request is answered from the cached list, which is ${formatDuration(ageMs)} old. It expires in ${formatDuration(leftMs)} (${formatTime(nowMs + leftMs, nowMs)}); after that users get errors.`,
    };
  }
  if (failing)
    return {
      severity: 'warning',
      headline: 'Users get the current list, but it cannot be renewed.',
      meaning: `Every request is answered from the cached list. It is current for another ${formatDuration(ttlMs - ageMs)}, and can be served as an old list for ${formatDuration(maxStaleMs)} after that.`,
    };
  return {
    severity: 'ok',
    headline: 'Users get the current list.',
    meaning: 'Every request is answered from the cached list.',
  };
};
