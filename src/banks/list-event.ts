import type { CachedList } from './cached-list.ts';
import type { Freshness } from './freshness.ts';
import type { LoadError } from './load-error.ts';
import type { LoadedList } from './reading/list-reader.ts';

// What happens to the list, for the log, the metrics and the stores.

/** The cached list, and the one before it. */
interface Taken {
  readonly list: CachedList;
  readonly previous: CachedList | undefined;
}

export type ListEvent =
  | (Taken & {
      readonly type: 'list-renewed';
      /** What the response has besides. */
      readonly loaded: Pick<LoadedList, 'objectFields' | 'publishableFields'>;
      /** Whether the same bytes came again. */
      readonly outcome: 'changed' | 'unchanged';
      readonly durationMs: number;
    })
  | {
      readonly type: 'list-load-failed';
      readonly error: LoadError;
      readonly state: Freshness;
      readonly durationMs: number;
    }
  /** Another replica's load failed, for all replicas. */
  | {
      readonly type: 'list-load-failed-elsewhere';
      readonly error: LoadError;
      readonly state: Freshness;
    }
  /** Its place in the order of the shared store has changed. */
  | { readonly type: 'list-placed'; readonly list: CachedList }
  /** It came from a store. */
  | (Taken & { readonly type: 'list-restored'; readonly state: Freshness });
