import type { ListTimes, Sent } from '../cached-list.ts';
import { ACCEPTANCES, type Acceptance } from './guard.ts';

// Which of two lists is the one to serve? Pure: times in, a verdict out. `receivedAtMs` identifies a list.

type DatedList = Pick<ListTimes, 'receivedAtMs' | 'acceptedAtMs'> & Sent;

/**
 * Whether the answer to a question of `askedAtMs`, when `before` was cached, comes too late for `cached`: another replica's
 * question was answered after this one was asked, or an operator has accepted a list since.
 */
export const isOvertaken = (
  askedAtMs: number,
  before: Pick<DatedList, 'acceptedAtMs'> | undefined,
  cached: Pick<DatedList, 'sentAtMs' | 'acceptedAtMs'> | undefined,
): boolean =>
  cached !== undefined &&
  (cached.sentAtMs > askedAtMs || (cached.acceptedAtMs ?? 0) > (before?.acceptedAtMs ?? 0));

/**
 * The reasons for which a candidate is not refused as a successor of the cached list, or that it must not succeed it at all.
 */
export type Verdict = readonly Acceptance[] | 'overtaken';

/** Of a list from a store. One that an operator accepted after the cached list is not compared with it. */
export const verdictOf = (cached: DatedList | undefined, saved: DatedList): Verdict => {
  const [accepted, acceptedBefore] = [saved.acceptedAtMs ?? 0, cached?.acceptedAtMs ?? 0];
  if (accepted > acceptedBefore) return ACCEPTANCES;
  if (accepted < acceptedBefore) return 'overtaken';
  if (!cached) return [];
  // The same list, read again: its age is measured anew, and always differs a little.
  if (cached.receivedAtMs === saved.receivedAtMs) return 'overtaken';
  const isYounger = saved.sentAtMs > cached.sentAtMs && saved.countedFromMs > cached.countedFromMs;
  return isYounger ? [] : 'overtaken';
};

/** How far apart replicas' clocks may be for a decision of an operator to reach all of them. */
const MAX_LEAD_MS = 86_400_000;

/**
 * A saved list's times as far as they can be true at `nowMs`: content was not first seen in a distant future, and a
 * decision from there, which would outrank every later one, is none.
 */
export const believable = <T extends ListTimes>(saved: T, nowMs: number): T => ({
  ...saved,
  changedAtMs: saved.changedAtMs > nowMs + MAX_LEAD_MS ? nowMs : saved.changedAtMs,
  acceptedAtMs: (saved.acceptedAtMs ?? 0) > nowMs + MAX_LEAD_MS ? undefined : saved.acceptedAtMs,
});

/** How far the clocks of two replicas may differ by accident. */
const CLOCK_TOLERANCE_MS = 1_000;
/** By how much the clock of the replica that saved a list may be ahead, where the store reports the age. */
const MAX_CLOCK_LEAD_MS = 60_000;

/**
 * The age of a saved list, in milliseconds: what its store reports, but not less than the clocks say. A timestamp in the
 * future means that a clock is or was wrong, or that somebody else wrote the list: it then counts as just over
 * `ttlMs` old at least, and so is renewed at once.
 */
export const ageOf = (
  { receivedAtMs }: Pick<ListTimes, 'receivedAtMs'>,
  reportedMs: number | undefined,
  nowMs: number,
  ttlMs: number,
): number => {
  const byClocksMs = nowMs - receivedAtMs;
  const leadMs = reportedMs === undefined ? CLOCK_TOLERANCE_MS : MAX_CLOCK_LEAD_MS;
  if (byClocksMs < -leadMs) return Math.max(ttlMs + 1, reportedMs ?? 0);
  return Math.max(0, reportedMs ?? byClocksMs, byClocksMs - CLOCK_TOLERANCE_MS);
};
