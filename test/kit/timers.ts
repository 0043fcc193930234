import { createHook } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';

/** Watches the timers that are made from now on, also those that do not keep the process alive. */
export const watchTimers = (): { readonly end: () => Promise<void> } => {
  const left = new Set<number>();
  const hook = createHook({
    init: (id, type) => {
      if (type === 'Timeout') left.add(id);
    },
    destroy: (id) => void left.delete(id),
  }).enable();
  return {
    /** Resolves when each has fired or been cleared; Node's own do so within a second. Rejects after ten. */
    end: async () => {
      const giveUpAtMs = performance.now() + 10_000;
      while (left.size > 0 && performance.now() < giveUpAtMs) await setImmediate();
      hook.disable();
      if (left.size > 0) throw new Error(`${left.size} timers were left behind`);
    },
  };
};
