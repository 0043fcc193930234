// May a list from a store replace the cached one? Pure: the times of two lists in, a verdict out.

export interface SavedTimes {
  /** Wall-clock milliseconds of the replica that received it; it identifies the list. */
  readonly receivedAtMs: number;
  readonly changedAtMs: number;
  readonly acceptedAtMs?: number | undefined;
}

type Candidate = Pick<SavedTimes, 'receivedAtMs' | 'acceptedAtMs'> & { readonly ageMs: number };

/** `accepted`: an operator accepted it after the cached list, so the guard does not compare the two. */
export type Replacement = 'no' | 'younger' | 'accepted';

export const shouldReplace = (cached: Candidate | undefined, saved: Candidate): Replacement => {
  if ((saved.acceptedAtMs ?? 0) > (cached?.acceptedAtMs ?? 0)) return 'accepted';
  if (!cached) return 'younger';
  // The same list, read again: its age is measured anew, and always differs a little.
  if (cached.receivedAtMs === saved.receivedAtMs) return 'no';
  return saved.ageMs < cached.ageMs ? 'younger' : 'no';
};

/** How far apart replicas' clocks may be for a decision of an operator to reach all of them. */
const MAX_ACCEPTANCE_LEAD_MS = 86_400_000;

/**
 * A saved list's times as far as they can be true at `nowMs`: content is not first seen after it is received or after
 * now, and a decision from a distant future, which would outrank every later one, is none.
 */
export const believable = <T extends SavedTimes>(saved: T, nowMs: number): T => ({
  ...saved,
  changedAtMs: Math.min(saved.changedAtMs, saved.receivedAtMs, nowMs),
  acceptedAtMs: (saved.acceptedAtMs ?? 0) > nowMs + MAX_ACCEPTANCE_LEAD_MS ? undefined : saved.acceptedAtMs,
});
