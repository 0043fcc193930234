import { setMaxListeners } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';

// Work that is interrupted now and then: for a rest, in which memory and file descriptors are
// compared.

export type Gate = ReturnType<typeof createGate>;

/** @param onError a defect of the soak itself */
export const createGate = (onError: (error: unknown) => void) => {
  let controller = createController();
  let isOpen = true;
  const ended = new AbortController();
  const underWay = new Set<Promise<unknown>>();
  const track = (work: Promise<unknown>): void => {
    const tracked = work.catch(onError).finally(() => underWay.delete(tracked));
    underWay.add(tracked);
  };
  const loop = async (work: (signal: AbortSignal) => Promise<unknown>): Promise<void> => {
    while (!ended.signal.aborted) {
      if (isOpen) {
        const turn = work(controller.signal);
        track(turn);
        await turn.catch(() => undefined);
      } else await wait(20);
    }
  };
  return {
    isOpen: () => isOpen,
    /**
     * Repeats `work` whenever the gate is open, until `end`. Its signal aborts when the gate
     * closes.
     */
    repeat: (work: (signal: AbortSignal) => Promise<unknown>) => void loop(work),
    /** Counts work that was started elsewhere. */
    track,
    /** Resolves when nothing is under way any more. */
    close: async (): Promise<void> => {
      isOpen = false;
      controller.abort();
      while (underWay.size > 0) await Promise.all(underWay);
    },
    open: () => {
      controller = createController();
      isOpen = true;
    },
    end: () => ended.abort(),
  };
};

/** Many wait for the same gate. */
const createController = (): AbortController => {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
};

/** Waits `ms`, or less if `signal` aborts. */
export const pause = async (ms: number, signal?: AbortSignal): Promise<void> =>
  wait(ms, undefined, signal && { signal }).catch(() => undefined);
