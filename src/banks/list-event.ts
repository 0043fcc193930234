import type { Freshness } from './freshness.ts';
import type { Overridable } from './guard.ts';
import type { LoadError } from './load-error.ts';
import type { CachedList } from './cached-list.ts';
import type { ListChange } from './list-change.ts';
import type { LoadedList } from './reading/list-reader.ts';

// What happens to the list, for the log, the metrics and the history.

export type ListEvent =
  /** Another list is cached, or the same content came again. */
  | {
      readonly type: 'list-taken';
      readonly list: CachedList;
      readonly previous: CachedList | undefined;
      readonly source: ListSource;
      readonly state: Freshness;
      /** What is different; undefined for the first list and for the same one. */
      readonly change?: ListChange | undefined;
      /** Set if this replica loaded the list itself. */
      readonly load?: ListLoad | undefined;
    }
  | {
      readonly type: 'load-failed';
      readonly error: LoadError;
      readonly state: Freshness;
      readonly durationMs: number;
    }
  /** A load of another replica failed, for all of them. */
  | { readonly type: 'load-failed-elsewhere'; readonly error: LoadError; readonly state: Freshness }
  /** The list has become stale, or too old to be served. */
  | { readonly type: 'list-aged'; readonly state: Freshness };

export type ListSource = 'provider' | 'redis' | 'snapshot';

export interface ListLoad extends Pick<LoadedList, 'publishableFields'> {
  readonly durationMs: number;
  /** Only where the guard would have refused the list and an operator has accepted it. */
  readonly accepted:
    | {
        readonly reasons: readonly Overridable[];
        /** Of the operator's request. */
        readonly requestId: string;
      }
    | undefined;
}
