/* oxlint-disable max-lines-per-function */
import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { wall, type Clock, type MonotonicMs, type WallMs } from '../clock.ts';
import {
  createCachedList,
  MAX_DECISIONS,
  type Decision,
  type HeldList,
  type PastList,
  type SavedList,
} from './cached-list.ts';
import { freshness, isServable, type FreshnessPolicy } from './freshness.ts';
import {
  ACCEPTANCES,
  guard,
  type Acceptance,
  type GuardPolicy,
  type Precedent,
} from './guard/guard.ts';
import { bestFilled, largestCount, remember, remembrance, wasHeld } from './guard/memory.ts';
import { findLargeChange } from './list-change.ts';
import type { ListEvent } from './list-event.ts';
import { createFailureRecord } from './loading/failures.ts';
import { NO_POSITION, type Position } from './order.ts';
import { NOTHING_REJECTED } from './reading/entry.ts';
import type { LoadedList } from './reading/list-reader.ts';
import { represent, type Compressors } from './representation.ts';

// Keeps the list that is served. A list replaces it in two steps: it is checked and encoded as the
// successor of the list that is held then, which takes time; and it is taken in one turn of the
// event loop, if that list is held still.

export interface ListKeeperOptions {
  readonly policy: FreshnessPolicy;
  readonly guard: GuardPolicy;
  readonly clock: Clock;
  /** Node's own unless given. */
  readonly compressors?: Compressors | undefined;
  readonly onEvent: (event: ListEvent) => void;
}

/**
 * What an operator asks for: a load, and the reasons for which the guard is not to refuse this one
 * list.
 */
export interface OperatorRequest {
  readonly accept: readonly Acceptance[];
  readonly requestId: string;
}

export type ListKeeper = ReturnType<typeof createListKeeper>;

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

/** The resolution of an HTTP date. */
const SECOND_MS = 1_000;

export const createListKeeper = (options: ListKeeperOptions) => {
  const { policy, clock, compressors, onEvent } = options;
  const cached = createCachedList(policy, clock);
  const failures = createFailureRecord(clock);
  /** Emits `change` when another list is held, and when nobody is loading one any more. */
  const news = new EventEmitter().setMaxListeners(Infinity);

  const isUsable = ({ sentAtMs }: PastList): boolean =>
    isServable(freshness(clock.monotonicMs() - sentAtMs, policy));

  /**
   * What a successor of `current` is compared with. A list that may no longer be served is no
   * measure.
   */
  const precedentOf = (current: SavedList | undefined): Precedent | undefined => {
    if (!current || !isUsable(current)) return undefined;
    const now = remembrance(policy, clock.monotonicMs());
    return {
      cached: current,
      largestCount: largestCount(current, now),
      bestFilled: bestFilled(current, now),
      windowMs: now.windowMs,
    };
  };

  /**
   * @throws {LoadError} when the guard refuses it. @returns the reasons for which it would have,
   *   but for `accept`
   */
  const check = (
    next: SavedList & Partial<LoadedList>,
    current: SavedList | undefined,
    accept: readonly Acceptance[],
  ): readonly Acceptance[] => {
    const now = remembrance(policy, clock.monotonicMs());
    const isBack = current !== undefined && isUsable(current) && wasHeld(current, next, now);
    const reasons = isBack ? ACCEPTANCES : accept;
    const waived = guard({ ...UNTOLD, ...next }, precedentOf(current), options.guard, reasons);
    return isBack ? [] : waived;
  };

  const receivedAt = (sentAtMs: MonotonicMs): WallMs =>
    wall(clock.wallMs() - (clock.monotonicMs() - sentAtMs));

  /** Encodes `next`, and compares it with `current`, so that it can be held instead. */
  const encode = async (
    next: SavedList & Partial<LoadedList>,
    current: HeldList | undefined,
  ): Promise<HeldList> => {
    const receivedAtMs = receivedAt(next.sentAtMs);
    const largeChange =
      current && (await findLargeChange(current, next, options.guard.maxShrink, clock));
    const encoded = await represent(next.json, current?.representations, compressors);
    const isUnchanged = current?.representations.identity.etag === encoded.identity.etag;
    // An unchanged list is in memory once, with the very bytes that are served.
    const representations = isUnchanged ? current.representations : encoded;
    return {
      ...UNTOLD,
      // What only the provider tells is as it was.
      ...(current && toldBefore(current)),
      ...next,
      json: representations.identity.body,
      representations,
      receivedAtMs,
      // It goes on by at least a second with each change, also after the clock was set back:
      // otherwise If-Modified-Since would take the new content for the old.
      changedAtMs: isUnchanged
        ? current.changedAtMs
        : wall(
            Math.max(
              Math.min(next.changedAtMs, clock.wallMs()),
              (current?.changedAtMs ?? -Infinity) + SECOND_MS,
            ),
          ),
      largeChange: largeChange ?? current?.largeChange,
    };
  };

  /**
   * Holds `list`, unless another one than `over` has come to be held. @returns whether it is held
   * now
   */
  const hold = (list: HeldList, over: HeldList | undefined): boolean => {
    if (cached.get()?.id !== over?.id) return false;
    cached.set(list);
    news.emit('change');
    return true;
  };

  return {
    cached,
    failures,
    news,
    hold,
    /**
     * A list that the provider has just sent, as the successor of `current`.
     * @param sentAtMs when the answer was complete
     * @throws {LoadError} when the guard refuses it
     */
    successor: async (
      loaded: LoadedList,
      sentAtMs: MonotonicMs,
      current: HeldList | undefined,
      { accept, requestId }: OperatorRequest,
    ): Promise<HeldList> => {
      const wallMs = clock.wallMs();
      const next = { ...loaded, ...newPast(sentAtMs, wall(wallMs)), earlier: [] };
      const reasons = check(next, current, accept);
      const decision: Decision | undefined =
        reasons.length > 0
          ? { id: randomUUID(), madeAtMs: sentAtMs, acceptedAtMs: wallMs, reasons, requestId }
          : undefined;
      // What a snapshot says was decided, and no store has confirmed, may be long past.
      const past = current && !current.isRestored ? current.decisions : [];
      const encoded = await encode(next, current);
      // What an operator accepts is the measure of what follows, whatever was before.
      const forgets = decision !== undefined || !current || !isUsable(current);
      return {
        ...encoded,
        place: current?.place ?? NO_POSITION,
        isRestored: false,
        decisions: (decision ? [decision, ...past] : past).slice(0, MAX_DECISIONS),
        earlier: forgets ? [] : remember(current, loaded, remembrance(policy, clock.monotonicMs())),
      };
    },
    /**
     * Takes a list from a store instead of `over`, without comparing the two: whoever wrote it has.
     * @returns whether it is held now
     * @throws {LoadError} when it is one that this service never serves
     */
    restore: async (saved: SavedList, over: HeldList | undefined): Promise<boolean> => {
      guard({ ...UNTOLD, ...saved }, undefined, options.guard, []);
      const list = await encode(saved, over);
      const previous = cached.get();
      if (!hold(list, over)) return false;
      if (cached.state() === 'fresh') failures.clear();
      onEvent({ type: 'list-restored', list, previous, state: cached.state() });
      return true;
    },
    /**
     * The store has this very list, at this place; or, where the id is another one, it does not
     * take it.
     * @param sentAtMs when it was sent, as the store knows it
     */
    confirm: (place: Position, sentAtMs?: MonotonicMs): void => {
      const held = cached.get();
      if (!held) return;
      const times = sentAtMs !== undefined && { sentAtMs, receivedAtMs: receivedAt(sentAtMs) };
      cached.set({ ...held, place, isRestored: false, ...times });
      if (times) news.emit('change');
    },
    /** Whether the guard would refuse `next` as the successor of `current`. */
    refuses: (next: SavedList, current: SavedList): boolean => {
      try {
        check(next, current, []);
        return false;
      } catch {
        return true;
      }
    },
    isUsable,
    onEvent,
  };
};

const newPast = (sentAtMs: MonotonicMs, changedAtMs: PastList['changedAtMs']) => ({
  id: randomUUID(),
  place: NO_POSITION,
  isRestored: false,
  sentAtMs,
  changedAtMs,
  decisions: [],
});
