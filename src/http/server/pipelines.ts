import type { Socket } from 'node:net';

// What bounds clients that send requests without waiting for the answers: the time that such requests get, and the memory that
// they keep. Both are for all connections together.

/**
 * Waiting requests share a slice of each turn of the event loop, in order of arrival: `sliceMs` and at most one request more.
 * Clients that send one request at a time are answered at once.
 */
export const createTurns = <T>(sliceMs: number, passOn: (connection: T) => void) => {
  const queue = new Set<T>();
  let isScheduled = false;

  const runSlice = (): void => {
    const endMs = performance.now() + sliceMs;
    for (const connection of queue) {
      queue.delete(connection);
      passOn(connection);
      if (performance.now() >= endMs) break;
    }
    isScheduled = queue.size > 0;
    if (isScheduled) setImmediate(runSlice);
  };

  return {
    /** Passes on the next request of `connection` in one of the next turns of the event loop. */
    add: (connection: T): void => {
      queue.add(connection);
      if (!isScheduled) setImmediate(runSlice);
      isScheduled = true;
    },
    remove: (connection: T): void => void queue.delete(connection),
  };
};

/** Over `maxBytes`, destroys the connections that have made no progress for longest: those whose clients do not read. */
export const createBacklog = (maxBytes: number) => {
  /** Ordered by the time of the last progress. */
  const held = new Map<Socket, number>();
  let total = 0;

  const release = (socket: Socket): void => {
    total -= held.get(socket) ?? 0;
    held.delete(socket);
  };
  return {
    /** Counts `bytes` for `socket`, instead of what was counted before, and makes it the newest. */
    hold: (socket: Socket, bytes: number): void => {
      release(socket);
      held.set(socket, bytes);
      total += bytes;
      for (const oldest of held.keys()) {
        if (total <= maxBytes) break;
        release(oldest);
        oldest.destroy();
      }
    },
    release,
  };
};
