import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate, setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import type { FlatHeaders } from '../headers.ts';
import {
  onNodeRequest,
  openConnection,
  proceed,
  refuse,
  relieve,
  type Connection,
  type HotPath,
  type Shared,
} from './connection.ts';
import { HIGH_WATER_MARK_BYTES, LIMITS, PIPELINE_SLICE_MS, type Limits } from './limits.ts';
import { createMemory } from './memory.ts';
import { createNodeServer } from './node-http.ts';
import { endOverdue, phaseOf, type Phase } from './phase.ts';
import { createPlaces } from './places.ts';
import { createWriteRefusal, type ParserRefusal } from './refusals.ts';
import { createTurns } from './turns.ts';

// An HTTP server on which no client can stay for ever, or take more than its share. Both ports are
// one.

export interface BoundedServerOptions {
  /** Answers the ordinary requests; without it, the application answers all. */
  readonly hotPath?: HotPath | undefined;
  /**
   * Loads the application that gets all other requests whose head could be read. Called before the
   * port is bound.
   */
  readonly loadApp: () => Promise<RequestListener>;
  /** Whether connections from this address are a trusted proxy's. By default none are. */
  readonly isProxy?: (address: string) => boolean;
  /** What every answer carries that the application does not give. */
  readonly commonHeaders: FlatHeaders;
  readonly onRefusal: (refusal: ParserRefusal) => void;
  readonly clock: Clock;
  readonly limits?: Limits;
}

export type BoundedServer = ReturnType<typeof createBoundedServer>;

export interface DrainOptions {
  /**
   * How long new requests are still accepted, so that load balancers can see the 503 of /readyz
   * first.
   */
  readonly noticeMs: number;
  /** After this time, counted from the start, all open connections are closed. */
  readonly graceMs: number;
}

export const createBoundedServer = ({
  hotPath,
  loadApp,
  isProxy = () => false,
  commonHeaders,
  onRefusal,
  clock,
  limits = LIMITS,
}: BoundedServerOptions) => {
  const places = createPlaces(limits, isProxy);
  const nodeServer = createNodeServer(limits.keepAliveTimeoutMs);
  const byStream = new WeakMap<Duplex, Connection>();
  const shared: Shared = {
    isHeld: false,
    hotPath,
    limits,
    turns: createTurns(PIPELINE_SLICE_MS, proceed),
    memory: createMemory<Connection>(limits.heldBytes, relieve),
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
  let answer: RequestListener = () => undefined;
  nodeServer.on('request', (req, res) => {
    on(req.socket, (connection) => onNodeRequest(connection, res));
    answer(req, res);
  });
  nodeServer.on('clientError', (_error, stream) =>
    on(stream, (connection) => refuse(connection, 'bad_request')),
  );
  nodeServer.on('connect', ({ socket }) =>
    on(socket, (connection) => refuse(connection, 'method_not_allowed')),
  );

  const hold = (isHeld: boolean): void => {
    shared.isHeld = isHeld;
    if (!isHeld) for (const connection of places) proceed(connection);
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
  // Sockets keep real time, as Node's own time-outs do.
  const endAllOverdue = (): void => {
    const nowMs = performance.now();
    for (const connection of places) endOverdue(connection, nowMs);
  };

  return {
    /**
     * Resolves with the address; port 0 picks a free one. Rejects with Node's error, such as
     * EADDRINUSE.
     */
    listen: async (address: { readonly port: number; readonly host: string }): Promise<string> => {
      // Before clients can take all file descriptors: Node 20 never loads a file again that it
      // could not open once.
      answer = await loadApp();
      const url = await bind(server, address);
      const timer = setInterval(endAllOverdue, limits.checkIntervalMs).unref();
      server.once('close', () => clearInterval(timer));
      return url;
    },
    /**
     * Whether the request came on a connection over capacity: only to be answered 503, or a probe.
     */
    isOverCapacity: ({ socket }: IncomingMessage): boolean =>
      byStream.get(socket)?.isOverCapacity ?? false,
    /** See {@link DrainOptions}. Resolves when the last connection is closed. */
    drain: (times: DrainOptions): Promise<void> => drain(server, places, clock, hold, times),
    /** Closes it now, with every connection. Resolves when that has happened. */
    close: async (): Promise<void> => {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      for (const { socket } of places) socket.destroy();
      await closed;
    },
  };
};

/** Gives the address. */
const bind = async (
  server: Server,
  { port, host }: { port: number; host: string },
): Promise<string> => {
  await once(server.listen(port, host), 'listening');
  const bound = server.address();
  if (bound === null || typeof bound === 'string')
    throw new TypeError('the server listens on no port');
  return `http://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`;
};

/**
 * Closes `server` without losing a request. It continues to serve for `noticeMs`: closing at once
 * could close an idle keep-alive connection just when its client reuses it. Meanwhile every
 * response says `Connection: close`, so that clients close their connections. `hold(true)` keeps
 * requests waiting, until `hold(false)`.
 */
const drain = async (
  server: Server,
  connections: Iterable<Connection>,
  clock: Clock,
  hold: (isHeld: boolean) => void,
  { noticeMs, graceMs }: DrainOptions,
): Promise<void> => {
  const destroyAll = (...phases: readonly Phase[]): void => {
    for (const connection of connections)
      if (phases.length === 0 || phases.includes(phaseOf(connection, ON_ITS_WAY_MS)))
        connection.socket.destroy();
  };
  const cancelCutOff = clock.after(graceMs, () => destroyAll());
  await new Promise<void>((resolve) => void clock.after(noticeMs, resolve));
  // While clients got answers they would reconnect, and the accept queue would never be empty.
  hold(true);
  await acceptWaiting(connections);
  const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
  hold(false);
  const cancelHurry = clock.after(ON_ITS_WAY_MS, () => destroyAll('receiving'));
  // The response to a request from before the drain does not say Connection: close, and leaves an
  // idle connection.
  destroyAll('idle');
  const sweep = setInterval(() => destroyAll('idle'), IDLE_SWEEP_MS);
  await closed;
  clearInterval(sweep);
  cancelHurry();
  cancelCutOff();
};

/**
 * Accepts the connections that the operating system has established already, and would reset when
 * the server closes. While their requests are held, clients that ask again and again come to an
 * end.
 */
const acceptWaiting = async (connections: Iterable<Connection>): Promise<void> => {
  // oxlint-disable-next-line no-await-in-loop -- one wait after the other
  for (let waits = 1; !(await isQuiet(connections)) && waits < MOST_WAITS;) waits += 1;
};

/**
 * Waits. Tells whether nobody has connected, and the last turn of the event loop was quick: in a
 * slow one, more may have come.
 */
const isQuiet = async (connections: Iterable<Connection>): Promise<boolean> => {
  const startedMs = performance.now();
  await wait(QUIET_MS);
  const turnStartedMs = performance.now();
  await setImmediate();
  const isQuick = performance.now() - turnStartedMs < QUICK_TURN_MS;
  return isQuick && [...connections].every(({ lastUsedMs }) => lastUsedMs < startedMs);
};

/**
 * A wait of 10 turns of the event loop had 5 of 1,200 connections reset, on a machine with more to
 * do than it has cores.
 */
const QUIET_MS = 50;
const QUICK_TURN_MS = 1;
/** Held clients wait for half a second at most. */
const MOST_WAITS = 10;
/**
 * A request, or the rest of one, may be on its way for so long: TCP sends again after a second (RFC
 * 6298 section 2.1).
 */
const ON_ITS_WAY_MS = 1_000;
const IDLE_SWEEP_MS = 100;
