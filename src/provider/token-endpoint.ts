import { LoadError } from '../banks/load-error.ts';
import type { Clock } from '../clock.ts';
import type { TokenSource } from '../config/provider.ts';
import { withDeadline } from '../deadline.ts';
import { createSecretFile, SecretFileError } from '../secrets/secret-file.ts';
import { PROVIDER_SECRET_RULE, PROVIDER_TOKEN_RULE, ruleIn, secretProblem } from '../secrets/secret.ts';
import { readBody } from './body.ts';
import type { Connections } from './connections.ts';
import { parseJson, parseRetryAfter } from './contract.ts';
import { discardBody, headerOf } from './exchange.ts';

// One request to the token endpoint: the OAuth 2.0 client-credentials grant (RFC 6749 section 4.4). The client's secret
// goes to the configured address and nowhere else: no redirect is followed, and no error from here holds an answer's text.

export type ClientCredentials = Extract<TokenSource, { kind: 'client-credentials' }>;

export interface TokenEndpointOptions {
  readonly connections: Connections;
  readonly userAgent: string;
  readonly environment: 'sandbox' | 'production';
  /** Longest time for one request. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Aborts when the service stops: nothing is asked any more, and nothing told. */
  readonly closing: AbortSignal;
  /** Is given every secret that turns up while the service runs, so that none is ever written. */
  readonly addSecret: (variable: string, secret: string) => void;
}

export interface Grant {
  readonly token: string;
  /** Infinity where the endpoint names no lifetime. */
  readonly lifetimeMs: number;
}

/** A function that requests a token. It rejects with a LoadError. */
export const createTokenRequest = (
  source: ClientCredentials,
  { connections, userAgent, timeoutMs, clock, closing, addSecret, environment }: TokenEndpointOptions,
): (() => Promise<Grant>) => {
  const { url, clientId, clientSecret, scope, format } = source;
  const server = { issuer: url.origin, token_endpoint: url.href };
  const client = { client_id: clientId };
  const tokenRule = ruleIn(environment, PROVIDER_TOKEN_RULE);
  // Read anew for each request, so that it can be rotated.
  const readSecret =
    'reveal' in clientSecret
      ? () => Promise.resolve(clientSecret.reveal())
      : orNoToken(
          createSecretFile({
            variable: 'PROVIDER_CLIENT_SECRET_FILE',
            path: clientSecret.path,
            rule: ruleIn(environment, PROVIDER_SECRET_RULE),
            addSecret,
          }),
        );

  /**
   * The library's `fetch`, over the service's own connections. The library gets the answers that RFC 6749 section 5
   * describes, with nothing but their body and its type; all others are errors.
   */
  const post = (headers: Record<string, string>, body: string, signal: AbortSignal): Promise<Response> => {
    const path = `${url.pathname}${url.search}`;
    const request = {
      method: 'POST' as const,
      path,
      headers: { ...headers, 'user-agent': userAgent },
      body,
      signal,
    };
    return connections.request(request, async (response) => {
      const status = response.statusCode;
      if (status !== 200 && status !== 400 && status !== 401) {
        await discardBody(response, signal);
        throw toStatusError(status, parseRetryAfter(headerOf(response, 'retry-after'), clock.wallMs()));
      }
      const encoding = headerOf(response, 'content-encoding');
      const answer = await readBody(response.body, encoding, MAX_GRANT_BYTES, signal);
      return new Response(new Uint8Array(answer), {
        status: isErrorDocument(answer) ? Math.max(status, 400) : status,
        headers: { 'content-type': headerOf(response, 'content-type') ?? '' },
      });
    });
  };

  const requestGrant = async (signal: AbortSignal): Promise<Grant> => {
    // Loaded when it is first needed: it makes the start a tenth longer, and only this way to a token uses it.
    const oauth = await import('oauth4webapi');
    const response = await oauth.clientCredentialsGrantRequest(
      server,
      client,
      oauth.ClientSecretBasic(await readSecret()),
      scope === undefined ? {} : { scope },
      {
        // Only the sandbox may be asked over plain http.
        [oauth.allowInsecureRequests]: environment === 'sandbox',
        [oauth.customFetch]: (_href, { headers, body }) =>
          format === 'form'
            ? post(headers, body.toString(), signal)
            : post(
                { ...headers, 'content-type': 'application/json' },
                JSON.stringify(Object.fromEntries(body)),
                signal,
              ),
      },
    );
    const grant = await oauth.processClientCredentialsResponse(server, client, response);
    // The library has written the type in lower case.
    const problem =
      grant.token_type === 'bearer' ? secretProblem(grant.access_token, tokenRule) : 'is not a bearer token';
    if (problem !== undefined) throw new LoadError('no_token', `the granted token ${problem}`);
    // The library takes digits in a string too; RFC 6749 section 5.1 wants a number.
    return { token: grant.access_token, lifetimeMs: (grant.expires_in ?? Infinity) * 1_000 };
  };

  const timeoutError = (): LoadError => new LoadError('timeout', `no complete answer within ${timeoutMs} ms`);
  return () =>
    withDeadline(requestGrant, { limitMs: timeoutMs, clock, timeoutError, signal: closing }).catch(
      (error: unknown) => {
        throw toTokenError(error);
      },
    );
};

/** `read`, with a file that holds no usable secret as a LoadError. */
export const orNoToken =
  (read: () => Promise<string>): (() => Promise<string>) =>
  () =>
    read().catch((error: unknown) => {
      throw error instanceof SecretFileError ? new LoadError('no_token', error.message) : error;
    });

/** A grant is a few hundred bytes, a few thousand with a large JWT. */
const MAX_GRANT_BYTES = 65_536;

/** Some endpoints send the errors of RFC 6749 section 5.2 with status 200: an `error`, and no token. */
const isErrorDocument = (body: Buffer): boolean => {
  try {
    const value = parseJson(body);
    return typeof value === 'object' && value !== null && 'error' in value && !('access_token' in value);
  } catch {
    return false;
  }
};

const toStatusError = (status: number, retryAfterMs: number | undefined): LoadError => {
  if (status === 429) return new LoadError('rate_limited', 'the rate is limited (429)', { retryAfterMs });
  if (status >= 500) return new LoadError('unavailable', `it fails (${status})`, { retryAfterMs });
  return new LoadError('no_token', `it answers with status ${status} instead of 200`);
};

/** In words of this service: the library's errors carry the answer, a token included. */
const toTokenError = (error: unknown): LoadError => {
  if (!(error instanceof LoadError))
    return new LoadError('no_token', `the token endpoint ${grantProblem(error)}`);
  const { kind, message, retryAfterMs } = error;
  return new LoadError(
    // What cannot be read is no token; why there is no answer keeps its kind.
    kind === 'malformed' || kind === 'too_large' ? 'no_token' : kind,
    message.includes('the token endpoint') ? message : `the token endpoint: ${message}`,
    { retryAfterMs },
  );
};

const grantProblem = (error: unknown): string => {
  const sent = typeof error === 'object' && error !== null && 'error' in error ? String(error.error) : '';
  return GRANT_ERROR.test(sent)
    ? `refuses the client (${sent}); check PROVIDER_CLIENT_ID, PROVIDER_CLIENT_SECRET and PROVIDER_TOKEN_SCOPE`
    : 'gives no usable grant; check PROVIDER_TOKEN_URL';
};

/** The codes of RFC 6749 section 5.2; any other text of the endpoint's goes no further. */
const GRANT_ERROR = /^(?:invalid_(?:request|client|grant|scope)|unauthorized_client|unsupported_grant_type)$/;
