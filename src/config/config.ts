import { MAX_SECRET_BYTES } from '../secrets/secret-rules.ts';
import type { TlsFiles, TlsProblem } from '../secrets/tls-files.ts';
import { readProvider, type ProviderConfig } from './provider.ts';
import { createReader, type Environment, type Reader, type SecretSource } from './reader.ts';
import { closestVariable, isUnknownVariable } from './unknown-variables.ts';
import { passwordsIn, type LogLevel, type PublishedField } from './values.ts';
import { VARIABLE_NAMES, VARIABLES, type VariableName } from './variables.ts';

// The environment as the service uses it: text in, a typed and frozen Config out, or every problem at once. It never
// touches the process or a file, and no problem repeats a value: a misplaced secret must not reach a log.

export interface Config {
  readonly listen: { readonly port: number; readonly host: string };
  readonly management: {
    /** Undefined: there is no management port. */
    readonly listen: { readonly port: number; readonly host: string } | undefined;
    /** Names that `Host` may have besides those that are always allowed; lower case, no trailing dot. */
    readonly hosts: readonly string[];
    readonly token: SecretSource | undefined;
  };
  readonly provider: ProviderConfig;
  readonly banks: {
    /** Undefined: every field is published (sandbox only). */
    readonly fields: readonly PublishedField[] | undefined;
    readonly requiredFields: readonly string[];
  };
  readonly cache: {
    readonly ttlMs: number;
    readonly maxStaleMs: number;
    readonly snapshotFile: string | undefined;
    readonly redisUrl: SecretSource | undefined;
  };
  /** `maxShrink` and `maxDrift` are shares from 0 to 1. */
  readonly guard: { readonly minBanks: number; readonly maxShrink: number; readonly maxDrift: number };
  readonly browserMaxAgeMs: number;
  readonly corsOrigins: '*' | readonly string[];
  readonly trustProxy: number | readonly string[] | undefined;
  /** Whether ordinary requests for /banks skip node:http and Express. */
  readonly hotPath: boolean;
  readonly logLevel: LogLevel;
  readonly shutdownGraceMs: number;
}

/** What is known of files at the start. */
export interface FileChecks {
  /** The reason (such as ENOENT) for which a file cannot be read, or undefined if it can. */
  readonly whyUnreadable: (path: string) => string | undefined;
  readonly tlsProblems: (files: TlsFiles) => readonly TlsProblem[];
}

const NO_CHECKS: FileChecks = { whyUnreadable: () => undefined, tlsProblems: () => [] };

/** The environment is unusable. `problems` holds one line for each: the variable, what is wrong, what would be right. */
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
 * @throws {ConfigError} with every problem, not only the first
 */
export const parseConfig = (
  env: Environment,
  { whyUnreadable, tlsProblems }: FileChecks = NO_CHECKS,
): Config => {
  const reader = createReader(env);
  reportUnknownVariables(env, reader);
  // Node reads it before any code of ours runs, so it cannot be undone.
  if (env['NODE_DEBUG'])
    reader.report('NODE_DEBUG', 'makes Node print what passes through it, secrets included; unset it');
  reportUnreadableFiles(reader, whyUnreadable);
  const provider = readProvider(reader);
  for (const { variable, problem } of tlsProblems(provider.tls)) reader.report(variable, problem);
  const config = {
    ...readListeners(reader),
    banks: readBanks(reader, provider.environment),
    cache: {
      ttlMs: reader.defaulted('CACHE_TTL'),
      maxStaleMs: reader.defaulted('CACHE_MAX_STALE'),
      snapshotFile: reader.optional('CACHE_SNAPSHOT_FILE'),
      redisUrl: reader.secret('CACHE_REDIS_URL'),
    },
    guard: {
      minBanks: reader.defaulted('GUARD_MIN_BANKS'),
      maxShrink: reader.defaulted('GUARD_MAX_SHRINK'),
      maxDrift: reader.defaulted('GUARD_MAX_DRIFT'),
    },
    browserMaxAgeMs: reader.defaulted('BROWSER_MAX_AGE'),
    corsOrigins: reader.optional('CORS_ORIGINS') ?? [],
    trustProxy: reader.optional('TRUST_PROXY'),
    hotPath: reader.defaulted('HOT_PATH') === 'on',
    logLevel: reader.defaulted('LOG_LEVEL'),
    shutdownGraceMs: reader.defaulted('SHUTDOWN_GRACE'),
  };
  const { environment, baseUrl, token } = provider;
  if (reader.problems.length > 0 || !environment || !baseUrl || !token)
    throw new ConfigError(reader.problems);
  return Object.freeze({ ...config, provider: { ...provider, environment, baseUrl, token } });
};

const reportUnknownVariables = (env: Environment, { report }: Reader): void => {
  for (const name of Object.keys(env).filter((key) => env[key] && isUnknownVariable(key))) {
    const closest = closestVariable(name);
    report(
      name,
      closest
        ? `is not a variable of this service; did you mean ${closest}?`
        : 'is not a variable of this service; .env.example lists them all',
    );
  }
};

const reportUnreadableFiles = (
  { optional, report }: Reader,
  whyUnreadable: (path: string) => string | undefined,
): void => {
  for (const name of VARIABLE_NAMES.filter((key) => VARIABLES[key].file === 'secret')) {
    const path = optional(name);
    const reason = typeof path === 'string' ? whyUnreadable(path) : undefined;
    if (reason)
      report(
        name,
        `cannot be read (${reason}); name a regular file of at most ${MAX_SECRET_BYTES} bytes that this user may read`,
      );
  }
};

const readListeners = (reader: Reader): Pick<Config, 'listen' | 'management'> => {
  const port = reader.defaulted('PORT');
  const managementPort = reader.defaulted('MANAGEMENT_PORT');
  const managementHost = reader.defaulted('MANAGEMENT_HOST');
  if (port !== 0 && port === managementPort)
    reader.report('MANAGEMENT_PORT', 'is the same as PORT; choose another one');
  return {
    listen: { port, host: reader.defaulted('HOST') },
    management: {
      listen: managementPort === 'off' ? undefined : { port: managementPort, host: managementHost },
      hosts: reader.optional('MANAGEMENT_HOSTS') ?? [],
      token: reader.secret('MANAGEMENT_TOKEN'),
    },
  };
};

const readBanks = (
  reader: Reader,
  environment: ProviderConfig['environment'] | undefined,
): Config['banks'] => {
  const fields = reader.optional('BANK_FIELDS');
  if (environment === 'production' && !reader.isSet('BANK_FIELDS')) {
    reader.report(
      'BANK_FIELDS',
      'is required in production: the fields that browsers may see, such as code,ispb,name',
    );
  }
  const requiredFields = reader.optional('BANK_REQUIRED_FIELDS') ?? [];
  const unpublished = requiredFields.filter((name) => fields && !fields.some((field) => field.name === name));
  if (unpublished.length > 0) {
    reader.report(
      'BANK_REQUIRED_FIELDS',
      `names ${unpublished.join(', ')}, which BANK_FIELDS does not publish`,
    );
  }
  return { fields, requiredFields };
};

/** The secrets that `config` holds, each with its variable. Those in files become known when they are read. */
export const secretsOf = (config: Config): readonly (readonly [VariableName, string])[] => {
  const { token } = config.provider;
  const secrets: [VariableName, string][] = [];
  const add = (name: VariableName, source: SecretSource | undefined): void => {
    if (source && 'reveal' in source) secrets.push([name, source.reveal()]);
  };
  if (token.kind === 'fixed') add('PROVIDER_ACCESS_TOKEN', token.token);
  if (token.kind === 'client-credentials') add('PROVIDER_CLIENT_SECRET', token.clientSecret);
  add('MANAGEMENT_TOKEN', config.management.token);
  const { https, http } = config.provider.proxies;
  for (const [name, proxy] of [['HTTPS_PROXY', https] as const, ['HTTP_PROXY', http] as const]) {
    const credentials = proxy?.credentials?.reveal();
    if (credentials === undefined) continue;
    const proxyPassword = credentials.slice(credentials.indexOf(':') + 1);
    secrets.push([name, credentials], [name, proxyPassword], [name, encodeURIComponent(proxyPassword)]);
  }
  const { redisUrl } = config.cache;
  // Only the password of the address is secret; errors quote it without the rest.
  const passwords = redisUrl && 'reveal' in redisUrl ? passwordsIn(redisUrl.reveal()) : [];
  return [...secrets, ...passwords.map((password) => ['CACHE_REDIS_URL', password] as const)];
};
