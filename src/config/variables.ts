import * as z from 'zod';
import { toSecret } from '../secrets/secret.ts';
import * as values from './values.ts';

// Every environment variable of the service, one line each. The table in docs/configuration.md and
// .env.example have the same names and defaults; a test compares them.

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

type FromText<T> = z.ZodType<T, string>;

const defaulted = <T>(schema: FromText<T>, text: string) =>
  schema.prefault(text).meta({ default: text });
/** Never shown, and removed from the process's environment once it has been read. */
const secret = <T>(schema: FromText<T>) => schema.optional().meta({ isSecret: true });
/** Checked by the rules that hold for its file too. */
const fileSecret = secret(values.anyText.transform(toSecret));
const text = values.anyText.optional();

export const SCHEMA = z.object({
  PORT: defaulted(values.port, '3000'),
  HOST: defaulted(values.anyText, '0.0.0.0'),
  MANAGEMENT_PORT: defaulted(values.portOrOff, '3001'),
  MANAGEMENT_HOST: defaulted(values.anyText, '127.0.0.1'),
  MANAGEMENT_HOSTS: values.hostNames.optional(),
  MANAGEMENT_TOKEN: fileSecret,
  MANAGEMENT_TOKEN_FILE: text,
  PROVIDER_ENVIRONMENT: values.oneOf(['sandbox', 'production']).optional(),
  PROVIDER_SANDBOX_BASE_URL: values.baseUrl.optional(),
  PROVIDER_PRODUCTION_BASE_URL: values.httpsBaseUrl.optional(),
  PROVIDER_ACCESS_TOKEN: fileSecret,
  PROVIDER_ACCESS_TOKEN_FILE: text,
  PROVIDER_TOKEN_URL: secret(values.tokenUrl),
  PROVIDER_CLIENT_ID: text,
  PROVIDER_CLIENT_SECRET: fileSecret,
  PROVIDER_CLIENT_SECRET_FILE: text,
  PROVIDER_TOKEN_SCOPE: text,
  PROVIDER_TOKEN_FORMAT: defaulted(values.oneOf(['form', 'json']), 'form'),
  PROVIDER_TOKEN_AUTH: defaulted(values.oneOf(['basic', 'basic_plain', 'post']), 'basic'),
  PROVIDER_TOKEN_PARAMS: secret(values.tokenParams),
  PROVIDER_TOKEN_FIELD: defaulted(values.tokenPath, 'access_token'),
  PROVIDER_QUERY: secret(values.query),
  PROVIDER_HEADERS: fileSecret,
  PROVIDER_HEADERS_FILE: text,
  PROVIDER_TLS_CA_FILE: text,
  PROVIDER_TLS_CERT_FILE: text,
  PROVIDER_TLS_KEY_FILE: text,
  HTTPS_PROXY: secret(values.proxyUrl),
  HTTP_PROXY: secret(values.proxyUrl),
  NO_PROXY: text,
  PROVIDER_TIMEOUT: defaulted(values.durationMs, '5s'),
  PROVIDER_MAX_BODY: defaulted(values.byteCount, '1mb'),
  BANK_LIST: values.listPath.optional(),
  BANK_FIELDS: values.fields.optional(),
  BANK_REQUIRED_FIELDS: values.fieldNames.optional(),
  CACHE_TTL: defaulted(values.durationMs, '1h'),
  CACHE_MAX_STALE: defaulted(values.durationMs, '7d'),
  CACHE_SNAPSHOT_FILE: text,
  CACHE_REDIS_URL: fileSecret,
  CACHE_REDIS_URL_FILE: text,
  CACHE_SIGNING_KEY: fileSecret,
  CACHE_SIGNING_KEY_FILE: text,
  GUARD_MIN_BANKS: defaulted(values.entryCount, '1'),
  GUARD_MAX_SHRINK: defaulted(values.share, '20%'),
  GUARD_MAX_DRIFT: defaulted(values.share, '20%'),
  BROWSER_MAX_AGE: defaulted(values.durationMs, '5m'),
  KEEP_ALIVE_TIMEOUT: defaulted(values.durationMs, '65s'),
  CORS_ORIGINS: values.origins.optional(),
  TRUST_PROXY: values.trustedProxies.optional(),
  HOT_PATH: defaulted(values.oneOf(['on', 'off']), 'on'),
  LOG_LEVEL: defaulted(values.oneOf(values.LOG_LEVELS), 'info'),
  SHUTDOWN_GRACE: defaulted(values.durationMs, '10s'),
});

export type VariableName = keyof typeof SCHEMA.shape;

/** What the variables hold once they have been parsed. */
export type Values = z.infer<typeof SCHEMA>;

export const VARIABLE_NAMES: readonly VariableName[] = SCHEMA.keyof().options;

/** What stands for the variable while it is unset, as text; empty: nothing. */
export const defaultOf = (name: VariableName): string => {
  const preset = SCHEMA.shape[name].meta()?.['default'];
  return typeof preset === 'string' ? preset : '';
};

export const SECRET_VARIABLES: readonly VariableName[] = VARIABLE_NAMES.filter(
  (name) => SCHEMA.shape[name].meta()?.['isSecret'],
);

/** As in curl, these may also be written in lower case, which takes precedence. */
const IN_LOWER_CASE: readonly string[] = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'];

/** The names that a variable may have in the environment; the first one that is set counts. */
export const spellingsOf = (name: VariableName): readonly string[] =>
  IN_LOWER_CASE.includes(name) ? [name.toLowerCase(), name] : [name];

/** What a variable is set to; an empty string counts as unset. */
export const textOf = (env: EnvironmentVariables, name: VariableName): string | undefined =>
  spellingsOf(name)
    .map((spelling) => env[spelling])
    .find(Boolean);

/** Whether a name looks like one of this service, and is not: a typing mistake must not pass. */
export const isUnknown = (name: string): boolean =>
  /^(?:PROVIDER|CACHE|BANK|GUARD|MANAGEMENT)_/.test(name) &&
  !Object.hasOwn(SCHEMA.shape, name) &&
  !SERVICE_LINK.test(name);

/** What Kubernetes adds to the environment of every pod for a Service, such as one named `cache`. */
const SERVICE_LINK =
  /_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT|PORT_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?)$/;
