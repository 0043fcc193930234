import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { RespondToHead } from './hot-path.ts';
import { LINGER_BYTES, ON_ITS_WAY_MS, type Limits } from './limits.ts';
import {
  writeRefusal,
  type RefusalCode,
  type RefusalResponse,
  type RequestHead,
} from './refusals.ts';
import { createRequestStream } from './request-stream.ts';

// One connection, from its first byte to its last. It has one request at a time: the hot path
// responds to an ordinary one, and any other head goes to node:http as it arrives. What comes before
// the response has been written, content or further requests, is discarded, and the connection ends
// with the response: clients that pipeline must be ready to send again (RFC 9112 section 9.3.2), and
// nothing here reads content.
//
//   receiving ───> responding ───> idle ───> receiving, or responding at once ...
//       └──────────────┴────────────┴──────> closing

/** What all connections of a server have in common. */
export interface Shared {
  readonly limits: Limits;
  /** Responds to ordinary requests; without it node:http has all. */
  readonly respondToHead: RespondToHead | undefined;
  /** Gets a stream in place of each socket, and responds to what the hot path does not. */
  readonly nodeServer: Server;
  readonly respondToRefused: (code: RefusalCode, head: RequestHead) => RefusalResponse;
  /** `draining`: each response is the last of its connection. `closed`: idle connections end. */
  phase: 'open' | 'draining' | 'closed';
}

/**
 * `receiving`: the first head is awaited, or a head has begun. `responding`: the client waits, or
 * has not read all of its response. `idle`: it has, and may send another request. `closing`: it has
 * its last response.
 */
type State = 'receiving' | 'responding' | 'idle' | 'closing';

const END_OF_HEAD = Buffer.from('\r\n\r\n');
const NOTHING = Buffer.alloc(0);

export class Connection {
  private readonly socket: Socket;
  private readonly shared: Shared;
  private state: State = 'receiving';
  /** For how long somebody has been waited for in this state, in steps of `checkIntervalMs`. */
  private waitedMs = 0;
  /** The last bytes of a head that has begun, until node:http has made a request of it. */
  private tail: Buffer = NOTHING;
  /** Whether the connection ends with the response to the request that is being handled. */
  private isLast = false;
  /** What has been discarded since its last response. */
  private lingeringBytes = 0;
  /** What node:http has in place of the socket, from its first request on. */
  private stream: Duplex | undefined;

  constructor(socket: Socket, shared: Shared) {
    this.socket = socket;
    this.shared = shared;
    socket
      .on('data', (chunk: Buffer) => this.takeBytes(chunk))
      .on('end', () => this.takeEnd())
      // 'close' follows.
      .on('error', () => undefined)
      .once('close', () => {
        this.enter('closing');
        this.stream?.destroy();
      });
  }

  private enter(state: State): void {
    this.state = state;
    this.waitedMs = 0;
  }

  private takeBytes(chunk: Buffer): void {
    if (this.state === 'closing') {
      this.lingeringBytes += chunk.length;
      if (this.lingeringBytes > LINGER_BYTES) this.socket.pause();
      return;
    }
    const hasBegun = this.tail.length > 0;
    const bytes = hasBegun ? chunk : skipEmptyLines(chunk);
    if (bytes.length === 0) return;
    if (this.state === 'responding') {
      this.isLast = true;
      this.socket.pause();
    } else if (hasBegun || !this.respondOnHotPath(bytes)) this.giveToNode(bytes);
  }

  /** The client has closed its side. */
  private takeEnd(): void {
    if (this.tail.length > 0) this.refuse('bad_request');
    else if (this.state === 'responding') this.isLast = true;
    else this.close();
  }

  private respondOnHotPath(bytes: Buffer): boolean {
    const { socket, shared } = this;
    const responded = shared.respondToHead?.(bytes, socket, shared.phase !== 'open');
    if (!responded) return false;
    this.isLast = responded.isLast;
    this.enter('responding');
    const finish = (isWritten: boolean): void => {
      responded.end(isWritten);
      this.proceed();
    };
    // All of it has usually been written at once. If not, an empty write ends after all others.
    if (socket.writableLength === 0) finish(socket.writable);
    else socket.write('', (error) => finish(!error));
    return true;
  }

  /** Passes the head on, and no byte behind it. */
  private giveToNode(bytes: Buffer): void {
    const { tail } = this;
    if (this.state === 'idle') this.enter('receiving');
    const head = tail.length > 0 ? Buffer.concat([tail, bytes]) : bytes;
    const endAt = head.indexOf(END_OF_HEAD);
    const isWhole = endAt >= 0;
    const length = isWhole ? endAt + END_OF_HEAD.length - tail.length : bytes.length;
    // A copy: a part would keep all that was read at once.
    this.tail = Buffer.from(head.subarray(1 - END_OF_HEAD.length));
    if (isWhole) this.isLast = skipEmptyLines(bytes.subarray(length)).length > 0;
    this.stream ??= this.connectToNode();
    this.stream.push(bytes.subarray(0, length));
  }

  private connectToNode(): Duplex {
    const stream = createRequestStream(this.socket, () => {
      if (this.state !== 'closing') this.socket.destroy();
    });
    byStream.set(stream, this);
    this.shared.nodeServer.emit('connection', stream);
    return stream;
  }

  /** To be called with each request that the application is about to get, and its response. */
  beginResponse(req: IncomingMessage, res: ServerResponse): void {
    this.enter('responding');
    this.tail = NOTHING;
    this.isLast ||= hasContent(req) || this.shared.phase !== 'open';
    if (this.isLast) res.setHeader('Connection', 'close');
    res.once('close', () => this.proceed());
  }

  /** A response has been written: the next request may come. */
  private proceed(): void {
    if (this.isLast || this.stream?.writableEnded || this.shared.phase === 'closed') this.close();
    else if (this.state !== 'closing') this.enter('idle');
  }

  /**
   * Tells the client that its request cannot be taken, and closes the connection. Without `req`
   * node:http could not read it.
   */
  refuse(code: RefusalCode, req?: IncomingMessage): void {
    if (this.state === 'closing') return;
    const { socket } = this;
    const response = this.shared.respondToRefused(code, req ?? { headers: {}, socket });
    writeRefusal(socket, req?.method, response);
    this.close();
    this.stream?.destroy();
  }

  /** Ends our side. The client gets the time to close its own. */
  private close(): void {
    if (this.state === 'closing') return;
    this.enter('closing');
    this.socket.end(() => (this.waitedMs = 0));
    this.socket.resume();
  }

  /** Closes it at once, if no request of it is being handled or may be on its way. */
  closeIfIdle(): void {
    const isSilent = this.state === 'receiving' && this.waitedMs > ON_ITS_WAY_MS;
    if (this.state === 'idle' || isSilent) this.destroy();
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** To be called every `checkIntervalMs`: ends what takes too long. */
  checkTime(): void {
    this.waitedMs += this.shared.limits.checkIntervalMs;
    const longestMs = this.longestWaitMs();
    if (longestMs === undefined) this.waitedMs = 0;
    else if (this.waitedMs <= longestMs) return;
    else if (this.state === 'receiving') this.refuse('request_timeout');
    else this.destroy();
  }

  /** How long the client may take now; undefined: it waits for the application. */
  private longestWaitMs(): number | undefined {
    const { slowReaderMs, headersTimeoutMs, keepAliveTimeoutMs } = this.shared.limits;
    if (this.socket.writableLength > 0) return slowReaderMs;
    switch (this.state) {
      case 'receiving':
        return headersTimeoutMs;
      case 'responding':
        return undefined;
      case 'idle':
        return keepAliveTimeoutMs + ON_ITS_WAY_MS;
      case 'closing':
        return ON_ITS_WAY_MS;
    }
  }
}

const byStream = new WeakMap<Duplex, Connection>();

/** The connection for which node:http has `stream`. */
export const connectionOf = (stream: Duplex): Connection | undefined => byStream.get(stream);

/** Whether content follows the head. */
const hasContent = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** RFC 9112 section 2.2: empty lines before a request are ignored. */
const skipEmptyLines = (bytes: Buffer): Buffer => {
  let start = 0;
  while (isLineEnd(bytes[start])) start += 1;
  return start > 0 ? bytes.subarray(start) : bytes;
};

const isLineEnd = (byte = 0): boolean => byte === 0x0d || byte === 0x0a;
