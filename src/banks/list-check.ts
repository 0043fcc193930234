import type { Clock } from '../clock.ts';
import type { PastList, SavedList } from './cached-list.ts';
import { freshness, isServable, type FreshnessPolicy } from './freshness.ts';
import {
  ACCEPTANCES,
  guard,
  type Acceptance,
  type GuardPolicy,
  type NewList,
  type Precedent,
} from './guard/guard.ts';
import { bestFilled, largestCount, memoryWindow, wasHeld } from './guard/memory.ts';
import { NOTHING_REJECTED } from './reading/entry.ts';

// Whether one list may replace another: the guard, with what it compares a list with at this
// moment.

export interface ListCheckOptions {
  readonly policy: FreshnessPolicy;
  readonly guard: GuardPolicy;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** One that the provider has sent, or one from a store. */
export type CheckedList = SavedList & Partial<NewList>;

/** What a store does not tell. The list was published before, so none of its fields is absent. */
export const UNKNOWN_IN_STORES = {
  rejected: NOTHING_REJECTED,
  upstreamFields: [],
  absentFields: [],
  objectFields: new Map(),
};

export const createListCheck = ({ policy, guard: rules, clock }: ListCheckOptions) => {
  /** Whether it may be served. */
  const isUsable = ({ sentAtMs }: PastList): boolean =>
    isServable(freshness(clock.monotonicMs() - sentAtMs, policy));

  const precedentOf = (current: SavedList): Precedent => {
    const now = memoryWindow(policy, clock.monotonicMs());
    return {
      cached: current,
      largestCount: largestCount(current, now),
      bestFilled: bestFilled(current, now),
      windowMs: now.windowMs,
    };
  };

  /**
   * @param accept the reasons for which the guard does not refuse this one list
   * @returns those of them for which it would have
   * @throws {LoadError} when the guard refuses it
   */
  const check = (
    next: CheckedList,
    current: SavedList | undefined,
    accept: readonly Acceptance[],
  ): readonly Acceptance[] => {
    const list = { ...UNKNOWN_IN_STORES, ...next };
    // A list that may no longer be served is no measure.
    if (!current || !isUsable(current)) return guard(list, undefined, rules, accept);
    const precedent = precedentOf(current);
    if (!wasHeld(current, next, memoryWindow(policy, clock.monotonicMs())))
      return guard(list, precedent, rules, accept);
    guard(list, precedent, rules, ACCEPTANCES);
    return [];
  };

  return {
    isUsable,
    check,
    /** Whether the guard would refuse `next` as the successor of `current`. */
    refuses: (next: SavedList, current: SavedList): boolean => {
      try {
        check(next, current, []);
        return false;
      } catch {
        return true;
      }
    },
  };
};
