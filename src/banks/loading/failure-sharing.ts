import { randomUUID } from 'node:crypto';
import type { LoadError } from '../load-error.ts';
import type { NewFailure, NewRetryAfter, SharedFailure } from './fleet.ts';
import type { NextLoad } from './next-load.ts';
import type { RenewalOptions } from './renewal-options.ts';
import { boundedRetryAfterMs, minimumRetryAfterMs } from './schedule.ts';

// What the other replicas need to know of a failed load: it is written for them, and again where
// the shared store has lost it.

export type FailureSharing = ReturnType<typeof createFailureSharing>;

export const createFailureSharing = (options: RenewalOptions, nextLoad: NextLoad) => {
  const { ttlMs, keeper, fleet, retryAfter } = options;
  const { failures } = keeper;
  /** The newest failure of the provider that this replica knows, its own or another one's. */
  let known: KnownFailure | undefined;

  /**
   * Writes the known failure, with the time of the next attempt, unless a success has followed it.
   */
  const writeKnown = async (retryAfterLeft: NewRetryAfter): Promise<void> => {
    const { failing } = failures.current();
    const written = failing && known;
    known = written;
    if (!written) return;
    const shared: NewFailure = {
      id: written.id,
      kind: written.kind,
      attempts: failing.attempts,
      failingSinceMs: failing.sinceMs,
      ...retryAfterLeft,
    };
    const dueInMs = Math.max(0, nextLoad.dueInMs() - fleet.handoverMs);
    const { isDone, replaced } = await fleet.shareFailure(shared, dueInMs);
    if (known === written) known = { ...written, isShared: isDone };
    if (replaced) retryAfter.addShared(replaced, fleet.handoverMs);
  };

  return {
    /**
     * The failure of another replica takes the place of the known one, unless that must be written.
     */
    note: ({ id, kind }: SharedFailure): void => {
      const mustBeWritten = known && !known.isShared && retryAfter.leftMs() > 0;
      if (!mustBeWritten) known = { id, kind, isShared: true };
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
      known = { id, kind: failure.kind, isShared: false };
      const retryAfterMs = boundedRetryAfterMs(failure.retryAfterMs ?? 0, ttlMs);
      await writeKnown({ retryAfterMs, retryAfterMinimumMs: minimumRetryAfterMs(retryAfterMs) });
    },
    /**
     * To be called after each look at the shared store. Writes the known failure where it came
     * while the store could not be used, or where the store has lost it since: also that of another
     * replica, which may be gone.
     */
    shareAgain: async (): Promise<void> => {
      const isThere = known?.isShared && fleet.lease() !== undefined;
      if (known && !isThere && nextLoad.dueInMs() > 0) await writeKnown(retryAfter.left());
    },
  };
};

/** A failure that counts for all replicas. */
interface KnownFailure extends Pick<SharedFailure, 'id' | 'kind'> {
  /** Whether nothing is left to be written: the store has it, or no other replica needs it. */
  readonly isShared: boolean;
}
