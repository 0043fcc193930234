import type { ListStatus } from '../../banks/bank-list.ts';
import { isServable, type FreshnessPolicy } from '../../banks/freshness.ts';
import { countUnusable, describeUnusable } from '../../banks/reading/entry.ts';
import { FAILURE_KINDS, RUN_DOCTOR, type Action } from '../../failure-kinds.ts';
import { formatCount } from '../../format.ts';
import { unusableOf, type SecretFileState } from '../../secrets/secret-files.ts';
import type { StoreState } from '../../sharing/store-report.ts';
import { formatSince } from './format.ts';

// What is wrong, and what to do about it: loads that fail, a list that lacks entries, stores that
// fail, secret files that cannot be used. Pure; knows no HTML.

/** What the page is made of. Times are in wall-clock milliseconds. */
export interface Situation {
  readonly status: ListStatus;
  readonly stores: readonly StoreState[];
  readonly secretFiles: readonly SecretFileState[];
  readonly policy: FreshnessPolicy;
  readonly isDraining: boolean;
  readonly nowMs: number;
}

export interface Problem {
  readonly summary: string;
  /** Since when, and how often. */
  readonly history?: string;
  /** In the words of the log. */
  readonly details?: string;
  readonly actions: readonly Action[];
}

export const problemsOf = ({
  status,
  stores,
  secretFiles,
  nowMs,
}: Situation): readonly Problem[] => [
  ...problemsOfList(status, nowMs),
  ...stores.flatMap(({ name, failing }) => (failing ? [storeProblem(name, failing, nowMs)] : [])),
  ...unusableOf(secretFiles).map(({ variable, problem, consequence, sinceMs }) => ({
    summary: `The secret in ${variable} cannot be used: it ${problem}.`,
    history: `Since ${formatSince(sinceMs, nowMs)}: ${consequence}.`,
    actions: [CORRECT_FILES],
  })),
];

const problemsOfList = ({ failing, cached, state }: ListStatus, nowMs: number) => {
  const problems: Problem[] = [];
  if (failing) {
    const { error, sinceMs } = failing;
    const { summary, actions } = FAILURE_KINDS[error.kind];
    const attempts = formatCount(failing.attempts, 'attempt', 'attempts');
    const status = error.upstreamStatus === undefined ? '' : `, HTTP ${error.upstreamStatus}`;
    const history = `Failing since ${formatSince(sinceMs, nowMs)}, ${attempts}${status}.`;
    problems.push({ summary, history, details: error.message, actions });
  }
  if (!cached || !isServable(state)) return problems;
  const { rejected, hasNextPage } = cached;
  const unusable = countUnusable(rejected);
  if (unusable > 0) {
    problems.push({
      summary: `The list is without ${formatCount(unusable, 'rejected entry', 'rejected entries')}, which cannot be published. Users cannot find those banks.`,
      details: describeUnusable(rejected),
      actions: [
        'Tell the provider. The entries return automatically with the first list in which they are usable.',
      ],
    });
  }
  if (hasNextPage)
    problems.push({
      summary:
        'The list is probably incomplete: the provider’s response links to a next page, which this service does not load.',
      actions: [
        'Ask the provider for an address, or a setting for PROVIDER_QUERY, that sends the whole list in one response.',
      ],
    });
  return problems;
};

const storeProblem = (
  name: StoreState['name'],
  { sinceMs, reason }: NonNullable<StoreState['failing']>,
  nowMs: number,
): Problem => {
  const { what, consequence, action } = name === 'CACHE_SNAPSHOT_FILE' ? SNAPSHOT : REDIS;
  return {
    summary: `${what} (${name}) cannot be used. ${consequence}`,
    history: `Failing since ${formatSince(sinceMs, nowMs)}.`,
    details: reason,
    actions: [action, RUN_DOCTOR],
  };
};

const REDIS = {
  what: 'Redis',
  consequence:
    'Each replica loads the list by itself, and one that starts during an outage of the provider has no list, unless a snapshot file has it.',
  action: 'Check Redis and the network. The replicas share the list again as soon as it works.',
};
const SNAPSHOT = {
  what: 'The snapshot file',
  consequence:
    'After a restart during an outage of the provider there is no list, unless Redis has it.',
  action:
    'Check the disk, and whether the service may write to the directory of CACHE_SNAPSHOT_FILE. The next renewal writes it again.',
};

const CORRECT_FILES: Action = {
  text: 'Correct the files under “What is wrong”. They are read again every 10 s. To see whether the provider accepts what they hold:',
  command: 'refresh',
};
