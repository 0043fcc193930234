import type { LookupFunction, Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { buildConnector, Client, ProxyAgent, type Dispatcher } from 'undici';
import { LoadError } from '../banks/load-error.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { withDeadline } from '../deadline.ts';
import type { TlsContextSource } from '../secrets/tls-files.ts';
import {
  endedEarly,
  toConnectionError,
  toProxyError,
  toRefusal,
  type Peer,
  type ProxyVariable,
} from './connection-errors.ts';
import { orLoadError } from './or-load-error.ts';
import { isExcepted } from './proxy-exceptions.ts';

// Connections to one origin, directly or through a proxy.

export interface ConnectionsOptions {
  readonly peer: Peer;
  readonly url: URL;
  readonly tls: TlsContextSource;
  readonly proxies: Config['provider']['proxies'];
  /** For the proxy, which sees no other header. */
  readonly userAgent: string;
  /**
   * PROVIDER_TIMEOUT. The tunnel through a proxy has half of it, so that a proxy that hangs can be
   * distinguished from a provider that does.
   */
  readonly timeoutMs: number;
  /** Most that the body of a response may have. */
  readonly maxBodyBytes: number;
  readonly clock: Clock;
  /** Resolves host names; Node's own unless given. */
  readonly lookup: LookupFunction | undefined;
  /**
   * Is given each open connection to the origin itself; through a proxy, that is after the tunnel.
   */
  readonly onConnected?: (socket: Socket, isThroughProxy: boolean) => void;
}

export interface Connections {
  /**
   * Makes a request over a connection of its own and hands the response to `read`; then the
   * connection is closed. With one request per CACHE_TTL a kept connection would have been idle for
   * nearly an hour: firewalls drop those, and servers close them in the very moment of their use. A
   * new one also follows a changed address and uses rotated certificates.
   * @throws {LoadError} when there is no response; the signal's reason; or what `read` throws
   */
  request<T>(
    options: Omit<Dispatcher.RequestOptions, 'origin'> & { readonly signal: AbortSignal },
    read: (response: Dispatcher.ResponseData) => Promise<T>,
  ): Promise<T>;
}

export const createConnections = (options: ConnectionsOptions): Connections => {
  const { peer, tls, url } = options;
  // As curl chooses: by the scheme of the address, with no fallback from one variable to the other.
  const variable = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  return {
    request: async ({ signal, ...request }, read) => {
      const { dispatcher, proxyInUse } = await createRoute(options, variable);
      const flood = new AbortController();
      let interim = 0;
      const onInfo = (): void => {
        interim += 1;
        if (interim > MAX_INTERIM)
          flood.abort(new LoadError('malformed', `${peer} ${INTERIM_FLOOD}`));
      };
      try {
        const signals = AbortSignal.any([signal, flood.signal]);
        const response = await dispatcher
          .request({ ...request, origin: url.origin, signal: signals, onInfo })
          .catch((error: unknown) => {
            signal.throwIfAborted();
            const proxy = proxyInUse();
            throw toConnectionError(error, { peer, url, proxy, tlsProblem: tls.problem() });
          });
        return await read(response);
      } finally {
        void dispatcher.destroy();
      }
    },
  };
};

/**
 * A server sends one or two before its response. undici reads any number, a few microseconds each,
 * until the deadline.
 */
const MAX_INTERIM = 20;
const INTERIM_FLOOD = `sends more than ${MAX_INTERIM} interim responses (1xx)`;

/**
 * Most bytes of one connection. undici limits the header fields and counts the body; a status line,
 * empty lines before it and chunk extensions may go on until the deadline. A body in chunks of one
 * byte has six bytes for each.
 */
const maxReceivedBytes = (maxBodyBytes: number): number => 8 * maxBodyBytes + 524_288;

/** The way of one request: directly, or through a proxy. */
interface Route {
  /** Makes one connection to the origin. */
  readonly dispatcher: Dispatcher;
  /** The variable of the proxy that has opened a tunnel. */
  readonly proxyInUse: () => ProxyVariable | undefined;
}

/** For both ways. One deadline covers the whole load, and undici needs none of its own. */
const NO_TIMEOUTS = { headersTimeout: 0, bodyTimeout: 0 };

/** @param variable holds the address of the proxy, if there is one */
const createRoute = async (
  options: ConnectionsOptions,
  variable: ProxyVariable,
): Promise<Route> => {
  const { url, tls, proxies, timeoutMs } = options;
  const secureContext = await orLoadError('unreachable', tls.current)();
  const handshake: Handshake = {
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 would switch the check off.
    rejectUnauthorized: true,
    // It only ends what the deadline left behind.
    timeout: timeoutMs + 1_000,
  };
  const proxy = variable === 'HTTPS_PROXY' ? proxies.https : proxies.http;
  return proxy === undefined || isExcepted(url, proxies.exceptions)
    ? createDirectRoute(options, { ...handshake, secureContext })
    : createProxyRoute(options, { handshake, secureContext, proxy, variable });
};

interface Handshake {
  readonly rejectUnauthorized: true;
  readonly timeout: number;
}

const createDirectRoute = (
  options: ConnectionsOptions,
  secureHandshake: buildConnector.BuildOptions,
): Route => {
  const { url, lookup } = options;
  const proxyInUse = (): undefined => undefined;
  const connect = { ...secureHandshake, ...(lookup && { lookup }) };
  const createClient = originClientFactory(options, proxyInUse);
  return { dispatcher: createClient(url.origin, { ...NO_TIMEOUTS, connect }), proxyInUse };
};

interface ProxyRouteOptions {
  readonly handshake: Handshake;
  readonly secureContext: SecureContext | undefined;
  readonly proxy: NonNullable<ConnectionsOptions['proxies']['https']>;
  readonly variable: ProxyVariable;
}

/** The tunnel of one request. */
interface Tunnel {
  isOpen: boolean;
  /** Ends the bound on what the proxy sends before it. */
  endProxyLimit: () => void;
}

/**
 * undici goes through these steps:
 * 1. `clientFactory` makes the client of the proxy, which does not connect yet.
 * 2. With the request, `factory` makes the client of the origin.
 * 3. The origin's client wants a connection: undici calls `connect` of the proxy's client, which is
 *    `openTunnel`.
 * 4. The proxy's client connects to the proxy and sends CONNECT.
 * 5. The proxy responds, and the tunnel is open, or `openTunnel` rejects.
 * 6. In the tunnel, the TLS handshake with an HTTPS origin: the origin's client is connected.
 */
const createProxyRoute = (
  options: ConnectionsOptions,
  { handshake, secureContext, proxy, variable }: ProxyRouteOptions,
): Route => {
  const { lookup, userAgent } = options;
  const tunnel: Tunnel = { isOpen: false, endProxyLimit: () => undefined };
  const proxyInUse = (): ProxyVariable | undefined => (tunnel.isOpen ? variable : undefined);
  const onProxyConnected = (socket: Socket): void => {
    tunnel.endProxyLimit = limitBytes(socket, MAX_PROXY_BYTES, (bytes) =>
      tooMuchOfProxy(variable, bytes),
    );
  };
  const dispatcher = new ProxyAgent({
    ...NO_TIMEOUTS,
    uri: proxy.url.href,
    headers: { 'user-agent': userAgent },
    ...(proxy.credentials && {
      token: `Basic ${Buffer.from(proxy.credentials.reveal()).toString('base64')}`,
    }),
    clientFactory: (origin, clientOptions: Client.Options) => {
      const connect = toConnector(clientOptions.connect, onProxyConnected);
      const client = new Client(origin, { ...NO_TIMEOUTS, ...clientOptions, connect });
      return asTunnel(client, tunnel, { ...options, variable });
    },
    // The client certificate is not for the proxy.
    proxyTls: { ...handshake, minVersion: 'TLSv1.2', ...(lookup && { lookup }) },
    factory: originClientFactory(options, proxyInUse),
    requestTls: { ...handshake, secureContext },
  });
  return { dispatcher, proxyInUse };
};

const originClientFactory =
  (options: ConnectionsOptions, proxyInUse: Route['proxyInUse']) =>
  (origin: URL | string, clientOptions: Client.Options): Client => {
    const toError = (): LoadError => endedEarly(options.peer, proxyInUse());
    const onConnected = (socket: Socket): void => {
      limitBytes(socket, maxReceivedBytes(options.maxBodyBytes), tooMuchOfResponse);
      options.onConnected?.(socket, proxyInUse() !== undefined);
    };
    const connect = connectOnce(clientOptions.connect, toError, onConnected);
    return new Client(origin, { ...clientOptions, connect });
  };

interface TunnelOptions extends Pick<ConnectionsOptions, 'timeoutMs' | 'clock'> {
  readonly variable: ProxyVariable;
}

/**
 * `client`, a connection to the proxy, with a `connect` (RFC 9110 section 9.3.6) that rejects with
 * a LoadError unless the tunnel is open.
 */
const asTunnel = <C extends Dispatcher>(
  client: C,
  tunnel: Tunnel,
  { timeoutMs, clock, variable }: TunnelOptions,
): C => {
  const limitMs = timeoutMs / 2;
  const connect: Connect = client.connect.bind(client);
  const timeoutError = (): LoadError =>
    new LoadError(
      'proxy_unreachable',
      `the proxy in ${variable} opened no tunnel within ${limitMs} ms`,
    );
  const openTunnel: Connect = async (request) => {
    const response = await withDeadline((signal) => connect({ ...request, signal }), {
      limitMs,
      clock,
      timeoutError,
    }).catch((error: unknown) => {
      throw toProxyError(error, variable);
    });
    if (Math.floor(response.statusCode / 100) !== 2) {
      response.socket.on('error', () => undefined).destroy();
      throw toRefusal(response.statusCode, variable);
    }
    tunnel.isOpen = true;
    tunnel.endProxyLimit();
    // Every 2xx opens the tunnel; undici knows 200 only.
    return { ...response, statusCode: 200 };
  };
  return Object.assign(client, { connect: openTunnel });
};

type Connect = (options: Dispatcher.ConnectOptions) => Promise<Dispatcher.ConnectData>;

/**
 * The connector of `connect`, which reports each connection and closes it at its first error. In
 * TLS 1.3 the alert by which a server refuses a client's certificate comes after the handshake;
 * undici would go on to the connection's end and report that instead.
 */
const toConnector = (
  connect: Client.Options['connect'],
  onConnected: (socket: Socket) => void,
): buildConnector.connector => {
  const connector = typeof connect === 'function' ? connect : buildConnector(connect);
  return (options, callback) =>
    connector(options, (...result) => {
      const [, socket] = result;
      socket?.on('error', () => socket.destroy());
      if (socket) onConnected(socket);
      callback(...result);
    });
};

/**
 * Connects once. A connection that ends before its request was sent, such as one over which a proxy
 * sends something first, undici would replace at once, some thousand times a second until the
 * deadline.
 */
const connectOnce = (
  connect: Client.Options['connect'],
  toError: () => LoadError,
  onConnected: (socket: Socket) => void,
): buildConnector.connector => {
  const connector = toConnector(connect, onConnected);
  let isFirst = true;
  return (options, callback) => {
    if (isFirst) connector(options, callback);
    else callback(toError(), null);
    isFirst = false;
  };
};

/**
 * Ends `socket` with an error once it has received more than `maxBytes`.
 * @returns a function that ends this
 */
const limitBytes = (
  socket: Socket,
  maxBytes: number,
  toError: (maxBytes: number) => LoadError,
): (() => void) => {
  const check = (): void => {
    if (socket.bytesRead > maxBytes) socket.destroy(toError(maxBytes));
  };
  // As undici reads. A listener for `data` would take the bytes away from it.
  socket.on('readable', check);
  return () => socket.off('readable', check);
};

/** The response to CONNECT, before the tunnel: its header section is limited to 16 KiB. */
const MAX_PROXY_BYTES = 524_288;

const tooMuchOfResponse = (maxBytes: number): LoadError =>
  new LoadError('too_large', `the response has more than ${maxBytes} bytes`);

const tooMuchOfProxy = (variable: ProxyVariable, maxBytes: number): LoadError =>
  new LoadError(
    'proxy_unreachable',
    `the response of the proxy in ${variable} has more than ${maxBytes} bytes`,
  );
