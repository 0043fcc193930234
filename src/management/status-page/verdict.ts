import { FAILURE_KINDS, type Action } from '../../failure-kinds.ts';
import type { DrainTimes } from '../drain-times.ts';
import { formatCount } from '../../format-count.ts';
import { formatDuration, formatSince, formatTime } from './format.ts';
import type { Problem, Situation } from './situation.ts';
import { troublesOf } from './troubles.ts';

// What the service's state means for its users, what is wrong and what to do. Pure; knows no HTML.

export interface PageVerdict {
  readonly severity: 'ok' | 'warning' | 'error' | 'unknown';
  readonly headline: string;
  /** What users get, in paragraphs. */
  readonly meaning: readonly string[];
  readonly problems: readonly Problem[];
  readonly actions: readonly Action[];
}

export const verdictOf = (situation: Situation): PageVerdict => {
  const ofList = verdictOnList(situation);
  const troubles = troublesOf(situation);
  const restriction = troubles.find((trouble) => trouble.restriction)?.restriction;
  const verdict = {
    ...ofList,
    ...(ofList.severity === 'ok' &&
      restriction !== undefined && {
        severity: 'warning' as const,
        headline: `Users get the current list, ${restriction}.`,
      }),
    meaning: [...ofList.meaning, ...troubles.flatMap(({ meaning }) => meaning ?? [])],
    problems: [...ofList.problems, ...troubles.flatMap(({ problem }) => problem ?? [])],
    actions: withoutRepeated([...ofList.actions, ...troubles.flatMap(({ actions }) => actions)]),
  };
  return situation.drain ? whileDraining(verdict, situation.drain, situation.nowMs) : verdict;
};

/**
 * What the script shows when the page can no longer be renewed; `asOf` is the time of what it shows
 * below.
 */
export const noContact = (asOf: string): PageVerdict => ({
  ...toVerdict(
    'unknown',
    'No contact with this instance.',
    `The management port has not answered since ${asOf} UTC. Users may still get the list, because /banks is on another port. Everything below is as of ${asOf} UTC.`,
  ),
  actions: [
    'Check that the process is running, and that your tunnel or port forwarding is still open.',
    'This page keeps trying and recovers automatically.',
  ],
});

const toVerdict = (
  severity: PageVerdict['severity'],
  headline: string,
  meaning: string,
): PageVerdict => ({ severity, headline, meaning: [meaning], problems: [], actions: [] });

/** The verdict without what may be wrong beside the list. */
const verdictOnList = (situation: Situation): PageVerdict => {
  const { state, failure } = situation.status;
  if (failure) return { ...whatUsersGet(situation), ...whatIsWrong(situation) };
  if (state === 'fresh')
    return toVerdict(
      'ok',
      'Users get the current list.',
      'Every request is answered from the cached list, and renewals succeed.',
    );
  if (state === 'stale')
    return {
      ...whatUsersGet(situation),
      problems: [{ summary: LATE }],
      actions: ['Nothing yet: a load is in progress or about to start. This page updates itself.'],
    };
  return whileRequestsWait(situation);
};

const LATE =
  'The list is older than CACHE_TTL, and no load has failed: this instance has just started with a saved list, the provider is slow, or this machine was suspended.';

/** While there is nothing to serve and no load has failed. */
const whileRequestsWait = ({ status: { state } }: Situation): PageVerdict => {
  const [headline, why] =
    state === 'empty'
      ? ['The first list is being loaded.', 'There is no cached list yet.']
      : ['A new list is being loaded.', 'The cached list has expired and is not served.'];
  return {
    ...toVerdict(
      'warning',
      headline,
      `${why} Requests for /banks wait for the new one, at most for PROVIDER_TIMEOUT; after that they get an error.`,
    ),
    actions: ['Nothing yet. This page updates itself.'],
  };
};

/** By the state of the list, while loads fail or are overdue. */
const whatUsersGet = ({ status, policy, nowMs }: Situation): PageVerdict => {
  const { state, ageMs = 0, failure, failing } = status;
  const expiresMs = nowMs - ageMs + policy.ttlMs + policy.maxStaleMs;
  switch (state) {
    case 'empty':
      return toVerdict(
        'error',
        'Users get errors: there is no cached list.',
        'No list has been loaded since this instance started, and no saved one could be used.',
      );
    case 'expired': {
      // It may have expired before this process began, or while the machine was suspended.
      const errorsSinceMs = Math.max(expiresMs, failing?.sinceMs ?? nowMs);
      return toVerdict(
        'error',
        'Users get errors: the cached list has expired.',
        `Users have been getting errors since ${formatSince(errorsSinceMs, nowMs)}, and will until a load succeeds. The cached list is older than CACHE_TTL plus CACHE_MAX_STALE and is not served.`,
      );
    }
    case 'stale':
      return toVerdict(
        'warning',
        'Users get an old list.',
        `Every request is answered from the cached list, which is ${formatDuration(ageMs)} old. It expires in ${formatDuration(expiresMs - nowMs)} (${formatTime(expiresMs, nowMs)}); after that users get errors.`,
      );
    case 'fresh':
      return toVerdict(
        'warning',
        failure && FAILURE_KINDS[failure.kind].isRefusal
          ? 'Users get the cached list: a new one was refused.'
          : 'Users get the current list, but it cannot be renewed.',
        `Every request is answered from the cached list. It is current for another ${formatDuration(policy.ttlMs - ageMs)}, and can be served as an old list for ${formatDuration(policy.maxStaleMs)} after that.`,
      );
  }
};

const whatIsWrong = ({ status: { failure, failing }, nowMs }: Situation): Partial<PageVerdict> => {
  if (!failure || !failing) return {};
  const { summary, actions } = FAILURE_KINDS[failure.kind];
  const attempts = formatCount(failing.attempts, 'attempt', 'attempts');
  const history = [
    `Failing since ${formatSince(failing.sinceMs, nowMs)}`,
    attempts,
    ...(failure.upstreamStatus === undefined ? [] : [`HTTP ${failure.upstreamStatus}`]),
  ];
  return {
    problems: [{ summary, history: `${history.join(', ')}.`, details: failure.message }],
    actions,
  };
};

const whileDraining = (
  verdict: PageVerdict,
  { acceptsUntilMs, endsByMs }: DrainTimes,
  nowMs: number,
): PageVerdict => ({
  ...verdict,
  severity: verdict.severity === 'error' ? 'error' : 'warning',
  headline: 'This instance is shutting down.',
  meaning: [
    `It accepts new connections until ${formatTime(acceptsUntilMs, nowMs)}. Requests in progress can finish until ${formatTime(endsByMs, nowMs)}; then it exits.`,
    `For now: ${verdict.headline} ${verdict.meaning.join(' ')}`,
  ],
});

/** Each command once, with the first text that leads to it. */
const withoutRepeated = (actions: readonly Action[]): readonly Action[] => {
  const commandOf = (action: Action) => (typeof action === 'string' ? action : action.command);
  return actions.filter(
    (action, index) =>
      actions.findIndex((earlier) => commandOf(earlier) === commandOf(action)) === index,
  );
};
