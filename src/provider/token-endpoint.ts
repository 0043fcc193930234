import { LoadError, UNUSABLE_FILE, type LoadErrorKind } from '../banks/load-error.ts';
import type { Clock } from '../clock.ts';
import type { ClientCredentials } from '../config/provider.ts';
import { withDeadline } from '../deadline.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { PROVIDER_TOKEN_RULE, ruleFor } from '../secrets/secret.ts';
import type { Connections } from './connections.ts';
import { toStatusError } from './banks-response.ts';
import { readResponse } from './provider-response.ts';
import { orLoadError } from './or-load-error.ts';
import { readGrant, readTokenError, type Grant } from './grant.ts';
import { writeTokenRequest } from './token-request.ts';

// One request to the token endpoint: the OAuth 2.0 client-credentials grant (RFC 6749 section 4.4).
// The client's secret goes to the configured address and nowhere else: no redirect is followed, and
// no error from here contains the text of a response.

const peer = 'the token endpoint';

export type TokenEvent =
  | ({ readonly type: 'token-renewed' } & Pick<Grant, 'isTyped' | 'isLifetimeIgnored'>)
  | {
      readonly type: 'token-renewal-failed';
      readonly error: LoadError;
      /** What becomes of the current token, if there is one. */
      readonly consequence: string;
    };

export interface TokenOptions {
  readonly connections: Connections;
  readonly userAgent: string;
  readonly environment: 'sandbox' | 'production';
  /** The longest time for one request. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  /** Aborts when the service stops: no request is made, and no event emitted after that. */
  readonly closing: AbortSignal;
  /** The client secret may be in a file. */
  readonly secrets: Pick<Secrets, 'read'>;
  /** Is given each token before it is used. */
  readonly addSecret: (variable: string, secret: string) => void;
  readonly onEvent: (event: TokenEvent) => void;
}

/** A function that requests a token. It rejects with a LoadError. */
export const createTokenRequest = (
  source: ClientCredentials,
  { connections, userAgent, timeoutMs, clock, closing, secrets, environment }: TokenOptions,
) => {
  const { endpoint } = source;
  const tokenRule = ruleFor(environment, PROVIDER_TOKEN_RULE);
  // Read again for each request, so that it can be rotated.
  const readSecret = orLoadError('no_token', () => secrets.read('PROVIDER_CLIENT_SECRET'));

  const requestGrant = async (signal: AbortSignal): Promise<Grant> => {
    const { headers, body } = writeTokenRequest(source, await readSecret());
    const request = {
      path: `${endpoint.url.pathname}${endpoint.query?.reveal() ?? ''}`,
      headers: { ...headers, 'user-agent': userAgent },
      body,
      signal,
    };
    const response = await connections.request({ method: 'POST', ...request }, (received) =>
      readResponse(received, hasUsefulBody, MAX_GRANT_BYTES, signal),
    );
    // It drops one byte order mark, as for the list.
    const text = new TextDecoder().decode(response.body);
    if (isSuccess(response.status)) return readGrant(text, response.status, tokenRule);
    throw readTokenError(text, response.status) ?? toStatusError(peer, response, clock.wallMs());
  };

  const timeoutError = (): LoadError =>
    new LoadError('timeout', `no complete response within ${timeoutMs} ms`);
  return () =>
    withDeadline(requestGrant, { limitMs: timeoutMs, clock, timeoutError, signal: closing }).catch(
      (error: unknown) => {
        throw toTokenError(error);
      },
    );
};

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** Whether the body may say more than the status; with 429 it does not. */
const hasUsefulBody = (status: number): boolean =>
  isSuccess(status) || (status >= 400 && status < 500 && status !== 429);

/** A grant has a few hundred bytes, or a few thousand with a large JWT. */
export const MAX_GRANT_BYTES = 65_536;

const toTokenError = (error: unknown): LoadError => {
  const { kind, message, retryAfterMs, upstreamStatus, reasonCode, cause } = LoadError.from(error);
  return new LoadError(
    // A response without a grant is `no_token`; a failure without a response keeps its kind.
    NO_GRANT.includes(kind) ? 'no_token' : kind,
    // If a file is unusable, no request was made.
    message.includes(peer) || reasonCode === UNUSABLE_FILE ? message : `${peer}: ${message}`,
    { retryAfterMs, upstreamStatus, reasonCode, cause },
  );
};

const NO_GRANT: readonly LoadErrorKind[] = ['malformed', 'too_large', 'unexpected_status'];
