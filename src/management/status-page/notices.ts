import type { ListStatus } from '../../banks/bank-list.ts';
import { notAfter } from '../../clock.ts';
import { formatTime } from './format.ts';

// Notices about a list that is served: it changed a lot, or it is probably incomplete. Pure.

interface Notice {
  /** Of the page, if nothing else is wrong; undefined: that of a list that is well. */
  readonly headline?: string;
  readonly sentence: string;
  readonly action?: string;
}

/** @param nowMs wall-clock milliseconds */
export const noticesOf = (
  { cached, state, largeChange: change }: ListStatus,
  nowMs: number,
): readonly Notice[] => {
  const isRecent = change !== undefined && nowMs - change.atMs <= DAY_MS;
  return [
    ...(isRecent ? [{ sentence: describeChange(change, nowMs) }] : []),
    ...(cached?.hasNextPage && state !== 'expired' ? [INCOMPLETE] : []),
  ];
};

const DAY_MS = 86_400_000;

const INCOMPLETE: Notice = {
  headline: 'Users get the current list, which is probably incomplete.',
  sentence:
    'The list is probably incomplete: the provider’s response links to a next page, which this service does not load.',
  action:
    'Ask the provider for an address, or a setting, that sends the whole list in one response.',
};

const describeChange = (
  { added, removed, atMs }: NonNullable<ListStatus['largeChange']>,
  nowMs: number,
): string =>
  `The list changed by more than GUARD_MAX_SHRINK at ${formatTime(notAfter(nowMs, atMs), nowMs)}: ` +
  `${added} entries were added or changed, and ${removed} removed or changed. If that is wrong, tell the provider; ` +
  'the previous list comes back with the next load that brings it.';
