import type { Overridable } from './guard.ts';
import { STOPPING, type LoadError } from './load-error.ts';

// The operators who wait for a load that they asked for, in the order in which they asked.

/** What became of an operator's load. */
export type RefreshResult =
  /**
   * The list of this load is cached, or one that was asked for later. `isShared`: whether Redis has
   * it; undefined without Redis.
   */
  | { readonly outcome: 'ok'; readonly isShared: boolean | undefined }
  /** A list that was asked for later is cached, so the one to be accepted was not. */
  | { readonly outcome: 'overtaken' }
  | { readonly outcome: 'failed'; readonly error: LoadError };

export interface Operator {
  /** The reasons for which the guard does not refuse this one list. */
  readonly overrides: readonly Overridable[];
  /** Of the operator's request, for the log. */
  readonly requestId: string;
  readonly result: Promise<RefreshResult>;
  readonly resolve: (result: RefreshResult) => void;
}

/** @param onAsked called when there is one more load to make */
export const createOperators = (onAsked: () => void) => {
  const waiting: Operator[] = [];
  return {
    isWaiting: (): boolean => waiting.length > 0,
    /** The one whose turn it is, who waits here no longer. */
    next: (): Operator | undefined => waiting.shift(),
    /** Makes it this operator's turn again. */
    putBack: (operator: Operator): void => void waiting.unshift(operator),
    /** Operators who wait for the same overrides share one load. */
    ask: (overrides: readonly Overridable[], requestId: string): Promise<RefreshResult> => {
      const same = waiting.find((other) => other.overrides.join() === overrides.join());
      if (same) return same.result;
      let resolve = (_result: RefreshResult): void => {};
      const result = new Promise<RefreshResult>((settle) => (resolve = settle));
      waiting.push({ overrides, requestId, result, resolve });
      onAsked();
      return result;
    },
    /** Ends all waits, because the service stops. */
    endAll: (): void => {
      for (const { resolve } of waiting.splice(0)) resolve({ outcome: 'failed', error: STOPPING });
    },
  };
};

/** An acceptance is of one list; otherwise any list that was asked for later will do. */
export const laterListCached = (operator: Operator | undefined): RefreshResult =>
  operator && operator.overrides.length > 0
    ? { outcome: 'overtaken' }
    : { outcome: 'ok', isShared: true };
