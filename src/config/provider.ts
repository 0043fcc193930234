import type { SecretSource } from '../secrets/secrets.ts';
import type { Secret } from '../secrets/secret.ts';
import type { TlsFiles } from '../secrets/tls-files.ts';
import type { VariableReader } from './reader.ts';
import type { TOKEN_AUTHS, TOKEN_FORMATS, TokenEndpoint } from './values.ts';

// The variables about the provider: which one it is, how it is reached, and where its access token
// comes from.

/** Where the access token comes from. */
export type TokenSource =
  { readonly kind: 'given'; readonly token: SecretSource } | ClientCredentials;

export interface ClientCredentials {
  readonly kind: 'client-credentials';
  readonly endpoint: TokenEndpoint;
  readonly clientId: string;
  readonly clientSecret: SecretSource;
  readonly scope: string | undefined;
  /**
   * How the request for a token is written: as RFC 6749 wants it, or as a JSON object with the same
   * members.
   */
  readonly format: (typeof TOKEN_FORMATS)[number];
  /**
   * How the client authenticates: HTTP Basic with escapes, without them, or id and secret in the
   * body.
   */
  readonly auth: (typeof TOKEN_AUTHS)[number];
  /** Further members of the request, form-encoded. */
  readonly params: Secret | undefined;
  /** Where the token is in the grant: names of members, with dots between them. */
  readonly field: string;
}

/** Undefined where what is missing has been reported. */
export const readProvider = (reader: VariableReader) => {
  const environment = reader.optional('PROVIDER_ENVIRONMENT');
  if (!environment) reader.report('PROVIDER_ENVIRONMENT', 'is required: sandbox or production');
  const address =
    environment === 'production' ? 'PROVIDER_PRODUCTION_BASE_URL' : 'PROVIDER_SANDBOX_BASE_URL';
  const baseUrl = reader.optional(address);
  if (environment && !baseUrl)
    reader.report(address, `is required when PROVIDER_ENVIRONMENT is ${environment}`);
  const token = readTokenSource(reader);
  const tls = readTlsPaths(reader);
  if (!environment || !baseUrl || !token) return undefined;
  return {
    environment,
    baseUrl,
    /** The query of the request for the list, without its question mark. */
    query: reader.optional('PROVIDER_QUERY'),
    /** Further header lines of that request. */
    headers: reader.secret('PROVIDER_HEADERS'),
    token,
    tls,
    /** The way out to the provider and the token endpoint. */
    proxies: {
      /** For https: and http: addresses; undefined: no proxy. */
      https: reader.optional('HTTPS_PROXY'),
      http: reader.optional('HTTP_PROXY'),
      /** NO_PROXY as it was given; empty: no exceptions. */
      exceptions: reader.optional('NO_PROXY') ?? '',
    },
    timeoutMs: reader.defaulted('PROVIDER_TIMEOUT'),
    maxBodyBytes: reader.defaulted('PROVIDER_MAX_BODY'),
  } as const;
};

const readTlsPaths = (reader: VariableReader): TlsFiles => {
  const hasKey = reader.isSet('PROVIDER_TLS_KEY_FILE');
  if (reader.isSet('PROVIDER_TLS_CERT_FILE') !== hasKey)
    reader.report(
      hasKey ? 'PROVIDER_TLS_CERT_FILE' : 'PROVIDER_TLS_KEY_FILE',
      'is required too: mutual TLS needs a certificate and its key',
    );
  return {
    PROVIDER_TLS_CA_FILE: reader.optional('PROVIDER_TLS_CA_FILE'),
    PROVIDER_TLS_CERT_FILE: reader.optional('PROVIDER_TLS_CERT_FILE'),
    PROVIDER_TLS_KEY_FILE: reader.optional('PROVIDER_TLS_KEY_FILE'),
  };
};

const CLIENT_CREDENTIALS = [
  'PROVIDER_TOKEN_URL',
  'PROVIDER_CLIENT_ID',
  'PROVIDER_CLIENT_SECRET',
  'PROVIDER_CLIENT_SECRET_FILE',
  'PROVIDER_TOKEN_SCOPE',
  'PROVIDER_TOKEN_PARAMS',
] as const;

const readTokenSource = (reader: VariableReader): TokenSource | undefined => {
  const hasCredentials = CLIENT_CREDENTIALS.some(reader.isSet);
  const ways = [
    reader.isSet('PROVIDER_ACCESS_TOKEN'),
    reader.isSet('PROVIDER_ACCESS_TOKEN_FILE'),
    hasCredentials,
  ].filter(Boolean).length;
  if (ways !== 1) {
    reader.report(
      ['PROVIDER_ACCESS_TOKEN', 'PROVIDER_ACCESS_TOKEN_FILE', 'PROVIDER_TOKEN_URL'],
      `${ways === 0 ? 'none is' : 'more than one is'} configured; configure exactly one way to a token: ` +
        'a fixed token, its file, or PROVIDER_TOKEN_URL with PROVIDER_CLIENT_ID and PROVIDER_CLIENT_SECRET ' +
        'or PROVIDER_CLIENT_SECRET_FILE',
    );
    return undefined;
  }
  if (hasCredentials) return readClientCredentials(reader);
  const token = reader.secret('PROVIDER_ACCESS_TOKEN');
  return token && { kind: 'given', token };
};

const readClientCredentials = (reader: VariableReader): TokenSource | undefined => {
  const endpoint = reader.optional('PROVIDER_TOKEN_URL');
  const clientId = reader.optional('PROVIDER_CLIENT_ID');
  const clientSecret = reader.secret('PROVIDER_CLIENT_SECRET');
  const grant = 'for the client-credentials grant';
  if (!endpoint) reader.report('PROVIDER_TOKEN_URL', `is required ${grant}`);
  if (
    endpoint?.url.protocol === 'http:' &&
    reader.optional('PROVIDER_ENVIRONMENT') === 'production'
  )
    reader.report(
      'PROVIDER_TOKEN_URL',
      'must be https: in production; the client secret is sent there',
    );
  if (!clientId) reader.report('PROVIDER_CLIENT_ID', `is required ${grant}`);
  if (!clientSecret)
    reader.report('PROVIDER_CLIENT_SECRET', `or PROVIDER_CLIENT_SECRET_FILE is required ${grant}`);
  if (!endpoint || !clientId || !clientSecret) return undefined;
  const scope = reader.optional('PROVIDER_TOKEN_SCOPE');
  const format = reader.defaulted('PROVIDER_TOKEN_FORMAT');
  const auth = reader.defaulted('PROVIDER_TOKEN_AUTH');
  if (auth === 'basic_plain' && clientId.includes(':'))
    reader.report(
      'PROVIDER_CLIENT_ID',
      'has a colon, which basic_plain cannot send (RFC 7617); set PROVIDER_TOKEN_AUTH to basic or post',
    );
  const params = reader.optional('PROVIDER_TOKEN_PARAMS');
  const field = reader.defaulted('PROVIDER_TOKEN_FIELD');
  return {
    kind: 'client-credentials',
    endpoint,
    clientId,
    clientSecret,
    scope,
    format,
    auth,
    params,
    field,
  };
};
