import type { Overridable } from './guard.ts';
import { STOPPING, type LoadError } from './load-error.ts';

// The loads that operators have asked for with POST /refresh, in the order in which they asked.

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

export interface RefreshRequest {
  /** The reasons for which the guard does not refuse this one list. */
  readonly overrides: readonly Overridable[];
  /** For the log. */
  readonly requestId: string;
  readonly result: Promise<RefreshResult>;
  readonly resolve: (result: RefreshResult) => void;
}

/** @param onAdded called when there is one more load to make */
export const createRefreshQueue = (onAdded: () => void) => {
  const waiting: RefreshRequest[] = [];
  return {
    isEmpty: (): boolean => waiting.length === 0,
    /** Takes the first one out. */
    next: (): RefreshRequest | undefined => waiting.shift(),
    /** Makes it the first one again. */
    putBack: (request: RefreshRequest): void => void waiting.unshift(request),
    /** Operators who wait for the same overrides share one load. */
    add: (overrides: readonly Overridable[], requestId: string): Promise<RefreshResult> => {
      const same = waiting.find((other) => other.overrides.join() === overrides.join());
      if (same) return same.result;
      let resolve = (_result: RefreshResult): void => {};
      const result = new Promise<RefreshResult>((settle) => (resolve = settle));
      waiting.push({ overrides, requestId, result, resolve });
      onAdded();
      return result;
    },
    /** Ends all waits, because the service stops. */
    endAll: (): void => {
      for (const { resolve } of waiting.splice(0)) resolve({ outcome: 'failed', error: STOPPING });
    },
  };
};

/** An acceptance is of one list; otherwise any list that was asked for later will do. */
export const laterListCached = (request: RefreshRequest | undefined): RefreshResult =>
  request && request.overrides.length > 0
    ? { outcome: 'overtaken' }
    : { outcome: 'ok', isShared: true };
