// The bound on what all connections of a server hold together: heads that are being received,
// pipelined requests, and requests that node:http has not answered yet. What the system holds in
// its socket buffers is not part of it.

export interface Holder {
  /** What is counted for it now. Only {@link createMemory} changes it. */
  heldBytes: number;
}

/** Beyond `maxBytes`, `evict` is called with the holders that have made no progress for longest. */
export const createMemory = <T extends Holder>(maxBytes: number, evict: (holder: T) => void) => {
  /** Ordered by the time of the last progress. */
  const holders = new Set<T>();
  let total = 0;

  const release = (holder: T): void => {
    total -= holder.heldBytes;
    holder.heldBytes = 0;
    holders.delete(holder);
  };
  return {
    /** Counts `bytes` for `holder`, instead of what was counted before, and makes it the newest. */
    hold: (holder: T, bytes: number): void => {
      release(holder);
      if (bytes === 0) return;
      holder.heldBytes = bytes;
      holders.add(holder);
      total += bytes;
      for (const oldest of holders) {
        if (total <= maxBytes) break;
        release(oldest);
        evict(oldest);
      }
    },
  };
};
