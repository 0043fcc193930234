import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import { freshness, isServable, type Freshness, type FreshnessPolicy } from './freshness.ts';
import { guard, type GuardPolicy } from './guard.ts';
import { LoadError, type LoadErrorKind } from './load-error.ts';
import { represent, type Bank, type Representations } from './representation.ts';
import { renewalDelayMs, retryDelayMs } from './schedule.ts';

// The one list that the service holds, and the only mutable state of the product. It renews itself ahead of its
// expiry with one load at a time, whoever asks and however many; a failed load never replaces what is held, and
// nobody waits for the provider once something is.

/** What one load brings: checked and narrowed banks. */
export interface LoadedList {
  readonly banks: readonly Bank[];
  /** How many entries were unusable and are not among the banks. */
  readonly heldBack: number;
  /** The names of all fields that the provider sent. */
  readonly upstreamFields: readonly string[];
}

/** All that the list knows of the provider. Rejects with a {@link LoadError}; must give up when `signal` aborts. */
export type Load = (signal: AbortSignal) => Promise<LoadedList>;

export interface HeldList {
  readonly representations: Representations;
  readonly count: number;
  readonly heldBack: number;
  readonly upstreamFields: readonly string[];
  /** Wall-clock milliseconds at which the provider had sent it. */
  readonly receivedAtMs: number;
  /** Wall-clock milliseconds at which this very content was first received. */
  readonly changedAtMs: number;
}

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
  /** The newest failure, whether or not a success has followed. */
  readonly lastFailure: { readonly kind: LoadErrorKind; readonly atMs: number } | undefined;
  /** Milliseconds until the provider is asked again; 0 while it is being asked. */
  readonly nextLoadInMs: number;
}

export type ListEvent =
  | {
      readonly type: 'list-renewed';
      readonly list: HeldList;
      readonly previous: HeldList | undefined;
      readonly durationMs: number;
    }
  | {
      readonly type: 'list-load-failed';
      readonly error: LoadError;
      readonly state: Freshness;
      readonly durationMs: number;
    };

export interface BankListOptions {
  readonly load: Load;
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
  /** Loads the first list and keeps renewing it. */
  start(): void;
  /** Ends the renewals and the load under way. What is held can still be served. */
  stop(): void;
}

export const createBankList = (options: BankListOptions): BankList => {
  const { load, policy, clock, random, onEvent } = options;
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
  let failuresInARow = 0;
  let flight: Promise<void> | undefined;
  let nextLoadAtMs = 0;
  let cancelTimer = (): void => {};
  const stopping = new AbortController();

  const held = (): HeldList | undefined => cache.get('banks');
  const freshForMs = (): number => cache.getRemainingTTL('banks');
  const ageMs = (): number | undefined => (held() ? policy.ttlMs - freshForMs() : undefined);
  const state = (): Freshness => freshness(ageMs(), policy);

  const served = (): ServedList | undefined => {
    const list = held();
    return list && isServable(state()) ? { list, freshForMs: freshForMs() } : undefined;
  };

  /** One load at a time: whoever comes while one is under way shares it. Never rejects. */
  const renew = (): Promise<void> => {
    flight ??= loadOnce().finally(() => {
      flight = undefined;
      schedule();
    });
    return flight;
  };

  const loadOnce = async (): Promise<void> => {
    cancelTimer();
    const startedAtMs = clock.monotonicMs();
    const durationMs = (): number => clock.monotonicMs() - startedAtMs;
    try {
      const loaded = await bounded(load, options.loadTimeoutMs, clock, stopping.signal);
      const previous = held();
      guard(loaded, previous, options.guard);
      const receivedAtMs = clock.wallMs();
      const representations = await represent(loaded.banks, previous?.representations);
      const list = toHeld(loaded, representations, previous, receivedAtMs);
      cache.set('banks', list);
      failure = undefined;
      failuresInARow = 0;
      onEvent({ type: 'list-renewed', list, previous, durationMs: durationMs() });
    } catch (error) {
      failure = LoadError.from(error);
      lastFailure = { kind: failure.kind, atMs: clock.wallMs() };
      failuresInARow += 1;
      onEvent({ type: 'list-load-failed', error: failure, state: state(), durationMs: durationMs() });
    }
  };

  const schedule = (): void => {
    const delayMs = failure
      ? retryDelayMs(failuresInARow, failure.retryAfterMs, policy.ttlMs, random())
      : renewalDelayMs(freshForMs(), policy.ttlMs, random());
    nextLoadAtMs = clock.monotonicMs() + delayMs;
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
    status: () => ({
      state: state(),
      held: held(),
      ageMs: ageMs(),
      failure,
      lastFailure,
      nextLoadInMs: flight ? 0 : Math.max(0, nextLoadAtMs - clock.monotonicMs()),
    }),
    start: () => void renew(),
    stop: () => {
      cancelTimer();
      stopping.abort(new LoadError('unreachable', 'the service is stopping'));
    },
  };
};

const toHeld = (
  loaded: LoadedList,
  representations: Representations,
  previous: HeldList | undefined,
  nowMs: number,
): HeldList => ({
  representations,
  count: loaded.banks.length,
  heldBack: loaded.heldBack,
  upstreamFields: loaded.upstreamFields,
  receivedAtMs: nowMs,
  changedAtMs: representations === previous?.representations ? previous.changedAtMs : nowMs,
});

/** Runs `load` and gives up on it after `limitMs` or when `stop` aborts, also when it ignores its signal. */
const bounded = (load: Load, limitMs: number, clock: Clock, stop: AbortSignal): Promise<LoadedList> => {
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
    void load(controller.signal)
      .then(resolve, reject)
      .finally(() => {
        cancel();
        stop.removeEventListener('abort', onStop);
      });
  });
};
