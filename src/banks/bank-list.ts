import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import { freshness, isServable, type Freshness, type FreshnessPolicy } from './freshness.ts';
import { guard, type GuardPolicy } from './guard.ts';
import { LoadError, type LoadErrorKind } from './load-error.ts';
import type { ReadList } from './list-reader.ts';
import { believable, shouldReplace, type Replacement } from './replacement.ts';
import { represent, type Representations } from './representation.ts';
import { mayBeConditional, renewalDelayMs, retryDelayMs } from './schedule.ts';

// The one list that the service holds, and the only mutable state of the product. It renews itself ahead of its
// expiry with one load at a time, whoever asks and however many; a failed load never replaces what is held, and
// nobody waits for the provider once something is.

/** What one load brings: checked and narrowed banks. */
export interface LoadedList extends ReadList {
  readonly validators: Validators | undefined;
}

/** The provider's own names for a version of its list (RFC 9110 section 8.8), as it sent them. */
export interface Validators {
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
}

/**
 * All that the list knows of the provider. With `known` validators it may answer that nothing changed since.
 * Rejects with a {@link LoadError}; must give up when `signal` aborts.
 */
export type Load = (
  signal: AbortSignal,
  known: Validators | undefined,
) => Promise<LoadedList | 'not-modified'>;

/**
 * Decides, before a load that nobody forced, whether this replica makes it. Waits at most about `patienceMs` for
 * another one's list, and no longer than the load `isDue` or until `signal` aborts. Never rejects.
 */
export type TakeTurn = (wanted: {
  readonly isDue: () => boolean;
  readonly patienceMs: number;
  readonly signal: AbortSignal;
}) => Promise<Turn>;

/** `end` is to be called when the load has ended, however it did. */
export type Turn = { readonly mayLoad: true; readonly end: () => void } | { readonly mayLoad: false };

export interface HeldList extends LoadedList {
  readonly representations: Representations;
  /** Wall-clock milliseconds at which the provider had sent it. */
  readonly receivedAtMs: number;
  /** Wall-clock milliseconds at which this very content was first received. */
  readonly changedAtMs: number;
  /**
   * Wall-clock milliseconds at which an operator last accepted a shrunken list. Later lists inherit it, so that a
   * replica that missed the decision still learns of it.
   */
  readonly acceptedAtMs?: number | undefined;
}

/** What outlives the process: enough to serve the list again. */
export type KeptList = Pick<
  HeldList,
  'json' | 'count' | 'entryDigests' | 'receivedAtMs' | 'changedAtMs' | 'acceptedAtMs'
>;

/** A list that may be given out now. `freshForMs` is negative once it is stale. */
export interface ServedList {
  readonly list: HeldList;
  readonly freshForMs: number;
}

export interface ListStatus {
  readonly state: Freshness;
  readonly held: HeldList | undefined;
  readonly ageMs: number | undefined;
  /** The failure that no success has followed yet. */
  readonly failure: LoadError | undefined;
  /** Undefined when the last load succeeded. */
  readonly failing: FailingLoads | undefined;
  /** The newest failure, whether or not a success has followed. */
  readonly lastFailure: { readonly kind: LoadErrorKind; readonly atMs: number } | undefined;
  /** Milliseconds until the provider is asked again; 0 while it is being asked. */
  readonly nextLoadInMs: number;
}

/** Loads that failed one after the other, without a success in between. */
export interface FailingLoads {
  /** Wall-clock milliseconds of the first failure. */
  readonly sinceMs: number;
  /** The failed loads so far, at least 1. */
  readonly attempts: number;
}

export type ListEvent =
  | {
      readonly type: 'list-renewed';
      readonly list: HeldList;
      readonly previous: HeldList | undefined;
      /** unchanged: the same bytes came again; not_modified: the provider said so without sending them. */
      readonly outcome: 'changed' | 'unchanged' | 'not_modified';
      readonly durationMs: number;
    }
  | {
      readonly type: 'list-load-failed';
      readonly error: LoadError;
      readonly state: Freshness;
      readonly durationMs: number;
    }
  | {
      readonly type: 'list-restored';
      readonly list: HeldList;
      readonly previous: HeldList | undefined;
      readonly state: Freshness;
    };

export interface BankListOptions {
  readonly load: Load;
  /** Undefined: there are no other replicas. */
  readonly takeTurn: TakeTurn | undefined;
  readonly policy: FreshnessPolicy;
  readonly guard: GuardPolicy;
  /** Longest time for one load; a load that has not settled by then is given up, whether it obeys its signal or not. */
  readonly loadTimeoutMs: number;
  readonly clock: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  readonly onEvent: (event: ListEvent) => void;
}

export interface BankList {
  /** The list, if one may be served now. Never waits, never causes a load. */
  served(): ServedList | undefined;
  /**
   * The list as soon as there is one: shares the load under way, or starts it.
   * @throws {LoadError} the load's failure; at once while retries are backing off
   */
  arrival(): Promise<ServedList>;
  status(): ListStatus;
  /** The same as in `status`, for who needs nothing else. */
  state(): Freshness;
  /**
   * Takes a list that was kept elsewhere, `ageMs` after the provider sent it, unless the held one is as young. A
   * shrunken one is taken where an operator accepted it after the held one.
   * @returns whether it was taken
   * @throws {LoadError} when the guard refuses it
   */
  restore(kept: KeptList, ageMs: number): Promise<boolean>;
  /**
   * Loads now, whole and whatever the back-off says, after a load that is under way.
   * @returns the failure, or undefined if the list was renewed
   */
  refresh(options: { readonly acceptShrunk: boolean }): Promise<LoadError | undefined>;
  /** Loads the first list, unless a fresh one was restored, and keeps renewing it. */
  start(): void;
  /** Ends the renewals and the load under way. What is held can still be served. */
  stop(): void;
}

export const createBankList = (options: BankListOptions): BankList => {
  const { load, takeTurn, policy, clock, random, onEvent } = options;
  // The library holds the list and measures its TTL; how long past it the list may be served is freshness.ts's.
  const cache = new LRUCache<'banks', HeldList>({
    max: 1,
    ttl: policy.ttlMs,
    allowStale: true,
    noDeleteOnStaleGet: true,
    ttlResolution: 0,
    perf: { now: () => clock.monotonicMs() },
  });
  let failure: LoadError | undefined;
  let lastFailure: ListStatus['lastFailure'];
  let failing: FailingLoads | undefined;
  /** When the provider last sent the cached list itself, and how often it has said since that nothing changed. */
  let whole = { atMs: -Infinity, confirmations: 0 };
  let flight: Promise<void> | undefined;
  let nextLoadAtMs = 0;
  let cancelTimer = (): void => {};
  let isStarted = false;
  let cutWaitShort = new AbortController();
  const stopping = new AbortController();
  const ordinary: LoadOptions = { forced: false, acceptShrunk: false, limitMs: options.loadTimeoutMs };

  const held = (): HeldList | undefined => cache.get('banks');
  const freshForMs = (): number => cache.getRemainingTTL('banks');
  const ageMs = (): number | undefined => (held() ? policy.ttlMs - freshForMs() : undefined);
  const state = (): Freshness => freshness(ageMs(), policy);

  const served = (): ServedList | undefined => {
    const list = held();
    if (!list) return undefined;
    const remainingMs = freshForMs();
    return isServable(freshness(policy.ttlMs - remainingMs, policy))
      ? { list, freshForMs: remainingMs }
      : undefined;
  };

  /** One load at a time: whoever comes while one is under way shares it. Never rejects. */
  const renew = (): Promise<void> => {
    flight ??= (takeTurn ? loadInTurn(takeTurn) : loadOnce(ordinary)).finally(land);
    return flight;
  };

  /** A load, unless another replica makes it. */
  const loadInTurn = async (turnsOf: TakeTurn): Promise<void> => {
    cancelTimer();
    const startedAtMs = clock.monotonicMs();
    const turn = await turnsOf({
      isDue: () => failure !== undefined || renewalDelayMs(freshForMs(), policy.ttlMs, 1) === 0,
      // With nothing to serve, requests wait: for another replica half of their time, for the provider the rest.
      patienceMs: options.loadTimeoutMs * (served() ? 2 : 0.5),
      signal: cutWaitShort.signal,
    });
    if (!turn.mayLoad) return;
    const waitedMs = served() ? 0 : clock.monotonicMs() - startedAtMs;
    const limitMs = Math.max(1, options.loadTimeoutMs - waitedMs);
    await loadOnce({ ...ordinary, limitMs }).finally(turn.end);
  };

  const refresh = async (wanted: { acceptShrunk: boolean }): Promise<LoadError | undefined> => {
    if (flight) {
      // It began before the operator's decision and would ignore it.
      cutWaitShort.abort();
      await flight;
      return refresh(wanted);
    }
    flight = loadOnce({ ...ordinary, forced: true, ...wanted }).finally(land);
    await flight;
    return failure;
  };

  const land = (): void => {
    flight = undefined;
    cutWaitShort = new AbortController();
    schedule();
  };

  const loadOnce = async ({ forced, acceptShrunk, limitMs }: LoadOptions): Promise<void> => {
    cancelTimer();
    const startedAtMs = clock.monotonicMs();
    const durationMs = (): number => clock.monotonicMs() - startedAtMs;
    try {
      const previous = held();
      const isConditional =
        !forced && !failure && mayBeConditional(whole.confirmations, startedAtMs - whole.atMs);
      const known = isConditional ? previous?.validators : undefined;
      const loaded = await bounded((signal) => load(signal, known), limitMs, clock, stopping.signal);
      // The age counts from here: encoding a large list takes its time.
      const start = clock.monotonicMs();
      const loadedList =
        loaded === 'not-modified' ? renewed(previous) : await toHeld(loaded, previous, acceptShrunk);
      // Later than any decision before, whatever the clocks that dated those: replicas compare them.
      const acceptedAtMs = Math.max(clock.wallMs(), (loadedList.acceptedAtMs ?? 0) + 1);
      const list = acceptShrunk ? { ...loadedList, acceptedAtMs } : loadedList;
      cache.set('banks', list, { start });
      whole =
        loaded === 'not-modified'
          ? { ...whole, confirmations: whole.confirmations + 1 }
          : { atMs: startedAtMs, confirmations: 0 };
      failure = undefined;
      failing = undefined;
      const isUnchanged = list.representations === previous?.representations;
      const outcome = loaded === 'not-modified' ? 'not_modified' : isUnchanged ? 'unchanged' : 'changed';
      onEvent({ type: 'list-renewed', list, previous, outcome, durationMs: durationMs() });
    } catch (error) {
      failure = LoadError.from(error);
      if (stopping.signal.aborted) return;
      const atMs = clock.wallMs();
      lastFailure = { kind: failure.kind, atMs };
      failing = { sinceMs: failing?.sinceMs ?? atMs, attempts: (failing?.attempts ?? 0) + 1 };
      onEvent({ type: 'list-load-failed', error: failure, state: state(), durationMs: durationMs() });
    }
  };

  const renewed = (previous: HeldList | undefined): HeldList => {
    if (previous) return { ...previous, receivedAtMs: clock.wallMs() };
    throw new LoadError('internal', 'nothing is cached that could be unchanged');
  };

  const toHeld = async (
    loaded: LoadedList,
    previous: HeldList | undefined,
    acceptShrunk: boolean,
  ): Promise<HeldList> => {
    guard(loaded, acceptShrunk ? undefined : previous, options.guard);
    const receivedAtMs = clock.wallMs();
    const representations = await represent(loaded.json, previous?.representations);
    const isUnchanged = representations === previous?.representations;
    return {
      ...loaded,
      // The very bytes that are served, so that an unchanged list is in memory once.
      json: representations.identity.body,
      representations,
      receivedAtMs,
      changedAtMs: isUnchanged ? previous.changedAtMs : receivedAtMs,
      acceptedAtMs: previous?.acceptedAtMs,
    };
  };

  const restore = async (stored: KeptList, keptAgeMs: number): Promise<boolean> => {
    const kept = believable(stored, clock.wallMs());
    // Time passes while a long list is encoded; the moment at which it was sent stays.
    const sentAtMs = clock.monotonicMs() - keptAgeMs;
    const verdict = (): Replacement => {
      const [list, ownAgeMs = 0] = [held(), ageMs()];
      return shouldReplace(list && { ...list, ageMs: ownAgeMs }, {
        ...kept,
        ageMs: clock.monotonicMs() - sentAtMs,
      });
    };
    const first = verdict();
    if (first === 'no') return false;
    const previous = held();
    // What only the provider knows is as it was, or unknown.
    const { heldBack, upstreamFields } = previous ?? { heldBack: 0, upstreamFields: [] };
    const loaded = { ...kept, heldBack: 0, upstreamFields, validators: undefined };
    const encoded = await toHeld(loaded, previous, first === 'accepted');
    const { receivedAtMs, changedAtMs, acceptedAtMs } = kept;
    const list = { ...encoded, receivedAtMs, changedAtMs, acceptedAtMs, heldBack };
    // A load may have ended meanwhile.
    if (verdict() === 'no') return false;
    // 0 would mean "no start" to the library.
    cache.set('banks', list, { start: sentAtMs || -1 });
    if (state() === 'fresh') {
      failure = undefined;
      failing = undefined;
    }
    onEvent({ type: 'list-restored', list, previous, state: state() });
    if (isStarted && !flight) schedule();
    return true;
  };

  const schedule = (): void => {
    const delayMs = failure
      ? retryDelayMs(failing?.attempts ?? 1, failure.retryAfterMs, policy.ttlMs, random())
      : renewalDelayMs(freshForMs(), policy.ttlMs, random());
    nextLoadAtMs = clock.monotonicMs() + delayMs;
    cancelTimer();
    awaitNextLoad();
  };

  // A timer may fire early, or be shorter than the wait (see LONGEST_TIMER_MS): the clock decides, not the timer.
  const awaitNextLoad = (): void => {
    if (stopping.signal.aborted) return;
    const delayMs = nextLoadAtMs - clock.monotonicMs();
    if (delayMs > 0) cancelTimer = clock.after(Math.ceil(delayMs), awaitNextLoad);
    else void renew();
  };

  return {
    served,
    arrival: async () => {
      if (flight || !failure) await renew();
      const list = served();
      if (list) return list;
      throw failure ?? new LoadError('internal', 'no list arrived');
    },
    state,
    status: () => ({
      state: state(),
      held: held(),
      ageMs: ageMs(),
      failure,
      failing,
      lastFailure,
      nextLoadInMs: flight ? 0 : Math.max(0, nextLoadAtMs - clock.monotonicMs()),
    }),
    restore,
    refresh,
    start: () => {
      isStarted = true;
      if (state() === 'fresh') schedule();
      else void renew();
    },
    stop: () => {
      cancelTimer();
      cutWaitShort.abort();
      stopping.abort(new LoadError('unreachable', 'the service is stopping'));
    },
  };
};

interface LoadOptions {
  /** An operator asked: the provider is to send the whole list, whatever it thinks of our validators. */
  readonly forced: boolean;
  readonly acceptShrunk: boolean;
  /** Longest time for it. */
  readonly limitMs: number;
}

/** Runs `work` and gives up on it after `limitMs` or when `stop` aborts, also when it ignores its signal. */
const bounded = <T>(
  work: (signal: AbortSignal) => Promise<T>,
  limitMs: number,
  clock: Clock,
  stop: AbortSignal,
): Promise<T> => {
  const controller = new AbortController();
  return new Promise((resolve, reject) => {
    const giveUp = (error: unknown): void => {
      reject(error);
      controller.abort(error);
    };
    const onStop = (): void => giveUp(stop.reason);
    const cancel = clock.after(limitMs, () =>
      giveUp(new LoadError('timeout', `no complete answer within ${limitMs} ms`)),
    );
    stop.addEventListener('abort', onStop);
    void work(controller.signal)
      .then(resolve, reject)
      .finally(() => {
        cancel();
        stop.removeEventListener('abort', onStop);
      });
  });
};
