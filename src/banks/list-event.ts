import type { HeldList } from './cached-list.ts';
import type { Freshness } from './freshness.ts';
import type { LoadError } from './load-error.ts';

// What happens to the list, for the log, the metrics and the stores.

/** The list that is held now, and the one before it. */
interface Taken {
  readonly list: HeldList;
  readonly previous: HeldList | undefined;
}

export type ListEvent =
  | (Taken & {
      readonly type: 'list-renewed';
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
  /** Its place in the shared store is another one: mostly, the store has taken it. */
  | { readonly type: 'list-placed'; readonly list: HeldList }
  /** It came from a store. */
  | (Taken & { readonly type: 'list-restored'; readonly state: Freshness });
