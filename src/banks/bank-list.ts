import { EventEmitter, once } from 'node:events';
import type { Clock } from '../clock.ts';
import { withDeadline } from '../deadline.ts';
import { createAdmission } from './admission.ts';
import { createCachedList, type HeldList, type SavedList, type ServedList } from './cached-list.ts';
import type { Freshness, FreshnessPolicy } from './freshness.ts';
import type { Acceptance, GuardPolicy } from './guard/guard.ts';
import { ageOf, believable, verdictOf } from './guard/replacement.ts';
import type { ListEvent } from './list-event.ts';
import { LoadError } from './load-error.ts';
import { createFailureRecord, createLoad, type Load, type LoadFailures } from './loading/load.ts';
import { createLoading, STOPPING, type TakeTurn } from './loading/loading.ts';
import { renewalDelayMs, retryDelayMs } from './loading/schedule.ts';
import type { Compressors } from './representation.ts';

// The list that the service serves, put together from what is cached (cached-list.ts), when it is loaded (loading/) and
// what may replace it (admission.ts). A failed load never replaces it, and once there is one, nobody waits for the provider.

export interface ListStatus extends LoadFailures {
  readonly state: Freshness;
  readonly held: HeldList | undefined;
  readonly ageMs: number | undefined;
  /** Milliseconds until the provider is asked again; 0 while it is being asked. */
  readonly nextLoadInMs: number;
}

export interface BankListOptions {
  readonly load: Load;
  /** Longest time for one load, and for a request's wait. */
  readonly loadTimeoutMs: number;
  readonly takeTurn: TakeTurn;
  readonly policy: FreshnessPolicy;
  readonly guard: GuardPolicy;
  readonly clock: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  /** Node's own unless given. */
  readonly compressors?: Compressors | undefined;
  readonly onEvent: (event: ListEvent) => void;
}

export type BankList = ReturnType<typeof createBankList>;

export const createBankList = (options: BankListOptions) => {
  const { load, loadTimeoutMs, takeTurn, policy, guard, clock, random, compressors, onEvent } = options;
  const cached = createCachedList(policy, clock);
  const failures = createFailureRecord(clock);
  /** Tells those who wait for a list that there may be one, or that nobody is loading it any more. */
  const news = new EventEmitter().setMaxListeners(Infinity);
  const onTaken = (): void => void news.emit('news');
  const admit = createAdmission({ cached, guard, policy, clock, compressors, onTaken });

  const loading = createLoading({
    load: createLoad({ ask: load, loadTimeoutMs, cached, admit, failures, clock, onEvent }),
    takeTurn,
    loadTimeoutMs,
    clock,
    isDue: () =>
      failures.current().failure !== undefined || renewalDelayMs(cached.freshForMs(), policy.ttlMs, 1) === 0,
    hasList: () => cached.served() !== undefined,
    nextDelayMs: () => {
      const { failure, failing } = failures.current();
      const usableForMs = cached.served() ? cached.freshForMs() + policy.maxStaleMs : 0;
      return failure
        ? retryDelayMs(failing?.attempts ?? 1, failure.retryAfterMs, policy.ttlMs, usableForMs, random())
        : renewalDelayMs(cached.freshForMs(), policy.ttlMs, random());
    },
    onRest: () => news.emit('news'),
  });
  const isStopped = (): boolean => loading.state() === 'stopped';

  const untilServed = async (signal: AbortSignal): Promise<ServedList> => {
    for (;;) {
      const served = cached.served();
      if (served) return served;
      if (isStopped()) throw STOPPING;
      const isUnderWay = loading.state() === 'waiting' || loading.state() === 'loading';
      const { failure } = failures.current();
      if (!isUnderWay && failure) throw failure;
      loading.on('wanted');
      // oxlint-disable-next-line no-await-in-loop -- until there is a list or a failure
      await once(news, 'news', { signal });
    }
  };

  return {
    /** The list, if one may be served now. Never waits, never causes a load. */
    served: cached.served,
    /**
     * The list as soon as there is one: shares the load under way, or starts it.
     * @param signal ends the wait, and the load goes on
     * @throws {LoadError} the load's failure, at once while retries are backing off; `timeout` after `loadTimeoutMs`
     */
    arrival: (signal?: AbortSignal): Promise<ServedList> =>
      withDeadline(untilServed, {
        limitMs: loadTimeoutMs,
        clock,
        ...(signal && { signal }),
        timeoutError: () =>
          failures.current().failure ??
          new LoadError('timeout', `no complete answer within ${loadTimeoutMs} ms`),
      }),
    status: (): ListStatus => ({
      ...failures.current(),
      state: cached.state(),
      held: cached.get(),
      ageMs: cached.ageMs(),
      nextLoadInMs: loading.nextLoadInMs(),
    }),
    /**
     * Takes a list from a store, unless the cached one is as young. One that the guard would refuse is taken where an operator
     * accepted it after the cached one.
     * @param reportedAgeMs the age that the store reports; undefined: only clocks can tell
     * @returns whether it was taken
     * @throws {LoadError} when the guard refuses it
     */
    restore: async (saved: SavedList, reportedAgeMs: number | undefined): Promise<boolean> => {
      const believed = believable(saved, clock.wallMs());
      // Read before a long list is encoded, which takes its time.
      const nowMs = clock.monotonicMs();
      const ageMs = ageOf(believed, reportedAgeMs, clock.wallMs(), policy.ttlMs);
      const sent = { sentAtMs: nowMs - Math.max(0, reportedAgeMs ?? ageMs), countedFromMs: nowMs - ageMs };
      const candidate = { ...believed, ...sent };
      const taken = await admit(candidate, (current) =>
        isStopped() ? 'overtaken' : verdictOf(current, candidate),
      );
      if (!taken) return false;
      const state = cached.state();
      if (state === 'fresh') failures.clear();
      onEvent({ type: 'list-restored', ...taken, state });
      // A list that ends no failure must not put off the next attempt.
      if (!failures.current().failure) loading.on('replaced');
      return true;
    },
    /**
     * Loads the whole list now, whatever the back-off says, after a load that is under way.
     * @param accept the reasons for which the guard does not refuse this one list
     * @param requestId of the operator's request, for the log
     * @returns the failure; undefined if the list was renewed, or another replica's list overtook the answer
     */
    refresh: (accept: readonly Acceptance[] = [], requestId?: string): Promise<LoadError | undefined> =>
      loading.refresh(accept, requestId),
    /** Loads the first list, unless a fresh one was restored, and keeps renewing it. */
    start: (): void => loading.on('start'),
    /** Ends the renewals and the load under way. The cached list can still be served. */
    stop: (): void => loading.on('stop'),
  };
};
