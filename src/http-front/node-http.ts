import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { HIGH_WATER_MARK_BYTES, MAX_HEADER_BYTES } from './limits.ts';

// The node:http server. It never listens: it gets streams through its documented 'connection'
// event, and responds on them. A stream has one request at a time, and is kept for the next one for
// about a second. connection.ts decides when the socket is read.

/**
 * `keepAliveTimeoutMs` is only what responses advertise: the times of a connection are kept in
 * connection.ts.
 */
export const createNodeServer = (keepAliveTimeoutMs: number): Server => {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: keepAliveTimeoutMs,
    headersTimeout: 0,
    requestTimeout: 0,
    // Node's response would be a bare 400; refusals.ts looks at Host.
    requireHostHeader: false,
  });
  // Node's own responses to these would be a 100 that invites a body, and a bare 417.
  server.on('checkContinue', (req, res) => server.emit('request', req, res));
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  return server;
};

/** Whether content follows the head. */
export const hasContent = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/**
 * A stream for the requests of one connection: node:http reads the heads that are pushed, and what
 * it writes goes to `socket`, whose addresses it has. `onDestroyed` is called when it is destroyed,
 * by node:http, the application or the connection.
 */
export class RequestStream extends Duplex {
  readonly #socket: Socket;
  readonly #onDestroyed: () => void;
  // What applications and monitoring agents read of a socket.
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  readonly remoteFamily: string | undefined;
  readonly localAddress: string | undefined;
  readonly localPort: number | undefined;

  constructor(socket: Socket, onDestroyed: () => void) {
    super({ writableHighWaterMark: HIGH_WATER_MARK_BYTES, decodeStrings: false });
    this.#socket = socket;
    this.#onDestroyed = onDestroyed;
    this.remoteAddress = socket.remoteAddress;
    this.remotePort = socket.remotePort;
    this.remoteFamily = socket.remoteFamily;
    this.localAddress = socket.localAddress;
    this.localPort = socket.localPort;
  }

  /** The head is all there is to read. */
  override _read(): void {}

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: () => void): void {
    this.#socket.write(chunk, encoding, this.#onceTaken(done));
  }

  /** A head and its body: one system call for both. */
  override _writev(chunks: readonly Chunk[], done: () => void): void {
    this.#socket.cork();
    for (const { chunk, encoding } of chunks.slice(0, -1)) this.#socket.write(chunk, encoding);
    const last = chunks.at(-1);
    if (last) this.#socket.write(last.chunk, last.encoding, this.#onceTaken(done));
    this.#socket.uncork();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#onDestroyed();
    done(error);
  }

  /**
   * A write that the end of the connection has cut off never ends here: node:http would take its
   * response for sent.
   */
  #onceTaken(done: () => void): (error?: Error | null) => void {
    return (error) => {
      // Node reports no error to writes that are pending when the socket is destroyed.
      if (!error && !this.#socket.destroyed) done();
    };
  }
}

interface Chunk {
  readonly chunk: Buffer | string;
  readonly encoding: BufferEncoding;
}
