import type { ListStatus } from '../../banks/bank-list.ts';
import { isServable, type FreshnessPolicy } from '../../banks/freshness.ts';
import {
  countUnusable,
  NOTHING_REJECTED,
  REJECTION_REASONS,
  type RejectedEntries,
  type RejectionReason,
} from '../../banks/reading/entry.ts';
import { explainFailure } from '../../banks/load-error.ts';
import { notAfter } from '../../clock.ts';
import { FAILURE_KINDS, type Action } from '../../failure-kinds.ts';
import type { SecretFileState } from '../../secrets/secrets.ts';
import type { StoreState } from '../../telemetry/events.ts';
import type { DrainTimes } from '../drain-times.ts';
import { describeUnusableFiles } from './unusable-files.ts';
import { formatCount, formatDuration, formatTime } from './format.ts';
import { noticesOf } from './notices.ts';

// What the service's state means for its users, what is wrong and what to do. Pure; knows no HTML.

export interface PageVerdict {
  readonly severity: 'ok' | 'warning' | 'error' | 'unknown';
  readonly headline: string;
  /** What users get, in paragraphs. */
  readonly meaning: readonly string[];
  readonly problems?: readonly FaultReport[];
  readonly actions?: readonly Action[];
}

const toVerdict = (
  severity: PageVerdict['severity'],
  headline: string,
  ...meaning: readonly string[]
): PageVerdict => ({ severity, headline, meaning });

export interface FaultReport {
  readonly summary: string;
  /** Since when, how often and with which status; undefined if no load has failed. */
  readonly history?: string | undefined;
  /** What the failed load reported, in the words of the log. */
  readonly details?: string;
}

export interface Situation {
  readonly status: ListStatus;
  readonly stores: readonly StoreState[];
  readonly secretFiles: readonly SecretFileState[];
  readonly policy: FreshnessPolicy;
  /** Undefined unless the service is shutting down. */
  readonly drain: DrainTimes | undefined;
  readonly nowMs: number;
  /** How long this process has been running. */
  readonly uptimeMs: number;
}

export const verdictOf = (situation: Situation): PageVerdict => {
  const { drain, nowMs } = situation;
  const ofList = withNotices(verdictOnList(situation), situation);
  const verdict = withUnusableFiles(withFailingStores(ofList, situation), situation);
  if (!drain) return verdict;
  const connections =
    nowMs < drain.acceptsUntilMs
      ? `It still answers requests. It accepts new connections until ${formatTime(drain.acceptsUntilMs, nowMs)}.`
      : 'It no longer accepts new connections.';
  const end = `Requests in progress can finish until ${formatTime(drain.endsByMs, nowMs)}; then it exits.`;
  return {
    ...verdict,
    severity: verdict.severity === 'error' ? 'error' : 'warning',
    headline: 'This instance is shutting down.',
    meaning: [`${connections} ${end}`, `For now: ${verdict.headline} ${verdict.meaning.join(' ')}`],
  };
};

const verdictOnList = (situation: Situation): PageVerdict => {
  const { state, failure, cached } = situation.status;
  if (failure === undefined && !isServable(state)) return whileRequestsWait(situation);
  if (failure === undefined && state === 'fresh')
    return verdictOnEntries(cached?.rejected ?? NOTHING_REJECTED);
  return { ...whatUsersGet(situation), ...whatIsWrong(situation) };
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

/** While there is nothing to serve and no load has failed. */
const whileRequestsWait = ({
  status: { state, ageMs = 0 },
  policy,
  nowMs,
}: Situation): PageVerdict => {
  const expiredForMs = ageMs - policy.ttlMs - policy.maxStaleMs;
  const headline =
    state === 'empty' ? 'The first list is being loaded.' : 'A new list is being loaded.';
  const why =
    state === 'empty'
      ? 'There is no cached list yet.'
      : `The cached list is ${formatDuration(ageMs)} old. It expired at ${formatTime(nowMs - expiredForMs, nowMs)} (${formatDuration(expiredForMs)} ago) and is not served.`;
  return {
    ...toVerdict(
      'warning',
      headline,
      `${why} Requests for /banks wait for the new one, at most for PROVIDER_TIMEOUT; after that they get an error.`,
    ),
    actions: ['Nothing yet. This page updates automatically.'],
  };
};

/** By the state of the list, while loads fail or are overdue. */
const whatUsersGet = ({ status, policy, nowMs }: Situation): PageVerdict => {
  const { state, ageMs = 0, failure, failing } = status;
  const age = formatDuration(ageMs);
  const lifeMs = policy.ttlMs + policy.maxStaleMs;
  const leftMs = lifeMs - ageMs;
  const end = formatTime(nowMs + leftMs, nowMs);
  switch (state) {
    case 'empty':
      return toVerdict(
        'error',
        'Users get errors: there is no cached list.',
        'No list has been loaded since this instance started, and no saved one could be used.',
      );
    case 'expired': {
      // It may have expired before this process began, or while the machine was suspended.
      const errorsSinceMs = Math.max(nowMs + leftMs, notAfter(nowMs, failing?.sinceMs ?? nowMs));
      const since = `${formatTime(errorsSinceMs, nowMs)} (${formatDuration(nowMs - errorsSinceMs)})`;
      return toVerdict(
        'error',
        'Users get errors: the cached list has expired.',
        `Users have been getting errors since ${since}, and will until a load succeeds. The cached list is ${age} old. It could be served for ${formatDuration(lifeMs)} (CACHE_TTL plus CACHE_MAX_STALE).`,
      );
    }
    case 'stale':
      return toVerdict(
        'warning',
        'Users get an old list.',
        `Every request is answered from the cached list, which is ${age} old. It expires in ${formatDuration(leftMs)} (${end}); after that users get errors.`,
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

const whatIsWrong = (situation: Situation): Pick<PageVerdict, 'problems' | 'actions'> => {
  const { status, nowMs } = situation;
  const { failure, failing } = status;
  if (!failure) return { problems: [{ summary: whyOverdue(situation) }], actions: [WAIT] };
  const { summary, actions } = explainFailure(failure);
  const httpStatus = failure.upstreamStatus === undefined ? '' : `, HTTP ${failure.upstreamStatus}`;
  const history =
    failing &&
    `${failingSince(failing, nowMs)}, ${formatCount(failing.attempts, 'attempt', 'attempts')}${httpStatus}.`;
  return { problems: [{ summary, history, details: failure.message }], actions };
};

const failingSince = (failing: { readonly sinceMs: number }, nowMs: number): string => {
  const sinceMs = notAfter(nowMs, failing.sinceMs);
  return `Failing since ${formatTime(sinceMs, nowMs)} (${formatDuration(nowMs - sinceMs)})`;
};

/** Why a list that is still served is stale, though no load has failed. */
const whyOverdue = ({ status: { ageMs = 0 }, uptimeMs }: Situation): string =>
  ageMs > uptimeMs
    ? 'This instance started with a saved list that is older than CACHE_TTL, and its first load has not ended yet.'
    : 'The renewal is late, and no load has failed: the provider is slow, or this machine was suspended.';

const WAIT =
  'Nothing yet: a load is in progress or about to start. This page updates automatically.';

/** The verdict on a current list: by how many of its entries were rejected. */
const verdictOnEntries = (entries: RejectedEntries): PageVerdict => {
  const rejected = countUnusable(entries);
  if (rejected === 0)
    return toVerdict(
      'ok',
      'Users get the current list.',
      'Every request is answered from the cached list, and renewals succeed.',
    );
  const kinds = REJECTION_REASONS.filter((reason) => entries[reason] > 0);
  const counts = kinds.map((reason) => `${entries[reason]} ${REJECTION_TEXTS[reason]}`).join(', ');
  return {
    ...toVerdict(
      'warning',
      `Users get the current list, without ${formatCount(rejected, 'rejected entry', 'rejected entries')}.`,
      'Every request is answered from the cached list. Users cannot find the banks that are missing.',
    ),
    problems: [{ summary: `The provider sent entries that cannot be published: ${counts}.` }],
    actions: [
      'Tell the provider. The entries return automatically with the first list in which they are usable.',
    ],
  };
};

/** After a count, such as "3 identical to an earlier entry". */
const REJECTION_TEXTS: Readonly<Record<RejectionReason, string>> = {
  not_an_object: 'not JSON objects',
  required_field: 'without a field of BANK_REQUIRED_FIELDS',
  nothing_published: 'without a value in any published field',
  object_value: 'with an object in a field of BANK_FIELDS',
  altered_number: 'with a number that browsers would read as another one',
  duplicate: 'identical to an earlier entry',
};

/** The verdict on the list, with the notices about it. */
const withNotices = (verdict: PageVerdict, { status, nowMs }: Situation): PageVerdict =>
  noticesOf(status, nowMs).reduce((page, { headline, sentence, action }) => {
    const isRaised = page.severity === 'ok' && headline !== undefined;
    return {
      ...page,
      ...(isRaised && { severity: 'warning', headline }),
      meaning: [...page.meaning, sentence],
      ...(action && { actions: [...(page.actions ?? []), action] }),
    };
  }, verdict);

/** The verdict on the list, with what a failing store adds to it. */
const withFailingStores = (verdict: PageVerdict, { stores, nowMs }: Situation): PageVerdict => {
  const failed = stores.flatMap(({ name, failing }) =>
    failing ? [{ name, failing, ...STORES[name] }] : [],
  );
  if (failed.length === 0) return verdict;
  const { severity, headline, meaning, problems = [], actions = [] } = verdict;
  const isListWell = severity === 'ok';
  const hasDoctor = actions.some(
    (action) => typeof action === 'object' && action.command === 'doctor',
  );
  const labels = failed.map(({ label }) => label).join(' and ');
  const fail = failed.length === 1 ? 'fails' : 'fail';
  return {
    severity: isListWell ? 'warning' : severity,
    headline: isListWell ? `Users get the current list, but ${labels} ${fail}.` : headline,
    meaning: [...meaning, ...failed.map(({ consequence }) => consequence)],
    problems: [
      ...problems,
      ...failed.map(({ name, label, failing }) => ({
        summary: `A store of the list cannot be used: ${label} (${name}).`,
        history: `${failingSince(failing, nowMs)}.`,
        details: failing.reason,
      })),
    ],
    actions: [
      ...actions,
      ...failed.map(({ action }) => action),
      ...(hasDoctor ? [] : [TRY_STORES]),
    ],
  };
};

/** The verdict so far, with what unusable secret files add to it. */
const withUnusableFiles = (
  verdict: PageVerdict,
  { secretFiles, nowMs }: Situation,
): PageVerdict => {
  const added = describeUnusableFiles(secretFiles, nowMs);
  if (!added) return verdict;
  const { severity, problems = [], actions = [] } = verdict;
  return {
    ...verdict,
    ...(severity === 'ok' && { severity: 'warning', headline: added.headline }),
    problems: [...problems, ...added.problems],
    actions: [...actions, added.action],
  };
};

const TRY_STORES: Action = {
  text: 'The doctor tries each store, and says which step fails and what to do:',
  command: 'doctor',
};

/**
 * `label`: in a sentence. `purpose`: what it is for, while it works. `consequence`: what its
 * failure means for users.
 */
export const STORES = {
  CACHE_REDIS_URL: {
    title: 'Redis',
    label: 'Redis',
    purpose: 'shares the list between replicas',
    consequence:
      'Without Redis each replica loads the list by itself, and one that starts during an outage of the provider has no list, unless a snapshot file has it.',
    action: 'Check Redis and the network. The replicas share the list again as soon as it works.',
  },
  CACHE_SNAPSHOT_FILE: {
    title: 'Snapshot file',
    label: 'the snapshot file',
    purpose: 'keeps the list across restarts',
    consequence:
      'Without the snapshot file a restart during an outage of the provider has no list, unless Redis has it.',
    action:
      'Check the disk, and whether the service may write to the directory of CACHE_SNAPSHOT_FILE. The next renewal writes it again.',
  },
} as const satisfies Record<StoreState['name'], Readonly<Record<string, string>>>;
