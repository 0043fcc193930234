import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { wall, type Clock, type MonotonicMs } from '../clock.ts';
import {
  createCachedList,
  MAX_DECISIONS,
  type Decision,
  type HeldList,
  type PastList,
  type SavedList,
} from './cached-list.ts';
import type { FreshnessPolicy } from './freshness.ts';
import type { Acceptance, GuardPolicy } from './guard/guard.ts';
import { memoryWindow, remember } from './guard/memory.ts';
import { createListCheck } from './list-check.ts';
import { createListEncoding } from './list-encoding.ts';
import type { ListEvent } from './list-event.ts';
import { createFailureRecord } from './loading/failures.ts';
import { isSaved, NO_PLACE, type StorePlace } from './order.ts';
import type { LoadedList } from './reading/list-reader.ts';
import type { Compressors } from './representation.ts';

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

export const createListKeeper = (options: ListKeeperOptions) => {
  const { policy, clock, compressors, onEvent } = options;
  const cached = createCachedList(policy, clock);
  const failures = createFailureRecord(clock);
  /** Emits `change` when another list is held, and when nobody is loading one any more. */
  const news = new EventEmitter().setMaxListeners(Infinity);

  const { isUsable, check, refuses } = createListCheck(options);
  const { maxShrink } = options.guard;
  const { encode, receivedAt } = createListEncoding({ clock, maxShrink, compressors });

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
      // What a snapshot says was decided, and no store has taken, may be long past.
      const past = current && (isSaved(current) || !current.isRestored) ? current.decisions : [];
      const encoded = await encode(next, current);
      // What an operator accepts is the measure of what follows, whatever was before.
      const forgets = decision !== undefined || !current || !isUsable(current);
      return {
        ...encoded,
        place: current?.place ?? NO_PLACE,
        isRestored: false,
        isAgeUnknown: false,
        decisions: (decision ? [decision, ...past] : past).slice(0, MAX_DECISIONS),
        earlier: forgets
          ? []
          : remember(current, loaded, memoryWindow(policy, clock.monotonicMs())),
      };
    },
    /**
     * Takes a list from a store instead of `over`, without comparing the two: its writer has.
     * @returns whether it is held now
     * @throws {LoadError} when it is one that this service never serves
     */
    restore: async (saved: SavedList, over: HeldList | undefined): Promise<boolean> => {
      check(saved, undefined, []);
      const list = await encode(saved, over);
      const previous = cached.get();
      if (!hold(list, over)) return false;
      if (cached.state() === 'fresh') failures.clear();
      onEvent({ type: 'list-restored', list, previous, state: cached.state() });
      return true;
    },
    /**
     * The store has `list` at this place; or, where the id is another one, it does not take it.
     * Nothing happens if another list has come to be held.
     * @param saved the same as the store has it, which knows its age better
     */
    confirm: ({ id }: HeldList, place: StorePlace, saved?: SavedList): void => {
      const held = cached.get();
      if (held?.id !== id) return;
      const times = saved && {
        sentAtMs: saved.sentAtMs,
        isAgeUnknown: saved.isAgeUnknown,
        receivedAtMs: receivedAt(saved.sentAtMs),
      };
      const list = { ...held, place, isRestored: false, ...times };
      cached.set(list);
      if (times) news.emit('change');
      onEvent({ type: 'list-placed', list });
    },
    refuses,
    isUsable,
    onEvent,
  };
};

const newPast = (sentAtMs: MonotonicMs, changedAtMs: PastList['changedAtMs']) => ({
  id: randomUUID(),
  place: NO_PLACE,
  isRestored: false,
  sentAtMs,
  changedAtMs,
  decisions: [],
});
