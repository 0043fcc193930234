import { LoadError } from '../banks/load-error.ts';
import { retryDelayMs } from '../banks/loading/schedule.ts';
import type { Clock } from '../clock.ts';
import type { TokenSource } from '../config/config.ts';
import { withDeadline } from '../deadline.ts';
import { createSecretFile, SecretFileError } from '../secrets/secret-file.ts';
import { PROVIDER_SECRET_RULE, PROVIDER_TOKEN_RULE, ruleIn, secretProblem } from '../secrets/secret-rules.ts';
import { codeNote, readBody, type Connections } from './exchange.ts';
import { parseRetryAfter } from './contract.ts';

// Tokens by the OAuth 2.0 client-credentials grant (RFC 6749 section 4.4), renewed ahead of their expiry by one request
// at a time. A token stays in use until its true end, whatever the endpoint does. The client's secret goes to the
// configured address and nowhere else: no redirect is followed, and no error from here holds an answer's text.

export type TokenEvent =
  | { readonly type: 'token-renewed' }
  /** `validForMs`: how long the token in use is still good; 0 when there is none. */
  | { readonly type: 'token-renewal-failed'; readonly error: LoadError; readonly validForMs: number };

export interface ClientCredentialsOptions {
  readonly connections: Connections;
  /** Only the sandbox may be asked over plain http. */
  readonly environment: 'sandbox' | 'production';
  /** Longest time for one exchange with the token endpoint, whoever waits for it. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  /** Is told every secret that turns up while the service runs, so that none of them is ever written. */
  readonly addSecret: (variable: string, secret: string) => void;
  readonly onEvent: (event: TokenEvent) => void;
}

type ClientCredentials = Extract<TokenSource, { kind: 'client-credentials' }>;

interface HeldToken {
  readonly token: string;
  /** Monotonic milliseconds; Infinity when the endpoint told no lifetime: such a token is used until a 401. */
  readonly expiresAtMs: number;
  /** From here on a use also starts a renewal. */
  readonly renewAtMs: number;
}

/**
 * Renewals start at a use, not by a timer: a token that nobody needs costs the provider nothing. Ahead of the expiry
 * nobody waits for one; only without a valid token do users share the wait.
 */
export const createClientCredentials = (source: ClientCredentials, options: ClientCredentialsOptions) => {
  const { clock, random, addSecret, onEvent } = options;
  const variable = 'PROVIDER_TOKEN_URL';
  const readSecret = createSecretReader(source.clientSecret, options);
  let held: HeldToken | undefined;
  let flight: Promise<string> | undefined;
  let failuresInARow = 0;

  /** One request at a time: whoever needs a token while one is under way shares it, and going away cancels nothing. */
  const renew = (): Promise<string> => {
    flight ??= renewOnce().finally(() => {
      flight = undefined;
    });
    return flight;
  };

  const renewOnce = async (): Promise<string> => {
    // The lifetime counts from before the request: the endpoint's own clock started at some moment after.
    const startedAtMs = clock.monotonicMs();
    try {
      const grant = await requestGrant(source, readSecret, options);
      addSecret(variable, grant.token);
      held = {
        token: grant.token,
        expiresAtMs: startedAtMs + grant.lifetimeMs,
        renewAtMs: startedAtMs + grant.lifetimeMs * renewalShare(random()),
      };
      failuresInARow = 0;
      onEvent({ type: 'token-renewed' });
      return grant.token;
    } catch (error) {
      const failure = LoadError.from(error);
      const nowMs = clock.monotonicMs();
      failuresInARow += 1;
      const validForMs = Math.max(0, (held?.expiresAtMs ?? nowMs) - nowMs);
      if (held) {
        const delayMs = retryDelayMs(failuresInARow, failure.retryAfterMs, validForMs, random());
        held = { ...held, renewAtMs: nowMs + delayMs };
      }
      onEvent({ type: 'token-renewal-failed', error: failure, validForMs });
      throw failure;
    }
  };

  return {
    variable,
    current: (): Promise<string> => {
      const nowMs = clock.monotonicMs();
      // Without a token it is the caller's back-off that decides when the endpoint is asked again.
      if (!held || nowMs >= held.expiresAtMs) return renew();
      // A failure is told by its event; the token in use stays good.
      if (nowMs >= held.renewAtMs) renew().catch(() => undefined);
      return Promise.resolve(held.token);
    },
    newerThan: async (rejected: string): Promise<string | undefined> => {
      if (held && held.token !== rejected && clock.monotonicMs() < held.expiresAtMs) return held.token;
      const token = await renew();
      return token === rejected ? undefined : token;
    },
  };
};

/**
 * The share of its lifetime after which a token is renewed: 80 % to 90 %. An endpoint may then be away for a tenth of
 * the lifetime (6 min of an hour) before anybody must wait for it, and replicas that started together do not ask together.
 */
const renewalShare = (random: number): number => 0.8 + 0.1 * random;

/** Reads the secret anew for each request, so that it can be rotated. */
const createSecretReader = (
  secret: ClientCredentials['clientSecret'],
  { environment, addSecret }: Pick<ClientCredentialsOptions, 'environment' | 'addSecret'>,
): (() => Promise<string>) => {
  if ('reveal' in secret) return () => Promise.resolve(secret.reveal());
  const variable = 'PROVIDER_CLIENT_SECRET_FILE';
  const rule = ruleIn(environment, PROVIDER_SECRET_RULE);
  return orNoToken(createSecretFile({ variable, path: secret.path, rule, addSecret }));
};

/** `read`, with a file that holds no secret as a reason for having no list. */
export const orNoToken =
  (read: () => Promise<string>): (() => Promise<string>) =>
  () =>
    read().catch((error: unknown) => {
      throw error instanceof SecretFileError ? new LoadError('no_token', error.message) : error;
    });

interface Grant {
  readonly token: string;
  readonly lifetimeMs: number;
}

/** A grant is a few hundred bytes, a few thousand with a large JWT. */
const MAX_GRANT_BYTES = 65_536;

/** One exchange with the token endpoint, judged. @throws {LoadError} */
const requestGrant = async (
  source: ClientCredentials,
  readSecret: () => Promise<string>,
  options: ClientCredentialsOptions,
): Promise<Grant> => {
  const { clock, timeoutMs: limitMs } = options;
  try {
    return await withDeadline((signal) => grantFrom(source, readSecret, options, signal), {
      limitMs,
      clock,
      timeoutError: () => new LoadError('timeout', `no complete answer within ${limitMs} ms`),
    });
  } catch (error) {
    throw toTokenError(error);
  }
};

const grantFrom = async (
  { url, clientId, scope }: ClientCredentials,
  readSecret: () => Promise<string>,
  { connections, environment, clock }: ClientCredentialsOptions,
  signal: AbortSignal,
): Promise<Grant> => {
  const server = { issuer: url.origin, token_endpoint: url.href };
  const client = { client_id: clientId };
  const oauth = await loadLibrary();
  const secret = await readSecret();
  const response = await oauth.clientCredentialsGrantRequest(
    server,
    client,
    oauth.ClientSecretBasic(secret),
    scope === undefined ? {} : { scope },
    {
      [oauth.allowInsecureRequests]: environment === 'sandbox',
      [oauth.customFetch]: (href, { method, headers, body }) =>
        ask(href, { connections, method, headers, body: String(body), signal }, clock.wallMs()),
    },
  );
  const grant = await oauth.processClientCredentialsResponse(server, client, response);
  const rule = ruleIn(environment, PROVIDER_TOKEN_RULE);
  const problem =
    grant.token_type === 'bearer' ? secretProblem(grant.access_token, rule) : 'is no bearer token';
  if (problem !== undefined) throw new LoadError('no_token', `the granted token ${problem}`);
  // The library has checked that it is a number, sent as one or as digits (RFC 6749 section 5.1 wants a number).
  return { token: grant.access_token, lifetimeMs: (grant.expires_in ?? Infinity) * 1_000 };
};

/** Not at the start, which takes a tenth longer with it, and only where the token comes this way. */
const loadLibrary = () => import('oauth4webapi');

interface Asking {
  readonly connections: Connections;
  readonly method: 'POST';
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/**
 * The library's `fetch`, over the service's own connections and deadline: Node's would have neither. It gives the library
 * the answers that RFC 6749 section 5 speaks of, with nothing but their body and its type, and throws for all others.
 */
const ask = async (href: string, { connections, ...asking }: Asking, nowMs: number): Promise<Response> => {
  const { signal } = asking;
  const { origin, pathname, search } = new URL(href);
  const dispatcher = await connections.open();
  const response = await dispatcher
    .request({ ...asking, origin, path: `${pathname}${search}` })
    .catch((error: unknown) => {
      signal.throwIfAborted();
      throw new LoadError('unreachable', `no connection${codeNote(error)}`);
    });
  const header = (name: string): string | undefined => [response.headers[name]].flat()[0];
  const status = response.statusCode;
  if (status !== 200 && status !== 400 && status !== 401) {
    await response.body.dump({ limit: MAX_GRANT_BYTES, signal }).catch(() => undefined);
    signal.throwIfAborted();
    throw toStatusError(status, parseRetryAfter(header('retry-after'), nowMs));
  }
  const body = await readBody(response.body, header('content-encoding'), MAX_GRANT_BYTES, signal);
  return new Response(new Uint8Array(body), {
    status,
    headers: { 'content-type': header('content-type') ?? '' },
  });
};

const toStatusError = (status: number, retryAfterMs: number | undefined): LoadError => {
  if (status === 429) return new LoadError('rate_limited', 'the rate is limited (429)', { retryAfterMs });
  if (status >= 500) return new LoadError('unavailable', `it fails (${status})`, { retryAfterMs });
  return new LoadError('no_token', `it answers with status ${status} instead of 200`);
};

/** Words of this service for whatever went wrong: the library's errors carry the answer, a token included. */
const toTokenError = (error: unknown): LoadError => {
  if (!(error instanceof LoadError))
    return new LoadError('no_token', `the token endpoint ${reasonOf(error)}`);
  const { kind, retryAfterMs } = error;
  const passes =
    kind === 'unreachable' || kind === 'timeout' || kind === 'rate_limited' || kind === 'unavailable';
  const message = `the token endpoint: ${error.message}`;
  return new LoadError(passes ? kind : 'no_token', message, { retryAfterMs });
};

/** The codes of RFC 6749 section 5.2; any other text of the endpoint's goes no further. */
const GRANT_ERRORS = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
];

const reasonOf = (error: unknown): string => {
  const told = typeof error === 'object' && error !== null && 'error' in error ? error.error : undefined;
  const code = GRANT_ERRORS.find((known) => known === told);
  return code
    ? `refuses the client (${code}); check PROVIDER_CLIENT_ID, PROVIDER_CLIENT_SECRET and PROVIDER_TOKEN_SCOPE`
    : 'gives no usable grant; check PROVIDER_TOKEN_URL';
};
