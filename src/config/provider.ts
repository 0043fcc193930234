import type { SecretSource } from '../secrets/secrets.ts';
import type { Secret } from '../secrets/secret.ts';
import { sourceOf, type ConfigProblem, type Variables } from './reader.ts';
import type { Values, VariableName } from './variables.ts';

// The variables about the provider: which one it is, how it is reached, and where its access token
// comes from.

/** Where the access token comes from. */
export type TokenSource =
  { readonly kind: 'given'; readonly token: SecretSource } | ClientCredentials;

export interface ClientCredentials {
  readonly kind: 'client-credentials';
  readonly url: Secret;
  readonly clientId: string;
  readonly clientSecret: SecretSource;
  readonly scope: string | undefined;
  /** How the request for a token is written: as RFC 6749 wants it, or as a JSON object. */
  readonly format: Values['PROVIDER_TOKEN_FORMAT'];
  /** HTTP Basic with escapes, without them, or id and secret in the body. */
  readonly auth: Values['PROVIDER_TOKEN_AUTH'];
  /** Further members of the request, form-encoded. */
  readonly params: Secret | undefined;
  /** Where the token is in the grant: names of members, with dots between them. */
  readonly field: string;
}

export type Provider = NonNullable<ReturnType<typeof toProvider>>;

/** Undefined where something is missing, which {@link providerProblems} names. */
export const toProvider = ({ values }: Variables) => {
  const environment = values.PROVIDER_ENVIRONMENT;
  const baseUrl = environment && values[BASE_URL[environment]];
  const token = toTokenSource(values);
  if (!environment || !baseUrl || !token) return undefined;
  return {
    environment,
    baseUrl,
    /** The query of the request for the list, without its question mark. */
    query: values.PROVIDER_QUERY,
    /** Further header lines of that request. */
    headers: sourceOf(values, 'PROVIDER_HEADERS'),
    token,
    tls: {
      PROVIDER_TLS_CA_FILE: values.PROVIDER_TLS_CA_FILE,
      PROVIDER_TLS_CERT_FILE: values.PROVIDER_TLS_CERT_FILE,
      PROVIDER_TLS_KEY_FILE: values.PROVIDER_TLS_KEY_FILE,
    },
    /** The way out to the provider and the token endpoint, as undici reads it. */
    proxies: {
      HTTPS_PROXY: values.HTTPS_PROXY,
      HTTP_PROXY: values.HTTP_PROXY,
      NO_PROXY: values.NO_PROXY,
    },
    timeoutMs: values.PROVIDER_TIMEOUT,
    maxBodyBytes: values.PROVIDER_MAX_BODY,
  } as const;
};

const BASE_URL = {
  sandbox: 'PROVIDER_SANDBOX_BASE_URL',
  production: 'PROVIDER_PRODUCTION_BASE_URL',
} as const;

const toTokenSource = (values: Values): TokenSource | undefined => {
  const token = sourceOf(values, 'PROVIDER_ACCESS_TOKEN');
  if (token) return { kind: 'given', token };
  const { PROVIDER_TOKEN_URL: url, PROVIDER_CLIENT_ID: clientId } = values;
  const clientSecret = sourceOf(values, 'PROVIDER_CLIENT_SECRET');
  if (!url || !clientId || !clientSecret) return undefined;
  return {
    kind: 'client-credentials',
    url,
    clientId,
    clientSecret,
    scope: values.PROVIDER_TOKEN_SCOPE,
    format: values.PROVIDER_TOKEN_FORMAT,
    auth: values.PROVIDER_TOKEN_AUTH,
    params: values.PROVIDER_TOKEN_PARAMS,
    field: values.PROVIDER_TOKEN_FIELD,
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

const FIXED_TOKENS = ['PROVIDER_ACCESS_TOKEN', 'PROVIDER_ACCESS_TOKEN_FILE'] as const;

/** What is missing, or does not go together. */
export const providerProblems = ({ values, isSet }: Variables): readonly ConfigProblem[] => {
  const { PROVIDER_ENVIRONMENT: environment } = values;
  const problems: ConfigProblem[] = [];
  const report = (variables: readonly string[], text: string): void =>
    void problems.push({ variables, text });
  const require = (name: VariableName, why: string): void => {
    if (!isSet(name)) report([name], why);
  };
  require('PROVIDER_ENVIRONMENT', 'is required: sandbox or production');
  if (environment)
    require(BASE_URL[environment], `is required when PROVIDER_ENVIRONMENT is ${environment}`);
  if (isSet('PROVIDER_TLS_CERT_FILE') || isSet('PROVIDER_TLS_KEY_FILE'))
    for (const name of ['PROVIDER_TLS_CERT_FILE', 'PROVIDER_TLS_KEY_FILE'] as const)
      require(name, 'is required too: mutual TLS needs a certificate and its key');

  const isGranted = CLIENT_CREDENTIALS.some(isSet);
  const ways = FIXED_TOKENS.filter(isSet).length + Number(isGranted);
  if (ways !== 1) {
    report(
      [...FIXED_TOKENS, 'PROVIDER_TOKEN_URL'],
      `${ways === 0 ? 'none is' : 'more than one is'} configured; configure exactly one way to a token: ` +
        'a fixed token, its file, or PROVIDER_TOKEN_URL with PROVIDER_CLIENT_ID and PROVIDER_CLIENT_SECRET ' +
        'or PROVIDER_CLIENT_SECRET_FILE',
    );
    return problems;
  }
  if (!isGranted) return problems;
  const grant = 'is required for the client-credentials grant';
  require('PROVIDER_TOKEN_URL', grant);
  require('PROVIDER_CLIENT_ID', grant);
  if (!isSet('PROVIDER_CLIENT_SECRET_FILE'))
    require('PROVIDER_CLIENT_SECRET', `or PROVIDER_CLIENT_SECRET_FILE ${grant}`);
  if (environment === 'production' && values.PROVIDER_TOKEN_URL?.reveal().startsWith('http:'))
    report(['PROVIDER_TOKEN_URL'], 'must be https: in production; the client secret is sent there');
  if (values.PROVIDER_TOKEN_AUTH === 'basic_plain' && values.PROVIDER_CLIENT_ID?.includes(':'))
    report(
      ['PROVIDER_CLIENT_ID'],
      'has a colon, which basic_plain cannot send (RFC 7617); set PROVIDER_TOKEN_AUTH to basic or post',
    );
  return problems;
};
