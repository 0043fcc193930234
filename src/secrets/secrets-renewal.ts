import type { SecretFiles } from './secret-files.ts';
import type { SecretFileInUse } from './watched-files.ts';

// The renewal of all secrets, which an operator asks for with POST /refresh.

/** The access token, as an operator sees and renews it. */
export interface ProviderToken {
  /** The variable for an operator to check if the provider rejects the token. */
  readonly variable: string;
  /** The current token, another object for each token; undefined: the provider has accepted none. */
  readonly confirmed: () => ConfirmedToken | undefined;
  /**
   * Requests a new token, if tokens are granted.
   * @returns why that failed, and what becomes of the current token; undefined if it succeeded
   */
  readonly renew: () => Promise<string | undefined>;
}

/** A token to which the provider has responded with status 200. */
export interface ConfirmedToken {
  /** The time of the first such response, in wall-clock milliseconds. */
  readonly sinceMs: number;
}

export interface SecretsRenewal {
  readonly token: Pick<ProviderToken, 'variable' | 'confirmed'>;
  /**
   * Reads all secret files again, requests a new token if tokens are granted, and reconnects to
   * Redis if a file has its address. What fails leaves the current secret in use. The next load
   * uses what was read.
   */
  readonly renew: () => Promise<{
    /** What is wrong, a sentence each. */
    readonly problems: readonly string[];
    /** The files that are verified, provided that the next load succeeds. */
    readonly verified: readonly SecretFileInUse[];
  }>;
}

export interface SecretsRenewalOptions {
  readonly secrets: Pick<SecretFiles, 'check' | 'unusable' | 'inUse'>;
  readonly token: ProviderToken;
  /**
   * Reconnects to Redis with the address in its file, and gives the reason if that fails; undefined
   * if no file has the address.
   */
  readonly reconnect: (() => Promise<string | undefined>) | undefined;
}

export const createSecretsRenewal = ({
  secrets,
  token,
  reconnect,
}: SecretsRenewalOptions): SecretsRenewal => ({
  token,
  renew: async () => {
    await secrets.check();
    const redisProblem = await reconnect?.();
    const tokenProblem = await token.renew();
    const unusable = secrets.unusable();
    const isReported = (variable: string): boolean =>
      unusable.some((file) => file.variable === variable);
    const problems = unusable.map(
      ({ variable, problem, consequence }) => `${variable} ${problem}; ${consequence}`,
    );
    if (redisProblem && !isReported('CACHE_REDIS_URL_FILE'))
      problems.push(`CACHE_REDIS_URL_FILE was not verified: Redis ${redisProblem}`);
    if (tokenProblem && !isReported('PROVIDER_CLIENT_SECRET_FILE')) problems.push(tokenProblem);
    const isVerified = (variable: string): boolean =>
      !(redisProblem && variable === 'CACHE_REDIS_URL_FILE') &&
      !(tokenProblem && variable.startsWith('PROVIDER_'));
    return { problems, verified: secrets.inUse().filter(({ variable }) => isVerified(variable)) };
  },
});
