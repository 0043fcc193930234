import { LoadError } from '../banks/load-error.ts';
import { codeOf } from '../errors.ts';
import { SecretFileError } from '../secrets/secret.ts';

// Why there is no response, from an error of Node, OpenSSL or undici to a kind of failure and words
// of this service. Such an error may hold an address or headers: only its code is passed on.

/** The server that a request is for, as messages name it. */
export type Peer = 'the provider' | 'the token endpoint';

/** The variable with the proxy's address. */
export type ProxyVariable = 'HTTPS_PROXY' | 'HTTP_PROXY';

/** What an error's code says of the server; the alerts are of RFC 8446 section 6.2. */
const EXPLANATIONS: readonly (readonly [codes: RegExp, says: string])[] = [
  [/^CERT_/, "its certificate has expired or is not valid yet, or this machine's clock is wrong"],
  [/ALTNAME_INVALID$/, 'its certificate is for another name than the configured address has'],
  [
    /SELF_SIGNED|UNABLE_TO_GET_ISSUER/,
    'its certificate is not trusted; check PROVIDER_TLS_CA_FILE',
  ],
  [
    /^UNABLE_TO_VERIFY_LEAF_SIGNATURE$/,
    'its certificate is not trusted, and it does not send that of the issuer (openssl s_client -showcerts shows what it sends); put the issuer’s into PROVIDER_TLS_CA_FILE',
  ],
  [/WRONG_VERSION_NUMBER/, 'it does not use TLS on this port; check the scheme and the port'],
  // Node has no code of its own for these.
  [/^UNSPECIFIED$/, 'its certificate is refused; most likely its key or its signature is too weak'],
  [
    /ALERT_/,
    'it refuses the TLS handshake, or requires a client certificate; check PROVIDER_TLS_CERT_FILE and PROVIDER_TLS_KEY_FILE',
  ],
  // In TLS 1.3 a client has sent its request by the time the server reads its certificate, and the
  // alert may be lost.
  [
    /^(?:ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/,
    'it closed the connection without a response; with https: it may require a client certificate (PROVIDER_TLS_CERT_FILE)',
  ],
];

/** Some of undici's errors about what it cannot read have no code of their own. */
const UNREADABLE =
  /bad response|bad upgrade|content-length|HTTPParserError|HPE_|ERR_ASSERTION|HEADERS_OVERFLOW/i;

/** undici tells the status of a proxy that opens no tunnel in its message only. */
const PROXY_STATUS = /\bProxy response \((\d{3})\)/;

/** @param proxy the variable of the proxy that the connection goes through */
export const toExchangeError = (
  error: unknown,
  peer: Peer,
  proxy: ProxyVariable | undefined,
): LoadError => {
  if (error instanceof LoadError) return error;
  const [description, code] = [String(error), codeOf(error)];
  const [, status] = PROXY_STATUS.exec(description) ?? [];
  if (proxy && status)
    return unreachable(`the proxy in ${proxy} opens no connection to ${peer} (${status})`);
  const note = `${codeNote(error)}${proxy ? `, through the proxy in ${proxy}` : ''}`;
  if (UNREADABLE.test(`${description} ${code}`))
    return new LoadError('malformed', `the response of ${peer} cannot be read as HTTP${note}`);
  // Nothing that the network does.
  if (code === '') return LoadError.from(error);
  const [, says] = EXPLANATIONS.find(([codes]) => codes.test(code)) ?? [];
  if (says !== undefined) return unreachable(`no response from ${peer}: ${says}${note}`);
  // A proxy connects to the server itself, and says by its status that it cannot.
  const other = proxy ? `the proxy in ${proxy}` : peer;
  return unreachable(`no connection to ${other}${codeNote(error)}`);
};

/** A load, or a request for a token, has taken as long as it may. */
export const noResponseInTime = (peer: Peer, limitMs: number): LoadError =>
  new LoadError('timeout', `no complete response from ${peer} within ${limitMs} ms`);

const unreachable = (message: string): LoadError => new LoadError('unreachable', message);

/** The same for an error before the request: a file that it needs may have no usable content. */
export const toLoadError = (error: unknown): LoadError =>
  error instanceof SecretFileError
    ? new LoadError('unusable_file', error.message)
    : LoadError.from(error);

/** The error's code as a note, such as ` (ECONNREFUSED)`. OpenSSL 3.5 has a slash in some. */
export const codeNote = (error: unknown): string => {
  const code = codeOf(error);
  return /^[A-Z0-9_/]{1,60}$/.test(code) ? ` (${code})` : '';
};
