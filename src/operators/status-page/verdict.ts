import type { ListStatus } from '../../banks/bank-list.ts';
import type { FreshnessPolicy } from '../../banks/freshness.ts';
import {
  countRejected,
  NOTHING_REJECTED,
  REJECTION_REASONS,
  type RejectedEntries,
  type RejectionReason,
} from '../../banks/reading/entry.ts';
import { FAILURE_ADVICE, type Action, type FailureAdvice } from './failures.ts';
import { formatCount, formatDuration, formatTime } from './format.ts';

// What the service's state means for its users, what is wrong and what to do. Pure; knows no HTML.

export interface Verdict {
  readonly severity: 'ok' | 'warning' | 'error' | 'unknown';
  readonly headline: string;
  /** What users get, in paragraphs. */
  readonly meaning: readonly string[];
  /** Undefined when nothing is wrong. */
  readonly problem: Problem | undefined;
  readonly actions: readonly Action[];
}

export interface Problem {
  readonly summary: string;
  /** Since when, how often and with which status; undefined where no load has failed. */
  readonly history?: string;
  /** What the failed load reported, in the words of the log. */
  readonly details?: string;
}

export interface Situation {
  readonly status: ListStatus;
  readonly policy: FreshnessPolicy;
  /** Undefined unless the service is shutting down. */
  readonly drain: DrainTimes | undefined;
  readonly nowMs: number;
}

/** Wall-clock milliseconds. */
export interface DrainTimes {
  /** Until then new connections are accepted. */
  readonly acceptsUntilMs: number;
  /** Then the last open connections are cut off. */
  readonly endsByMs: number;
}

export const judge = (situation: Situation): Verdict => {
  const verdict = judgeList(situation);
  const { drain, nowMs } = situation;
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

const judgeList = (situation: Situation): Verdict => {
  const { status } = situation;
  switch (status.state) {
    case 'empty':
      return status.failure ? empty(situation) : FIRST_LOAD;
    case 'expired':
      return expired(situation);
    case 'stale':
      return stale(situation);
    case 'fresh':
      return status.failure ? failing(situation) : current(status.held?.rejected ?? NOTHING_REJECTED);
  }
};

/** What the script shows when the page can no longer be renewed; `asOf` is the time of what it shows below. */
export const noContact = (asOf: string): Verdict => ({
  severity: 'unknown',
  headline: 'No contact with this instance.',
  meaning: [
    `The management port has not answered since ${asOf} UTC. Users may still get the list, because /banks is on another port. Everything below is as of ${asOf} UTC.`,
  ],
  problem: undefined,
  actions: [
    { text: 'Check that the process is running, and that your tunnel or port forwarding is still open.' },
    { text: 'This page keeps trying and recovers automatically.' },
  ],
});

const FIRST_LOAD: Verdict = {
  severity: 'warning',
  headline: 'The first list is being loaded.',
  meaning: [
    'There is no cached list yet. Requests for /banks wait for it, at most for PROVIDER_TIMEOUT; after that they get an error.',
  ],
  problem: undefined,
  actions: [{ text: 'Nothing yet. This page updates automatically.' }],
};

const empty = (situation: Situation): Verdict => ({
  severity: 'error',
  headline: 'Users get errors: there is no cached list.',
  meaning: ['No list has been loaded since this instance started, and no saved one could be used.'],
  ...failureOf(situation),
});

const expired = (situation: Situation): Verdict => {
  const { status, policy } = situation;
  const longestMs = policy.ttlMs + policy.maxStaleMs;
  return {
    severity: 'error',
    headline: 'Users get errors: the cached list has expired.',
    meaning: [
      `The cached list is ${formatDuration(status.ageMs ?? 0)} old. It could be served for ${formatDuration(longestMs)} (CACHE_TTL plus CACHE_MAX_STALE). Users get errors until a load succeeds.`,
    ],
    ...failureOf(situation),
  };
};

const stale = (situation: Situation): Verdict => {
  const { status, policy, nowMs } = situation;
  const ageMs = status.ageMs ?? 0;
  const leftMs = policy.ttlMs + policy.maxStaleMs - ageMs;
  return {
    severity: 'warning',
    headline: 'Users get an old list.',
    meaning: [
      `Every request is answered from the cached list, which is ${formatDuration(ageMs)} old. It expires in ${formatDuration(leftMs)} (${formatTime(nowMs + leftMs, nowMs)}); after that users get errors.`,
    ],
    ...failureOf(situation),
  };
};

const failing = (situation: Situation): Verdict => {
  const { status, policy } = situation;
  const leftMs = policy.ttlMs - (status.ageMs ?? 0);
  const isRefusedList = status.failure && FAILURE_ADVICE[status.failure.kind].isRefusedList;
  return {
    severity: 'warning',
    headline: isRefusedList
      ? 'Users get the cached list: a new one was refused.'
      : 'Users get the current list, but it cannot be renewed.',
    meaning: [
      `Every request is answered from the cached list. It is current for another ${formatDuration(leftMs)}, and can be served as an old list for ${formatDuration(policy.maxStaleMs)} after that.`,
    ],
    ...failureOf(situation),
  };
};

const current = (entries: RejectedEntries): Verdict => {
  const rejected = countRejected(entries);
  if (rejected === 0) {
    return {
      severity: 'ok',
      headline: 'Users get the current list.',
      meaning: ['Every request is answered from the cached list, and renewals succeed.'],
      problem: undefined,
      actions: [],
    };
  }
  return {
    severity: 'warning',
    headline: `Users get the current list, without ${formatCount(rejected, 'rejected entry', 'rejected entries')}.`,
    meaning: [
      'Every request is answered from the cached list. Users cannot find the banks that are missing.',
    ],
    problem: {
      summary: `The provider sent entries that cannot be published: ${describeRejected(entries)}.`,
    },
    actions: [
      {
        text: 'Tell the provider. The entries return automatically with the first list in which they are usable.',
      },
    ],
  };
};

/** Such as "3 duplicates, 1 without a required field". */
const describeRejected = (entries: RejectedEntries): string =>
  REJECTION_REASONS.filter((reason) => entries[reason] > 0)
    .map((reason) => `${entries[reason]} ${REJECTION_TEXTS[reason]}`)
    .join(', ');

const REJECTION_TEXTS: Readonly<Record<RejectionReason, string>> = {
  not_an_object: 'not JSON objects',
  required_field: 'without a field of BANK_REQUIRED_FIELDS',
  nothing_published: 'without a value in any published field',
  altered_number: 'with a number that browsers would read as another one',
  unsafe_key: 'with the key __proto__',
  duplicate: 'identical to an earlier entry',
};

const OVERDUE: Pick<Verdict, 'problem' | 'actions'> = {
  problem: {
    summary: 'The renewal is overdue, and no load has failed: this machine may have been suspended.',
  },
  actions: [
    { text: 'Nothing yet: a load is in progress or about to start. This page updates automatically.' },
  ],
};

const failureOf = ({ status, nowMs }: Situation): Pick<Verdict, 'problem' | 'actions'> => {
  const { failure, failing: failingLoads } = status;
  if (!failure) return OVERDUE;
  const { summary, actions }: FailureAdvice = FAILURE_ADVICE[failure.kind];
  if (!failingLoads) return { problem: { summary, details: failure.message }, actions };
  const { sinceMs, attempts } = failingLoads;
  const httpStatus = failure.upstreamStatus === undefined ? '' : `, HTTP ${failure.upstreamStatus}`;
  const history = `Failing since ${formatTime(sinceMs, nowMs)} (${formatDuration(nowMs - sinceMs)}), ${formatCount(attempts, 'attempt', 'attempts')}${httpStatus}.`;
  return { problem: { summary, history, details: failure.message }, actions };
};
