import type { Clock } from '../../clock.ts';
import type { LoadError, LoadErrorKind } from '../load-error.ts';

// The loads that failed since the last success.

export interface LoadFailures {
  /** The failure that no success has followed yet. */
  readonly failure: LoadError | undefined;
  /** Undefined when the last load succeeded. */
  readonly failing: FailingLoads | undefined;
  /** The newest failure, whether or not a success has followed. */
  readonly lastFailure: { readonly kind: LoadErrorKind; readonly atMs: number } | undefined;
}

/** Loads that failed one after the other, without a success in between. */
export interface FailingLoads {
  /** Wall-clock milliseconds of the first failure. */
  readonly sinceMs: number;
  /** The failed loads so far, at least 1. */
  readonly attempts: number;
}

export type FailureRecord = ReturnType<typeof createFailureRecord>;

export const createFailureRecord = (clock: Clock) => {
  let current: LoadFailures = { failure: undefined, failing: undefined, lastFailure: undefined };
  return {
    add: (failure: LoadError): void => {
      const atMs = clock.wallMs();
      const { sinceMs = atMs, attempts = 0 } = current.failing ?? {};
      current = {
        failure,
        failing: { sinceMs, attempts: attempts + 1 },
        lastFailure: { kind: failure.kind, atMs },
      };
    },
    /** A load succeeded. */
    clear: (): void => {
      current = { ...current, failure: undefined, failing: undefined };
    },
    current: (): LoadFailures => current,
  };
};
