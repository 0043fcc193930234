import { once } from 'node:events';
import { toWall, type Clock, type WallMs } from '../clock.ts';
import { withDeadline } from '../deadline.ts';
import type { CachedList, ServedList } from './cached-list.ts';
import type { LoadFailures } from './failures.ts';
import type { Freshness } from './freshness.ts';
import type { Overridable } from './guard/guard.ts';
import type { ListKeeper } from './list-keeper.ts';
import { LoadError, STOPPING } from './load-error.ts';
import type { createRenewal } from './loading/renewal.ts';
import { wasStored } from './order.ts';

// The list that the service serves, for those who use it: what is cached (list-keeper.ts), and when
// it is renewed (loading/renewal.ts). Once there is one, nobody waits for the provider.

export interface ListStatus extends Omit<LoadFailures, 'failing'> {
  /** Undefined when the last load succeeded. */
  readonly failing: ShownFailures | undefined;
  readonly state: Freshness;
  readonly cached: CachedList | undefined;
  readonly ageMs: number | undefined;
  /**
   * Whether the other replicas have the cached list too, or will have as soon as they look;
   * undefined: there are none.
   */
  readonly isShared: boolean | undefined;
  /** Whether this replica is loading. */
  readonly isLoading: boolean;
  /** Milliseconds until the next load; 0 while it is under way, here or in another replica. */
  readonly nextLoadInMs: number;
}

/** The loads that failed one after the other, for people. */
export interface ShownFailures {
  /** When the first one failed, by the wall clock as it is now. */
  readonly sinceMs: WallMs;
  readonly attempts: number;
}

export interface BankListOptions {
  readonly keeper: ListKeeper;
  readonly renewal: ReturnType<typeof createRenewal>;
  /** Whether there is a store that other replicas use. */
  readonly hasReplicas: boolean;
  /** Longest time for a request's wait. */
  readonly loadTimeoutMs: number;
  readonly clock: Clock;
}

export type BankList = ReturnType<typeof createBankList>;

export const createBankList = (options: BankListOptions) => {
  const { keeper, renewal, hasReplicas, loadTimeoutMs, clock } = options;
  const { cache, failures, changes } = keeper;

  const untilServed = async (signal: AbortSignal): Promise<ServedList> => {
    for (;;) {
      const served = cache.served();
      if (served) return served;
      if (renewal.isStopped()) throw STOPPING;
      const failure = renewal.backOffCause();
      if (failure && !renewal.isLoading()) throw failure;
      renewal.wake();
      // oxlint-disable-next-line no-await-in-loop -- until there is a list or a failure
      await once(changes, 'change', { signal });
    }
  };

  return {
    /** The list, if one may be served now. Never waits, never causes a load. */
    served: cache.served,
    /**
     * The list as soon as there is one: shares the load under way, or starts it.
     * @param signal ends the wait, and the load goes on
     * @throws {LoadError} the load's failure, at once while retries are backing off; `timeout`
     *   after `loadTimeoutMs`
     */
    waitUntilServed: (signal?: AbortSignal): Promise<ServedList> =>
      withDeadline(untilServed, {
        limitMs: loadTimeoutMs,
        clock,
        ...(signal && { signal }),
        timeoutError: () =>
          renewal.backOffCause() ??
          new LoadError('timeout', `no complete response within ${loadTimeoutMs} ms`),
      }),
    status: (): ListStatus => {
      const cached = cache.get();
      const { failing, ...failed } = failures.current();
      return {
        ...failed,
        failing: failing && {
          sinceMs: toWall(failing.sinceMs, clock),
          attempts: failing.attempts,
        },
        state: cache.state(),
        cached,
        ageMs: cache.ageMs(),
        isShared: hasReplicas ? cached !== undefined && wasStored(cached) : undefined,
        isLoading: renewal.isLoading(),
        nextLoadInMs: renewal.nextLoadInMs(),
      };
    },
    /** Milliseconds after which a request that got no list can be repeated. */
    retryInMs: renewal.dueInMs,
    /**
     * Loads the whole list now, whatever the back-off says, after a load that is under way.
     * @param overrides the reasons for which the guard does not refuse this one list
     * @param requestId of the operator's request, for the log
     * @returns the failure; undefined if the list of this request, or of a later one, is cached
     */
    refresh: (
      overrides: readonly Overridable[] = [],
      requestId = '',
    ): Promise<LoadError | undefined> => renewal.refresh({ overrides, requestId }),
  };
};
