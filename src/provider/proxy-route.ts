import type { LookupFunction } from 'node:net';
import { Client, ProxyAgent, type Dispatcher } from 'undici';
import type { buildConnector } from 'undici';
import { LoadError } from '../banks/load-error.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { withDeadline } from '../deadline.ts';
import { toProxyError, toProxyRefusal, type ProxyVariable } from './connection-errors.ts';
import {
  createOriginClient,
  limitReceived,
  NO_TIMEOUTS,
  toSocketConnector,
  watchSockets,
  type OriginClientOptions,
  type Tunnel,
} from './origin-client.ts';

// One request through a proxy: a tunnel by HTTP CONNECT (RFC 9110 section 9.3.6), also to an
// origin with http:.

export interface ProxyRouteOptions extends OriginClientOptions {
  readonly proxy: NonNullable<Config['provider']['proxies']['https']>;
  /** The variable with its address. */
  readonly variable: ProxyVariable;
  readonly userAgent: string;
  /** PROVIDER_TIMEOUT: opening the tunnel may take half of it. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly lookup: LookupFunction | undefined;
  /** For TLS with the proxy. */
  readonly proxyTls: buildConnector.BuildOptions;
  /** For TLS with the origin, inside the tunnel. */
  readonly originTls: buildConnector.BuildOptions;
}

/**
 * undici goes through these steps:
 * 1. `clientFactory` makes the client of the proxy, which does not connect yet.
 * 2. With the request, `factory` makes the client of the origin.
 * 3. The origin's client needs a connection: undici calls `connect` of the proxy's client, which is
 *    `openTunnel`.
 * 4. The proxy's client connects to the proxy and sends CONNECT.
 * 5. The proxy responds, and the tunnel is open, or `openTunnel` rejects.
 * 6. Inside the tunnel, the TLS handshake with an origin with https:; the origin's client is
 *    connected.
 */
export const createProxyRoute = (options: ProxyRouteOptions) => {
  const { proxy, variable, userAgent, lookup, proxyTls, originTls } = options;
  const tunnel: Tunnel = { variable, isOpen: false };
  const dispatcher = new ProxyAgent({
    ...NO_TIMEOUTS,
    uri: proxy.url.href,
    headers: { 'user-agent': userAgent },
    ...(proxy.credentials && {
      token: `Basic ${Buffer.from(proxy.credentials.reveal()).toString('base64')}`,
    }),
    clientFactory: (proxyOrigin, clientOptions: Client.Options) =>
      createProxyClient(proxyOrigin, clientOptions, tunnel, options),
    factory: (origin, clientOptions) => createOriginClient(origin, clientOptions, options, tunnel),
    proxyTls: { ...proxyTls, ...(lookup && { lookup }) },
    requestTls: originTls,
  });
  return { dispatcher, tunnel };
};

/** Opens a tunnel, for undici. */
type OpenTunnel = (request: Dispatcher.ConnectOptions) => Promise<Dispatcher.ConnectData>;

/** A client of the proxy that limits what the proxy sends before the tunnel is open. */
const createProxyClient = (
  proxyOrigin: URL,
  clientOptions: Client.Options,
  tunnel: Tunnel,
  options: ProxyRouteOptions,
): Client => {
  const { variable } = options;
  let endLimit = (): void => undefined;
  const connect = watchSockets(toSocketConnector(clientOptions.connect), (socket) => {
    endLimit = limitReceived(socket, MAX_PROXY_BYTES, () => proxyResponseTooLarge(variable));
  });
  const client = new Client(proxyOrigin, { ...NO_TIMEOUTS, ...clientOptions, connect });
  const requestTunnel = createTunnelRequest(client.connect.bind(client), options);
  const openTunnel: OpenTunnel = async (request) => {
    const opened = await requestTunnel(request);
    tunnel.isOpen = true;
    endLimit();
    return opened;
  };
  return Object.assign(client, { connect: openTunnel });
};

/** `sendConnect`, which rejects with a LoadError unless the proxy opens the tunnel in time. */
const createTunnelRequest = (
  sendConnect: OpenTunnel,
  { variable, timeoutMs, clock }: ProxyRouteOptions,
): OpenTunnel => {
  const limitMs = timeoutMs / 2;
  const timeoutError = (): LoadError =>
    new LoadError(
      'proxy_unreachable',
      `the proxy in ${variable} opened no tunnel within ${limitMs} ms`,
    );
  return async (request) => {
    const response = await withDeadline((signal) => sendConnect({ ...request, signal }), {
      limitMs,
      clock,
      timeoutError,
    }).catch((error: unknown) => {
      throw toProxyError(error, variable);
    });
    if (Math.floor(response.statusCode / 100) !== 2) {
      response.socket.on('error', () => undefined).destroy();
      throw toProxyRefusal(response.statusCode, variable);
    }
    // Every 2xx opens the tunnel; undici accepts only 200.
    return { ...response, statusCode: 200 };
  };
};

/** Most bytes of the response to CONNECT, whose header section is limited to 16 KiB. */
const MAX_PROXY_BYTES = 524_288;

const proxyResponseTooLarge = (variable: ProxyVariable): LoadError =>
  new LoadError(
    'proxy_unreachable',
    `the response of the proxy in ${variable} has more than ${MAX_PROXY_BYTES} bytes`,
  );
