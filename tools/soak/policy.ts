// The configuration of the service under the soak, and how much of it the checks need.

/** Short, so that an hour has hundreds of renewals and the list expires in longer outages. */
export const TTL_MS = 5_000;
export const MAX_STALE_MS = 20_000;
export const TIMEOUT_MS = 2_000;
const BROWSER_MAX_AGE_MS = 3_000;
export const ORIGIN = 'https://shop.example';

export const TTL_S = TTL_MS / 1_000;
export const MAX_STALE_S = MAX_STALE_MS / 1_000;
export const BROWSER_MAX_AGE_S = BROWSER_MAX_AGE_MS / 1_000;

/** Besides addresses and secrets, which each run has anew. */
export const ENVIRONMENT = {
  HOST: '127.0.0.1',
  PORT: '0',
  MANAGEMENT_PORT: '0',
  PROVIDER_ENVIRONMENT: 'sandbox',
  PROVIDER_CLIENT_ID: 'emulator-client',
  PROVIDER_TIMEOUT: `${TIMEOUT_MS}ms`,
  BANK_FIELDS: 'code,ispb,name',
  CACHE_TTL: `${TTL_MS}ms`,
  CACHE_MAX_STALE: `${MAX_STALE_MS}ms`,
  BROWSER_MAX_AGE: `${BROWSER_MAX_AGE_MS}ms`,
  CORS_ORIGINS: ORIGIN,
  // As behind a load balancer: the connections are the proxy's, and their number is not limited per
  // address.
  TRUST_PROXY: '1',
  NODE_ENV: 'production',
};
