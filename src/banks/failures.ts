import { monotonic, type Clock, type MonotonicMs, type WallMs } from '../clock.ts';
import type { LoadError } from './load-error.ts';

/** The loads that failed since the last success. */
export interface LoadFailures {
  /** The newest failure; undefined once a success has followed it. */
  readonly failure: LoadError | undefined;
  /** Undefined when the last load succeeded. */
  readonly failing: FailingLoads | undefined;
  /** The newest failure, whether or not a success has followed. */
  readonly lastFailure:
    (Pick<LoadError, 'kind' | 'reasonCode'> & { readonly atMs: WallMs }) | undefined;
}

/** Loads that failed one after the other, without a success in between: a new object for each. */
export interface FailingLoads {
  /** When the first one failed. */
  readonly sinceMs: MonotonicMs;
  /** The failed loads so far, at least 1; those of other replicas included. */
  readonly attempts: number;
}

export const createFailureRecord = (clock: Pick<Clock, 'wallMs' | 'monotonicMs'>) => {
  let current: LoadFailures = { failure: undefined, failing: undefined, lastFailure: undefined };
  /**
   * The last failures that this replica has read in the shared store, or writes there. Two: the
   * store may still have the one before.
   */
  let seenIds: readonly string[] = [];
  const set = (failure: LoadError, failing: FailingLoads): void => {
    const { kind, reasonCode } = failure;
    current = { failure, failing, lastFailure: { kind, reasonCode, atMs: clock.wallMs() } };
  };
  return {
    /** A load of this replica failed. */
    add: (failure: LoadError): void => {
      const { sinceMs = clock.monotonicMs(), attempts = 0 } = current.failing ?? {};
      set(failure, { sinceMs, attempts: attempts + 1 });
    },
    /** Another replica's load failed, the last one of `attempts`. */
    addShared: (failure: LoadError, attempts: number, failingSinceMs: MonotonicMs): void => {
      // A store that comes back may have an earlier one.
      const sinceMs = monotonic(Math.min(failingSinceMs, current.failing?.sinceMs ?? Infinity));
      set(failure, { sinceMs, attempts });
    },
    /** A load succeeded. */
    clear: (): void => {
      current = { ...current, failure: undefined, failing: undefined };
    },
    current: (): LoadFailures => current,
    /** This replica has read the failure with this id in the shared store, or writes it there. */
    noteSeen: (id: string): void => void (seenIds = [id, ...seenIds.slice(0, 1)]),
    hasSeen: (id: string): boolean => seenIds.includes(id),
  };
};
