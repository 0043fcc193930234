// Work that may wait: pipelined requests. Clients that send one request at a time are answered at once; everything queued here
// shares a small slice of each turn of the event loop, in order of arrival.

export interface Turns {
  /** Runs `work` in one of the next turns. Adding it again before it has run has no effect. */
  add(work: () => void): void;
  remove(work: () => void): void;
}

/** `sliceMs`: how long queued work may block each turn of the event loop, plus at most one piece of work. */
export const createTurns = (sliceMs: number): Turns => {
  const queue = new Set<() => void>();
  let isScheduled = false;

  const runSlice = (): void => {
    const endMs = performance.now() + sliceMs;
    for (const work of queue) {
      queue.delete(work);
      work();
      if (performance.now() >= endMs) break;
    }
    isScheduled = queue.size > 0;
    if (isScheduled) setImmediate(runSlice);
  };

  return {
    add: (work) => {
      queue.add(work);
      if (!isScheduled) setImmediate(runSlice);
      isScheduled = true;
    },
    remove: (work) => void queue.delete(work),
  };
};
