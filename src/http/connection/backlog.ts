import type { Socket } from 'node:net';

// Bytes that have been read and must wait: requests after a response that the client has not read yet. One connection can have
// one read of 64 KiB; this limits the total of all connections.

export interface Backlog {
  /** Counts `bytes` for `socket`, instead of what was counted before, and makes it the newest. */
  hold(socket: Socket, bytes: number): void;
  release(socket: Socket): void;
}

/** Over `maxBytes`, destroys the connections that have made no progress for longest: those whose clients do not read. */
export const createBacklog = (maxBytes: number): Backlog => {
  /** Ordered by the time of the last progress. */
  const held = new Map<Socket, number>();
  let total = 0;

  const release = (socket: Socket): void => {
    total -= held.get(socket) ?? 0;
    held.delete(socket);
  };
  return {
    hold: (socket, bytes) => {
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
