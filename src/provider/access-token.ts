import { LoadError } from '../banks/load-error.ts';
import type { Secrets, SecretSource } from '../secrets/secrets.ts';
import type { ProviderResponse } from './provider-response.ts';
import { orLoadError } from './or-load-error.ts';

// Where the access token comes from, and what happens when the provider rejects it. A token is
// given to the one request that needs it and to nothing else.

export interface AccessToken {
  /** The variable for an operator to check if the provider rejects the token. */
  readonly variable: string;
  /**
   * Requests a new token, if tokens are granted.
   * @returns why that failed, and what becomes of the current token; undefined if it succeeded
   */
  readonly renew: () => Promise<string | undefined>;
  /**
   * The token to use now.
   * @throws {LoadError} if there is none
   */
  current(): Promise<string>;
  /**
   * A newer token than `rejected`, which the provider has answered with 401. Undefined if there is
   * none: asking again would only repeat the 401. If the attempt fails, the next load sends
   * `rejected` again: the 401 may have been temporary, and the token endpoint may be unavailable
   * for longer.
   * @throws {LoadError} when the attempt to get one failed
   */
  newerThan(rejected: string): Promise<string | undefined>;
  /** What is wrong with the token's file, if anything is; then the last usable token is sent. */
  problem(): string | undefined;
}

/**
 * Runs `request` with a token. A 401 gets one newer token and one retry, never more: a provider
 * that rejects whatever it issues must not be asked in a loop. Every other response is returned as
 * it is, 403 included: that token was recognised, and a new one has the same rights.
 * @throws {LoadError} `unauthorized`, naming the variable to check, or what the token or the
 *   request throws
 */
export const withToken = async (
  accessToken: AccessToken,
  request: (token: string) => Promise<ProviderResponse>,
): Promise<ProviderResponse> => {
  const token = await accessToken.current();
  const response = await request(token);
  if (response.status !== 401) return response;
  const newer = await accessToken.newerThan(token);
  const retried = newer === undefined ? response : await request(newer);
  if (retried.status !== 401) return retried;
  throw new LoadError(
    'unauthorized',
    `the provider does not accept the token (401); check ${describeSource(accessToken)}`,
    { upstreamStatus: 401 },
  );
};

const describeSource = (accessToken: AccessToken): string => {
  const { variable } = accessToken;
  const text = accessToken.problem();
  return text === undefined
    ? variable
    : `${variable}: it ${text}; until then the last usable token is sent`;
};

/** A token that an operator has put into a variable or a file. */
export const createGivenToken = (
  source: SecretSource,
  secrets: Pick<Secrets, 'read' | 'states'>,
): AccessToken => {
  const variable = 'reveal' in source ? 'PROVIDER_ACCESS_TOKEN' : 'PROVIDER_ACCESS_TOKEN_FILE';
  const current = orLoadError('no_token', () => secrets.read('PROVIDER_ACCESS_TOKEN'));
  return {
    variable,
    current,
    newerThan: async (rejected) => {
      const token = await current();
      return token === rejected ? undefined : token;
    },
    renew: () => Promise.resolve(undefined),
    problem: () => secrets.states().find((file) => file.variable === variable)?.unusable?.problem,
  };
};
