import type { ListStatus } from '../../banks/bank-list.ts';
import { countUnusable, type RejectionReason } from '../../banks/reading/entry.ts';
import type { Action } from '../../failure-kinds.ts';
import { unusableOf } from '../../secrets/secrets.ts';
import type { StoreState } from '../../telemetry/events.ts';
import { formatCount } from '../../format-count.ts';
import { formatSince, formatTime } from './format.ts';
import type { Problem, Situation } from './situation.ts';

// What is wrong beside the loads: a list that lacks entries, changed a lot or is incomplete, stores
// that fail, secret files that cannot be used. Pure.

interface Trouble {
  /** Follows "Users get the current list, " where nothing worse is known; undefined: all is well. */
  readonly restriction?: string;
  readonly meaning?: string;
  readonly problem?: Problem;
  readonly actions: readonly Action[];
}

export const troublesOf = (situation: Situation): readonly Trouble[] => [
  ...troublesOfList(situation),
  ...situation.stores.flatMap((store) => troubleOfStore(store, situation.nowMs)),
  ...unusableOf(situation.secretFiles).map(({ variable, problem, consequence, sinceMs }) => ({
    restriction: `but ${variable} cannot be used`,
    problem: {
      summary: `The secret in ${variable} cannot be used: it ${problem}.`,
      history: `Since ${formatSince(sinceMs, situation.nowMs)}: ${consequence}.`,
    },
    actions: [CORRECT_FILES],
  })),
];

const CORRECT_FILES: Action = {
  text: 'Correct the files under “What is wrong”. They are read again every 10 s. To see whether the provider accepts what they hold:',
  command: 'refresh',
};

const troublesOfList = ({ status, nowMs }: Situation): Trouble[] => {
  const { cached, state, largeChange } = status;
  if (!cached || state === 'expired') return [];
  return [
    ...(countUnusable(cached.rejected) > 0 ? [troubleOfRejected(cached.rejected)] : []),
    ...(largeChange && nowMs - largeChange.atMs <= DAY_MS
      ? [{ meaning: describeChange(largeChange, nowMs), actions: [] }]
      : []),
    ...(cached.hasNextPage ? [INCOMPLETE] : []),
  ];
};

const DAY_MS = 86_400_000;

const describeChange = (
  { added, removed, atMs }: NonNullable<ListStatus['largeChange']>,
  nowMs: number,
): string =>
  `The list changed by more than GUARD_MAX_SHRINK at ${formatTime(atMs, nowMs)}: ` +
  `${added} entries were added or changed, and ${removed} removed or changed. If that is wrong, tell the provider; ` +
  'the previous list comes back with the next load that brings it.';

const INCOMPLETE: Trouble = {
  restriction: 'which is probably incomplete',
  meaning:
    'The list is probably incomplete: the provider’s response links to a next page, which this service does not load.',
  actions: [
    'Ask the provider for an address, or a setting for PROVIDER_QUERY, that sends the whole list in one response.',
  ],
};

const troubleOfRejected = (entries: NonNullable<ListStatus['cached']>['rejected']): Trouble => {
  const counts = REJECTION_TEXTS.filter(([reason]) => entries[reason] > 0)
    .map(([reason, text]) => `${entries[reason]} ${text}`)
    .join(', ');
  const count = formatCount(countUnusable(entries), 'rejected entry', 'rejected entries');
  return {
    restriction: `without ${count}`,
    meaning: 'Users cannot find the banks that are missing.',
    problem: { summary: `The provider sent entries that cannot be published: ${counts}.` },
    actions: [
      'Tell the provider. The entries return automatically with the first list in which they are usable.',
    ],
  };
};

/** After a count, such as "3 not JSON objects". */
const REJECTION_TEXTS: readonly (readonly [RejectionReason, string])[] = [
  ['not_an_object', 'not JSON objects'],
  ['required_field', 'without a field of BANK_REQUIRED_FIELDS'],
  ['nothing_published', 'without a value in any published field'],
  ['object_value', 'with an object in a field of BANK_FIELDS'],
  ['altered_number', 'with a number that browsers would read as another one'],
];

const troubleOfStore = ({ name, failing }: StoreState, nowMs: number): Trouble[] => {
  if (!failing) return [];
  const { label, consequence, action } = STORES[name];
  return [
    {
      restriction: `but ${label} fails`,
      meaning: consequence,
      problem: {
        summary: `A store of the list cannot be used: ${label} (${name}).`,
        history: `Failing since ${formatSince(failing.sinceMs, nowMs)}.`,
        details: failing.reason,
      },
      actions: [action, TRY_STORES],
    },
  ];
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
