import type { Clock } from '../clock.ts';
import type { CachedList, HeldList, SavedList, Sent } from './cached-list.ts';
import type { FreshnessPolicy } from './freshness.ts';
import { ACCEPTANCES, guard, type GuardPolicy } from './guard/guard.ts';
import { largestCount, remember, remembrance, wasHeld } from './guard/memory.ts';
import type { Verdict } from './guard/replacement.ts';
import { findLargeChange } from './list-change.ts';
import { NOTHING_REJECTED } from './reading/entry.ts';
import type { LoadedList } from './reading/list-reader.ts';
import { represent, type Compressors } from './representation.ts';

// The only way to replace the cached list: a new one is judged, encoded, judged again beside what is cached by then, and
// set in the same turn of the event loop. So nothing can change between the last judgement and the replacement.

export interface AdmissionOptions {
  readonly cached: CachedList;
  readonly guard: GuardPolicy;
  readonly policy: FreshnessPolicy;
  readonly clock: Clock;
  /** Node's own unless given. */
  readonly compressors?: Compressors | undefined;
  /** Called once another list is cached. */
  readonly onTaken: () => void;
}

/**
 * A list that may become the cached one. `changedAtMs` is what its sender says, and `earlier` what another replica's guard, or
 * that of an earlier process, remembers. A saved list lacks what only the provider's answer tells.
 */
export type Candidate = SavedList & Sent & Partial<LoadedList>;

/** What a saved list does not tell. It was published before, so none of its fields is absent. */
const UNTOLD = {
  rejected: NOTHING_REJECTED,
  upstreamFields: [],
  publishableFields: [],
  absentFields: [],
  objectFields: new Map(),
  hasNextPage: false,
};

/** What the provider told with the list before. */
const toldBefore = ({ rejected, objectFields, upstreamFields, hasNextPage }: HeldList) => ({
  rejected,
  objectFields,
  upstreamFields,
  hasNextPage,
});

/** Judges a candidate as a successor of `cached`. Asked again once the list is encoded. */
export type Judge = (cached: HeldList | undefined) => Verdict;

/** The list that is cached now, and the one before it. */
export interface Taken {
  readonly list: HeldList;
  readonly previous: HeldList | undefined;
}

/**
 * Replaces the cached list; undefined where the new one is overtaken.
 * @throws {LoadError} when the guard refuses it
 */
export type Admit = (candidate: Candidate, judge: Judge) => Promise<Taken | undefined>;

export const createAdmission = (options: AdmissionOptions): Admit => {
  const { cached, policy, clock, compressors, onTaken } = options;
  const mayReplace = (candidate: Candidate, judge: Judge): boolean => {
    const current = cached.get();
    const verdict = judge(current);
    if (verdict === 'overtaken') return false;
    const now = remembrance(policy, clock.wallMs());
    const precedent = current && { cached: current, largestCount: largestCount(current, now) };
    const isBack = current !== undefined && wasHeld(current, candidate, now);
    guard({ ...UNTOLD, ...candidate }, precedent, options.guard, isBack ? ACCEPTANCES : verdict);
    return true;
  };
  return async (candidate, judge) => {
    if (!mayReplace(candidate, judge)) return undefined;
    const measured = cached.get();
    const largeChange =
      measured && (await findLargeChange(measured, candidate, options.guard.maxShrink, clock));
    const encoded = await represent(candidate.json, cached.get()?.representations, compressors);
    if (!mayReplace(candidate, judge)) return undefined;
    const previous = cached.get();
    const isUnchanged = previous?.representations.identity.etag === encoded.identity.etag;
    // An unchanged list is in memory once, with the very bytes that are served.
    const representations = isUnchanged ? previous.representations : encoded;
    // What an operator accepts is the measure of what follows, whatever was before.
    const isAccepted = (candidate.acceptedAtMs ?? 0) > (previous?.acceptedAtMs ?? 0);
    const list: HeldList = {
      ...UNTOLD,
      // What only the provider tells is as it was.
      ...(previous && toldBefore(previous)),
      ...candidate,
      json: representations.identity.body,
      representations,
      // It goes on by at least a second with each change, also after the clock was set back: otherwise If-Modified-Since
      // would take the new content for the old.
      changedAtMs: isUnchanged
        ? previous.changedAtMs
        : Math.max(candidate.changedAtMs, (previous?.changedAtMs ?? -Infinity) + SECOND_MS),
      // While it was encoded, the same list may have come from another side, and the change been told.
      largeChange: (isUnchanged ? undefined : largeChange) ?? previous?.largeChange,
      earlier: remember(isAccepted ? undefined : previous, candidate, remembrance(policy, clock.wallMs())),
    };
    cached.set(list);
    onTaken();
    return { list, previous };
  };
};

/** The resolution of an HTTP date. */
const SECOND_MS = 1_000;
