import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';

// Timers that something leaves behind.

/**
 * Does `work`, and resolves when each timer that it made has fired or been cleared, also those that
 * do not keep the process alive; Node's own do so within a second. Rejects after ten. Timers of
 * others in this process do not count.
 */
export const expectNoTimersOf = async (work: () => Promise<void>): Promise<void> => {
  const context = new AsyncLocalStorage<'work'>();
  const left = new Set<number>();
  const hook = createHook({
    init: (id, type) => {
      if (type === 'Timeout' && context.getStore() === 'work') left.add(id);
    },
    destroy: (id) => void left.delete(id),
  }).enable();
  await context.run('work', work);
  const giveUpAtMs = performance.now() + 10_000;
  while (left.size > 0 && performance.now() < giveUpAtMs) await setImmediate();
  hook.disable();
  if (left.size > 0) throw new Error(`${left.size} timers were left behind`);
};
