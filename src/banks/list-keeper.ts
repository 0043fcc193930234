import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { Clock } from '../clock.ts';
import {
  createListCache,
  MAX_DECISIONS,
  type Decision,
  type CachedList,
  type SavedList,
} from './cached-list.ts';
import { createFailureRecord } from './failures.ts';
import type { FreshnessPolicy } from './freshness.ts';
import type { Overridable, GuardPolicy } from './guard/guard.ts';
import { createListCheck } from './list-check.ts';
import { createListEncoding } from './list-encoding.ts';
import type { ListEvent } from './list-event.ts';
import { NO_VERSION, placeAfter, wasStored, withFormer, type StoreVersion } from './order.ts';
import type { LoadedList } from './reading/list-reader.ts';
import type { Compressors } from './representation.ts';

// Keeps the list that is served. A list replaces it in two steps. It is prepared, which takes time:
// checked against the list that is cached then, `previous`, and encoded. Then it is taken, in one
// turn of the event loop, if `previous` is still the cached one.

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
  readonly overrides: readonly Overridable[];
  readonly requestId: string;
}

const NO_OPERATOR: OperatorRequest = { overrides: [], requestId: '' };

export type ListKeeper = ReturnType<typeof createListKeeper>;

export const createListKeeper = (options: ListKeeperOptions) => {
  const { policy, clock, compressors, onEvent } = options;
  const cache = createListCache(policy, clock);
  const failures = createFailureRecord(clock);
  /** Emits `change` when another list is taken, and when a load has ended. */
  const changes = new EventEmitter().setMaxListeners(Infinity);

  const { canBeServed, checkLoaded, checkSaved, refuses, remember, rememberingBoth } =
    createListCheck(options);
  const { maxShrink } = options.guard;
  const toCachedList = createListEncoding({ clock, maxShrink, compressors });

  /**
   * Takes `list`, unless another one than `previous` is cached by now.
   * @returns whether it was taken
   */
  const take = (list: CachedList, previous: CachedList | undefined): boolean => {
    if (cache.get()?.id !== previous?.id) return false;
    cache.set(list);
    changes.emit('change');
    return true;
  };

  /** Notes what the shared store says of the list with this id, if it is still the cached one. */
  const update = (id: string, change: (cached: CachedList) => CachedList): void => {
    const cached = cache.get();
    if (cached?.id !== id) return;
    const list = change(cached);
    cache.set(list);
    onEvent({ type: 'list-placed', list });
  };

  return {
    cache,
    failures,
    changes,
    take,
    /**
     * Prepares a list that the provider has just sent, to be taken after `previous`.
     * @param times when it was requested, and when the response was complete
     * @throws {LoadError} when the guard refuses it
     */
    prepareLoaded: async (
      loaded: LoadedList,
      { requestedAtMs, loadedAtMs }: Pick<CachedList, 'requestedAtMs' | 'loadedAtMs'>,
      previous: CachedList | undefined,
      { overrides, requestId }: OperatorRequest = NO_OPERATOR,
    ): Promise<CachedList> => {
      const wallMs = clock.wallMs();
      const next = {
        ...keptOf(loaded),
        id: randomUUID(),
        place: placeAfter(previous),
        isUnconfirmed: false,
        requestedAtMs,
        loadedAtMs,
        isAgeUnknown: false,
        changedAtMs: wallMs,
        decisions: [],
        unconfirmedDecisions: [],
        earlier: [],
      };
      const reasons = checkLoaded(loaded, previous, overrides);
      const decision: Decision | undefined =
        reasons.length > 0
          ? { id: randomUUID(), madeAtMs: loadedAtMs, madeAtWallMs: wallMs, reasons, requestId }
          : undefined;
      const { decisions: past, unconfirmedDecisions } = pastDecisions(previous);
      const encoded = await toCachedList(next, previous);
      // After a decision, later lists are compared with this one, and not with those before it.
      const forgets = decision !== undefined || !previous || !canBeServed(previous);
      return {
        ...encoded,
        decisions: (decision ? [decision, ...past] : past).slice(0, MAX_DECISIONS),
        unconfirmedDecisions,
        earlier: forgets ? [] : remember(previous, next),
      };
    },
    /**
     * Prepares a list from a store and takes it. Its writer has compared it with the one before;
     * here only the number of its entries is checked, against the minimum of this replica. It
     * remembers the lists before `previous` too, unless an operator or the guard has decided
     * between the two.
     * @returns whether it was taken
     * @throws {LoadError} when it has too few entries
     */
    takeSaved: async (saved: SavedList, previous: CachedList | undefined): Promise<boolean> => {
      checkSaved(saved);
      const { kind, version } = saved.place;
      const place = { kind, version: withFormer(version, previous?.place.version ?? NO_VERSION) };
      const encoded = { ...(await toCachedList(saved, previous)), place };
      const list = previous ? rememberingBoth(encoded, previous) : encoded;
      const replaced = cache.get();
      if (!take(list, previous)) return false;
      // Whoever has saved it in the shared store has loaded it; a snapshot is of earlier loads.
      if (cache.state() === 'fresh' && !saved.isUnconfirmed) failures.clear();
      onEvent({ type: 'list-restored', list, previous: replaced, state: cache.state() });
      return true;
    },
    rememberingBoth,
    /** The shared store has taken the list, and then had this version. */
    markStored: ({ id, decisions, earlier }: CachedList, version: StoreVersion): void =>
      update(id, (cached) => ({
        ...cached,
        place: { kind: 'stored', version: withFormer(version, cached.place.version) },
        isUnconfirmed: false,
        decisions,
        unconfirmedDecisions: [],
        earlier,
      })),
    /** The shared store has another list, and this one is not written over it. */
    markBeside: ({ id }: CachedList): void =>
      update(id, (cached) => ({
        ...cached,
        place: { kind: 'beside', version: cached.place.version },
        isUnconfirmed: false,
        unconfirmedDecisions: [],
      })),
    refuses,
    canBeServed,
  };
};

/** What a cached list keeps of the response; the rest is only for the log and the guard. */
const keptOf = (loaded: LoadedList) => {
  const { json, count, profile, entryDigests, rejected, hasNextPage, upstreamFields } = loaded;
  return { json, count, profile, entryDigests, rejected, hasNextPage, upstreamFields };
};

const NO_DECISIONS = { decisions: [], unconfirmedDecisions: [] };

/** The decisions of a list that is loaded over `previous`. */
const pastDecisions = (
  previous: CachedList | undefined,
): Pick<CachedList, 'decisions' | 'unconfirmedDecisions'> => {
  const { decisions, unconfirmedDecisions } = previous ?? NO_DECISIONS;
  return previous?.isUnconfirmed && !wasStored(previous)
    ? { decisions: [], unconfirmedDecisions: decisions }
    : { decisions, unconfirmedDecisions };
};
