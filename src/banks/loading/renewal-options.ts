import type { Clock } from '../../clock.ts';
import type { ListEvent } from '../list-event.ts';
import type { ListKeeper } from '../list-keeper.ts';
import type { LoadedList } from '../reading/list-reader.ts';
import type { Fleet } from './fleet.ts';
import type { RetryAfter } from './retry-after.ts';

/**
 * All that the list knows of the provider: requests a list. Rejects with a `LoadError`; must give
 * up when `signal` aborts.
 */
export type Load = (signal: AbortSignal) => Promise<ReadResponse>;

/** Checks a response and reads the list in it. Rejects with a `LoadError` if there is none. */
export type ReadResponse = (signal: AbortSignal) => Promise<LoadedList>;

/** What the renewal is made from, and each of its parts in this folder. */
export interface RenewalOptions {
  readonly load: Load;
  /**
   * Longest time for one `load`, in milliseconds; one that has not settled by then is given up,
   * whether it obeys its signal or not. To read the response takes the time of this process.
   */
  readonly loadTimeoutMs: number;
  readonly ttlMs: number;
  readonly keeper: ListKeeper;
  readonly fleet: Fleet;
  readonly retryAfter: RetryAfter;
  readonly clock: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  readonly onEvent: (event: ListEvent) => void;
}
