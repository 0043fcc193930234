import type { Socket } from 'node:net';
import { buildConnector, Client } from 'undici';
import { LoadError } from '../banks/load-error.ts';
import { endedEarly, type Peer, type ProxyVariable } from './connection-errors.ts';

// The client of undici that makes one request to the provider or to the token endpoint, over one
// connection with a limit on what it receives.

/** Opens a socket, for undici. */
export type SocketConnector = buildConnector.connector;

/** The tunnel of one request through the proxy in `variable`. */
export interface Tunnel {
  readonly variable: ProxyVariable;
  isOpen: boolean;
}

/** The proxy that a request goes through; undefined as long as its tunnel is not open. */
export const proxyOf = (tunnel: Tunnel | undefined): ProxyVariable | undefined =>
  tunnel?.isOpen ? tunnel.variable : undefined;

export interface OriginClientOptions {
  readonly peer: Peer;
  /** Largest body of a response. */
  readonly maxBodyBytes: number;
  /**
   * Called with each open connection to the origin itself; with a proxy, that is after the tunnel
   * was opened.
   */
  readonly onConnected?: (socket: Socket, isThroughProxy: boolean) => void;
}

/** @param tunnel the one that leads to the origin, if there is a proxy */
export const createOriginClient = (
  origin: URL | string,
  clientOptions: Client.Options,
  { peer, maxBodyBytes, onConnected }: OriginClientOptions,
  tunnel?: Tunnel,
): Client => {
  const connector = watchSockets(toSocketConnector(clientOptions.connect), (socket) => {
    limitReceived(socket, maxReceivedBytes(maxBodyBytes), responseTooLarge);
    onConnected?.(socket, proxyOf(tunnel) !== undefined);
  });
  const connect = connectOnce(connector, () => endedEarly(peer, proxyOf(tunnel)));
  return new Client(origin, { ...clientOptions, connect });
};

/** One deadline covers the whole load, so undici needs no time-outs of its own. */
export const NO_TIMEOUTS = { headersTimeout: 0, bodyTimeout: 0 };

/** undici takes a connector, or options for its own. */
export const toSocketConnector = (connect: Client.Options['connect']): SocketConnector =>
  typeof connect === 'function' ? connect : buildConnector(connect);

/**
 * `connector`, which passes each open socket to `onSocket` and closes it at its first error. In TLS
 * 1.3 the alert by which a server refuses a client's certificate comes after the handshake; undici
 * would continue until the connection ends, and report that instead.
 */
export const watchSockets =
  (connector: SocketConnector, onSocket: (socket: Socket) => void): SocketConnector =>
  (options, callback) =>
    connector(options, (...result) => {
      const [, socket] = result;
      socket?.on('error', () => socket.destroy());
      if (socket) onSocket(socket);
      callback(...result);
    });

/**
 * `connector`, which opens one socket only. If a connection ends before the request was sent, for
 * example because a proxy sends something first, undici would reconnect at once, some thousand
 * times a second until the deadline.
 */
const connectOnce = (connector: SocketConnector, toError: () => LoadError): SocketConnector => {
  let isFirst = true;
  return (options, callback) => {
    if (isFirst) connector(options, callback);
    else callback(toError(), null);
    isFirst = false;
  };
};

/**
 * Closes `socket` with an error once it has received more than `maxBytes`.
 * @returns a function that removes the limit
 */
export const limitReceived = (
  socket: Socket,
  maxBytes: number,
  toError: (maxBytes: number) => LoadError,
): (() => void) => {
  const check = (): void => {
    if (socket.bytesRead > maxBytes) socket.destroy(toError(maxBytes));
  };
  // undici reads on `readable` too. A listener for `data` would take the bytes away from it.
  socket.on('readable', check);
  return () => socket.off('readable', check);
};

/**
 * Most bytes that one connection may receive. undici limits the header section and counts the body;
 * a status line, empty lines before it and chunk extensions may continue until the deadline. In a
 * body with chunks of one byte, each byte takes six.
 */
const maxReceivedBytes = (maxBodyBytes: number): number => 8 * maxBodyBytes + 524_288;

const responseTooLarge = (maxBytes: number): LoadError =>
  new LoadError('too_large', `the response has more than ${maxBytes} bytes`);
