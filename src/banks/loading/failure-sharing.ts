import { randomUUID } from 'node:crypto';
import type { LoadError } from '../load-error.ts';
import type { NewFailure, SharedFailure } from './fleet.ts';
import type { NextLoad } from './next-load.ts';
import { waitFor } from './provider-wait.ts';
import type { RenewalOptions } from './renewal-options.ts';

// What the other replicas need to know of a failed load: it is written for them, and again where
// the shared store has lost it.

export type FailureSharing = ReturnType<typeof createFailureSharing>;

export const createFailureSharing = (options: RenewalOptions, nextLoad: NextLoad) => {
  const { ttlMs, keeper, fleet, retryAfter, clock } = options;
  const { failures } = keeper;
  /**
   * The newest failure that counts for all replicas, of this one or of another one. Undefined once
   * a success has followed it.
   */
  let newestFailure: KnownFailure | undefined;

  /**
   * Writes the newest failure, with the time of the next attempt, unless a success has followed it.
   */
  const write = async (wait: Pick<NewFailure, 'retryAfter' | 'isNew'>): Promise<void> => {
    const { failing } = failures.current();
    if (!failing) newestFailure = undefined;
    if (!failing || !newestFailure) return;
    const written = newestFailure;
    const shared: NewFailure = {
      id: written.id,
      kind: written.kind,
      attempts: failing.attempts,
      failingSinceMs: failing.sinceMs,
      ...wait,
    };
    const dueInMs = Math.max(0, nextLoad.dueInMs() - fleet.handoverMs);
    const { isDone, replaced } = await fleet.shareFailure(shared, dueInMs);
    if (newestFailure === written) newestFailure = { ...written, mustBeWritten: !isDone };
    if (replaced) retryAfter.addShared(replaced, fleet.handoverMs);
  };

  return {
    /**
     * This replica has adopted a failure that is in the shared store. It is the newest one, unless
     * one of this replica with a `Retry-After` is still to be written.
     */
    noteAdopted: ({ id, kind }: SharedFailure): void => {
      if (newestFailure?.mustBeWritten && retryAfter.leftMs() > 0) return;
      newestFailure = { id, kind, mustBeWritten: false };
    },
    /**
     * Writes the failure of a load of this replica for the others. One that says nothing of the
     * provider leaves the next attempt to them, at once.
     */
    share: async (failure: LoadError): Promise<void> => {
      if (failure.isLocal) {
        newestFailure = undefined;
        await fleet.releaseLease();
        return;
      }
      // Where only the lists of other replicas came first, no load has failed.
      if (failure !== failures.current().failure) return;
      const id = randomUUID();
      failures.noteSeen(id);
      newestFailure = { id, kind: failure.kind, mustBeWritten: true };
      const received = waitFor(failure.retryAfterMs, clock.monotonicMs(), ttlMs);
      await write({ retryAfter: received, isNew: true });
    },
    /**
     * To be called after each look at the shared store. Writes the newest failure if it came while
     * the store could not be used, or if the store has lost it since: also that of another replica,
     * which may be gone.
     * @returns whether the store was looked at again for that
     */
    shareAgain: async (): Promise<boolean> => {
      const isLost = fleet.lease() === undefined;
      if (!newestFailure || !(newestFailure.mustBeWritten || isLost) || nextLoad.dueInMs() === 0)
        return false;
      await write({ retryAfter: retryAfter.current(), isNew: false });
      return true;
    },
  };
};

/** A failure that counts for all replicas. */
interface KnownFailure extends Pick<SharedFailure, 'id' | 'kind'> {
  /** It has not been written to the shared store yet, or in vain. */
  readonly mustBeWritten: boolean;
}
