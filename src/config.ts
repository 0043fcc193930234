import { isIP } from 'node:net';
import proxyAddr from 'proxy-addr';
import {
  MANAGEMENT_TOKEN_RULE,
  MAX_SECRET_BYTES,
  providerSecretRule,
  secretProblem,
  type SecretRule,
} from './secrets/secret-rules.ts';

// The environment, read once: text in, a typed and frozen Config out, or every problem at once.
// It never touches the process or a file, and no problem it reports repeats a value: a secret pasted
// into the wrong variable must not reach a log.

export type Environment = Readonly<Record<string, string | undefined>>;

/** Every variable of the service, with the text that stands for it when it is unset. */
export const VARIABLES = {
  PORT: '3000',
  HOST: '0.0.0.0',
  MANAGEMENT_PORT: '3001',
  MANAGEMENT_HOST: '127.0.0.1',
  MANAGEMENT_TOKEN: undefined,
  MANAGEMENT_TOKEN_FILE: undefined,
  PROVIDER_ENVIRONMENT: undefined,
  PROVIDER_SANDBOX_BASE_URL: undefined,
  PROVIDER_PRODUCTION_BASE_URL: undefined,
  PROVIDER_ACCESS_TOKEN: undefined,
  PROVIDER_ACCESS_TOKEN_FILE: undefined,
  PROVIDER_TOKEN_URL: undefined,
  PROVIDER_CLIENT_ID: undefined,
  PROVIDER_CLIENT_SECRET: undefined,
  PROVIDER_CLIENT_SECRET_FILE: undefined,
  PROVIDER_TOKEN_SCOPE: undefined,
  PROVIDER_TIMEOUT: '5s',
  PROVIDER_MAX_BODY: '5mb',
  BANK_FIELDS: undefined,
  BANK_REQUIRED_FIELDS: undefined,
  CACHE_TTL: '1h',
  CACHE_MAX_STALE: '7d',
  CACHE_SNAPSHOT_FILE: undefined,
  CACHE_REDIS_URL: undefined,
  GUARD_MIN_BANKS: '1',
  GUARD_MAX_SHRINK: '20%',
  BROWSER_MAX_AGE: '5m',
  CORS_ORIGINS: undefined,
  TRUST_PROXY: undefined,
  LOG_LEVEL: 'info',
  SHUTDOWN_GRACE: '10s',
} as const satisfies Record<string, string | undefined>;

type VariableName = keyof typeof VARIABLES;
type WithDefault = { [N in VariableName]: (typeof VARIABLES)[N] extends string ? N : never }[VariableName];

/** The variables whose values must never be seen; whoever owns the process takes them out of its environment. */
export const SECRET_VARIABLES = [
  'PROVIDER_ACCESS_TOKEN',
  'PROVIDER_CLIENT_SECRET',
  'MANAGEMENT_TOKEN',
  'CACHE_REDIS_URL',
] as const satisfies readonly VariableName[];

const SECRET_FILE_VARIABLES = [
  'PROVIDER_ACCESS_TOKEN_FILE',
  'PROVIDER_CLIENT_SECRET_FILE',
  'MANAGEMENT_TOKEN_FILE',
] as const satisfies readonly VariableName[];

/** The secrets that `config` holds, each with its variable. Those in files are known when they are read. */
export const secretsOf = (config: Config): readonly (readonly [VariableName, string])[] => {
  const { token } = config.provider;
  const secrets: [VariableName, string][] = [];
  const add = (name: VariableName, secret: Secret | { readonly path: string } | undefined): void => {
    if (secret && 'reveal' in secret) secrets.push([name, secret.reveal()]);
  };
  if (token.kind === 'fixed') add('PROVIDER_ACCESS_TOKEN', token.token);
  if (token.kind === 'client-credentials') add('PROVIDER_CLIENT_SECRET', token.clientSecret);
  add('MANAGEMENT_TOKEN', config.management.token);
  const { redisUrl } = config.cache;
  // Only the password of the address is secret; errors quote it without the rest.
  const password = redisUrl && new URL(redisUrl.reveal()).password;
  if (password) secrets.push(['CACHE_REDIS_URL', password], ['CACHE_REDIS_URL', decodePercent(password)]);
  return secrets;
};

const decodePercent = (text: string): string =>
  new URLSearchParams(`_=${text.replaceAll('+', '%2B')}`).get('_') ?? text;

/** A value that prints as nothing: it leaves its closure only where `reveal` is called. */
export interface Secret {
  reveal(): string;
}

export type TokenSource =
  | { readonly kind: 'fixed'; readonly token: Secret }
  | { readonly kind: 'file'; readonly path: string }
  | {
      readonly kind: 'client-credentials';
      readonly url: URL;
      readonly clientId: string;
      readonly clientSecret: Secret | { readonly path: string };
      readonly scope: string | undefined;
    };

/** A field as browsers see it (`name`) and as the provider sends it (`from`). */
export interface PublishedField {
  readonly name: string;
  readonly from: string;
}

export interface Config {
  readonly listen: { readonly port: number; readonly host: string };
  readonly management: {
    readonly listen: { readonly port: number; readonly host: string } | undefined;
    readonly token: Secret | { readonly path: string } | undefined;
  };
  readonly provider: {
    readonly environment: 'sandbox' | 'production';
    readonly baseUrl: URL;
    readonly token: TokenSource;
    readonly timeoutMs: number;
    readonly maxBodyBytes: number;
  };
  readonly banks: {
    /** Undefined: every field passes (sandbox only). */
    readonly fields: readonly PublishedField[] | undefined;
    readonly requiredFields: readonly string[];
  };
  readonly cache: {
    readonly ttlMs: number;
    readonly maxStaleMs: number;
    readonly snapshotFile: string | undefined;
    readonly redisUrl: Secret | undefined;
  };
  /** `maxShrink` is a share, 0 to 1. */
  readonly guard: { readonly minBanks: number; readonly maxShrink: number };
  readonly browserMaxAgeMs: number;
  readonly corsOrigins: '*' | readonly string[];
  readonly trustProxy: number | readonly string[] | undefined;
  readonly logLevel: LogLevel;
  readonly shutdownGraceMs: number;
}

/** The environment is unusable. `problems` holds one line for each: the variable, what is wrong, what is right. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration has ${problems.length} problem${problems.length === 1 ? '' : 's'}:`);
    this.problems = problems;
  }
}

/**
 * Reads the whole configuration from `env`. An empty string counts as unset.
 * @param whyUnreadable tells why a secret's file cannot be read (an error code such as ENOENT), or undefined if it can
 * @throws {ConfigError} with every problem, not only the first
 */
export const parseConfig = (
  env: Environment,
  whyUnreadable: (path: string) => string | undefined = () => undefined,
): Config => {
  const problems: string[] = [];
  const report = (name: string, problem: string): void => void problems.push(`${name}: ${problem}`);
  const text = (name: VariableName): string | undefined => env[name] || undefined;

  const parsed = <T>(name: VariableName, parse: (value: string) => T, value: string): T | undefined => {
    try {
      return parse(value);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      report(name, error.message);
      return undefined;
    }
  };
  const optional = <T>(name: VariableName, parse: (value: string) => T): T | undefined => {
    const value = text(name);
    return value === undefined ? undefined : parsed(name, parse, value);
  };
  // A problem already reported needs some value to go on with until all problems are known: the default.
  const withDefault = <T>(name: WithDefault, parse: (value: string) => T): T =>
    optional(name, parse) ?? parse(VARIABLES[name]);

  const secretOrFile = (
    name: VariableName,
    fileName: VariableName,
    parse: (value: string) => Secret,
  ): Secret | { readonly path: string } | undefined => {
    const path = text(fileName);
    if (path !== undefined && text(name) !== undefined)
      report(fileName, `is set as well as ${name}; keep one`);
    return path === undefined ? optional(name, parse) : { path };
  };

  for (const name of unknownVariables(env)) {
    report(
      name,
      'is not a variable of this service; look for a typing mistake (.env.example lists them all)',
    );
  }

  // Node has read it before any of our code runs, so it cannot be undone.
  if (env['NODE_DEBUG'])
    report('NODE_DEBUG', 'makes Node print what passes through it, secrets included; unset it');

  for (const name of SECRET_FILE_VARIABLES) {
    const reason = optional(name, whyUnreadable);
    if (reason)
      report(
        name,
        `cannot be read (${reason}); name a regular file of at most ${MAX_SECRET_BYTES} bytes that this user may read`,
      );
  }

  const environment = optional('PROVIDER_ENVIRONMENT', toEnvironment);
  if (text('PROVIDER_ENVIRONMENT') === undefined) {
    report('PROVIDER_ENVIRONMENT', 'is required: sandbox or production');
  }
  const production = environment === 'production';

  const baseUrls = {
    sandbox: optional('PROVIDER_SANDBOX_BASE_URL', toHttpUrl),
    production: optional('PROVIDER_PRODUCTION_BASE_URL', toHttpsUrl),
  };
  const baseUrl = environment && baseUrls[environment];
  if (environment) {
    const name = production ? 'PROVIDER_PRODUCTION_BASE_URL' : 'PROVIDER_SANDBOX_BASE_URL';
    if (text(name) === undefined) report(name, `is required when PROVIDER_ENVIRONMENT is ${environment}`);
  }

  const tokenSource = (): TokenSource | undefined => {
    const ways = [
      text('PROVIDER_ACCESS_TOKEN') !== undefined,
      text('PROVIDER_ACCESS_TOKEN_FILE') !== undefined,
      CLIENT_CREDENTIALS.some((name) => text(name) !== undefined),
    ];
    if (ways.filter(Boolean).length !== 1) {
      report(
        'PROVIDER_ACCESS_TOKEN, PROVIDER_ACCESS_TOKEN_FILE, PROVIDER_TOKEN_URL',
        `${ways.includes(true) ? 'more than one is' : 'none is'} configured; configure exactly one way to a token: ` +
          'a fixed token, its file, or PROVIDER_TOKEN_URL with PROVIDER_CLIENT_ID and PROVIDER_CLIENT_SECRET ' +
          'or PROVIDER_CLIENT_SECRET_FILE',
      );
    }
    const token = optional(
      'PROVIDER_ACCESS_TOKEN',
      toSecret(providerSecretRule(environment, { bearer: true })),
    );
    if (token) return { kind: 'fixed', token };
    const path = text('PROVIDER_ACCESS_TOKEN_FILE');
    if (path) return { kind: 'file', path };
    if (!ways[2]) return undefined;

    const url = optional('PROVIDER_TOKEN_URL', production ? toHttpsUrl : toHttpUrl);
    const clientId = optional('PROVIDER_CLIENT_ID', toText);
    const clientSecret = secretOrFile(
      'PROVIDER_CLIENT_SECRET',
      'PROVIDER_CLIENT_SECRET_FILE',
      toSecret(providerSecretRule(environment, { bearer: false })),
    );
    if (!text('PROVIDER_TOKEN_URL'))
      report('PROVIDER_TOKEN_URL', 'is required for the client-credentials grant');
    if (!clientId) report('PROVIDER_CLIENT_ID', 'is required for the client-credentials grant');
    if (!clientSecret) {
      report(
        'PROVIDER_CLIENT_SECRET',
        'or PROVIDER_CLIENT_SECRET_FILE is required for the client-credentials grant',
      );
    }
    const scope = optional('PROVIDER_TOKEN_SCOPE', toText);
    if (!url || !clientId || !clientSecret) return undefined;
    return { kind: 'client-credentials', url, clientId, clientSecret, scope };
  };
  const token = tokenSource();

  const fields = optional('BANK_FIELDS', toFields);
  if (production && text('BANK_FIELDS') === undefined) {
    report(
      'BANK_FIELDS',
      'is required in production: the fields that browsers may see, such as code,ispb,name',
    );
  }
  const requiredFields = optional('BANK_REQUIRED_FIELDS', toNames) ?? [];
  const unpublished = requiredFields.filter((name) => fields && !fields.some((field) => field.name === name));
  if (unpublished.length > 0) {
    report('BANK_REQUIRED_FIELDS', `names ${unpublished.join(', ')}, which BANK_FIELDS does not publish`);
  }

  const port = withDefault('PORT', toPort);
  const managementPort = withDefault('MANAGEMENT_PORT', toPortOrOff);
  if (port !== 0 && port === managementPort)
    report('MANAGEMENT_PORT', 'is the same as PORT; choose another one');
  const managementHost = withDefault('MANAGEMENT_HOST', toText);

  const config = {
    listen: { port, host: withDefault('HOST', toText) },
    management: {
      listen: managementPort === 'off' ? undefined : { port: managementPort, host: managementHost },
      token: secretOrFile('MANAGEMENT_TOKEN', 'MANAGEMENT_TOKEN_FILE', toSecret(MANAGEMENT_TOKEN_RULE)),
    },
    banks: { fields, requiredFields },
    cache: {
      ttlMs: withDefault('CACHE_TTL', toDurationMs),
      maxStaleMs: withDefault('CACHE_MAX_STALE', toDurationMs),
      snapshotFile: optional('CACHE_SNAPSHOT_FILE', toText),
      redisUrl: optional('CACHE_REDIS_URL', toRedisUrl),
    },
    guard: {
      minBanks: withDefault('GUARD_MIN_BANKS', toCount),
      maxShrink: withDefault('GUARD_MAX_SHRINK', toShare),
    },
    browserMaxAgeMs: withDefault('BROWSER_MAX_AGE', toDurationMs),
    corsOrigins: optional('CORS_ORIGINS', toOrigins) ?? [],
    trustProxy: optional('TRUST_PROXY', toTrustedProxies),
    logLevel: withDefault('LOG_LEVEL', toLogLevel),
    shutdownGraceMs: withDefault('SHUTDOWN_GRACE', toDurationMs),
  };
  const timeoutMs = withDefault('PROVIDER_TIMEOUT', toDurationMs);
  const maxBodyBytes = withDefault('PROVIDER_MAX_BODY', toBytes);

  if (problems.length > 0 || !environment || !baseUrl || !token) throw new ConfigError(problems);
  return Object.freeze({ ...config, provider: { environment, baseUrl, token, timeoutMs, maxBodyBytes } });
};

const OUR_PREFIXES = ['PROVIDER_', 'CACHE_', 'BANK_', 'GUARD_', 'MANAGEMENT_'];

const CLIENT_CREDENTIALS = [
  'PROVIDER_TOKEN_URL',
  'PROVIDER_CLIENT_ID',
  'PROVIDER_CLIENT_SECRET',
  'PROVIDER_CLIENT_SECRET_FILE',
  'PROVIDER_TOKEN_SCOPE',
] as const satisfies readonly VariableName[];

const unknownVariables = (env: Environment): string[] =>
  Object.keys(env).filter(
    (name) => env[name] && !(name in VARIABLES) && OUR_PREFIXES.some((prefix) => name.startsWith(prefix)),
  );

/** What is wrong with one value and what would be right; never the value itself. */
class InvalidValue extends Error {
  override readonly name = 'InvalidValue';
}

const toPort = (value: string): number => {
  const port = /^\d{1,5}$/.test(value) ? Number(value) : NaN;
  if (!(port <= 65_535))
    throw new InvalidValue('is not a port; use a number from 0 to 65535 (0 picks a free one)');
  return port;
};

const toPortOrOff = (value: string): number | 'off' => {
  if (value === 'off') return value;
  try {
    return toPort(value);
  } catch {
    throw new InvalidValue('is not a port; use a number from 0 to 65535, or off');
  }
};

const toEnvironment = (value: string): 'sandbox' | 'production' => {
  if (value !== 'sandbox' && value !== 'production') throw new InvalidValue('must be sandbox or production');
  return value;
};

const toHttpUrl = (value: string): URL => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new InvalidValue('is not an address; use one such as https://api.example.com');
  }
  if (url.username || url.password || url.search || url.hash || /[?#]/.test(value)) {
    throw new InvalidValue(
      'must have no user info, query or fragment; use one such as https://api.example.com',
    );
  }
  return url;
};

const toHttpsUrl = (value: string): URL => {
  const url = toHttpUrl(value);
  if (url.protocol !== 'https:')
    throw new InvalidValue('must be https: in production, the token travels with it');
  return url;
};

const toRedisUrl = (value: string): Secret => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isRedis = url?.protocol === 'redis:' || url?.protocol === 'rediss:';
  // The path is the number of a database.
  if (!isRedis || !url.hostname || !/^\/?\d{0,5}$/.test(url.pathname)) {
    throw new InvalidValue(
      'is not a Redis address; use one such as redis://host:6379 or rediss://user:password@host:6379',
    );
  }
  const credentials = [url.username, url.password];
  if (!credentials.every(isPercentEncoded)) {
    throw new InvalidValue('has a % in its user or password that begins no code; write %25 for it');
  }
  if (Buffer.byteLength(value) > MAX_SECRET_BYTES)
    throw new InvalidValue(`has more than ${MAX_SECRET_BYTES} bytes`);
  return { reveal: () => value };
};

/** Whether `text` can be decoded (RFC 3986 section 2.1), to UTF-8. */
const isPercentEncoded = (text: string): boolean => {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
};

const toSecret =
  (rule: SecretRule) =>
  (value: string): Secret => {
    const problem = secretProblem(value, rule);
    if (problem !== undefined) throw new InvalidValue(`${problem}; it needs ${describeRule(rule)}`);
    return { reveal: () => value };
  };

const describeRule = ({ minChars, bearer }: SecretRule): string =>
  `${minChars} to ${MAX_SECRET_BYTES} ${bearer ? 'letters, digits and signs of ASCII' : 'bytes of text'}`;

/** A name, a path or an identifier, taken as it is. */
const toText = (value: string): string => {
  // Not even a file's name can hold a NUL; other control characters have got there by mistake.
  if (/\p{Cc}/u.test(value))
    throw new InvalidValue('has a control character, such as a line break; remove it');
  if (Buffer.byteLength(value) > MAX_TEXT_BYTES)
    throw new InvalidValue(`has more than ${MAX_TEXT_BYTES} bytes`);
  return value;
};

/** The longest path that Linux takes. */
const MAX_TEXT_BYTES = 4_096;

const MS_PER_UNIT = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const toDurationMs = (value: string): number => {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value) ?? [];
  const ms = isUnit(MS_PER_UNIT, unit) ? Math.round(Number(digits) * MS_PER_UNIT[unit]) : NaN;
  // Below 10 ms a rehearsal measures the timer, not the service; above a year the value is a mistake.
  if (!(ms >= 10 && ms <= 366 * MS_PER_UNIT.d)) {
    throw new InvalidValue(
      'is not a duration; use a number with a unit from 10ms to 366d, such as 250ms, 30s, 5m, 1h or 7d',
    );
  }
  return ms;
};

const BYTES_PER_UNIT = { b: 1, kb: 1024, mb: 1024 * 1024 };

const toBytes = (value: string): number => {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(b|kb|mb)$/.exec(value.toLowerCase()) ?? [];
  const bytes = isUnit(BYTES_PER_UNIT, unit) ? Math.round(Number(digits) * BYTES_PER_UNIT[unit]) : NaN;
  // The body is held in memory several times while it is checked: 256 MB is the point where that becomes an outage.
  if (!(bytes >= 1 && bytes <= 256 * BYTES_PER_UNIT.mb)) {
    throw new InvalidValue('is not a size; use a number with a unit up to 256mb, such as 512kb or 5mb');
  }
  return bytes;
};

const isUnit = <T extends object>(units: T, unit: string | undefined): unit is keyof T & string =>
  unit !== undefined && Object.hasOwn(units, unit);

const toCount = (value: string): number => {
  if (!/^\d{1,9}$/.test(value)) throw new InvalidValue('is not a count; use a whole number such as 100');
  return Number(value);
};

const toShare = (value: string): number => {
  const share = /^\d+(\.\d+)?%$/.test(value) ? Number(value.slice(0, -1)) / 100 : NaN;
  if (!(share <= 1)) throw new InvalidValue('is not a share; use a percentage from 0% to 100%, such as 20%');
  return share;
};

const toNames = (value: string): string[] => toFields(value).map((field) => field.name);

const toFields = (value: string): PublishedField[] => {
  const fields = value.split(',').map((item) => {
    const [name = '', from = name, ...rest] = item.trim().split(':');
    const valid = [name, from].every((part) => /^[^\s"\\]+$/.test(part) && part !== '__proto__');
    if (!valid || rest.length > 0) {
      throw new InvalidValue(
        'is not a list of fields; use names such as code,ispb,name, or id:ispb to rename',
      );
    }
    return { name, from };
  });
  if (new Set(fields.map((field) => field.name)).size !== fields.length) {
    throw new InvalidValue('publishes one name twice; give each field a name of its own');
  }
  return fields;
};

const toOrigins = (value: string): '*' | string[] => {
  if (value === '*') return value;
  return value.split(',').map((item) => {
    const origin = item.trim();
    if (!URL.canParse(origin) || !/^https?:/.test(origin) || new URL(origin).origin !== origin) {
      throw new InvalidValue(
        'must be *, or exact origins such as https://app.example.com,http://localhost:5173',
      );
    }
    return origin;
  });
};

const toTrustedProxies = (value: string): number | string[] => {
  if (/^\d{1,2}$/.test(value)) return Number(value);
  return value.split(',').map((item) => {
    const address = item.trim();
    if (!isAddressRange(address)) {
      // `true` would believe every client's X-Forwarded-For.
      throw new InvalidValue(
        'must be the number of proxies in front, or their addresses such as 10.0.0.0/8; a range of all addresses is none',
      );
    }
    return address;
  });
};

/** As the package that will use it reads it: a range of all addresses, for example, is refused. */
const isAddressRange = (value: string): boolean => {
  if (isIP(value.split('/')[0] ?? '') === 0) return false;
  try {
    proxyAddr.compile([value]);
    return true;
  } catch {
    return false;
  }
};

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const toLogLevel = (value: string): LogLevel => {
  const level = LOG_LEVELS.find((known) => known === value);
  if (!level) throw new InvalidValue(`is not a level; use one of ${LOG_LEVELS.join(', ')}`);
  return level;
};
