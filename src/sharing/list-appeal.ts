import { EventEmitter, once } from 'node:events';
import type { Clock } from '../clock.ts';
import type { RedisStore } from './redis-store.ts';

// What a replica with nothing to serve does when the list in Redis cannot be used: it asks the
// other replicas to write theirs again, before it loads one that they might refuse.

/** Longer than a message and a write take; a load is delayed by no more. */
const ANSWER_MS = 1_000;

export const createListAppeal = (
  store: Pick<RedisStore, 'setAside'>,
  clock: Pick<Clock, 'after'>,
) => {
  /** Since the last list that could be used. */
  let state: 'none' | 'waiting' | 'over' = 'none';
  const messages = new EventEmitter();
  return {
    /**
     * Sets aside the head of a list that cannot be used: replicas that hold the list see that the
     * head is not theirs, and write the list again. Waits for the next message.
     * @returns whether another look is necessary
     * @throws {StoreError | SecretFileError}
     */
    make: async (head: Buffer): Promise<boolean> => {
      if (state === 'over') return false;
      if (state === 'none') {
        state = 'waiting';
        clock.after(ANSWER_MS, () => {
          if (state === 'waiting') state = 'over';
          messages.emit('news');
        });
        if (!(await store.setAside(head))) return true;
      }
      await once(messages, 'news');
      return true;
    },
    /** A list that can be used has been found. */
    isAnswered: (): void => {
      state = 'none';
    },
    /** Another replica may have written something. */
    onNews: (): void => void messages.emit('news'),
  };
};
