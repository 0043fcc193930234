import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import { drain, type DrainOptions } from './drain.ts';
import { serveHot } from './hot-connection.ts';
import type { HotPath } from './hot-path.ts';
import { LIMITS, MAX_HEADER_BYTES, MAX_HEADER_FIELDS, MAX_REQUESTS_BY_NODE, type Limits } from './limits.ts';
import { answerParserErrors, type ParserErrorOptions } from './parser-errors.ts';

// The public listener: its limits, and who gets a connection.

export interface PublicServerOptions extends ParserErrorOptions {
  /** Gets the requests of each connection, up to the first that it does not take. */
  readonly hotPath: HotPath;
  readonly clock: Clock;
  readonly limits?: Limits;
}

export interface PublicServer {
  readonly server: Server;
  /** Gives all other requests whose head could be read to `app`. To be called once, before the server listens. */
  serve(app: RequestListener): void;
  /** Whether this connection came when all places were taken. */
  isInExcess(socket: Socket): boolean;
  /** Whether this connection has had all the requests that Node may have from it (`MAX_REQUESTS_BY_NODE`). */
  isUsedUp(socket: Socket): boolean;
  /** See {@link DrainOptions}. Resolves when the last connection is closed. */
  drain(options: DrainOptions): Promise<void>;
}

/** The public listener, on which no client can hold on for ever. */
export const createPublicServer = ({
  hotPath,
  clock,
  limits = LIMITS,
  ...options
}: PublicServerOptions): PublicServer => {
  const open = new Set<Socket>();
  const hot = new Set<Socket>();
  const silent = new Set<Socket>();
  const inExcess = new WeakSet<Socket>();
  const isInExcess = (socket: Socket): boolean => inExcess.has(socket);
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    // Node's answer would be a bare 400; admission.ts looks at Host.
    requireHostHeader: false,
  });
  // One more than is allowed: fields beyond it are dropped, and admission.ts must see that there were too many.
  server.maxHeadersCount = MAX_HEADER_FIELDS + 1;
  server.maxConnections = limits.connections + limits.spareConnections;
  answerParserErrors(server, options);
  // Node's own answers to these would be a 100 that invites a body, and a bare 417.
  server.on('checkContinue', (req, res) => server.emit('request', req, res));
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));

  // Node's own listener begins to read at once, so it must not hear of a connection before it is to have it.
  const nodeListeners = server.listeners('connection');
  server.removeAllListeners('connection');
  const giveToNode = (socket: Socket): void => {
    hot.delete(socket);
    silent.add(socket);
    for (const listener of nodeListeners) Reflect.apply(listener, server, [socket]);
  };
  const onSilent = (socket: Socket): void => {
    giveToNode(socket);
    server.emit('clientError', new HeadersTimeout(), socket);
  };
  server.on('connection', (socket: Socket) => {
    const hasPlace = open.size < limits.connections;
    open.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      hot.delete(socket);
      silent.delete(socket);
    });
    if (hasPlace) {
      hot.add(socket);
      serveHot(socket, { hotPath, limits, onOther: giveToNode, onSilent });
    } else {
      inExcess.add(socket);
      giveToNode(socket);
    }
  });
  const requestsByNode = new WeakMap<Socket, number>();
  const countOf = (socket: Socket): number => requestsByNode.get(socket) ?? 0;
  server.prependListener('request', ({ socket }) => {
    silent.delete(socket);
    requestsByNode.set(socket, countOf(socket) + 1);
  });
  cutOffSlowReaders(server, open, limits.slowReaderMs);
  return {
    server,
    serve: (app) => void server.on('request', app),
    isInExcess,
    isUsedUp: (socket) => countOf(socket) >= MAX_REQUESTS_BY_NODE,
    drain: (drainOptions) => drain({ server, open, hot, silent, clock }, drainOptions),
  };
};

/** Destroys each connection that took not one whole piece of what waits for it between two looks, `everyMs` apart. */
const cutOffSlowReaders = (server: Server, open: ReadonlySet<Socket>, everyMs: number): void => {
  let takenBefore = new Map<Socket, number>();
  const look = (): void => {
    const taken = new Map<Socket, number>();
    for (const socket of open) {
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
