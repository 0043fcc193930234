// Why there is no connection, by the codes of Node, undici and OpenSSL. What is said of each is
// where it is used.

const CODES = {
  'unknown host': ['ENOTFOUND', 'EAI_AGAIN'],
  refused: ['ECONNREFUSED'],
  'no route': ['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT'],
  'certificate out of date': ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'],
  'certificate of another name': ['ERR_TLS_CERT_ALTNAME_INVALID'],
  'untrusted certificate': [
    'SELF_SIGNED_CERT_IN_CHAIN',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'UNABLE_TO_GET_ISSUER_CERT',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ],
  // The alerts of a server (RFC 8446 section 6.2), which OpenSSL names by version.
  'client certificate required': ['ALERT_CERTIFICATE_REQUIRED'],
  'client certificate refused': [
    'ALERT_BAD_CERTIFICATE',
    'ALERT_UNSUPPORTED_CERTIFICATE',
    'ALERT_CERTIFICATE_EXPIRED',
    'ALERT_CERTIFICATE_REVOKED',
    'ALERT_CERTIFICATE_UNKNOWN',
    'ALERT_UNKNOWN_CA',
    'ALERT_ACCESS_DENIED',
    'ALERT_DECRYPT_ERROR',
  ],
  'handshake refused': ['ALERT_HANDSHAKE_FAILURE'],
  'no common TLS': ['ALERT_PROTOCOL_VERSION', 'ALERT_INSUFFICIENT_SECURITY'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type ConnectionFault = keyof typeof CODES;

const isFault = (name: string): name is ConnectionFault => Object.hasOwn(CODES, name);

const FAULTS = new Map(
  Object.keys(CODES)
    .filter(isFault)
    .flatMap((fault) => CODES[fault].map((code): [string, ConnectionFault] => [code, fault])),
);

/** What an error's code says; undefined for other codes. */
export const connectionFaultOf = (code: string): ConnectionFault | undefined =>
  FAULTS.get(/ALERT_\w+$/.exec(code)?.[0] ?? code);
