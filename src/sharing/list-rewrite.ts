import type { Clock } from '../clock.ts';
import { createWakeUp } from '../wake-up.ts';
import type { RedisStore } from './redis-store.ts';

// What a replica with nothing to serve does when the list in Redis cannot be used: it asks the
// others to write theirs again, before it loads one that they might refuse. It asks by setting the
// head aside: a replica that has the list finds that the head is not that of its list any more, and
// writes it (list-exchange.ts). Where nobody has, it asks again after some polls: the list that was
// written may have been damaged, too, before it was read.

/** Longer than a message and a write take; a load is delayed by no more. */
const WAIT_MS = 1_000;
/** About half a minute, as Redis is looked at every 5 s. */
const LOOKS_BEFORE_NEXT = 6;

export type ListRewrite = ReturnType<typeof createListRewrite>;

export const createListRewrite = (
  store: Pick<RedisStore, 'setAside'>,
  clock: Pick<Clock, 'after'>,
) => {
  /** Since a usable list was last found. */
  let state: 'not asked' | 'waiting' | 'in vain' = 'not asked';
  let looksInVain = 0;
  /** Another look is worth while. */
  const news = createWakeUp();
  let cancelWait = (): void => {};
  return {
    /**
     * Asks, and waits for the next message, {@link WAIT_MS} in all.
     * @param head of the list that cannot be used
     * @returns whether to look again; false: nobody has written a list
     * @throws {StoreError | SecretFileError}
     */
    ask: async (head: Buffer): Promise<boolean> => {
      if (state === 'in vain') {
        looksInVain += 1;
        if (looksInVain < LOOKS_BEFORE_NEXT) return false;
        state = 'not asked';
      }
      if (state === 'not asked') {
        state = 'waiting';
        looksInVain = 0;
        news.forget();
        cancelWait = clock.after(WAIT_MS, () => {
          if (state === 'waiting') state = 'in vain';
          news.wake();
        });
        // Another replica has written meanwhile.
        if (!(await store.setAside(head))) return true;
      }
      // Setting the head aside reads files, and may have taken longer than the wait.
      await news.woken();
      news.forget();
      return true;
    },
    /** A list that can be used has been found. */
    end: (): void => {
      state = 'not asked';
      cancelWait();
    },
    /** Another replica may have written something. */
    onNews: news.wake,
  };
};
