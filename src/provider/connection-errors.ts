import { LoadError } from '../banks/load-error.ts';
import { connectionFaultOf, type ConnectionFault } from '../connection-faults.ts';
import { codeOf } from '../error-code.ts';

// Why a request got no response, as a LoadError in this service's own words. An error of undici or
// Node may hold an address or headers: only its code is passed on.

/** The server that a request is for, as messages name it. */
export type Peer = 'the provider' | 'the token endpoint';

/** The variable with the proxy's address. */
export type ProxyVariable = 'HTTPS_PROXY' | 'HTTP_PROXY';

/** What was tried. */
interface Attempt {
  readonly peer: Peer;
  readonly url: URL;
  /** The proxy that opened a tunnel for it; undefined: none. */
  readonly proxy: ProxyVariable | undefined;
  /** What is wrong with the TLS files: they may have expired, or be in the middle of a rotation. */
  readonly tlsProblem: string | undefined;
}

/** `error` as the reason for having no response from the peer. */
export const toConnectionError = (
  error: unknown,
  { peer, url, proxy, tlsProblem }: Attempt,
): LoadError => {
  if (error instanceof LoadError) return error;
  const code = codeNote(error);
  if (codeOf(error) === HEADERS_OVERFLOW)
    return new LoadError('malformed', `the headers of the response have more than 16 KiB${code}`, {
      reasonCode: HEADERS_OVERFLOW,
    });
  if (isUnreadable(error)) return new LoadError('malformed', `the response ${UNREADABLE}${code}`);
  const reasonCode = codeOf(error);
  const refusal = url.protocol === 'https:' ? tlsFailure(reasonCode, peer) : undefined;
  const route = proxy ? `, through the proxy in ${proxy}` : '';
  const note = tlsProblem === undefined ? '' : `; ${tlsProblem}`;
  const text = `${refusal ?? `no connection to ${peer}`}${code}${route}${note}`;
  return new LoadError('unreachable', text, { reasonCode });
};

/** The error for a connection that could not be used; reconnecting would not help. */
export const endedEarly = (peer: Peer, proxy: ProxyVariable | undefined): LoadError =>
  new LoadError(
    'unreachable',
    `the connection to ${peer}${proxy ? ` through the proxy in ${proxy}` : ''} was closed before the request was sent, or received something other than HTTP`,
  );

/** `error` as the reason for having no response from the proxy. */
export const toProxyError = (error: unknown, variable: ProxyVariable): LoadError => {
  if (error instanceof LoadError) return error;
  const text = isUnreadable(error)
    ? `the response of the proxy in ${variable} ${UNREADABLE}`
    : `no connection to the proxy in ${variable}`;
  return new LoadError('proxy_unreachable', `${text}${codeNote(error)}`);
};

/** The error for a proxy that responds with `status` and opens no tunnel. */
export const toProxyRefusal = (status: number, variable: ProxyVariable): LoadError => {
  const proxy = `the proxy in ${variable}`;
  if (status < 200)
    return new LoadError('proxy_unreachable', `the response of ${proxy} ${UNREADABLE} (${status})`);
  // A server error is about the next hop: the proxy tried to connect, and could not.
  if (status >= 500)
    return new LoadError('unreachable', `${proxy} could not reach the host (${status})`, {
      reasonCode: 'PROXY_CANNOT_CONNECT',
    });
  // Some proxies send 401 instead of 407.
  const problem =
    status === 407 || status === 401
      ? 'does not accept the user and password in its address, or requires them'
      : 'refuses to connect to this address';
  return new LoadError('proxy_refused', `${proxy} ${problem} (${status})`);
};

/** Node's limit, which undici uses too. */
const HEADERS_OVERFLOW = 'UND_ERR_HEADERS_OVERFLOW';

const UNREADABLE = 'is malformed: not HTTP, conflicting lengths, or an unexpected 1xx status';

/**
 * Whether undici could not parse the response. Some of these errors have no code, and 100
 * (Continue) and 101 can only be recognised by the message. RFC 9110 section 15.2 requires a client
 * to wait for the final response; undici does so after all other interim responses, except after
 * CONNECT.
 */
const isUnreadable = (error: unknown): boolean =>
  /bad response|bad upgrade|content-length|HTTPParserError|HPE_|HEADERS_OVERFLOW|ERR_ASSERTION/i.test(
    `${String(error)} ${codeOf(error)}`,
  );

/** Why there is no TLS connection; undefined if something else is the reason. */
const tlsFailure = (code: string, peer: Peer): string | undefined => {
  const fault = connectionFaultOf(code);
  if (fault) return TLS_FAILURES[fault]?.(peer);
  // In TLS 1.3 a client has sent its request by the time the server reads its certificate. If the
  // server then closes the connection at once, its alert may be lost.
  if (/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/.test(code))
    return `${peer} closed the connection without a response; it may require a client certificate, or refuse this one; check PROVIDER_TLS_CERT_FILE`;
  return undefined;
};

const clientRefused = (peer: Peer): string =>
  `${peer} requires a client certificate or refuses this one; check PROVIDER_TLS_CERT_FILE and PROVIDER_TLS_KEY_FILE`;
const handshakeRefused = (peer: Peer): string =>
  `${peer} refuses the TLS handshake: it requires a client certificate (PROVIDER_TLS_CERT_FILE), or other TLS versions than 1.2 and 1.3`;

const TLS_FAILURES: Readonly<Record<ConnectionFault, ((peer: Peer) => string) | undefined>> = {
  'unknown host': undefined,
  refused: undefined,
  'no route': undefined,
  'certificate out of date': (peer) =>
    `the certificate of ${peer} has expired or is not valid yet, or this machine's clock is wrong`,
  'certificate of another name': (peer) =>
    `the certificate of ${peer} is for another name than the configured address has`,
  'untrusted certificate': (peer) =>
    `the certificate of ${peer} is not trusted; check PROVIDER_TLS_CA_FILE`,
  'client certificate required': clientRefused,
  'client certificate refused': clientRefused,
  'handshake refused': handshakeRefused,
  'no common TLS': handshakeRefused,
};

/**
 * The error's code as a note for people, such as ` (ECONNREFUSED)`. OpenSSL 3.5 has a slash in
 * some.
 */
export const codeNote = (error: unknown): string => {
  const code = codeOf(error);
  return /^[A-Z0-9_/]{1,60}$/.test(code) ? ` (${code})` : '';
};
