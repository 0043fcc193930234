import { closest, lettersApart } from '../nearest-name.ts';
import {
  MANAGEMENT_TOKEN_RULE,
  PROVIDER_SECRET_RULE,
  PROVIDER_TOKEN_RULE,
  SIGNING_KEY_RULE,
} from '../secrets/secret.ts';
import * as requestValues from './request-values.ts';
import * as values from './values.ts';

// Every environment variable of the service, one row each. The table in docs/configuration.md and
// .env.example have the same names and defaults; a test compares them.

export interface Variable<T> {
  /** Stands for the variable while it is unset. */
  readonly default?: string;
  /** @throws {InvalidValue} */
  readonly parse: (text: string) => T;
  /**
   * Its text must never be seen. It is removed from the process's environment once it has been
   * read.
   */
  readonly isSecret?: true;
  /** It is an address, in which only a user, a password or a query is secret. */
  readonly isAddress?: true;
  /** The query of its address must never be seen, nor stay in the process's environment. */
  readonly hasSecretQuery?: true;
  /** Names a file that must be readable at the start: a secret, or certificates or a key in PEM. */
  readonly file?: 'secret' | 'pem';
  /** May also be written in lower case, which takes precedence, as in curl. */
  readonly hasLowerCase?: true;
}

const TABLE = {
  PORT: { default: '3000', parse: values.toPort },
  HOST: { default: '0.0.0.0', parse: values.toListenHost },
  MANAGEMENT_PORT: { default: '3001', parse: values.toPortOrOff },
  MANAGEMENT_HOST: { default: '127.0.0.1', parse: values.toListenHost },
  MANAGEMENT_HOSTS: { parse: values.toHostNames },
  MANAGEMENT_TOKEN: { parse: values.toSecretWith(MANAGEMENT_TOKEN_RULE), isSecret: true },
  MANAGEMENT_TOKEN_FILE: { parse: values.toSingleLine, file: 'secret' },
  PROVIDER_ENVIRONMENT: { parse: values.toOneOf(['sandbox', 'production']) },
  PROVIDER_SANDBOX_BASE_URL: { parse: values.toHttpUrl },
  PROVIDER_PRODUCTION_BASE_URL: { parse: values.toHttpsUrl },
  PROVIDER_ACCESS_TOKEN: { parse: values.toSecretWith(PROVIDER_TOKEN_RULE), isSecret: true },
  PROVIDER_ACCESS_TOKEN_FILE: { parse: values.toSingleLine, file: 'secret' },
  PROVIDER_TOKEN_URL: { parse: values.toTokenEndpoint, hasSecretQuery: true },
  PROVIDER_CLIENT_ID: { parse: values.toSingleLine },
  PROVIDER_CLIENT_SECRET: { parse: values.toSecretWith(PROVIDER_SECRET_RULE), isSecret: true },
  PROVIDER_CLIENT_SECRET_FILE: { parse: values.toSingleLine, file: 'secret' },
  PROVIDER_TOKEN_SCOPE: { parse: values.toSingleLine },
  PROVIDER_TOKEN_FORMAT: { default: 'form', parse: values.toOneOf(values.TOKEN_FORMATS) },
  PROVIDER_TOKEN_AUTH: { default: 'basic', parse: values.toOneOf(values.TOKEN_AUTHS) },
  PROVIDER_TOKEN_PARAMS: { parse: requestValues.toTokenParams, isSecret: true },
  PROVIDER_TOKEN_FIELD: { default: 'access_token', parse: values.toTokenPath },
  PROVIDER_QUERY: { parse: requestValues.toQuery, isSecret: true },
  PROVIDER_HEADERS: { parse: requestValues.toHeaderLines, isSecret: true },
  PROVIDER_HEADERS_FILE: { parse: values.toSingleLine, file: 'secret' },
  PROVIDER_TLS_CA_FILE: { parse: values.toSingleLine, file: 'pem' },
  PROVIDER_TLS_CERT_FILE: { parse: values.toSingleLine, file: 'pem' },
  PROVIDER_TLS_KEY_FILE: { parse: values.toSingleLine, file: 'pem' },
  HTTPS_PROXY: { parse: values.toEgressProxy, isSecret: true, isAddress: true, hasLowerCase: true },
  HTTP_PROXY: { parse: values.toEgressProxy, isSecret: true, isAddress: true, hasLowerCase: true },
  NO_PROXY: { parse: values.toSingleLine, hasLowerCase: true },
  PROVIDER_TIMEOUT: { default: '5s', parse: values.toDurationMs },
  PROVIDER_MAX_BODY: { default: '1mb', parse: values.toBytes },
  BANK_LIST: { parse: values.toListPath },
  BANK_FIELDS: { parse: values.toFields },
  BANK_REQUIRED_FIELDS: { parse: values.toFieldNames },
  CACHE_TTL: { default: '1h', parse: values.toDurationMs },
  CACHE_MAX_STALE: { default: '7d', parse: values.toDurationMs },
  CACHE_SNAPSHOT_FILE: { parse: values.toSingleLine },
  CACHE_REDIS_URL: { parse: values.toRedisUrl, isSecret: true, isAddress: true },
  CACHE_REDIS_URL_FILE: { parse: values.toSingleLine, file: 'secret' },
  CACHE_SIGNING_KEY: { parse: values.toSecretWith(SIGNING_KEY_RULE), isSecret: true },
  CACHE_SIGNING_KEY_FILE: { parse: values.toSingleLine, file: 'secret' },
  GUARD_MIN_BANKS: { default: '1', parse: values.toEntryCount },
  GUARD_MAX_SHRINK: { default: '20%', parse: values.toShare },
  GUARD_MAX_DRIFT: { default: '20%', parse: values.toShare },
  BROWSER_MAX_AGE: { default: '5m', parse: values.toDurationMs },
  KEEP_ALIVE_TIMEOUT: { default: '65s', parse: values.toDurationMs },
  CORS_ORIGINS: { parse: values.toOrigins },
  TRUST_PROXY: { parse: values.toTrustedProxies },
  HOT_PATH: { default: 'on', parse: values.toOneOf(['on', 'off']) },
  LOG_LEVEL: { default: 'info', parse: values.toOneOf(values.LOG_LEVELS) },
  SHUTDOWN_GRACE: { default: '10s', parse: values.toDurationMs },
} as const satisfies Record<string, Variable<unknown>>;

export type VariableName = keyof typeof TABLE;

/** What each variable holds once it has been parsed. */
export type Values = { readonly [N in VariableName]: ReturnType<(typeof TABLE)[N]['parse']> };

/** The variables that have a value even while they are unset. */
export type DefaultedName = {
  [N in VariableName]: (typeof TABLE)[N] extends { default: string } ? N : never;
}[VariableName];

export const VARIABLES: { readonly [N in VariableName]: Variable<Values[N]> } = TABLE;

const isVariableName = (name: string): name is VariableName => Object.hasOwn(TABLE, name);

export const VARIABLE_NAMES: readonly VariableName[] = Object.keys(TABLE).filter(isVariableName);

export const SECRET_VARIABLES: readonly VariableName[] = VARIABLE_NAMES.filter(
  (name) => VARIABLES[name].isSecret,
);

/** The names that a variable may have in the environment; the first one that is set counts. */
export const spellingsOf = (name: VariableName): readonly string[] =>
  VARIABLES[name].hasLowerCase ? [name.toLowerCase(), name] : [name];

const PREFIXES = ['PROVIDER_', 'CACHE_', 'BANK_', 'GUARD_', 'MANAGEMENT_'];

/** Shorter names, such as HOME and PATH, are within two letters of too many others. */
const SHORTEST_SIMILAR_NAME = 8;
const MOST_LETTERS_APART = 2;

/** Names that other programs use for the same thing. Allowed while ours is set too. */
const OTHER_NAMES: Readonly<Record<string, VariableName>> = {
  BROWSER_CACHE_MAX_AGE: 'BROWSER_MAX_AGE',
  CORS_ALLOW_ORIGINS: 'CORS_ORIGINS',
  CORS_ALLOWED_ORIGINS: 'CORS_ORIGINS',
  REDIS_URL: 'CACHE_REDIS_URL',
  SHUTDOWN_TIMEOUT: 'SHUTDOWN_GRACE',
  TRUST_PROXIES: 'TRUST_PROXY',
  TRUSTED_PROXIES: 'TRUST_PROXY',
};

/** A variable of other programs that is two letters away from one of ours. */
const NOT_OURS = 'FTP_PROXY';

/**
 * What is wrong with a name that looks as if it were meant for this service and is not: a typing
 * mistake must not pass silently. @param isSet whether a variable of this service has a value
 */
export const nameProblem = (
  name: string,
  isSet: (name: VariableName) => boolean,
): string | undefined => {
  if (name === NOT_OURS || VARIABLE_NAMES.some((known) => spellingsOf(known).includes(name)))
    return undefined;
  const other = OTHER_NAMES[name];
  const meant = other ?? closestVariable(name);
  const isSimilar = meant !== undefined && name.length >= SHORTEST_SIMILAR_NAME;
  const isOurs = isSimilar || PREFIXES.some((prefix) => name.startsWith(prefix));
  if (!isOurs || (other && isSet(other))) return undefined;
  const wayOut = meant ? `did you mean ${meant}?` : '.env.example lists them all';
  return `is not a variable of this service; ${wayOut}`;
};

/** The variable that is one or two letters away. */
const closestVariable = (name: string): VariableName | undefined =>
  closest(VARIABLE_NAMES, (known) => lettersApart(name, known, MOST_LETTERS_APART));
