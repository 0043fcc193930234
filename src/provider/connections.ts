import type { LookupFunction } from 'node:net';
import type { Dispatcher } from 'undici';
import { LoadError } from '../banks/load-error.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { unusableOf, type Secrets, type SecretFileState } from '../secrets/secrets.ts';
import { toConnectionError } from './connection-errors.ts';
import { orLoadError } from './or-load-error.ts';
import {
  createOriginClient,
  NO_TIMEOUTS,
  proxyOf,
  type OriginClientOptions,
  type Tunnel,
} from './origin-client.ts';
import { isExcepted } from './proxy-exceptions.ts';
import { createProxyRoute } from './proxy-route.ts';

// Requests to one origin, directly or through a proxy.

export interface ConnectionsOptions extends OriginClientOptions {
  readonly url: URL;
  readonly secrets: Pick<Secrets, 'tlsContext' | 'states'>;
  readonly proxies: Config['provider']['proxies'];
  /** For the proxy, which sees no other header. */
  readonly userAgent: string;
  /**
   * PROVIDER_TIMEOUT. Opening a tunnel through a proxy may take half of it, so that a proxy that
   * hangs can be distinguished from a provider that does.
   */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Resolves host names; if undefined, Node does. */
  readonly lookup: LookupFunction | undefined;
}

export interface Connections {
  /**
   * Makes a request over a new connection, passes the response to `read`, and closes the
   * connection. With one request per CACHE_TTL, a connection that was kept open would be idle for
   * nearly an hour: firewalls drop such connections, and a server may close one at the moment when
   * it is used. A new connection also follows a changed address and uses rotated certificates.
   * @throws {LoadError} if there is no response; the signal's reason; or what `read` throws
   */
  request<T>(
    options: Omit<Dispatcher.RequestOptions, 'origin'> & { readonly signal: AbortSignal },
    read: (response: Dispatcher.ResponseData) => Promise<T>,
  ): Promise<T>;
}

export const createConnections = (options: ConnectionsOptions): Connections => {
  const { peer, secrets, url } = options;
  return {
    request: async ({ signal, ...request }, read) => {
      const { dispatcher, tunnel } = await createRoute(options);
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
            const proxy = proxyOf(tunnel);
            throw toConnectionError(error, {
              peer,
              url,
              proxy,
              tlsProblem: tlsProblemIn(secrets.states()),
            });
          });
        return await read(response);
      } finally {
        void dispatcher.destroy();
      }
    },
  };
};

/** What is wrong with the files of TLS, of which the last usable ones are in use; or undefined. */
const tlsProblemIn = (states: readonly SecretFileState[]): string | undefined =>
  unusableOf(states)
    .filter(({ variable }) => variable.startsWith('PROVIDER_TLS_'))
    .map(({ variable, problem }) => `${variable} ${problem}`)
    .join('; ') || undefined;

/**
 * A server sends one or two before its response. undici reads any number of them until the
 * deadline, in a few microseconds each.
 */
const MAX_INTERIM = 20;
const INTERIM_FLOOD = `sends more than ${MAX_INTERIM} interim responses (1xx)`;

/** How one request reaches the origin. */
interface Route {
  /** Makes one connection to the origin. */
  readonly dispatcher: Dispatcher;
  /** Undefined: there is no proxy. */
  readonly tunnel?: Tunnel;
}

const createRoute = async (options: ConnectionsOptions): Promise<Route> => {
  const { url, secrets, proxies, timeoutMs, lookup } = options;
  const secureContext = await orLoadError('unreachable', secrets.tlsContext)();
  const handshake = {
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 would disable the check.
    rejectUnauthorized: true,
    // The deadline of the request is shorter: this closes a socket that has outlived it.
    timeout: timeoutMs + 1_000,
  };
  const originTls = { ...handshake, secureContext };
  // As curl chooses: by the scheme of the address, without falling back to the other variable.
  const variable = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const proxy = variable === 'HTTPS_PROXY' ? proxies.https : proxies.http;
  if (proxy === undefined || isExcepted(url, proxies.exceptions)) {
    const connect = { ...originTls, ...(lookup && { lookup }) };
    return { dispatcher: createOriginClient(url.origin, { ...NO_TIMEOUTS, connect }, options) };
  }
  // The client certificate is not for the proxy.
  const proxyTls = { ...handshake, minVersion: 'TLSv1.2' } as const;
  return createProxyRoute({ ...options, proxy, variable, proxyTls, originTls });
};
