import { EventEmitter, once } from 'node:events';
import type { Clock } from '../clock.ts';
import type { RedisStore } from './redis-store.ts';

// What a replica with nothing to serve does when the list in Redis cannot be used: it has the
// other replicas write theirs again, before it loads one that they might refuse.

/** Longer than a message and a write take; a load is delayed by no more. */
const WAIT_MS = 1_000;

export type ListRewrite = ReturnType<typeof createListRewrite>;

export const createListRewrite = (
  store: Pick<RedisStore, 'setAside'>,
  clock: Pick<Clock, 'after'>,
) => {
  /** Since the last list that could be used. */
  let state: 'none' | 'waiting' | 'over' = 'none';
  const messages = new EventEmitter();
  let cancelWait = (): void => {};
  return {
    /**
     * Sets aside the head of a list that cannot be used: replicas that hold the list see that the
     * head is not theirs, and write the list again. Waits for the next message.
     * @returns whether another look is necessary
     * @throws {StoreError | SecretFileError}
     */
    request: async (head: Buffer): Promise<boolean> => {
      if (state === 'over') return false;
      if (state === 'none') {
        state = 'waiting';
        cancelWait = clock.after(WAIT_MS, () => {
          if (state === 'waiting') state = 'over';
          messages.emit('news');
        });
        if (!(await store.setAside(head))) return true;
      }
      await once(messages, 'news');
      return true;
    },
    /** A list that can be used has been found. */
    end: (): void => {
      state = 'none';
      cancelWait();
    },
    /** Another replica may have written something. */
    onNews: (): void => void messages.emit('news'),
  };
};
