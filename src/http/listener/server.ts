import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Clock } from '../../clock.ts';
import { createBacklog } from '../connection/backlog.ts';
import { openConnection } from '../connection/connection.ts';
import { createConnections, type Connections } from './connections.ts';
import { drain, type DrainOptions } from './drain.ts';
import type { HotPath } from '../hot/path.ts';
import {
  HIGH_WATER_MARK_BYTES,
  LIMITS,
  MAX_HEADER_BYTES,
  MAX_REQUESTS_BY_NODE,
  PIPELINE_SLICE_MS,
  type Limits,
} from './limits.ts';
import type { NodeReader } from '../connection/node-side.ts';
import { answerParserErrors, type ParserErrorOptions } from './parser-errors.ts';
import { createTurns } from '../connection/turns.ts';

// A bounded HTTP listener, and the connections on it. The management port uses it too.

export interface PublicServerOptions extends ParserErrorOptions {
  /** Gets the requests of each connection, up to the first that it does not take; without it node:http gets them all. */
  readonly hotPath?: HotPath | undefined;
  /** Whether connections from this address are a trusted proxy's. By default none are. */
  readonly isProxy?: (address: string) => boolean;
  readonly clock: Clock;
  readonly limits?: Limits;
}

export interface PublicServer {
  readonly server: Server;
  /** Gives all other requests whose head could be read to `app`. To be called once, before the server listens. */
  serve(app: RequestListener): void;
  /** Whether this connection was accepted over capacity: only to be answered 503, or a probe. */
  isOverCapacity(socket: Socket): boolean;
  /** Whether this connection has had all the requests that Node may have from it (`MAX_REQUESTS_BY_NODE`). */
  isUsedUp(socket: Socket): boolean;
  /** See {@link DrainOptions}. Resolves when the last connection is closed. */
  drain(options: DrainOptions): Promise<void>;
  /** Closes it now, with every connection. */
  close(): void;
}

/** A listener on which no client can stay for ever, or take more than its share. */
export const createPublicServer = ({
  hotPath,
  isProxy = () => false,
  clock,
  limits = LIMITS,
  ...options
}: PublicServerOptions): PublicServer => {
  const connections = createConnections({ limits, isProxy, clock });
  const turns = createTurns(PIPELINE_SLICE_MS);
  const backlog = createBacklog(limits.backlogBytes);
  let uses = 0;
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    highWaterMark: HIGH_WATER_MARK_BYTES,
    // Node's answer would be a bare 400; admission.ts looks at Host.
    requireHostHeader: false,
  });
  // Node's own answers to these would be a 100 that invites a body, and a bare 417.
  server.on('checkContinue', (req, res) => server.emit('request', req, res));
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));

  const giveToNode = takeConnectionsFrom(server);
  server.on('connection', (socket: Socket) => {
    const place = connections.admit(socket);
    if (!place) {
      socket.destroy();
      return;
    }
    const connection = openConnection(socket, {
      hotPath: place.isOverCapacity ? undefined : hotPath,
      limits,
      turns,
      backlog,
      nextUse: () => (uses += 1),
      giveToNode: () => giveToNode(socket),
      onSilence: () => server.emit('clientError', new HeadersTimeout(), socket),
    });
    connections.add(socket, { ...place, connection });
  });
  server.on('request', (req, res) => connections.get(req.socket)?.connection.onNodeRequest(req, res));
  // Node's parser must not be given more after either of these.
  server.on('clientError', (_error, socket: Socket) => connections.get(socket)?.connection.stop());
  server.on('connect', ({ socket }) => connections.get(socket)?.connection.stop());
  answerParserErrors(server, options);
  cutOffSlowReaders(server, connections, limits.slowReaderMs);

  return {
    server,
    serve: (app) => void server.on('request', app),
    isOverCapacity: (socket) => connections.get(socket)?.isOverCapacity ?? false,
    isUsedUp: (socket) => (connections.get(socket)?.connection.requestsByNode() ?? 0) >= MAX_REQUESTS_BY_NODE,
    drain: (drainOptions) => drain({ server, connections, clock }, drainOptions),
    close: () => {
      server.close();
      for (const [socket] of connections) socket.destroy();
    },
  };
};

/**
 * Takes the connections of `server` away from node:http, which would begin to read them at once. What it returns gives it
 * one, except for the reading: node:http hears of bytes only through the listeners that the caller gets.
 */
const takeConnectionsFrom = (server: Server): ((socket: Socket) => NodeReader) => {
  const nodeListeners = server.listeners('connection');
  server.removeAllListeners('connection');
  return (socket) => {
    for (const listener of nodeListeners) Reflect.apply(listener, server, [socket]);
    const take = (event: 'data' | 'end') => {
      const listeners = socket.listeners(event);
      socket.removeAllListeners(event);
      return (...bytes: readonly Buffer[]): void => {
        for (const listener of listeners) Reflect.apply(listener, socket, bytes);
      };
    };
    return { onData: take('data'), onEnd: take('end') };
  };
};

/** Every `everyMs`, destroys each connection whose client has taken nothing of what waits for it since the last time. */
const cutOffSlowReaders = (server: Server, connections: Connections, everyMs: number): void => {
  let takenBefore = new Map<Socket, number>();
  const look = (): void => {
    const taken = new Map<Socket, number>();
    for (const [socket] of connections) {
      if (socket.writableLength === 0) continue;
      const bytes = socket.bytesWritten - socket.writableLength;
      if (takenBefore.get(socket) === bytes) socket.destroy();
      else taken.set(socket, bytes);
    }
    takenBefore = taken;
  };
  // Sockets keep real time, as Node's own time-outs do.
  const timer = setInterval(look, everyMs).unref();
  server.once('close', () => clearInterval(timer));
};
/** Binds `server` and gives its address. Port 0 picks a free one. Rejects with Node's error, such as EADDRINUSE. */
export const listen = (server: Server, { port, host }: { port: number; host: string }): Promise<string> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve(urlOf(server.address()));
    });
  });

const urlOf = (address: AddressInfo | string | null): string => {
  if (address === null || typeof address === 'string') throw new TypeError('the server listens on no port');
  return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`;
};

/** As Node names its own. */
class HeadersTimeout extends Error {
  readonly code = 'ERR_HTTP_REQUEST_TIMEOUT';
}
