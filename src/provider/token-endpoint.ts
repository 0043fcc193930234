import * as oauth from 'oauth4webapi';
import { LoadError, type LoadErrorKind } from '../banks/load-error.ts';
import { isJsonObject, parseJson } from '../banks/reading/entry.ts';
import type { Clock } from '../clock.ts';
import type { TokenSource } from '../config/provider.ts';
import { withDeadline } from '../deadline.ts';
import type { SecretFiles } from '../secrets/secret-files.ts';
import { SecretFileError } from '../secrets/watched-files.ts';
import { PROVIDER_TOKEN_RULE, ruleIn, secretProblem } from '../secrets/secret.ts';
import type { Connections } from './connections.ts';
import { toStatusError } from './contract.ts';
import { readAnswer } from './answer.ts';

// One request to the token endpoint: the OAuth 2.0 client-credentials grant (RFC 6749 section 4.4). The client's secret
// goes to the configured address and nowhere else: no redirect is followed, and no error from here holds an answer's text.

const peer = 'the token endpoint';

export type ClientCredentials = Extract<TokenSource, { kind: 'client-credentials' }>;

export type TokenEvent =
  | { readonly type: 'token-renewed' }
  /** `validForMs`: how long the token in use is still good; 0 when there is none. */
  | { readonly type: 'token-renewal-failed'; readonly error: LoadError; readonly validForMs: number };

/** What the ways to a token share. */
export interface TokenOptions {
  readonly connections: Connections;
  readonly userAgent: string;
  readonly environment: 'sandbox' | 'production';
  /** Longest time for one request. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  /** Aborts when the service stops: nothing is asked any more, and nothing told. */
  readonly closing: AbortSignal;
  /** The client secret, or the access token, may be in a file. */
  readonly secrets: Pick<SecretFiles, 'reader'>;
  /** Is given every secret that turns up while the service runs, so that none is ever written. */
  readonly addSecret: (variable: string, secret: string) => void;
  readonly onEvent: (event: TokenEvent) => void;
}

/** A function that requests a token. It rejects with a LoadError. */
export const createTokenRequest = (
  source: ClientCredentials,
  { connections, userAgent, timeoutMs, clock, closing, secrets, environment }: TokenOptions,
) => {
  const { url, clientId, clientSecret, scope, format } = source;
  const server = { issuer: url.origin, token_endpoint: url.href };
  const client = { client_id: clientId };
  const tokenRule = ruleIn(environment, PROVIDER_TOKEN_RULE);
  // Read anew for each request, so that it can be rotated.
  const readSecret = orNoToken(secrets.reader('PROVIDER_CLIENT_SECRET', clientSecret));

  /**
   * The library's `fetch`, over the service's own connections. The library gets the answers that RFC 6749 section 5
   * describes, with nothing but their body and its type; all others are errors.
   */
  const post = async (
    headers: Record<string, string>,
    body: string,
    signal: AbortSignal,
  ): Promise<Response> => {
    const path = `${url.pathname}${url.search}`;
    const request = { path, headers: { ...headers, 'user-agent': userAgent }, body, signal };
    const answer = await connections.request({ method: 'POST', ...request }, (response) =>
      readAnswer(response, GRANT_STATUSES, MAX_GRANT_BYTES, signal),
    );
    if (!GRANT_STATUSES.includes(answer.status)) throw toStatusError(peer, answer, clock.wallMs());
    return new Response(new Uint8Array(answer.body), {
      status: isErrorDocument(answer.body) ? Math.max(answer.status, 400) : answer.status,
      headers: { 'content-type': answer.contentType ?? '' },
    });
  };

  const requestGrant = async (signal: AbortSignal) => {
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
    // Infinity where the endpoint names no lifetime. The library takes digits in a string too; RFC 6749 section 5.1 wants a
    // number.
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

/** Those of a grant and of its refusal. */
const GRANT_STATUSES: readonly number[] = [200, 400, 401];

/** A grant is a few hundred bytes, a few thousand with a large JWT. */
const MAX_GRANT_BYTES = 65_536;

/** Some endpoints send the errors of RFC 6749 section 5.2 with status 200: an `error`, and no token. */
const isErrorDocument = (body: Buffer): boolean => {
  const value = parseJson(body.toString());
  return isJsonObject(value) && 'error' in value && !('access_token' in value);
};

/** In words of this service: the library's errors carry the answer, a token included. */
const toTokenError = (error: unknown): LoadError => {
  if (!(error instanceof LoadError)) return new LoadError('no_token', `${peer} ${grantProblem(error)}`);
  const { kind, message, retryAfterMs, reasonCode } = error;
  return new LoadError(
    // What is not a grant is no token; why there is no answer keeps its kind.
    NO_GRANT.includes(kind) ? 'no_token' : kind,
    message.includes(peer) ? message : `${peer}: ${message}`,
    { retryAfterMs, reasonCode },
  );
};

const NO_GRANT: readonly LoadErrorKind[] = ['malformed', 'too_large', 'unexpected_status'];

const grantProblem = (error: unknown): string => {
  const sent = typeof error === 'object' && error !== null && 'error' in error ? String(error.error) : '';
  return GRANT_ERROR.test(sent)
    ? `refuses the client (${sent}); check PROVIDER_CLIENT_ID, PROVIDER_CLIENT_SECRET and PROVIDER_TOKEN_SCOPE`
    : 'gives no usable grant; check PROVIDER_TOKEN_URL';
};

/** The codes of RFC 6749 section 5.2; any other text of the endpoint's goes no further. */
const GRANT_ERROR = /^(?:invalid_(?:request|client|grant|scope)|unauthorized_client|unsupported_grant_type)$/;
