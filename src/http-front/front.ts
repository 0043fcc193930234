import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer, type ListenOptions, type Server } from 'node:net';
import { Connection, type Shared } from './connection.ts';
import { createRespondToHead, type HotPath } from './hot-path.ts';
import { HIGH_WATER_MARK_BYTES, type Limits } from './limits.ts';
import { createNodeServer } from './node-server.ts';
import type { RefusalCode, RefusalResponse, RequestHead } from './refusals.ts';

// An HTTP server that limits how long a client can stay, and how much it can take.

export interface HttpFrontOptions {
  /** Responds to the ordinary requests for one path; without it, the application does. */
  readonly hotPath?: HotPath | undefined;
  /** Gets all other requests, with targets in origin-form. Must not throw, as Express does not. */
  readonly app: RequestListener;
  /** Gives the response to a request that the application does not get. */
  readonly respondToRefused: (code: RefusalCode, head: RequestHead) => RefusalResponse;
  /** Called for each connection that was refused, because there are too many. */
  readonly onDropped?: () => void;
  readonly clock: DrainClock;
  readonly limits: Limits;
}

/** The clock of a drain. Tests use one that they set by hand. */
interface DrainClock {
  /** Runs `task` once after `delayMs`, and returns a function that cancels it. */
  after(delayMs: number, task: () => void): () => void;
}

interface DrainOptions {
  /**
   * How long new requests are still accepted, so that load balancers can see first that the service
   * is about to end.
   */
  readonly noticeMs: number;
  /**
   * This long after the start of the drain, connections that are still open are closed. Longer than
   * `noticeMs`.
   */
  readonly graceMs: number;
}

export type HttpFront = ReturnType<typeof createHttpFront>;

export const createHttpFront = ({
  hotPath,
  app,
  respondToRefused,
  onDropped = () => undefined,
  clock,
  limits,
}: HttpFrontOptions) => {
  const connections = new Set<Connection>();
  const shared: Shared = {
    limits,
    respondToHead: hotPath && createRespondToHead(hotPath, limits.keepAliveTimeoutMs),
    nodeServer: createNodeServer(limits.keepAliveTimeoutMs, app),
    respondToRefused,
    phase: 'open',
  };
  const server = createServer(
    { allowHalfOpen: true, noDelay: true, highWaterMark: HIGH_WATER_MARK_BYTES },
    (socket) => {
      const connection = new Connection(socket, shared);
      connections.add(connection);
      socket.once('close', () => connections.delete(connection));
    },
  );
  server.maxConnections = limits.connections;
  server.on('drop', onDropped);

  const check = (): void => {
    for (const connection of connections) {
      connection.checkTime();
      if (shared.phase === 'closed') connection.closeIfIdle();
    }
  };
  /** Takes no more connections. Resolves when the last one is closed. */
  const finish = (): Promise<void> => {
    shared.phase = 'closed';
    const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
    for (const connection of connections) connection.closeIfIdle();
    return closed;
  };
  const destroyAll = (): void => {
    for (const connection of connections) connection.destroy();
  };

  return {
    /**
     * Resolves with the address; port 0 picks a free one. Rejects with Node's error, such as
     * EADDRINUSE, to which it adds `port` and `host`.
     */
    listen: async (address: { readonly port: number; readonly host: string }): Promise<string> => {
      // A load balancer that was idle opens a connection for each of its clients at once. Those for
      // which the system has no room are delayed by a second or more.
      const url = await bind(server, { ...address, backlog: limits.connections });
      const timer = setInterval(check, limits.checkIntervalMs).unref();
      server.once('close', () => clearInterval(timer));
      return url;
    },
    /**
     * Closes it without losing a request. It continues to serve for `noticeMs`, and ends each
     * connection with its response, so that clients go elsewhere; then it closes idle connections
     * and waits for the others. Resolves when the last connection is closed.
     */
    drain: async ({ noticeMs, graceMs }: DrainOptions): Promise<void> => {
      shared.phase = 'draining';
      const cancelCutOff = clock.after(graceMs, destroyAll);
      await new Promise<void>((resolve) => void clock.after(noticeMs, resolve));
      await finish();
      cancelCutOff();
    },
    /** Closes it now, with every connection. Resolves when that has happened. */
    close: async (): Promise<void> => {
      const finished = finish();
      destroyAll();
      await finished;
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
