import { wall, type Clock, type MonotonicMs, type WallMs } from '../../clock.ts';
import type { LoadError } from '../load-error.ts';

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
  readonly sinceMs: WallMs;
  /** The failed loads so far, at least 1; those of other replicas included. */
  readonly attempts: number;
}

export const createFailureRecord = (clock: Pick<Clock, 'wallMs' | 'monotonicMs'>) => {
  let current: LoadFailures = { failure: undefined, failing: undefined, lastFailure: undefined };
  /** The failure in the shared store that this replica has read or written last. */
  let lastSeenId: string | undefined;
  const set = (failure: LoadError, failing: FailingLoads, atMs: WallMs): void => {
    const { kind, reasonCode } = failure;
    current = { failure, failing, lastFailure: { kind, reasonCode, atMs } };
  };
  return {
    /** A load of this replica failed. */
    add: (failure: LoadError): void => {
      const atMs = clock.wallMs();
      const { sinceMs = atMs, attempts = 0 } = current.failing ?? {};
      set(failure, { sinceMs, attempts: attempts + 1 }, atMs);
    },
    /** Another replica's load failed, the last one of `attempts`. */
    addShared: (failure: LoadError, attempts: number, failingSinceMs: MonotonicMs): void => {
      const atMs = clock.wallMs();
      const failingForMs = clock.monotonicMs() - failingSinceMs;
      // A store that comes back may have an earlier one.
      const sinceMs = Math.min(atMs - failingForMs, current.failing?.sinceMs ?? atMs);
      set(failure, { sinceMs: wall(sinceMs), attempts }, atMs);
    },
    /** A load succeeded. */
    clear: (): void => {
      current = { ...current, failure: undefined, failing: undefined };
    },
    current: (): LoadFailures => current,
    /** This replica has read the failure with this id in the shared store, or writes it there. */
    noteSeen: (id: string): void => void (lastSeenId = id),
    hasSeen: (id: string): boolean => id === lastSeenId,
  };
};
