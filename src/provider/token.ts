import { LoadError } from '../banks/load-error.ts';
import { withDeadline, type Clock } from '../clock.ts';
import type { Grants } from '../config/config.ts';
import type { Redaction } from '../secrets/redaction.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { noResponseInTime, toLoadError } from './exchange-errors.ts';
import type { Exchange } from './exchange.ts';
import { readGrant, writeTokenRequest, type Grant } from './grant.ts';

// Access tokens that the token endpoint grants. A token goes to the one request that needs it and to
// nothing else.

export type TokenEvent =
  | { readonly type: 'token-renewed' }
  | {
      readonly type: 'token-renewal-failed';
      readonly error: LoadError;
      /** What becomes of the current token, if there is one. */
      readonly consequence: string;
    };

export interface GrantedTokensOptions {
  readonly exchange: Exchange;
  readonly environment: string;
  /** The longest time for one request. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Aborts when the service stops: no request is made, and no event emitted after that. */
  readonly closing: AbortSignal;
  readonly secrets: Pick<Secrets, 'read'>;
  /** Is given each token before it is used. */
  readonly redaction: Pick<Redaction, 'addSecret'>;
  readonly onEvent: (event: TokenEvent) => void;
}

interface GrantedToken {
  readonly text: string;
  readonly grantedAtMs: number;
  /** From this time on, a use of the token also requests the next one. */
  readonly renewAtMs: number;
  /** Infinity: it is used until the provider refuses it. */
  readonly expiresAtMs: number;
}

/** A grant has a few hundred bytes, or a few thousand with a large JWT. */
const MAX_GRANT_BYTES = 65_536;

/** A provider that refuses a token so new would refuse the next one too. */
const NEW_MS = 60_000;

/**
 * The share of its lifetime after which a token is renewed. In the rest the endpoint can be
 * unavailable before a load must wait for it.
 */
const RENEWAL_SHARE = 0.85;

/**
 * Tokens by the client-credentials grant. There is one request at a time, whoever needs a token;
 * one that fails leaves a valid token in use. Nobody waits for the renewal of a token that is
 * valid, and no timer makes one: a list is loaded once per CACHE_TTL, and its back-off is that of
 * the token's requests too.
 */
export const createGrantedTokens = (source: Grants, options: GrantedTokensOptions) => {
  const { exchange, environment, timeoutMs, clock, closing, secrets, redaction, onEvent } = options;
  let granted: GrantedToken | undefined;
  let underWay: Promise<string> | undefined;

  const isValid = (token: GrantedToken | undefined): token is GrantedToken =>
    token !== undefined && clock.monotonicMs() < token.expiresAtMs;

  /** One request to the token endpoint; the client's secret is read anew for each. */
  const requestGrant = async (signal: AbortSignal): Promise<Grant> => {
    const secret = await secrets.read('PROVIDER_CLIENT_SECRET');
    const { headers, body } = writeTokenRequest(source, secret);
    const response = await exchange({
      peer: 'the token endpoint',
      url: new URL(source.url.reveal()),
      headers,
      body,
      maxBodyBytes: MAX_GRANT_BYTES,
      // With another status it says no more than the status.
      needsBody: (status) => status < 500 && status !== 429,
      signal,
    });
    return readGrant(response, { field: source.field, environment, nowMs: clock.wallMs() });
  };

  const requestToken = async (): Promise<string> => {
    // A lifetime begins at the endpoint, at some time after this.
    const grantedAtMs = clock.monotonicMs();
    try {
      const { token, lifetimeMs } = await withDeadline(requestGrant, {
        limitMs: timeoutMs,
        clock,
        timeoutError: () => noResponseInTime('the token endpoint', timeoutMs),
        signal: closing,
      });
      redaction.addSecret('PROVIDER_TOKEN_URL (token)', [token]);
      granted = {
        text: token,
        grantedAtMs,
        renewAtMs: grantedAtMs + lifetimeMs * RENEWAL_SHARE,
        expiresAtMs: grantedAtMs + lifetimeMs,
      };
      onEvent({ type: 'token-renewed' });
      return token;
    } catch (thrown) {
      const error = toLoadError(thrown);
      const consequence = describeCurrent();
      if (!closing.aborted) onEvent({ type: 'token-renewal-failed', error, consequence });
      throw error;
    }
  };

  const requestOnce = (): Promise<string> => {
    underWay ??= requestToken().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };

  const describeCurrent = (): string =>
    isValid(granted) ? 'the current token stays in use' : 'there is no valid token';

  return {
    /** The token to use now. Rejects if there is none. */
    current: async (): Promise<string> => {
      if (!isValid(granted)) return requestOnce();
      // A failure is told by its event, and the current token is still valid.
      if (clock.monotonicMs() >= granted.renewAtMs) requestOnce().catch(() => undefined);
      return granted.text;
    },
    /**
     * Another token than `refused`, which the provider has answered with 401 or 403; undefined:
     * there is none. Rejects if it could not be requested.
     */
    newerThan: async (refused: string): Promise<string | undefined> => {
      if (isValid(granted) && granted.text !== refused) return granted.text;
      const isNew = granted && clock.monotonicMs() - granted.grantedAtMs < NEW_MS;
      return isNew ? undefined : requestOnce();
    },
    /**
     * Requests a new token.
     * @returns why that failed, and what becomes of the current one; undefined if it succeeded
     */
    renew: async (): Promise<string | undefined> => {
      // A request under way may have been made with an older client secret.
      await underWay?.catch(() => undefined);
      return requestOnce().then(
        () => undefined,
        (error: unknown) => `${LoadError.from(error).message}; ${describeCurrent()}`,
      );
    },
  };
};
