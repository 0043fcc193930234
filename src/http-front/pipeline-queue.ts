/**
 * Pipelined requests share a slice of each turn of the event loop, in order of arrival: `sliceMs`,
 * and at most one request more. Clients that send one request at a time get their response at once,
 * however many others pipeline theirs.
 */
export const createPipelineQueue = <T>(sliceMs: number, run: (connection: T) => void) => {
  const queue = new Set<T>();
  let isScheduled = false;

  const runSlice = (): void => {
    const endMs = performance.now() + sliceMs;
    for (const connection of queue) {
      queue.delete(connection);
      run(connection);
      if (performance.now() >= endMs) break;
    }
    isScheduled = queue.size > 0;
    if (isScheduled) setImmediate(runSlice);
  };

  return {
    /** Calls `run` with `connection` in one of the next turns of the event loop. */
    add: (connection: T): void => {
      queue.add(connection);
      if (!isScheduled) setImmediate(runSlice);
      isScheduled = true;
    },
  };
};
