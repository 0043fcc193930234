import { monotonic, type Clock, type MonotonicMs } from '../../clock.ts';
import type { ListKeeper } from '../list-keeper.ts';
import type { LoadError } from '../load-error.ts';
import { causeOf, type SharedFailure } from './fleet.ts';
import { longerWait, waitFor, type ProviderWait } from './provider-wait.ts';
import { boundedRetryAfterMs } from './schedule.ts';

// Until when the provider's `Retry-After` forbids a load, whichever replica received it.

export interface RetryAfterOptions {
  /** Longest time for one load. */
  readonly loadTimeoutMs: number;
  readonly ttlMs: number;
  readonly keeper: ListKeeper;
  readonly clock: Clock;
}

/** The wait that follows from all that were received. */
interface CurrentWait extends ProviderWait {
  /** The failure that the last one came with. */
  readonly cause: LoadError;
}

export type RetryAfter = ReturnType<typeof createRetryAfter>;

export const createRetryAfter = ({ loadTimeoutMs, ttlMs, keeper, clock }: RetryAfterOptions) => {
  const { cache } = keeper;
  let wait: CurrentWait | undefined;

  /**
   * Whether the cached list ends a `Retry-After`: it was certainly requested after that was
   * received.
   */
  const isEnded = (receivedAtMs: MonotonicMs): boolean =>
    (cache.get()?.loadedAtMs ?? -Infinity) - loadTimeoutMs > receivedAtMs;

  /** The wait, unless the cached list has ended it. */
  const lasting = (): CurrentWait | undefined =>
    wait && !isEnded(wait.receivedAtMs) ? wait : undefined;

  /** Milliseconds until the wait ends; 0 where there is none. */
  const leftMs = (): number => {
    const current = lasting();
    if (!current) return 0;
    const nowMs = clock.monotonicMs();
    // Not beyond the expiry of the list; but at least for a minute.
    const boundMs = Math.max(cache.expiresInMs(), current.untilWithoutListMs - nowMs);
    return Math.max(0, Math.min(current.untilMs - nowMs, boundMs));
  };

  /** Lengthens the wait, and never shortens it. */
  const lengthen = (
    received: ProviderWait | undefined,
    extraMs: number,
    cause: LoadError,
  ): void => {
    if (!received) return;
    const nowMs = clock.monotonicMs();
    // That of another replica may be longer than this one obeys.
    const leftOfItMs = boundedRetryAfterMs(received.untilMs - nowMs, ttlMs);
    const next: ProviderWait = {
      receivedAtMs: received.receivedAtMs,
      untilMs: monotonic(nowMs + leftOfItMs + extraMs),
      untilWithoutListMs: monotonic(received.untilWithoutListMs + extraMs),
    };
    wait = { ...longerWait(next, lasting()), cause };
  };

  return {
    isEnded,
    leftMs,
    /** For the other replicas, which may have a list to serve where this replica has none. */
    current: (): ProviderWait | undefined => {
      const current = lasting();
      return current && current.untilMs > clock.monotonicMs() ? current : undefined;
    },
    /** The failure that the wait follows from, also after a success; undefined without a wait. */
    cause: (): LoadError | undefined => (leftMs() > 0 ? wait?.cause : undefined),
    /**
     * A load of this replica has failed, perhaps with a `Retry-After`.
     * @param extraMs is added, so that the replicas do not make their next attempts at once
     */
    add: (failure: LoadError, extraMs: number): void =>
      lengthen(waitFor(failure.retryAfterMs, clock.monotonicMs(), ttlMs), extraMs, failure),
    /** The same of another replica. */
    addShared: (failure: SharedFailure, extraMs: number): void =>
      lengthen(failure.retryAfter, extraMs, causeOf(failure)),
    /** This replica has loaded a list: that ends what was received before the request for it. */
    endBefore: (requestedAtMs: MonotonicMs): void => {
      if (wait && wait.receivedAtMs < requestedAtMs) wait = undefined;
    },
  };
};
