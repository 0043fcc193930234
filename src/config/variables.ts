import { MANAGEMENT_TOKEN_RULE, PROVIDER_SECRET_RULE, PROVIDER_TOKEN_RULE } from '../secrets/secret-rules.ts';
import {
  LOG_LEVELS,
  toBytes,
  toCount,
  toDurationMs,
  toEgressProxy,
  toFieldNames,
  toFields,
  toHostNames,
  toHttpsUrl,
  toHttpUrl,
  toOneOf,
  toOrigins,
  toPort,
  toPortOrOff,
  toRedisUrl,
  toSecretWith,
  toShare,
  toText,
  toTrustedProxies,
} from './values.ts';

// Every environment variable of the service, one row each. The README's table and .env.example have the same names and
// defaults; a test compares them.

export interface Variable<T> {
  /** Stands for the variable while it is unset. */
  readonly default?: string;
  /** @throws {InvalidValue} */
  readonly parse: (text: string) => T;
  /** Its text must never be seen. It is removed from the process's environment once it has been read. */
  readonly isSecret?: true;
  /** Names a file that must be readable at the start: a secret, or certificates or a key in PEM. */
  readonly file?: 'secret' | 'pem';
  /** May also be written in lower case, which takes precedence, as in curl. */
  readonly hasLowerCase?: true;
}

const TABLE = {
  PORT: { default: '3000', parse: toPort },
  HOST: { default: '0.0.0.0', parse: toText },
  MANAGEMENT_PORT: { default: '3001', parse: toPortOrOff },
  MANAGEMENT_HOST: { default: '127.0.0.1', parse: toText },
  MANAGEMENT_HOSTS: { parse: toHostNames },
  MANAGEMENT_TOKEN: { parse: toSecretWith(MANAGEMENT_TOKEN_RULE), isSecret: true },
  MANAGEMENT_TOKEN_FILE: { parse: toText, file: 'secret' },
  PROVIDER_ENVIRONMENT: { parse: toOneOf(['sandbox', 'production']) },
  PROVIDER_SANDBOX_BASE_URL: { parse: toHttpUrl },
  PROVIDER_PRODUCTION_BASE_URL: { parse: toHttpsUrl },
  PROVIDER_ACCESS_TOKEN: { parse: toSecretWith(PROVIDER_TOKEN_RULE), isSecret: true },
  PROVIDER_ACCESS_TOKEN_FILE: { parse: toText, file: 'secret' },
  PROVIDER_TOKEN_URL: { parse: toHttpUrl },
  PROVIDER_CLIENT_ID: { parse: toText },
  PROVIDER_CLIENT_SECRET: { parse: toSecretWith(PROVIDER_SECRET_RULE), isSecret: true },
  PROVIDER_CLIENT_SECRET_FILE: { parse: toText, file: 'secret' },
  PROVIDER_TOKEN_SCOPE: { parse: toText },
  PROVIDER_TOKEN_FORMAT: { default: 'form', parse: toOneOf(['form', 'json']) },
  PROVIDER_TLS_CA_FILE: { parse: toText, file: 'pem' },
  PROVIDER_TLS_CERT_FILE: { parse: toText, file: 'pem' },
  PROVIDER_TLS_KEY_FILE: { parse: toText, file: 'pem' },
  HTTPS_PROXY: { parse: toEgressProxy, isSecret: true, hasLowerCase: true },
  HTTP_PROXY: { parse: toEgressProxy, isSecret: true, hasLowerCase: true },
  NO_PROXY: { parse: toText, hasLowerCase: true },
  PROVIDER_TIMEOUT: { default: '5s', parse: toDurationMs },
  PROVIDER_MAX_BODY: { default: '5mb', parse: toBytes },
  BANK_FIELDS: { parse: toFields },
  BANK_REQUIRED_FIELDS: { parse: toFieldNames },
  CACHE_TTL: { default: '1h', parse: toDurationMs },
  CACHE_MAX_STALE: { default: '7d', parse: toDurationMs },
  CACHE_SNAPSHOT_FILE: { parse: toText },
  CACHE_REDIS_URL: { parse: toRedisUrl, isSecret: true },
  CACHE_REDIS_URL_FILE: { parse: toText, file: 'secret' },
  GUARD_MIN_BANKS: { default: '1', parse: toCount },
  GUARD_MAX_SHRINK: { default: '20%', parse: toShare },
  GUARD_MAX_DRIFT: { default: '20%', parse: toShare },
  BROWSER_MAX_AGE: { default: '5m', parse: toDurationMs },
  CORS_ORIGINS: { parse: toOrigins },
  TRUST_PROXY: { parse: toTrustedProxies },
  HOT_PATH: { default: 'on', parse: toOneOf(['on', 'off']) },
  LOG_LEVEL: { default: 'info', parse: toOneOf(LOG_LEVELS) },
  SHUTDOWN_GRACE: { default: '10s', parse: toDurationMs },
} as const satisfies Record<string, Variable<unknown>>;

export type VariableName = keyof typeof TABLE;

/** What each variable holds once it has been parsed. */
export type Values = { readonly [N in VariableName]: ReturnType<(typeof TABLE)[N]['parse']> };

/** The variables that have a value even while they are unset. */
export type DefaultedName = {
  [N in VariableName]: (typeof TABLE)[N] extends { default: string } ? N : never;
}[VariableName];

export const VARIABLES: { readonly [N in VariableName]: Variable<Values[N]> } = TABLE;

/** The text that stands for an unset variable. */
export const defaultOf = (name: DefaultedName): string => TABLE[name].default;

const isVariableName = (name: string): name is VariableName => Object.hasOwn(TABLE, name);

export const VARIABLE_NAMES: readonly VariableName[] = Object.keys(TABLE).filter(isVariableName);

export const SECRET_VARIABLES: readonly VariableName[] = VARIABLE_NAMES.filter(
  (name) => VARIABLES[name].isSecret,
);

/** The names that a variable may have in the environment; the first one that is set counts. */
export const spellingsOf = (name: VariableName): readonly string[] =>
  VARIABLES[name].hasLowerCase ? [name.toLowerCase(), name] : [name];
