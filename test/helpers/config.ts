import { ConfigError, describeProblem, parseConfig } from '../../src/config/config.ts';
import type { EnvironmentVariables } from '../../src/config/variables.ts';

// What each environment requires, and nothing else: tests of the defaults need that.
export const REQUIRED_IN_SANDBOX = {
  PROVIDER_ENVIRONMENT: 'sandbox',
  PROVIDER_SANDBOX_BASE_URL: 'http://localhost:4000',
  PROVIDER_ACCESS_TOKEN: 'a-token',
};
export const REQUIRED_IN_PRODUCTION = {
  PROVIDER_ENVIRONMENT: 'production',
  PROVIDER_PRODUCTION_BASE_URL: 'https://api.example.com',
  PROVIDER_ACCESS_TOKEN: 'a-longer-token',
  BANK_FIELDS: 'code,name',
};
/** Instead of a token. */
export const GRANT = {
  PROVIDER_ACCESS_TOKEN: '',
  PROVIDER_TOKEN_URL: 'http://login.example/token',
  PROVIDER_CLIENT_ID: 'id',
  PROVIDER_CLIENT_SECRET: 'client-secret',
};

/** What is wrong with `env`, a line each. */
export const problemsOf = (env: EnvironmentVariables): readonly string[] => {
  try {
    parseConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(describeProblem);
    throw error;
  }
};
