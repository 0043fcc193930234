import type { ListStatus } from '../../banks/bank-list.ts';
import type { FreshnessPolicy } from '../../banks/freshness.ts';
import type { SecretFileState } from '../../secrets/secrets.ts';
import type { StoreState } from '../../telemetry/events.ts';
import type { DrainTimes } from '../drain-times.ts';

// What the page's texts are made of, and what they say of each thing that is wrong.

export interface Problem {
  readonly summary: string;
  /** Since when, and how often. */
  readonly history?: string | undefined;
  /** In the words of the log. */
  readonly details?: string;
}

/** What the page is made of. Times are in wall-clock milliseconds. */
export interface Situation {
  readonly status: ListStatus;
  readonly stores: readonly StoreState[];
  readonly secretFiles: readonly SecretFileState[];
  readonly policy: FreshnessPolicy;
  /** Undefined unless the service is shutting down. */
  readonly drain: DrainTimes | undefined;
  readonly nowMs: number;
}
