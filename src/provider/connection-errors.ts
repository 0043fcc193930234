import { LoadError } from '../banks/load-error.ts';
import { codeOf } from '../error-code.ts';

// Why a request got no answer, as a LoadError in this service's own words. An error of undici or Node may hold an address
// or headers: only its code is passed on.

/** Who was asked, as messages name it. */
export type Peer = 'the provider' | 'the token endpoint';

/** `error` as the reason for having no answer from `peer`. */
export const toConnectionError = (error: unknown, peer: Peer, { protocol }: URL): LoadError => {
  if (error instanceof LoadError) return error;
  const code = codeNote(error);
  const problem = answerProblem(error);
  if (problem) return new LoadError('malformed', `the answer ${problem}${code}`);
  const refusal = protocol === 'https:' ? tlsRefusal(codeOf(error), peer) : undefined;
  return new LoadError('unreachable', `${refusal ?? `no connection to ${peer}`}${code}`);
};

/** The variable with the proxy's address. */
export type ProxyVariable = 'HTTPS_PROXY' | 'HTTP_PROXY';

/** `error` as the reason for having no answer from the proxy. */
export const toProxyError = (error: unknown, variable: ProxyVariable): LoadError => {
  if (error instanceof LoadError) return error;
  const problem = answerProblem(error);
  const text = problem
    ? `the answer of the proxy in ${variable} ${problem}`
    : `no connection to the proxy in ${variable}`;
  return new LoadError('proxy_unreachable', `${text}${codeNote(error)}`);
};

/** The proxy's answer that it opens no tunnel. */
export const toRefusal = (status: number, variable: ProxyVariable): LoadError => {
  const proxy = `the proxy in ${variable}`;
  if (status < 200)
    return new LoadError(
      'proxy_unreachable',
      `the answer of ${proxy} is an interim one (${status}) that nobody asked for`,
    );
  // With a server error the proxy reports on the way behind it: it tried, and found nobody there.
  if (status >= 500) return new NoWayOnward('unreachable', `${proxy} cannot connect any further (${status})`);
  // Proxies that are not sure about their own name for it answer 401.
  const problem =
    status === 407 || status === 401
      ? 'does not accept the user and password in its address, or requires them'
      : 'refuses to connect to this address';
  return new LoadError('proxy_refused', `${proxy} ${problem} (${status})`);
};

class NoWayOnward extends LoadError {
  /** For those who watch undici's diagnostics channels. */
  readonly code = 'PROXY_CANNOT_CONNECT';
}

/**
 * What is wrong with an answer that undici cannot read; undefined: there was none. Some errors have no code, and 100 (Continue)
 * and 101 are told by the message only. RFC 9110 section 15.2 wants a client to go on to the final answer; undici skips all
 * other interim ones, except after CONNECT.
 */
const answerProblem = (error: unknown): string | undefined => {
  const text = `${String(error)} ${codeOf(error)}`;
  if (text.includes('bad response')) return 'is an interim one (100) that nobody asked for';
  if (text.includes('bad upgrade')) return 'changes the protocol (101), which nobody asked for';
  if (/content-length/i.test(text)) return 'gives its length twice (Content-Length, Transfer-Encoding)';
  return /HTTPParserError|HPE_|HEADERS_OVERFLOW|ERR_ASSERTION/.test(text) ? 'is not HTTP' : undefined;
};

/** What the alerts (RFC 8446 section 6.2) of a server mean. OpenSSL names them by version. */
const tlsRefusal = (code: string, peer: Peer): string | undefined => {
  if (/ALERT_(?:\w*CERTIFICATE\w*|UNKNOWN_CA|ACCESS_DENIED|DECRYPT_ERROR)$/.test(code))
    return `${peer} requires a client certificate or refuses this one; check PROVIDER_TLS_CERT_FILE and PROVIDER_TLS_KEY_FILE`;
  if (/ALERT_(?:HANDSHAKE_FAILURE|PROTOCOL_VERSION|INSUFFICIENT_SECURITY)$/.test(code))
    return `${peer} refuses the TLS handshake: it requires a client certificate (PROVIDER_TLS_CERT_FILE), or other TLS versions than 1.2 and 1.3`;
  // In TLS 1.3 a client has sent its request by the time the server reads its certificate. A server that then closes the
  // connection at once may take its own alert back.
  if (/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/.test(code))
    return `${peer} closed the connection without an answer; it may require a client certificate, or refuse this one`;
  return undefined;
};

/** The error's code as a note for people, such as ` (ECONNREFUSED)`. OpenSSL 3.5 has a slash in some. */
export const codeNote = (error: unknown): string => {
  const code = codeOf(error);
  return /^[A-Z0-9_/]{1,60}$/.test(code) ? ` (${code})` : '';
};
