import { randomUUID } from 'node:crypto';
import { isLoadErrorKind } from '../banks/load-error.ts';
import type { Lease, SharedFailure } from '../banks/loading/fleet.ts';
import { LONGEST_RETRY_MS, retryAfterWithoutListMs } from '../banks/loading/schedule.ts';
import { monotonic, type MonotonicMs, type StoreMs } from '../clock.ts';
import { isJsonObject, parseJson } from '../json.ts';
import { StoreError } from './store-report.ts';
import { isId, isWholeUpTo, MAX_TIME_MS, toSavedTime, type Moment } from './saved-values.ts';
import type { Signing } from './signing.ts';

// The lease as it is in Redis: a line of JSON, signed where there is a key. Its times are those of
// the store's clock.

/** A moment by the clock of Redis. */
export interface StoreMoment extends Moment {
  readonly storeMs: StoreMs;
}

export interface LeaseWithOwner extends Lease {
  /** The replica that has it. */
  readonly owner: string;
}

/** A new lease of this replica, or one of another replica with a new failure. */
export type LeaseToWrite = Omit<Lease, 'id' | 'isOwn'> &
  Partial<Pick<LeaseWithOwner, 'id' | 'owner'>>;

/**
 * How long a failure is still found after the end of its lease. After that it is in the lease of
 * the next attempt.
 */
const FAILURE_FOUND_MS = 10_000;

/** Nobody has the lease. */
export const ENDED: LeaseToWrite = { heldUntilMs: monotonic(-Infinity), isLoading: false };

export interface LeaseFormatOptions {
  /** Identifies this replica. */
  readonly ownId: string;
  readonly signing: Signing;
  /** In milliseconds; a longer lease is ignored. */
  readonly longestLeaseMs: number;
}

export const createLeaseFormat = ({ ownId, signing, longestLeaseMs }: LeaseFormatOptions) => {
  /**
   * Undefined if nobody has the lease, or the bytes are not a lease. One that has ended counts as
   * none; but with a failure it is returned for {@link FAILURE_FOUND_MS} more, and until its
   * `Retry-After` ends, so that a replica that looks only now still finds the failure.
   */
  const read = async (
    bytes: Buffer | undefined,
    moment: StoreMoment,
  ): Promise<LeaseWithOwner | undefined> => {
    if (!bytes) return undefined;
    const { storeMs, nowMs } = moment;
    const signed = await signing.verify('lease', bytes).catch((error: unknown) => {
      if (error instanceof StoreError) return undefined;
      throw error;
    });
    const saved = signed && toLease(parseJson(signed.toString()));
    if (!saved) return undefined;
    const { id, owner, heldUntilMs, failure } = saved;
    const shared = failure && toShared(failure, moment);
    const savedForMs = heldUntilMs - storeMs;
    // The clock of the store may have been set back since.
    const retryAfterLeftMs = shared?.retryAfter ? shared.retryAfter.untilMs - nowMs : 0;
    const longestWaitMs = Math.max(LONGEST_RETRY_MS, retryAfterLeftMs);
    const heldForMs = saved.isLoading ? savedForMs : Math.min(savedForMs, longestWaitMs);
    const foundUntilMs = failure
      ? Math.max(heldUntilMs + FAILURE_FOUND_MS, failure.retryAfterUntilMs)
      : heldUntilMs;
    if (foundUntilMs <= storeMs || savedForMs > longestLeaseMs) return undefined;
    return {
      id,
      owner,
      isOwn: owner === ownId,
      isLoading: saved.isLoading && heldForMs > 0,
      heldUntilMs: monotonic(nowMs + heldForMs),
      failure: shared,
    };
  };
  return {
    read,
    /** @param moment the present one */
    write: async (
      { id = randomUUID(), owner = ownId, heldUntilMs, isLoading, failure }: LeaseToWrite,
      moment: StoreMoment,
    ): Promise<Buffer> => {
      const saved: SavedLease = {
        id,
        owner,
        heldUntilMs: toStoreTime(heldUntilMs, moment),
        isLoading,
        failure: failure && toSaved(failure, moment),
      };
      return signing.sign('lease', Buffer.from(`${JSON.stringify(saved)}\n`));
    },
  };
};

interface SavedLease {
  readonly id: string;
  readonly owner: string;
  /** Milliseconds since 1970 by the store's clock. */
  readonly heldUntilMs: number;
  readonly isLoading: boolean;
  readonly failure?: SavedFailure | undefined;
}

/** Its times too are milliseconds since 1970 by the store's clock. */
interface SavedFailure extends Pick<SharedFailure, 'id' | 'kind' | 'attempts' | 'listId'> {
  /** When the first load failed. */
  readonly failingSinceMs: number;
  /** When the provider's `Retry-After` ends; 0: there is none. */
  readonly retryAfterUntilMs: number;
  /** When it ends for a replica without a list; 0: it has. */
  readonly retryAfterMinimumUntilMs: number;
  /** When it was received. */
  readonly retryAfterReceivedAtMs: number;
}

const toShared = (
  {
    failingSinceMs,
    retryAfterUntilMs,
    retryAfterMinimumUntilMs,
    retryAfterReceivedAtMs,
    ...failure
  }: SavedFailure,
  moment: StoreMoment,
): SharedFailure => {
  const { storeMs, nowMs } = moment;
  // No more than the whole: the clock of the store may have been set back since.
  const leftMs = retryAfterUntilMs - Math.max(storeMs, retryAfterReceivedAtMs);
  const minimumLeftMs = retryAfterWithoutListMs(Math.max(0, retryAfterMinimumUntilMs - storeMs));
  return {
    ...failure,
    failingSinceMs: fromStoreTime(failingSinceMs, moment),
    retryAfter:
      leftMs > 0
        ? {
            receivedAtMs: fromStoreTime(retryAfterReceivedAtMs, moment),
            untilMs: monotonic(nowMs + leftMs),
            untilWithoutListMs: monotonic(nowMs + minimumLeftMs),
          }
        : undefined,
  };
};

const toSaved = (
  { failingSinceMs, retryAfter, ...failure }: SharedFailure,
  moment: StoreMoment,
): SavedFailure => ({
  ...failure,
  failingSinceMs: toStoreTime(failingSinceMs, moment),
  retryAfterUntilMs: toEnd(retryAfter?.untilMs, moment),
  retryAfterMinimumUntilMs: toEnd(retryAfter?.untilWithoutListMs, moment),
  retryAfterReceivedAtMs: toStoreTime(retryAfter?.receivedAtMs ?? moment.nowMs, moment),
});

/** When a wait ends; 0: there is none, or it has ended. */
const toEnd = (untilMs: MonotonicMs | undefined, moment: StoreMoment): number =>
  untilMs !== undefined && untilMs > moment.nowMs ? toStoreTime(untilMs, moment) : 0;

const toStoreTime = (atMs: MonotonicMs, { storeMs, nowMs }: StoreMoment): number =>
  toSavedTime(storeMs + (atMs - nowMs));

/** One that is in the future counts as the present one. */
const fromStoreTime = (savedMs: number, { storeMs, nowMs }: StoreMoment): MonotonicMs =>
  monotonic(nowMs - Math.max(0, storeMs - savedMs));

const toLease = (value: unknown): SavedLease | undefined => {
  if (!isJsonObject(value)) return undefined;
  const { id, owner, heldUntilMs, isLoading, failure } = value;
  const isLease =
    isId(id) &&
    isId(owner) &&
    isWholeUpTo(MAX_TIME_MS, heldUntilMs) &&
    typeof isLoading === 'boolean';
  if (!isLease) return undefined;
  return { id, owner, heldUntilMs, isLoading, failure: toFailure(failure) };
};

const toFailure = (value: unknown): SavedFailure | undefined => {
  if (!isJsonObject(value)) return undefined;
  const { id, kind, attempts, failingSinceMs, listId, ...retryAfter } = value;
  const { retryAfterUntilMs, retryAfterMinimumUntilMs, retryAfterReceivedAtMs } = retryAfter;
  const isFailure =
    isId(id) &&
    isLoadErrorKind(kind) &&
    isWholeUpTo(1e9, attempts) &&
    isWholeUpTo(MAX_TIME_MS, failingSinceMs) &&
    isId(listId) &&
    isWholeUpTo(MAX_TIME_MS, retryAfterUntilMs) &&
    isWholeUpTo(MAX_TIME_MS, retryAfterMinimumUntilMs) &&
    isWholeUpTo(MAX_TIME_MS, retryAfterReceivedAtMs);
  if (!isFailure) return undefined;
  return {
    id,
    kind,
    attempts,
    failingSinceMs,
    listId,
    retryAfterUntilMs,
    retryAfterMinimumUntilMs,
    retryAfterReceivedAtMs,
  };
};
