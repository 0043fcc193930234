import { LoadError } from '../banks/load-error.ts';
import { codeOf } from '../error-code.ts';

// Why there is no response, from an error of Node, OpenSSL or undici to a kind of failure and words
// of this service. Such an error may hold an address or headers: only its code is passed on.

/** The server that a request is for, as messages name it. */
export type Peer = 'the provider' | 'the token endpoint';

/** The variable with the proxy's address. */
export type ProxyVariable = 'HTTPS_PROXY' | 'HTTP_PROXY';

interface Fault {
  readonly codes: readonly string[];
  /** What is wrong, and what to check; undefined: the code says it. */
  readonly says?: (peer: Peer) => string;
}

const clientRefused = (peer: Peer): string =>
  `${peer} requires a client certificate or refuses this one; check PROVIDER_TLS_CERT_FILE and PROVIDER_TLS_KEY_FILE`;
const handshakeRefused = (peer: Peer): string =>
  `${peer} refuses the TLS handshake: it requires a client certificate (PROVIDER_TLS_CERT_FILE), or other TLS versions than 1.2 and 1.3`;

/** The alerts of a server (RFC 8446 section 6.2) are the ends of OpenSSL's codes, without version. */
const FAULTS = {
  'unknown host': { codes: ['ENOTFOUND', 'EAI_AGAIN'] },
  refused: { codes: ['ECONNREFUSED'] },
  'no route': { codes: ['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT'] },
  'certificate out of date': {
    codes: ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'],
    says: (peer) =>
      `the certificate of ${peer} has expired or is not valid yet, or this machine's clock is wrong`,
  },
  'certificate of another name': {
    codes: ['ERR_TLS_CERT_ALTNAME_INVALID'],
    says: (peer) =>
      `the certificate of ${peer} is for another name than the configured address has`,
  },
  'untrusted certificate': {
    codes: [
      'SELF_SIGNED_CERT_IN_CHAIN',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'UNABLE_TO_GET_ISSUER_CERT',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    ],
    says: (peer) => `the certificate of ${peer} is not trusted; check PROVIDER_TLS_CA_FILE`,
  },
  'incomplete certificate chain': {
    codes: ['UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
    says: (peer) =>
      `the certificate of ${peer} is not trusted: ${peer} does not send the certificate of its issuer (openssl s_client -showcerts shows what it sends); put that one into PROVIDER_TLS_CA_FILE`,
  },
  // Node has no code of its own for these.
  'weak certificate': {
    codes: ['UNSPECIFIED'],
    says: (peer) =>
      `the certificate of ${peer}, or of its issuer, is refused; most likely it is too weak: an RSA key of fewer than 2048 bits, or a signature with SHA-1`,
  },
  'client certificate required': {
    codes: ['ALERT_CERTIFICATE_REQUIRED'],
    says: clientRefused,
  },
  'client certificate refused': {
    codes: [
      'ALERT_BAD_CERTIFICATE',
      'ALERT_UNSUPPORTED_CERTIFICATE',
      'ALERT_CERTIFICATE_EXPIRED',
      'ALERT_CERTIFICATE_REVOKED',
      'ALERT_CERTIFICATE_UNKNOWN',
      'ALERT_UNKNOWN_CA',
      'ALERT_ACCESS_DENIED',
      'ALERT_DECRYPT_ERROR',
    ],
    says: clientRefused,
  },
  'handshake refused': { codes: ['ALERT_HANDSHAKE_FAILURE'], says: handshakeRefused },
  'no common TLS': {
    codes: ['ALERT_PROTOCOL_VERSION', 'ALERT_INSUFFICIENT_SECURITY'],
    says: handshakeRefused,
  },
} as const satisfies Readonly<Record<string, Fault>>;

export type ConnectionFault = keyof typeof FAULTS;

const isFault = (name: string): name is ConnectionFault => Object.hasOwn(FAULTS, name);

const FAULT_OF_CODE = new Map(
  Object.keys(FAULTS)
    .filter(isFault)
    .flatMap((fault) =>
      FAULTS[fault].codes.map((code): [string, ConnectionFault] => [code, fault]),
    ),
);

const saysOf = (fault: ConnectionFault): Fault['says'] => {
  const { says }: Fault = FAULTS[fault];
  return says;
};

/** What an error's code says of a connection; undefined for other codes. */
export const connectionFaultOf = (code: string): ConnectionFault | undefined =>
  FAULT_OF_CODE.get(/ALERT_\w+$/.exec(code)?.[0] ?? code);

/**
 * In TLS 1.3 a client has sent its request by the time the server reads its certificate, and the
 * alert may be lost.
 */
const CLOSED = /^(?:ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/;
const closed = (peer: Peer): string =>
  `${peer} closed the connection without a response; with https: it may require a client certificate, or refuse this one (PROVIDER_TLS_CERT_FILE)`;

/** Some of undici's errors about what it cannot read have no code of their own. */
const UNREADABLE = /bad response|bad upgrade|content-length|HTTPParserError|HPE_|ERR_ASSERTION/i;

/** undici tells the status of a proxy that opens no tunnel in its message only. */
const PROXY_STATUS = /\bProxy response \((\d{3})\)/;

/** @param proxy the variable of the proxy that the connection goes through */
export const toExchangeError = (
  error: unknown,
  peer: Peer,
  proxy: ProxyVariable | undefined,
): LoadError => {
  if (error instanceof LoadError) return error;
  const [description, reasonCode] = [String(error), codeOf(error)];
  const note = `${codeNote(error)}${proxy ? `, through the proxy in ${proxy}` : ''}`;
  const [, status] = PROXY_STATUS.exec(description) ?? [];
  if (proxy && status) return toProxyRefusal(Number(status), proxy);
  if (reasonCode === 'UND_ERR_HEADERS_OVERFLOW')
    return new LoadError('malformed', `the headers of the response have more than 16 KiB${note}`, {
      reasonCode,
    });
  if (UNREADABLE.test(`${description} ${reasonCode}`))
    return new LoadError('malformed', `the response cannot be read as HTTP${note}`);
  // Nothing that the network does.
  if (reasonCode === '') return LoadError.from(error);
  const fault = connectionFaultOf(reasonCode);
  const says = fault && saysOf(fault);
  // A proxy connects to the provider itself, and says by its status that it cannot.
  if (proxy && fault && !says)
    return new LoadError(
      'proxy_unreachable',
      `no connection to the proxy in ${proxy}${codeNote(error)}`,
    );
  const explain = CLOSED.test(reasonCode) ? closed : says;
  const text = explain?.(peer) ?? `no connection to ${peer}`;
  return new LoadError('unreachable', `${text}${note}`, { reasonCode });
};

/** The error for a proxy that responds with `status` and opens no tunnel. */
const toProxyRefusal = (status: number, variable: ProxyVariable): LoadError => {
  const proxy = `the proxy in ${variable}`;
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

/**
 * The error's code as a note for people, such as ` (ECONNREFUSED)`. OpenSSL 3.5 has a slash in
 * some.
 */
export const codeNote = (error: unknown): string => {
  const code = codeOf(error);
  return /^[A-Z0-9_/]{1,60}$/.test(code) ? ` (${code})` : '';
};
