import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestStream } from './node-http.ts';

// What a connection is counted for in the bound on memory. Each figure is what the worst shape takes,
// on Node 20 and 26; test/soak/memory.test.ts fills the service with each shape.

/** A stream, a parser, and what node:http keeps of a connection. */
const PER_STREAM = 8 * 1024;
/** The objects of node:http and of the application for a request in work. */
const PER_REQUEST = 10 * 1024;
/** The same, for each header and for each byte of the head: different long names take most. */
const PER_HEADER = 128;
const PER_HEAD_BYTE = 3;
/** Of a response that the client has not taken: the text, and the copy that is being written. */
const PER_TEXT_CHAR = 2;
/** Of a paused socket, which has read once more than it has passed on: Node's largest read. */
const PER_READ = 64 * 1024;

/** What a connection has, as far as it takes memory. */
interface Contents {
  readonly socket: Socket;
  readonly received: Buffer;
  readonly stream: RequestStream | undefined;
  readonly exchange:
    { readonly headBytes: number; readonly response: ServerResponse | undefined } | undefined;
}

/** The bytes that count for it. */
export const heldBy = ({ socket, received, stream, exchange }: Contents): number => {
  let bytes = 0;
  if (received.length > 0) bytes += received.buffer.byteLength;
  if (socket.isPaused()) bytes += PER_READ;
  if (stream) bytes += PER_STREAM + PER_TEXT_CHAR * stream.textLength;
  if (exchange) {
    const headers = (exchange.response?.req.rawHeaders.length ?? 0) / 2;
    bytes += PER_REQUEST + PER_HEADER * headers + PER_HEAD_BYTE * exchange.headBytes;
  }
  return bytes;
};
