import { LoadError } from '../banks/load-error.ts';
import { boundedRetryAfterMs, longestWaitMs, retryDelayMs } from '../banks/loading/schedule.ts';
import type { ClientCredentials } from '../config/provider.ts';
import type { AccessToken } from './access-token.ts';
import { createTokenRequest, type TokenOptions } from './token-endpoint.ts';

// The token that the token endpoint granted: kept, and renewed ahead of its expiry by one request
// at a time. It stays in use until it expires, whatever the endpoint does.

interface GrantedToken {
  readonly token: string;
  /**
   * In monotonic milliseconds; Infinity if the endpoint gave no usable lifetime: such a token is
   * used until a 401.
   */
  readonly expiresAtMs: number;
  /** From this time on, a use of the token also starts a renewal. */
  readonly renewAtMs: number;
}

/**
 * A use of the token starts a renewal, not a timer: a token that nobody needs costs the provider
 * nothing. While the token is valid nobody waits for its renewal; without a valid token, all users
 * wait for the same request.
 */
export const createClientCredentials = (
  source: ClientCredentials,
  options: TokenOptions,
): AccessToken => {
  const { clock, random, onEvent, closing, addSecret } = options;
  const variable = 'PROVIDER_TOKEN_URL';
  const requestToken = createTokenRequest(source, options);
  let granted: GrantedToken | undefined;
  let inFlight: Promise<string> | undefined;
  let failuresInARow = 0;
  /** The last token that the provider rejected (401). */
  let rejectedToken: string | undefined;

  /**
   * Everyone who needs a token shares the request in flight; a caller that goes away cancels
   * nothing.
   */
  const renew = (): Promise<string> => {
    inFlight ??= renewOnce().finally(() => {
      inFlight = undefined;
    });
    return inFlight;
  };

  const renewOnce = async (): Promise<string> => {
    // The lifetime counts from before the request, because it began on the endpoint at some later
    // time.
    const startedAtMs = clock.monotonicMs();
    try {
      const { token, lifetimeMs, isTyped, isLifetimeIgnored } = await requestToken();
      addSecret(variable, token);
      granted = {
        token,
        expiresAtMs: startedAtMs + lifetimeMs,
        renewAtMs: startedAtMs + lifetimeMs * renewalShare(random()),
      };
      failuresInARow = 0;
      onEvent({ type: 'token-renewed', isTyped, isLifetimeIgnored });
      return token;
    } catch (error) {
      throw onFailure(LoadError.from(error));
    }
  };

  const onFailure = (error: LoadError): LoadError => {
    if (closing.aborted) return error;
    const nowMs = clock.monotonicMs();
    failuresInARow += 1;
    const validForMs = Math.max(0, (granted?.expiresAtMs ?? nowMs) - nowMs);
    if (granted) {
      const retryAfterMs = boundedRetryAfterMs(error.retryAfterMs ?? 0, validForMs);
      const delayMs = Math.max(
        retryDelayMs(failuresInARow, validForMs, random()),
        Math.min(retryAfterMs, longestWaitMs(validForMs)),
      );
      granted = { ...granted, renewAtMs: nowMs + delayMs };
    }
    const consequence = describeCurrentToken();
    onEvent({ type: 'token-renewal-failed', error, consequence });
    return error;
  };

  /** What the service has while no new token is granted. */
  const describeCurrentToken = (): string => {
    if (!granted || clock.monotonicMs() >= granted.expiresAtMs) return 'there is no valid token';
    return granted.token === rejectedToken
      ? 'the provider does not accept the current token (401)'
      : 'the current token stays in use';
  };

  return {
    variable,
    current: (): Promise<string> => {
      const nowMs = clock.monotonicMs();
      // Without a token the caller's back-off decides when the endpoint is asked again.
      if (!granted || nowMs >= granted.expiresAtMs) return renew();
      // A failure is reported by its event, and the current token is still valid.
      if (nowMs >= granted.renewAtMs) renew().catch(() => undefined);
      return Promise.resolve(granted.token);
    },
    newerThan: async (rejected: string): Promise<string | undefined> => {
      if (granted && granted.token !== rejected && clock.monotonicMs() < granted.expiresAtMs)
        return granted.token;
      rejectedToken = rejected;
      const token = await renew();
      return token === rejected ? undefined : token;
    },
    renew: async (): Promise<string | undefined> => {
      // A request under way may have been made with an older client secret.
      await inFlight?.catch(() => undefined);
      return renew().then(
        () => undefined,
        (error: unknown) => `${LoadError.from(error).message}; ${describeCurrentToken()}`,
      );
    },
    problem: () => undefined,
  };
};

/**
 * The share of its lifetime after which a token is renewed: 80 % to 90 %. The endpoint can then be
 * unavailable for a tenth of the lifetime (6 min of an hour) before anybody must wait for it, and
 * replicas that started together renew at different times.
 */
const renewalShare = (random: number): number => 0.8 + 0.1 * random;
