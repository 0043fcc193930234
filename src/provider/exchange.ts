import { once, setMaxListeners } from 'node:events';
import { lookup as systemLookup } from 'node:dns';
import { connect as connectTcp, type LookupFunction, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { callbackify, promisify } from 'node:util';
import { brotliDecompress, gunzip } from 'node:zlib';
import { buildConnector, Client, EnvHttpProxyAgent, type Dispatcher } from 'undici';
import { LoadError } from '../banks/load-error.ts';
import type { Config } from '../config/config.ts';
import { codeOf } from '../errors.ts';
import { codeNote, toExchangeError, type Peer, type ProxyVariable } from './exchange-errors.ts';

// One exchange with the provider or the token endpoint: a request over a connection of its own,
// perhaps through a proxy, and the whole response, up to a limit. No redirect is followed, and
// nothing of undici waits for this service: undici 7 fails an assertion, which nothing can catch,
// where a connection ends while its parser is paused (nodejs/undici#5360).

export interface ExchangeRequest {
  readonly peer: Peer;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** With one it is a POST. */
  readonly body?: string;
  /** The largest body of the response, as it arrives and decompressed. */
  readonly maxBodyBytes: number;
  /** Whether the body of a response with this status is needed; others are not read. */
  readonly needsBody: (status: number) => boolean;
  /** Ends the exchange. */
  readonly signal: AbortSignal;
}

export interface ExchangeResponse {
  readonly status: number;
  /** By their names in lower case; the values of one that came more than once, with commas. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Decompressed; empty if it was not needed. */
  readonly body: Buffer;
}

/** @throws {LoadError} if there is no whole response; or the signal's reason */
export type Exchange = (request: ExchangeRequest) => Promise<ExchangeResponse>;

export interface ExchangeOptions {
  /** Firewalls in front of APIs refuse requests without a `User-Agent`. */
  readonly userAgent: string;
  /** The newest certificates and key. */
  readonly tls: () => Promise<SecureContext>;
  readonly proxies: Config['provider']['proxies'];
  /** Resolves host names; by default Node does. */
  readonly lookup?: LookupFunction | undefined;
}

export const createExchange =
  (options: ExchangeOptions): Exchange =>
  async (request) => {
    const { peer, signal } = request;
    const secureContext = await options.tls();
    signal.throwIfAborted();
    const connection = createConnection(request, secureContext, options);
    try {
      const received = await receive(connection.dispatcher, request, options.userAgent);
      return { ...received, body: await decompress(received, request) };
    } catch (error) {
      signal.throwIfAborted();
      throw toExchangeError(error, peer, connection.proxy());
    } finally {
      void connection.dispatcher.destroy();
    }
  };

/**
 * The way to one origin, for one connection. With one request per CACHE_TTL, a connection that was
 * kept would be idle for nearly an hour; a new one follows a changed address and rotated files.
 */
const createConnection = (
  { url, signal }: ExchangeRequest,
  secureContext: SecureContext,
  { userAgent, proxies, lookup = systemLookup }: ExchangeOptions,
) => {
  const dial = { lookup, signal };
  // As curl chooses: by the scheme of the address. undici falls back to the other variable.
  const [variable, option] =
    url.protocol === 'https:'
      ? (['HTTPS_PROXY', 'httpsProxy'] as const)
      : (['HTTP_PROXY', 'httpProxy'] as const);
  let usedProxy: ProxyVariable | undefined;
  // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 would disable the check.
  const handshake = { rejectUnauthorized: true, timeout: 0 };
  const originTls = { ...handshake, secureContext };
  const connectToOrigin = createConnector(originTls, dial);
  // The client certificate is not for the proxy.
  const connectToProxy = createConnector(handshake, dial);
  const dispatcher = new EnvHttpProxyAgent({
    httpProxy: '',
    httpsProxy: '',
    [option]: proxies[variable]?.reveal() ?? '',
    noProxy: proxies.NO_PROXY ?? '',
    headers: { 'user-agent': userAgent },
    connect: connectToOrigin,
    requestTls: originTls,
    clientFactory: (proxyUrl, clientOptions) => {
      const connect: buildConnector.connector = (...args) => {
        usedProxy = variable;
        connectToProxy(...args);
      };
      return new Client(proxyUrl, { ...clientOptions, ...NO_TIMEOUTS, connect });
    },
    ...NO_TIMEOUTS,
  });
  return {
    dispatcher,
    /** The proxy that the connection goes through. */
    proxy: (): ProxyVariable | undefined => usedProxy,
  };
};

/** The signal of the exchange is its only time-out. */
const NO_TIMEOUTS = { headersTimeout: 0, bodyTimeout: 0 };

interface Dial {
  readonly lookup: LookupFunction;
  readonly signal: AbortSignal;
}

/**
 * Connects once: where a connection ends before the request was sent, undici would connect again, a
 * thousand times a second until the deadline.
 */
const createConnector = (
  tls: buildConnector.BuildOptions,
  dial: Dial,
): buildConnector.connector => {
  const connectTls = buildConnector(tls);
  let isFirst = true;
  const open = async (options: buildConnector.Options): Promise<Socket> => {
    if (!isFirst) throw Object.assign(new Error('ended early'), { code: 'ECONNABORTED' });
    isFirst = false;
    const httpSocket = await openSocket(options, dial);
    if (options.protocol !== 'https:') return httpSocket;
    return new Promise((onSecured, reject) => {
      connectTls({ ...options, httpSocket }, (error, socket) => {
        if (error) reject(error);
        // In TLS 1.3 the alert by which a server refuses a client's certificate comes after the
        // handshake. undici would go on until the connection ends, and report that instead.
        else onSecured(socket.on('error', () => socket.destroy()));
      });
    });
  };
  const openWithCallback = callbackify(open);
  return (options, callback) =>
    openWithCallback(options, (error, socket) =>
      error ? callback(error, null) : callback(null, socket),
    );
};

/**
 * A connection to whichever address of the host answers first. Node tries addresses in turn, each
 * for a part of the time, so a slow one after a dead one would fail. Here all are tried at once.
 */
const openSocket = async (
  { hostname, port, protocol }: buildConnector.Options,
  { lookup, signal }: Dial,
): Promise<Socket> => {
  const found = await promisify(lookup)(hostname, { all: true });
  const addresses = typeof found === 'string' ? [found] : found.map(({ address }) => address);
  signal.throwIfAborted();
  // Node adds two for each socket, and would warn of more than ten.
  setMaxListeners(Infinity, signal);
  const target = { port: Number(port) || (protocol === 'https:' ? 443 : 80), signal };
  const sockets = addresses
    .slice(0, MAX_ADDRESSES)
    .map((host) => connectTcp({ ...target, host, noDelay: true }));
  try {
    const first = await Promise.any(sockets.map(connected));
    for (const socket of sockets) if (socket !== first) socket.destroy();
    return first;
  } catch (error) {
    throw error instanceof AggregateError ? error.errors[0] : error;
  }
};

const MAX_ADDRESSES = 8;

const connected = async (socket: Socket): Promise<Socket> => {
  await once(socket, 'connect');
  // Whoever uses the socket hears of its errors too.
  return socket.on('error', () => undefined);
};

/** Sends the request and collects the bytes of the response, without ever making undici wait. */
const receive = (
  dispatcher: Dispatcher,
  { peer, url, headers, body, maxBodyBytes, needsBody, signal }: ExchangeRequest,
  userAgent: string,
): Promise<ExchangeResponse> =>
  new Promise((onReceived, reject) => {
    let head: Omit<ExchangeResponse, 'body'> | undefined;
    // The system provides memory only for the part that is written. Kept as they come, chunks of
    // one byte would each take a hundred.
    const collected = Buffer.allocUnsafeSlow(maxBodyBytes);
    let bytes = 0;
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    const sent = {
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...headers, 'user-agent': userAgent },
      body: body ?? null,
    } as const;
    dispatcher.dispatch(sent, {
      // undici recognises a handler of its present interface by this method.
      onRequestStart: () => undefined,
      onResponseStart: (_controller, status, received) => {
        if (status < 200) return;
        head = { status, headers: joinLines(received) };
        if (!needsBody(status)) onReceived({ ...head, body: Buffer.alloc(0) });
      },
      onResponseData: (_controller, chunk) => {
        if (bytes + chunk.length > maxBodyBytes) reject(tooLarge(peer, maxBodyBytes));
        else bytes += chunk.copy(collected, bytes);
      },
      onResponseEnd: () => {
        if (head) onReceived({ ...head, body: collected.subarray(0, bytes) });
      },
      onResponseError: (_controller, error) =>
        reject(head ? malformed(peer, `was cut short${codeNote(error)}`) : error),
    });
  });

const joinLines = (
  headers: Readonly<Record<string, string | string[] | undefined>>,
): ExchangeResponse['headers'] =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]),
  );

const tooLarge = (peer: Peer, maxBytes: number): LoadError =>
  new LoadError('too_large', `the response of ${peer} has more than ${maxBytes} bytes`);
const malformed = (peer: Peer, what: string): LoadError =>
  new LoadError('malformed', `the response of ${peer} ${what}`);

const DECODERS = new Map([
  ['gzip', promisify(gunzip)],
  ['br', promisify(brotliDecompress)],
]);

/** The body without its coding (RFC 9110 section 8.4). */
const decompress = async (
  { headers, body }: ExchangeResponse,
  { peer, maxBodyBytes }: ExchangeRequest,
): Promise<Buffer> => {
  const coding = headers['content-encoding']?.toLowerCase() ?? '';
  if (['', 'identity'].includes(coding) || body.length === 0) return body;
  const decode = DECODERS.get(coding);
  if (!decode) throw malformed(peer, 'has an encoding that was not requested');
  try {
    return await decode(body, { maxOutputLength: maxBodyBytes });
  } catch (error) {
    if (codeOf(error) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(peer, maxBodyBytes);
    throw malformed(peer, `cannot be decompressed${codeNote(error)}`);
  }
};
