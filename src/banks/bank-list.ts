import { randomInt, randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { withDeadline, type Clock } from '../clock.ts';
import { newId, NO_VIEW, writeWait, type Fleet, type SavedList, type View } from './fleet.ts';
import { isServableAt, type Freshness, type FreshnessPolicy } from './freshness.ts';
import { guard, remember, type GuardPolicy, type Overridable } from './guard.ts';
import { createListCache } from './list-cache.ts';
import type { CachedList, ServedList } from './cached-list.ts';
import { compareLists } from './list-change.ts';
import type { ListEvent, ListLoad, ListSource } from './list-event.ts';
import { LoadError, STOPPING } from './load-error.ts';
import type { LoadedList } from './reading/list-reader.ts';
import {
  createRefreshQueue,
  laterListCached,
  type RefreshRequest,
  type RefreshResult,
} from './refresh-queue.ts';
import { represent, type Compressors } from './representation.ts';
import { createSchedule, type FailingSince } from './schedule.ts';

// The list that the service serves, and how it is renewed: one loop, which looks at Redis every
// second, takes a later list that is there, and loads one when that is due (schedule.ts) and no
// other replica does. The list with the greater id is the later one, everywhere. With a list, nobody
// waits for the provider, a file or Redis.

export interface BankListOptions {
  readonly policy: FreshnessPolicy;
  readonly guard: GuardPolicy;
  /** Longest time for a load, and for a request that waits for one. */
  readonly loadTimeoutMs: number;
  /** Loads a list from the provider, in no more than that time. @throws {LoadError} */
  readonly load: (signal: AbortSignal) => Promise<LoadedList>;
  readonly fleet: Fleet;
  /** Keeps the list on disk. */
  readonly save?: ((list: CachedList) => void) | undefined;
  readonly clock: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  /** Node's own unless given. */
  readonly compressors?: Compressors | undefined;
  readonly emit: (event: ListEvent) => void;
}

export interface ListStatus {
  readonly state: Freshness;
  /** The list, however old it is. */
  readonly cached: CachedList | undefined;
  readonly ageMs: number | undefined;
  /** Undefined once a later list has come. */
  readonly failing: FailingSince | undefined;
  /** Milliseconds until the next load is due; 0 while it is under way. */
  readonly nextLoadInMs: number;
}

export type BankList = ReturnType<typeof createBankList>;

/** How often Redis is looked at. */
const TICK_MS = 1_000;
/** The shortest wait of the loop: nothing that goes wrong may make it spin. */
const SHORTEST_SLEEP_MS = 50;

// One closure: its variables are the state of the loop.
// oxlint-disable-next-line max-lines-per-function
export const createBankList = (options: BankListOptions) => {
  const { policy, loadTimeoutMs, fleet, clock, compressors, emit } = options;
  const now = (): number => clock.monotonicMs();

  const cache = createListCache(policy, clock);
  const schedule = createSchedule(options);
  const refreshes = createRefreshQueue(() => wake());
  /** What Redis has, by the newest look and by what this replica has written since. */
  let view: View = NO_VIEW;
  /** The id of the list in Redis, if that cannot be used. */
  let unusableId = '';
  /** Whether this replica has agreed with Redis on one list since it started. */
  let hasJoined = false;
  let loading: Promise<void> | undefined;
  /** The state that was last reported. */
  let state: Freshness = 'empty';
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let wake = (): void => {};
  /** Emits `change` when another list is cached, and when loads fail. */
  const changes = new EventEmitter().setMaxListeners(Infinity);

  /**
   * The id of this replica's list, for comparisons with the one in Redis. Empty where there is none
   * to serve, and until it has joined: a snapshot, or a first list that was compared with nothing,
   * gives way to any list there.
   */
  const ownId = (): string => (hasJoined ? (cache.served()?.list.id ?? '') : '');

  const run = async (): Promise<void> => {
    /* oxlint-disable no-await-in-loop -- one step after the other */
    while (!stopping.signal.aborted) {
      if (!loading && (!refreshes.isEmpty() || schedule.dueInMs() <= 0)) {
        loading = loadOnce(refreshes.next()).finally(() => {
          loading = undefined;
          wake();
        });
      }
      await sleep();
      if (stopping.signal.aborted) break;
      await look();
      noteAge();
    }
    await loading;
    /* oxlint-enable no-await-in-loop */
  };

  const sleep = async (): Promise<void> => {
    const untilDueMs = Math.max(SHORTEST_SLEEP_MS, schedule.dueInMs());
    await new Promise<void>((resolve) => {
      const cancel = clock.after(loading ? TICK_MS : Math.min(TICK_MS, untilDueMs), resolve);
      wake = () => {
        cancel();
        resolve();
      };
    });
  };

  const look = async (): Promise<void> => {
    const seen = await fleet.look(ownId());
    const isHoldNew = seen.hold !== view.hold;
    view = seen;
    if (view.up) await syncWithRedis();
    if (isHoldNew) obeyHold();
  };

  /** Reports a list that has aged. Once there is none to serve, the wait for a load has a bound. */
  const noteAge = (): void => {
    if (!cache.served()) schedule.noteNoList();
    if (state === cache.state()) return;
    state = cache.state();
    emit({ type: 'list-aged', state });
  };

  /** Makes the list of this replica and the one in Redis the same. */
  const syncWithRedis = async (): Promise<void> => {
    const isUsable = view.id <= ownId() || (await takeSaved(view.list, 'redis'));
    unusableId = isUsable ? '' : view.id;
    const isBehind = !isUsable || view.id === '' || view.id < ownId();
    if (isBehind && cache.served()) await publish();
    else hasJoined = true;
  };

  const publish = async () => {
    const list = cache.get();
    if (!list) return undefined;
    const result = await fleet.publish(list, ownId(), unusableId);
    if (result === 'written') {
      hasJoined = true;
      view = { ...view, id: list.id };
    }
    return result;
  };

  /** Waits as the hold in Redis asks. */
  const obeyHold = (): void => {
    const failure = schedule.noteHold(view.hold, view.holdLeftMs, cache.get()?.id ?? '');
    if (!failure) return;
    emit({ type: 'load-failed-elsewhere', error: failure.error, state: cache.state() });
    changes.emit('change');
  };

  const loadOnce = async (request: RefreshRequest | undefined): Promise<void> => {
    const base = view;
    const mine = randomUUID();
    const asked = { askedAtMs: now(), changedAtMs: clock.wallMs() };
    const claim = await fleet.replaceHold(base.hold, mine, schedule.claimMs);
    if (claim === 'taken') {
      // Another replica was quicker: look again.
      if (request) refreshes.putBack(request);
      return;
    }
    const isClaimed = claim !== 'no_redis';
    if (isClaimed) view = { ...view, hold: mine };
    const last = cache.get();
    const id = newId(
      isClaimed ? claim.timeUs : 1_000 * fleet.redisNowMs(),
      last && { id: last.id, ageMs: now() - last.askedAtMs },
      randomInt(1_000_000),
    );
    try {
      const result = await renew({ id, ...asked }, request);
      request?.resolve(result);
    } catch (thrown) {
      const error = stopping.signal.aborted ? STOPPING : LoadError.from(thrown);
      // A failure says nothing about a list that was requested later.
      if (ownId() <= id) {
        const wait = error === STOPPING ? undefined : noteFailure(id, error, asked.askedAtMs);
        // A fault of this replica must not make the others wait: the earlier hold comes back.
        const [hold, ms] = error.isLocal || !wait ? [base.hold, base.holdLeftMs] : wait;
        if (isClaimed) await fleet.replaceHold(mine, hold, ms);
      }
      request?.resolve({ outcome: 'failed', error });
    }
  };

  /** Loads a list and takes it, unless a later one has come. @throws {LoadError} */
  const renew = async (
    asked: Pick<CachedList, 'id' | 'askedAtMs' | 'changedAtMs'>,
    request: RefreshRequest | undefined,
  ): Promise<RefreshResult> => {
    const { json, ...loaded } = await options.load(stopping.signal);
    const representations = await represent(json, cache.get()?.representations, compressors);
    // No await from here until the list is taken: it replaces what it is compared with.
    if (ownId() > asked.id) return laterListCached(request);
    const durationMs = now() - asked.askedAtMs;
    const base = cache.served()?.list;
    const reasons = guard(loaded, base, options.guard, request?.overrides ?? [], now());
    const memory = remember(base, loaded, reasons.length > 0, now(), options.guard);
    take({ ...loaded, ...memory, ...asked, representations }, 'provider', {
      durationMs,
      publishableFields: loaded.publishableFields,
      accepted:
        request && reasons.length > 0 ? { reasons, requestId: request.requestId } : undefined,
    });
    const published = await publish();
    if (published === 'later_list') return laterListCached(request);
    return { outcome: 'ok', isShared: fleet.hasRedis ? published === 'written' : undefined };
  };

  /** @returns the hold that makes all replicas wait, and for how long */
  const noteFailure = (id: string, error: LoadError, askedAtMs: number) => {
    const { failure, waitMs } = schedule.noteFailure(id, error, view.up);
    emit({ type: 'load-failed', error, state: cache.state(), durationMs: now() - askedAtMs });
    changes.emit('change');
    return [writeWait(failure), waitMs] as const;
  };

  /** The only place that changes the list. */
  const take = (list: CachedList, source: ListSource, load?: ListLoad): void => {
    if (list.id <= ownId()) return;
    const previous = cache.get();
    const isSame = previous?.representations.identity.etag === list.representations.identity.etag;
    const changedAtMs = isSame
      ? Math.min(previous.changedAtMs, list.changedAtMs)
      : // HTTP dates count whole seconds. New content gets a later second than the old, even if the
        // clock was set back; otherwise a client would get 304.
        Math.max(list.changedAtMs, (previous?.changedAtMs ?? -Infinity) + 1_000);
    const taken = { ...list, changedAtMs };
    cache.set(taken);
    schedule.noteList(taken);
    state = cache.state();
    options.save?.(taken);
    const { maxShrink } = options.guard;
    const change = previous && !isSame ? compareLists(previous, taken, maxShrink) : undefined;
    emit({ type: 'list-taken', list: taken, previous, source, state, change, load });
    changes.emit('change');
  };

  /** @returns whether there is a saved list that may be served */
  const takeSaved = async (saved: SavedList | undefined, source: ListSource): Promise<boolean> => {
    if (!saved || !isServableAt(saved, now(), policy)) return false;
    const { json, ...rest } = saved;
    const representations = await represent(json, cache.get()?.representations, compressors);
    take({ ...rest, representations }, source);
    return true;
  };

  const untilServed = async (signal: AbortSignal): Promise<ServedList> => {
    for (;;) {
      const served = cache.served();
      if (served) return served;
      if (stopping.signal.aborted) throw STOPPING;
      const failing = schedule.failing();
      if (failing) throw failing.error;
      // oxlint-disable-next-line no-await-in-loop -- until there is a list or a failure
      await once(changes, 'change', { signal });
    }
  };

  return {
    /** The list, if one may be served now. Never waits, never causes a load. */
    served: cache.served,
    /**
     * The list as soon as there is one.
     * @param signal ends the wait, and the load goes on
     * @throws {LoadError} while loads are failing, the newest failure; `timeout` after
     *   `loadTimeoutMs`
     */
    waitUntilServed: (signal?: AbortSignal): Promise<ServedList> =>
      withDeadline(untilServed, {
        limitMs: loadTimeoutMs,
        clock,
        signal,
        timeoutError: () =>
          schedule.failing()?.error ??
          new LoadError('timeout', `no list within ${loadTimeoutMs} ms`),
      }),
    status: (): ListStatus => {
      const cached = cache.get();
      return {
        state: cache.state(),
        cached,
        ageMs: cache.ageMs(),
        failing: schedule.failing(),
        nextLoadInMs: loading ? 0 : schedule.ownInMs(),
      };
    },
    /** Milliseconds after which a request that got no list can be repeated. */
    retryInMs: schedule.retryInMs,
    /**
     * Loads the list now, whatever the back-off says, after a load that is under way. Operators who
     * wait for the same overrides share one load.
     * @param overrides the reasons for which the guard does not refuse this one list
     * @param requestId of the operator's request, for the log
     */
    refresh: (overrides: readonly Overridable[] = [], requestId = ''): Promise<RefreshResult> => {
      if (stopping.signal.aborted) return Promise.resolve({ outcome: 'failed', error: STOPPING });
      return refreshes.add(overrides, requestId);
    },
    /** Takes a list of the snapshot, if it may be served, and looks at Redis once. */
    restore: async (saved: SavedList | undefined): Promise<void> => {
      await takeSaved(saved, 'snapshot');
      await look();
      noteAge();
    },
    /** Loads the list when that is due, until `stop`. */
    start: (): void => {
      if (!stopping.signal.aborted) running ??= run();
    },
    /** Ends the load under way, and resolves once the loop has ended. */
    stop: async (): Promise<void> => {
      stopping.abort(STOPPING);
      wake();
      await running;
      refreshes.endAll();
      changes.emit('change');
    },
  };
};
