import type { Clock } from '../clock.ts';
import type { ListMetadata } from './cached-list.ts';
import { freshness, isServable, type FreshnessPolicy } from './freshness.ts';
import {
  assertMinimum,
  findRefusals,
  guard,
  type Overridable,
  type GuardPolicy,
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
import type { ListContent, LoadedList } from './reading/list-reader.ts';

// Whether one list may replace another, and what is remembered once it has: the guard and its
// memory, with what they know at this moment.

export interface ListCheckOptions {
  readonly policy: FreshnessPolicy;
  readonly guard: GuardPolicy;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** A list that is cached, saved or about to be cached. */
type KnownList = ListMetadata & ListContent;

export const createListCheck = ({ policy, guard: rules, clock }: ListCheckOptions) => {
  /** Whether it may be served. */
  const canBeServed = ({ loadedAtMs }: ListMetadata): boolean =>
    isServable(freshness(clock.monotonicMs() - loadedAtMs, policy));

  const windowNow = () => memoryWindow(policy, clock.monotonicMs());

  /** What `next` is compared with; undefined if there is no list to serve. */
  const precedentOf = (
    next: ListContent,
    current: KnownList | undefined,
  ): Precedent | undefined => {
    // A list that may no longer be served is not compared with.
    if (!current || !canBeServed(current)) return undefined;
    const now = windowNow();
    return {
      cached: current,
      largestCount: largestCount(current, now),
      bestFilled: bestFilled(current, now),
      windowMs: now.windowMs,
      hasKnownContent: wasCached(current, next, now),
    };
  };

  /**
   * Whether the guard would refuse `next` as the successor of `current`. Replicas with the same
   * limits decide alike, unless one of the lists is just leaving the window.
   */
  const refuses = (next: KnownList, current: KnownList): boolean => {
    const precedent = precedentOf(next, current);
    const refusals = precedent ? findRefusals(next, precedent, rules) : {};
    return next.count < rules.minBanks || Object.values(refusals).some(Boolean);
  };

  return {
    canBeServed,
    /**
     * Checks a list that the provider has just sent.
     * @param overrides the reasons for which the guard does not refuse this one list
     * @returns those of them for which it would have
     * @throws {LoadError} if the guard refuses it
     */
    checkLoaded: (
      next: LoadedList,
      current: KnownList | undefined,
      overrides: readonly Overridable[],
    ): readonly Overridable[] => guard(next, precedentOf(next, current), rules, overrides),
    /**
     * Checks a list of a store, whose writer has compared it with the one before.
     * @throws {LoadError} if it has fewer entries than this replica accepts
     */
    checkSaved: ({ count }: KnownList): void => assertMinimum(count, rules),
    refuses,
    /** What is remembered once `next` has replaced `current`. */
    remember: (current: KnownList, next: KnownList): readonly EarlierList[] =>
      remember(current, next, windowNow()),
    /**
     * `kept`, with what is remembered once it is used instead of `other`: the lists before both,
     * unless an operator or the guard has decided between the two.
     */
    rememberingBoth: <L extends KnownList>(kept: L, other: KnownList): L =>
      canBeServed(other) &&
      kept.decisions[0]?.id === other.decisions[0]?.id &&
      !refuses(kept, other) &&
      !refuses(other, kept)
        ? { ...kept, earlier: rememberBoth(kept, other, windowNow()) }
        : kept,
  };
};
