import { wall, type Clock, type WallMs } from '../../clock.ts';
import type { LoadError, LoadErrorKind } from '../load-error.ts';

/** The loads that failed since the last success. */
export interface LoadFailures {
  /** The failure that no success has followed yet. */
  readonly failure: LoadError | undefined;
  /** Undefined when the last load succeeded. */
  readonly failing: FailingLoads | undefined;
  /** The newest failure, whether or not a success has followed. */
  readonly lastFailure: { readonly kind: LoadErrorKind; readonly atMs: WallMs } | undefined;
}

/** Loads that failed one after the other, without a success in between. */
export interface FailingLoads {
  /** When the first one failed. */
  readonly sinceMs: WallMs;
  /** The failed loads so far, at least 1; those of other replicas included. */
  readonly attempts: number;
}

export const createFailureRecord = (clock: Pick<Clock, 'wallMs'>) => {
  let current: LoadFailures = { failure: undefined, failing: undefined, lastFailure: undefined };
  /** Of the last failure that this replica has found in the shared store, or written there. */
  let lastSeenId: string | undefined;
  let count = 0;
  return {
    /** A load of this replica failed. */
    add: (failure: LoadError): void => {
      const atMs = clock.wallMs();
      count += 1;
      const { sinceMs = atMs, attempts = 0 } = current.failing ?? {};
      current = {
        failure,
        failing: { sinceMs, attempts: attempts + 1 },
        lastFailure: { kind: failure.kind, atMs },
      };
    },
    /** This failure is in the shared store: another replica's was found, or this one's written. */
    noteSeen: (id: string): void => void (lastSeenId = id),
    /** Whether the failure in the shared store is not new to this replica. */
    hasSeen: (id: string): boolean => id === lastSeenId,
    /** Another replica's load failed, the last one of `attempts` in `failingForMs`. */
    addShared: (failure: LoadError, attempts: number, failingForMs: number): void => {
      count += 1;
      const atMs = clock.wallMs();
      current = {
        failure,
        failing: { sinceMs: wall(atMs - failingForMs), attempts },
        lastFailure: { kind: failure.kind, atMs },
      };
    },
    /** A load succeeded. */
    clear: (): void => {
      current = { ...current, failure: undefined, failing: undefined };
    },
    current: (): LoadFailures => current,
    /** How many failures there have been since the start; the number of the newest one. */
    count: (): number => count,
  };
};
