import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer, type ListenOptions, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  onNodeRequest,
  openConnection,
  proceed,
  refuse,
  freeMemory,
  type Connection,
  type Shared,
} from './connection.ts';
import { drain, type DrainClock, type DrainOptions } from './drain.ts';
import { createRespondToHead, type HotPath } from './hot-path.ts';
import { HIGH_WATER_MARK_BYTES, PIPELINE_SLICE_MS } from './limits.ts';
import { createMemory } from './memory.ts';
import { createNodeServer } from './node-http.ts';
import { endOverdue } from './activity.ts';
import { createConnectionSlots, type SlotsOptions } from './connection-slots.ts';
import { writeRefusal, type RefusalCode, type RefusalResponse } from './refusals.ts';
import { createPipelineQueue } from './pipeline-queue.ts';

// An HTTP server that limits how long a client can stay, and how much it can take.

export interface HttpFrontOptions extends SlotsOptions {
  /** Responds to the ordinary requests for one path; without it, the application does. */
  readonly hotPath?: HotPath | undefined;
  /**
   * Loads the application that gets all other requests whose head could be read. Called before the
   * port is bound.
   */
  readonly loadApp: (isOverCapacity: IsOverCapacity) => Promise<RequestListener>;
  /**
   * Gives the response to a request that never gets to the application, or that is given up before
   * the application has begun to respond: then `pending` is its response.
   */
  readonly respondToRefused: (
    refusal: RefusalCode,
    pending: ServerResponse | undefined,
  ) => RefusalResponse;
  readonly clock: DrainClock;
}

/** Whether a request came on a connection over capacity: only for a 503, or a probe. */
export type IsOverCapacity = (req: IncomingMessage) => boolean;

export type HttpFront = ReturnType<typeof createHttpFront>;

export const createHttpFront = ({
  hotPath,
  loadApp,
  respondToRefused,
  clientOf,
  onClosed,
  clock,
  limits,
}: HttpFrontOptions) => {
  const slots = createConnectionSlots({ limits, clientOf, onClosed });
  const nodeServer = createNodeServer(limits.keepAliveTimeoutMs);
  const byStream = new WeakMap<Duplex, Connection>();
  const shared: Shared = {
    isPaused: false,
    respondToHead: hotPath && createRespondToHead(hotPath, limits.keepAliveTimeoutMs),
    limits,
    pipelineQueue: createPipelineQueue(PIPELINE_SLICE_MS, proceed),
    memory: createMemory<Connection>(limits.heldBytes, freeMemory),
    connectNode: (stream, connection) => {
      byStream.set(stream, connection);
      nodeServer.emit('connection', stream);
    },
    writeRefusal: (socket, refusal, pending) =>
      writeRefusal(socket, respondToRefused(refusal, pending)),
  };
  const withConnectionOf = (stream: Duplex, act: (connection: Connection) => void): void => {
    const connection = byStream.get(stream);
    if (connection) act(connection);
  };
  let app: RequestListener = () => undefined;
  nodeServer.on('request', (req, res) => {
    withConnectionOf(req.socket, (connection) => onNodeRequest(connection, res));
    app(req, res);
  });
  nodeServer.on('clientError', (_error, stream) =>
    withConnectionOf(stream, (connection) => refuse(connection, 'bad_request')),
  );
  nodeServer.on('connect', ({ socket }) =>
    withConnectionOf(socket, (connection) => refuse(connection, 'method_not_allowed')),
  );

  const pause = (isPaused: boolean): void => {
    shared.isPaused = isPaused;
    if (!isPaused) for (const connection of slots) proceed(connection);
  };

  const server = createServer(
    { allowHalfOpen: true, noDelay: true, highWaterMark: HIGH_WATER_MARK_BYTES },
    (socket) => {
      const { remoteAddress } = socket;
      // Without an address, the client has already gone.
      const slot = remoteAddress === undefined ? undefined : slots.admit(remoteAddress);
      if (slot) slots.add(openConnection(socket, shared, slot));
      else socket.destroy();
    },
  );
  // Sockets keep real time, as Node's own time-outs do.
  const endAllOverdue = (): void => {
    const nowMs = performance.now();
    for (const connection of slots) endOverdue(connection, nowMs);
  };

  return {
    /**
     * Resolves with the address; port 0 picks a free one. Rejects with Node's error, such as
     * EADDRINUSE, to which it adds `port` and `host`.
     */
    listen: async (address: { readonly port: number; readonly host: string }): Promise<string> => {
      // Before clients can take all file descriptors: Node 20 never loads a file again that it
      // could not open once.
      app = await loadApp(({ socket }) => byStream.get(socket)?.isOverCapacity ?? false);
      // A load balancer that was idle opens a connection for each of its clients at once. Those for
      // which the system has no room are delayed by a second or more.
      const url = await bind(server, { ...address, backlog: limits.connections });
      const timer = setInterval(endAllOverdue, limits.checkIntervalMs).unref();
      server.once('close', () => clearInterval(timer));
      return url;
    },
    /** See {@link DrainOptions}. Resolves when the last connection is closed. */
    drain: (times: DrainOptions): Promise<void> => drain(server, slots, clock, pause, times),
    /** Closes it now, with every connection. Resolves when that has happened. */
    close: async (): Promise<void> => {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      for (const { socket } of slots) socket.destroy();
      await closed;
    },
  };
};

/** Gives the address. */
const bind = async (server: Server, options: ListenOptions): Promise<string> => {
  try {
    await once(server.listen(options), 'listening');
  } catch (error) {
    // Node leaves out port 0, and the host name of an address.
    const { port, host } = options;
    throw error instanceof Error ? Object.assign(error, { port, host }) : error;
  }
  const bound = server.address();
  if (bound === null || typeof bound === 'string')
    throw new TypeError('the server listens on no port');
  return `http://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`;
};
