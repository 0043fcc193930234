import { randomUUID } from 'node:crypto';
import { monotonic, type Clock, type MonotonicMs } from '../../clock.ts';
import type { ListKeeper } from '../list-keeper.ts';
import { LoadError } from '../load-error.ts';
import type { FailingLoads } from './failures.ts';
import type { Fleet, NewFailure, SharedFailure } from './fleet.ts';
import type { NextLoad } from './next-load.ts';
import type { RetryAfter } from './retry-after.ts';
import { boundedRetryAfterMs } from './schedule.ts';

// What the other replicas need to know of a failed load: it is written for them, and again where the
// shared store has lost it.

export interface FailureSharingOptions {
  readonly ttlMs: number;
  readonly keeper: Pick<ListKeeper, 'failures'>;
  readonly fleet: Fleet;
  readonly retryAfter: RetryAfter;
  readonly nextLoad: Pick<NextLoad, 'dueInMs'>;
  readonly clock: Clock;
}

/** The failure of another replica, as one of this replica. */
export const causeOf = ({ kind }: SharedFailure): LoadError =>
  new LoadError(kind, 'the load of another replica failed');

export type FailureSharing = ReturnType<typeof createFailureSharing>;

export const createFailureSharing = (options: FailureSharingOptions) => {
  const { ttlMs, keeper, fleet, retryAfter, nextLoad, clock } = options;
  const { failures } = keeper;
  /** The newest failure of the provider that this replica knows, its own or another one's. */
  let known: KnownFailure | undefined;

  /** The `Retry-After` of another replica holds here too. */
  const obey = (
    { retryAfterMs, retryAfterAtMs: receivedAtMs }: SharedFailure,
    cause: LoadError,
    spreadMs: number,
  ): void => retryAfter.add({ retryAfterMs, receivedAtMs, spreadMs, cause });

  /** Writes the failure, with the time of the next attempt, for the others. */
  const write = async (
    written: KnownFailure,
    { attempts, sinceMs }: FailingLoads,
    isAgain: boolean,
  ): Promise<void> => {
    const { id, failure, atMs, isShared } = written;
    // The others may have to wait for longer than this replica, if it has no list.
    const waitMs = isShared ? 0 : boundedRetryAfterMs(failure.retryAfterMs ?? 0, ttlMs, Infinity);
    const leftMs = waitMs - (clock.monotonicMs() - atMs);
    // What the store has lost may be the Retry-After of an earlier failure.
    const leftHereMs = isAgain ? retryAfter.leftMs() : 0;
    const shared: NewFailure = {
      id,
      kind: failure.kind,
      attempts,
      failingSinceMs: monotonic(clock.monotonicMs() - Math.max(0, clock.wallMs() - sinceMs)),
      retryAfterMs: Math.round(Math.max(0, leftMs, leftHereMs)),
      // Who has no list waits for a minute since then, however often it is written.
      ...(isAgain && { retryAfterAtMs: retryAfter.receivedAtMs() ?? atMs }),
    };
    const dueInMs = Math.max(0, nextLoad.dueInMs() - fleet.handoverMs);
    const { isDone, replaced } = await fleet.shareFailure(shared, dueInMs);
    if (known === written) known = { ...written, isShared: isDone };
    if (replaced) obey(replaced, causeOf(replaced), fleet.handoverMs);
  };

  /** Writes the known failure, unless a success has followed it. */
  const writeKnown = async (isAgain: boolean): Promise<void> => {
    const { failing } = failures.current();
    if (known && failing) await write(known, failing, isAgain);
    else known = undefined;
  };

  return {
    obey,
    /** The failure of another replica takes the place of the known one, unless that must be written. */
    note: ({ id }: SharedFailure, failure: LoadError): void => {
      const mustBeWritten = known && !known.isShared && retryAfter.leftMs() > 0;
      if (!mustBeWritten) known = { id, failure, atMs: clock.monotonicMs(), isShared: true };
    },
    /**
     * Writes the failure of a load of this replica for the others. One that says nothing of the
     * provider leaves the next attempt to them, at once.
     */
    share: async (failure: LoadError): Promise<void> => {
      if (failure.isLocal) {
        known = undefined;
        await fleet.release();
        return;
      }
      // Where only the lists of other replicas came first, no load has failed.
      if (failure !== failures.current().failure) return;
      const id = randomUUID();
      failures.noteSeen(id);
      known = { id, failure, atMs: clock.monotonicMs(), isShared: false };
      await writeKnown(false);
    },
    /**
     * To be called after each look at the shared store. Writes the known failure where it came
     * while the store could not be used, or where the store has lost it since: also that of another
     * replica, which may be gone.
     */
    shareAgain: async (): Promise<void> => {
      const isThere = known?.isShared && fleet.lease() !== undefined;
      if (known && !isThere && nextLoad.dueInMs() > 0) await writeKnown(true);
    },
  };
};

/** A failure that counts for all replicas. */
interface KnownFailure {
  readonly id: string;
  readonly failure: LoadError;
  /** When this replica got to know it. */
  readonly atMs: MonotonicMs;
  /** Whether the others can read it, or need not. */
  readonly isShared: boolean;
}
