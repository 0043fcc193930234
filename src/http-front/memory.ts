import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestStream } from './node-http.ts';

// The bound on what all connections of a server hold together: heads that are being received,
// pipelined requests, and requests that node:http is handling. What the system holds in its socket
// buffers is not part of it.

export interface Holder {
  /** What is counted for it now. Only {@link createMemory} changes it. */
  heldBytes: number;
}

/**
 * Beyond `maxBytes`, `free` is called with the holders that have made no progress for longest.
 */
export const createMemory = <T extends Holder>(maxBytes: number, free: (holder: T) => void) => {
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
    count: (holder: T, bytes: number): void => {
      if (holder.heldBytes > 0) release(holder);
      if (bytes === 0) return;
      holder.heldBytes = bytes;
      holders.add(holder);
      total += bytes;
      for (const oldest of holders) {
        if (total <= maxBytes) break;
        release(oldest);
        free(oldest);
      }
    },
  };
};

/** A request that node:http is handling. */
export interface NodeRequest {
  readonly headBytes: number;
  response: ServerResponse | undefined;
}

/** What a connection has, as far as it takes memory. */
interface Contents {
  readonly socket: Socket;
  readonly received: Buffer;
  readonly stream: RequestStream | undefined;
  readonly nodeRequest: NodeRequest | undefined;
}

/** What counts for a connection: what the worst shape takes, on Node 20 and 26. */
export const heldBy = ({ socket, received, stream, nodeRequest }: Contents): number => {
  let bytes = 0;
  if (received.length > 0) bytes += received.buffer.byteLength;
  if (socket.isPaused()) bytes += PER_PAUSED;
  if (stream) bytes += PER_STREAM;
  if (nodeRequest) {
    const headers = (nodeRequest.response?.req.rawHeaders.length ?? 0) / 2;
    bytes += PER_REQUEST + PER_HEADER * headers + PER_HEAD_BYTE * nodeRequest.headBytes;
  }
  return bytes;
};

/** Of a paused socket, which has read once more than it has passed on: Node's largest read. */
const PER_PAUSED = 64 * 1024;
/** A stream, a parser, and what node:http keeps of a connection. */
const PER_STREAM = 8 * 1024;
/** The objects of node:http and of the application for a request, and a short text response. */
const PER_REQUEST = 10 * 1024;
/** The same, for each header and for each byte of the head: different long names take most. */
const PER_HEADER = 128;
const PER_HEAD_BYTE = 3;
