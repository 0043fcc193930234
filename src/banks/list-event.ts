import type { Taken } from './admission.ts';
import type { Freshness } from './freshness.ts';
import type { LoadError } from './load-error.ts';

// What happens to the list, for the log, the metrics and the stores.

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
  | (Taken & { readonly type: 'list-restored'; readonly state: Freshness });
