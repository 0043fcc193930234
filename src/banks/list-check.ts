import type { Clock } from '../clock.ts';
import { UNKNOWN_IN_STORES, type ListMetadata, type StoredList } from './cached-list.ts';
import { freshness, isServable, type FreshnessPolicy } from './freshness.ts';
import {
  OVERRIDABLE,
  guard,
  type Overridable,
  type GuardPolicy,
  type NewList,
  type Precedent,
} from './guard/guard.ts';
import {
  bestFilled,
  largestCount,
  memoryWindow,
  remember,
  rememberBoth,
  wasCached,
  type EarlierList,
} from './guard/memory.ts';
import { LoadError } from './load-error.ts';

// Whether one list may replace another, and what is remembered once it has: the guard and its
// memory, with what they know at this moment.

export interface ListCheckOptions {
  readonly policy: FreshnessPolicy;
  readonly guard: GuardPolicy;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

export const createListCheck = ({ policy, guard: rules, clock }: ListCheckOptions) => {
  /** Whether it may be served. */
  const canBeServed = ({ loadedAtMs }: ListMetadata): boolean =>
    isServable(freshness(clock.monotonicMs() - loadedAtMs, policy));

  const windowNow = () => memoryWindow(policy, clock.monotonicMs());

  /**
   * @param overrides the reasons for which the guard does not refuse this one list
   * @returns those of them for which it would have
   * @throws {LoadError} when the guard refuses it
   */
  const check = (
    next: StoredList & Partial<NewList>,
    current: StoredList | undefined,
    overrides: readonly Overridable[],
  ): readonly Overridable[] => {
    const list = { ...UNKNOWN_IN_STORES, ...next };
    // A list that may no longer be served is not compared with.
    if (!current || !canBeServed(current)) return guard(list, undefined, rules, overrides);
    const now = windowNow();
    const precedent: Precedent = {
      cached: current,
      largestCount: largestCount(current, now),
      bestFilled: bestFilled(current, now),
      windowMs: now.windowMs,
    };
    if (!wasCached(current, next, now)) return guard(list, precedent, rules, overrides);
    // What was right before is neither shrunk nor drifted; the other rules still hold.
    guard(list, precedent, rules, OVERRIDABLE);
    return [];
  };

  /**
   * Whether the guard would refuse `next` as the successor of `current`. It depends only on what
   * stores keep of the two, so that all replicas decide alike.
   */
  const refuses = (next: StoredList, current: StoredList): boolean => {
    try {
      check({ ...next, ...UNKNOWN_IN_STORES }, current, []);
      return false;
    } catch (error) {
      if (error instanceof LoadError) return true;
      throw error;
    }
  };

  return {
    canBeServed,
    check,
    refuses,
    /** What is remembered once `next` has replaced `current`. */
    remember: (current: StoredList, next: StoredList): readonly EarlierList[] =>
      remember(current, next, windowNow()),
    /**
     * `kept`, with what is remembered once it is used instead of `other`: the lists before both,
     * unless an operator or the guard has decided between the two.
     */
    rememberingBoth: <L extends StoredList>(kept: L, other: StoredList): L =>
      canBeServed(other) &&
      kept.decisions[0]?.id === other.decisions[0]?.id &&
      !refuses(kept, other) &&
      !refuses(other, kept)
        ? { ...kept, earlier: rememberBoth(kept, other, windowNow()) }
        : kept,
  };
};
