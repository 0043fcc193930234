import type { ListTimes } from '../cached-list.ts';

// Which of two lists is the one to serve? Pure: times in, a verdict out. `receivedAtMs` identifies a list.

type Candidate = Pick<ListTimes, 'receivedAtMs' | 'acceptedAtMs'> & {
  /** Monotonic milliseconds of this replica. */
  readonly sentAtMs: number;
};

/** What was known when the provider was asked. */
export interface Question {
  readonly askedAtMs: number;
  /** Of the list that was cached then. */
  readonly acceptedAtMs: number | undefined;
}

/**
 * Whether the answer to `question` comes too late for `cached`: another replica's question was answered after this one was
 * asked, or an operator has accepted a list since.
 */
export const isOvertaken = (question: Question, cached: Candidate | undefined): boolean =>
  cached !== undefined &&
  (cached.sentAtMs > question.askedAtMs || (cached.acceptedAtMs ?? 0) > (question.acceptedAtMs ?? 0));

/** Whether a list from a store replaces the cached one. `accepted`: an operator accepted it after the cached list, so the guard does not compare the two. */
export type Replacement = 'no' | 'younger' | 'accepted';

export const shouldReplace = (cached: Candidate | undefined, saved: Candidate): Replacement => {
  if ((saved.acceptedAtMs ?? 0) > (cached?.acceptedAtMs ?? 0)) return 'accepted';
  if (!cached) return 'younger';
  // The same list, read again: its age is measured anew, and always differs a little.
  if (cached.receivedAtMs === saved.receivedAtMs) return 'no';
  return saved.sentAtMs > cached.sentAtMs ? 'younger' : 'no';
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
