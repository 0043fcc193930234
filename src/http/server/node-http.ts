import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { HIGH_WATER_MARK_BYTES, MAX_HEADER_BYTES } from './limits.ts';

// node:http as this server uses it. It never listens: it is given a stream for each request,
// through its documented 'connection' event, and answers on that. Who reads the socket, and when,
// stays with connection.ts.

/**
 * `keepAliveTimeoutMs` is only what answers advertise: the times of a connection are kept in
 * connection.ts.
 */
export const createNodeServer = (keepAliveTimeoutMs: number): Server => {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: keepAliveTimeoutMs,
    headersTimeout: 0,
    requestTimeout: 0,
    // Node's answer would be a bare 400; refusals.ts looks at Host.
    requireHostHeader: false,
  });
  // Node's own answers to these would be a 100 that invites a body, and a bare 417.
  server.on('checkContinue', (req, res) => server.emit('request', req, res));
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  return server;
};

/**
 * A stream for one request: node:http reads the head that is pushed, and what it writes goes to
 * `socket`, whose addresses it has. `destroyed` is called when it is destroyed, by node:http, the
 * application or the connection, and `untaken` when the system has not taken at once what was
 * written.
 */
export class RequestStream extends Duplex {
  readonly #socket: Socket;
  readonly #on: Readonly<Record<'destroyed' | 'untaken', () => void>>;
  /**
   * The length of all text that has been written. Buffers are not counted: prepared answers share
   * them.
   */
  textLength = 0;

  constructor(socket: Socket, on: Readonly<Record<'destroyed' | 'untaken', () => void>>) {
    super({ writableHighWaterMark: HIGH_WATER_MARK_BYTES, decodeStrings: false });
    this.#socket = socket;
    this.#on = on;
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }
  get remotePort(): number | undefined {
    return this.#socket.remotePort;
  }
  get remoteFamily(): string | undefined {
    return this.#socket.remoteFamily;
  }
  get localAddress(): string | undefined {
    return this.#socket.localAddress;
  }
  get localPort(): number | undefined {
    return this.#socket.localPort;
  }

  /** The head is all there is to read. */
  override _read(): void {}

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: () => void): void {
    this.#writeOne(chunk, encoding, this.#onceTaken(done));
    if (this.#socket.writableLength > 0) this.#on.untaken();
  }

  /** A head and its body: one system call for both. */
  override _writev(
    chunks: readonly { readonly chunk: Buffer | string; readonly encoding: BufferEncoding }[],
    done: () => void,
  ): void {
    this.#socket.cork();
    for (const [index, { chunk, encoding }] of chunks.entries())
      this.#writeOne(
        chunk,
        encoding,
        index === chunks.length - 1 ? this.#onceTaken(done) : undefined,
      );
    this.#socket.uncork();
    if (this.#socket.writableLength > 0) this.#on.untaken();
  }

  #writeOne(
    chunk: Buffer | string,
    encoding: BufferEncoding,
    done?: (error?: Error | null) => void,
  ): void {
    if (typeof chunk === 'string') this.textLength += chunk.length;
    this.#socket.write(chunk, encoding, done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#on.destroyed();
    done(error);
  }

  /**
   * A write that the end of the connection has cut off never ends here: node:http would take its
   * answer for sent.
   */
  #onceTaken(done: () => void): (error?: Error | null) => void {
    return (error) => {
      // Node reports no error to those that are under way when the socket is destroyed.
      if (!error && !this.#socket.destroyed) done();
    };
  }
}
