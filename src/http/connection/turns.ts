// Work that may wait: pipelined requests. Clients that send one request at a time are answered as soon as their request
// is read; everything queued here shares a small slice of each turn of the event loop, in the order in which it came.

export interface Turns {
  /** Runs `work` in one of the next turns. Adding it again before it ran changes nothing. */
  add(work: () => void): void;
  remove(work: () => void): void;
}

/** `sliceMs`: how long queued work may hold each turn of the event loop, over by at most one piece of work. */
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
