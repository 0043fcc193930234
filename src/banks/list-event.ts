import type { HeldList } from './cached-list.ts';
import type { Freshness } from './freshness.ts';
import type { LoadError } from './load-error.ts';

// What happens to the list, for the log, the metrics and the stores.

export type ListEvent =
  | {
      readonly type: 'list-renewed';
      readonly list: HeldList;
      readonly previous: HeldList | undefined;
      /** Whether the same bytes came again. */
      readonly outcome: 'changed' | 'unchanged';
      readonly durationMs: number;
    }
  | {
      readonly type: 'list-load-failed';
      readonly error: LoadError;
      readonly state: Freshness;
      readonly durationMs: number;
    }
  | {
      readonly type: 'list-restored';
      readonly list: HeldList;
      readonly previous: HeldList | undefined;
      readonly state: Freshness;
    };
