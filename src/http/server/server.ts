import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../clock.ts';
import type { FlatHeaders } from '../headers.ts';
import {
  endOverdue,
  onNodeRequest,
  openConnection,
  passOn,
  refuse,
  type Connection,
  type Shared,
} from './connection.ts';
import { drain, type DrainOptions } from './drain.ts';
import type { HotPath } from './hot-path.ts';
import { HIGH_WATER_MARK_BYTES, LIMITS, PIPELINE_SLICE_MS, type Limits } from './limits.ts';
import { checkNodeHttp, createNodeServer } from './node-http.ts';
import { createBacklog, createTurns } from './pipelines.ts';
import { createPlaces } from './places.ts';
import { codeOfParserError, createWriteRefusal, type ParserRefusal } from './refusals.ts';

// An HTTP server on which no client can stay for ever, or take more than its share. Both ports are one.

export interface BoundedServerOptions {
  /** Answers the ordinary requests; without it, `app` answers all. */
  readonly hotPath?: HotPath | undefined;
  /** Whether connections from this address are a trusted proxy's. By default none are. */
  readonly isProxy?: (address: string) => boolean;
  /** What every answer carries that `app` does not give. */
  readonly commonHeaders: FlatHeaders;
  readonly onRefusal: (refusal: ParserRefusal) => void;
  readonly clock: Clock;
  readonly limits?: Limits;
}

export interface BoundedServer {
  /** Gives all other requests whose head could be read to `app`. To be called once, before the server listens. */
  serve(app: RequestListener): void;
  /**
   * Resolves with the address; port 0 picks a free one. Rejects with Node's error, such as EADDRINUSE, or if this Node is
   * not one that the server can work with.
   */
  listen(address: { readonly port: number; readonly host: string }): Promise<string>;
  /** Whether the request came on a connection over capacity: only to be answered 503, or a probe. */
  isOverCapacity(req: IncomingMessage): boolean;
  /** See {@link DrainOptions}. Resolves when the last connection is closed. */
  drain(options: DrainOptions): Promise<void>;
  /** Closes it now, with every connection. Resolves when that has happened. */
  close(): Promise<void>;
}

export const createBoundedServer = ({
  hotPath,
  isProxy = () => false,
  commonHeaders,
  onRefusal,
  clock,
  limits = LIMITS,
}: BoundedServerOptions): BoundedServer => {
  const places = createPlaces(limits, isProxy);
  const nodeServer = createNodeServer(limits.keepAliveTimeoutMs);
  const byStream = new WeakMap<Duplex, Connection>();
  const shared: Shared = {
    isHeld: false,
    hotPath,
    limits,
    turns: createTurns(PIPELINE_SLICE_MS, passOn),
    backlog: createBacklog(limits.backlogBytes),
    connectNode: (stream, connection) => {
      byStream.set(stream, connection);
      nodeServer.emit('connection', stream);
    },
    writeRefusal: createWriteRefusal(commonHeaders, onRefusal),
  };
  const on = (stream: Duplex, act: (connection: Connection) => void): void => {
    const connection = byStream.get(stream);
    if (connection) act(connection);
  };
  nodeServer.on('request', (req, res) => on(req.socket, (connection) => onNodeRequest(connection, res)));
  nodeServer.on('clientError', (error, stream) =>
    on(stream, (connection) => refuse(connection, codeOfParserError(error))),
  );
  nodeServer.on('connect', ({ socket }) =>
    on(socket, (connection) => refuse(connection, 'method_not_allowed')),
  );

  const hold = (isHeld: boolean): void => {
    shared.isHeld = isHeld;
    if (!isHeld) for (const connection of places) passOn(connection);
  };

  const server = createServer(
    { allowHalfOpen: true, noDelay: true, highWaterMark: HIGH_WATER_MARK_BYTES },
    (socket) => {
      const { remoteAddress } = socket;
      // Without an address, the client has already gone.
      const place = remoteAddress === undefined ? undefined : places.admit(remoteAddress);
      if (place) places.add(openConnection(socket, shared, place));
      else socket.destroy();
    },
  );
  server.once('listening', () => {
    // Sockets keep real time, as Node's own time-outs do.
    const endAllOverdue = (): void => {
      const nowMs = performance.now();
      for (const connection of places) endOverdue(connection, nowMs);
    };
    const timer = setInterval(endAllOverdue, limits.checkIntervalMs).unref();
    server.once('close', () => clearInterval(timer));
  });

  return {
    serve: (app) => void nodeServer.on('request', app),
    listen: async (address) => {
      await checkNodeHttp();
      return bind(server, address);
    },
    isOverCapacity: ({ socket }) => byStream.get(socket)?.isOverCapacity ?? false,
    drain: (times) => drain(server, places, clock, hold, times),
    close: async () => {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      for (const { socket } of places) socket.destroy();
      await closed;
    },
  };
};

/** Gives the address. */
const bind = async (server: Server, { port, host }: { port: number; host: string }): Promise<string> => {
  await once(server.listen(port, host), 'listening');
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new TypeError('the server listens on no port');
  return `http://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`;
};
