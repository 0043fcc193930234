import type { Clock } from '../clock.ts';
import { createCachedList, type HeldList, type SavedList, type ServedList } from './cached-list.ts';
import type { Freshness, FreshnessPolicy } from './freshness.ts';
import type { Acceptance, GuardPolicy } from './guard/guard.ts';
import type { ListEvent } from './list-event.ts';
import { LoadError } from './load-error.ts';
import { createFailureRecord, type LoadFailures } from './loading/failures.ts';
import { createLoading, type Turn, type WaitForTurn } from './loading/loading.ts';
import { createOneLoad, type Load } from './loading/one-load.ts';
import { renewalDelayMs, retryDelayMs } from './loading/schedule.ts';
import type { Compressors } from './representation.ts';
import { createRestore } from './restoring.ts';

// The list that the service serves, put together from what is cached (cached-list.ts), when it is loaded (loading/) and
// what may replace it (guard/). A failed load never replaces it, and once there is one, nobody waits for the provider.

/** See {@link WaitForTurn}; `list` is the one to be loaded. */
export type TakeTurn = (list: BankList, ...wanted: Parameters<WaitForTurn>) => Promise<Turn>;

export interface ListStatus extends LoadFailures {
  readonly state: Freshness;
  readonly held: HeldList | undefined;
  readonly ageMs: number | undefined;
  /** Milliseconds until the provider is asked again; 0 while it is being asked. */
  readonly nextLoadInMs: number;
}

export interface BankListOptions {
  readonly load: Load;
  /** Undefined: there are no other replicas. */
  readonly takeTurn: TakeTurn | undefined;
  readonly policy: FreshnessPolicy;
  readonly guard: GuardPolicy;
  /** Longest time for one load; a load that has not settled by then is given up, whether it obeys its signal or not. */
  readonly loadTimeoutMs: number;
  readonly clock: Clock;
  /** Node's own unless given. */
  readonly compressors?: Compressors | undefined;
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
  /** The state alone, without the full status. */
  state(): Freshness;
  /**
   * Takes a list from a store, `ageMs` after the provider sent it, unless the cached one is as young. One that the guard
   * would refuse is taken where an operator accepted it after the cached one.
   * @returns whether it was taken
   * @throws {LoadError} when the guard refuses it
   */
  restore(saved: SavedList, ageMs: number): Promise<boolean>;
  /**
   * Loads the whole list now, whatever the back-off says, after a load that is under way.
   * @param accept the reasons for which the guard does not refuse this one list
   * @returns the failure, or undefined if the list was renewed
   */
  refresh(accept?: readonly Acceptance[]): Promise<LoadError | undefined>;
  /** Loads the first list, unless a fresh one was restored, and keeps renewing it. */
  start(): void;
  /** Ends the renewals and the load under way. The cached list can still be served. */
  stop(): void;
}

export const createBankList = (options: BankListOptions): BankList => {
  const { takeTurn, policy, clock, random } = options;
  const cached = createCachedList(policy, clock);
  const failures = createFailureRecord(clock);
  const stopping = new AbortController();
  const restore = createRestore({ ...options, cached, failures });
  const loading = createLoading({
    load: createOneLoad({ ...options, cached, failures, stopping: stopping.signal }),
    waitForTurn: takeTurn && ((wanted) => takeTurn(list, wanted)),
    isDue: () =>
      failures.current().failure !== undefined || renewalDelayMs(cached.freshForMs(), policy.ttlMs, 1) === 0,
    hasList: () => cached.served() !== undefined,
    nextDelayMs: () => {
      const { failure, failing } = failures.current();
      return failure
        ? retryDelayMs(failing?.attempts ?? 1, failure.retryAfterMs, policy.ttlMs, random())
        : renewalDelayMs(cached.freshForMs(), policy.ttlMs, random());
    },
    loadTimeoutMs: options.loadTimeoutMs,
    clock,
  });
  let isStarted = false;

  const list: BankList = {
    served: () => cached.served(),
    arrival: async () => {
      if (loading.isUnderWay() || !failures.current().failure) await loading.renew();
      const served = cached.served();
      if (served) return served;
      throw failures.current().failure ?? new LoadError('internal', 'no list arrived');
    },
    state: () => cached.state(),
    status: () => ({
      ...failures.current(),
      state: cached.state(),
      held: cached.get(),
      ageMs: cached.ageMs(),
      nextLoadInMs: loading.nextLoadInMs(),
    }),
    restore: async (saved, ageMs) => {
      const isTaken = await restore(saved, ageMs);
      if (isTaken && isStarted) loading.schedule();
      return isTaken;
    },
    refresh: (accept = []) => loading.refresh(accept),
    start: () => {
      isStarted = true;
      if (cached.state() === 'fresh') loading.schedule();
      else void loading.renew();
    },
    stop: () => {
      loading.stop();
      stopping.abort(new LoadError('unreachable', 'the service is stopping'));
    },
  };
  return list;
};
