// What every service of a test has: the sandbox of an emulator, free ports of loopback, and a list
// of published fields.

/** PROVIDER_SANDBOX_BASE_URL is to be added. */
export const SANDBOX = {
  HOST: '127.0.0.1',
  PORT: '0',
  MANAGEMENT_PORT: '0',
  PROVIDER_ENVIRONMENT: 'sandbox',
  PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
  BANK_FIELDS: 'code,ispb,name',
};

/** Of a service that is given one. */
export const MANAGEMENT_TOKEN = 'management-token-0123456789';

/** A production whose provider nobody can reach. */
export const PRODUCTION = {
  PROVIDER_ENVIRONMENT: 'production',
  PROVIDER_PRODUCTION_BASE_URL: 'https://127.0.0.1:1',
  PROVIDER_ACCESS_TOKEN: 'a-token-of-production',
};
