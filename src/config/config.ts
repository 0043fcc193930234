import { demoProblem } from '../secrets/secret.ts';
import { readProvider, type ProviderConfig } from './provider.ts';
import {
  createReader,
  type ConfigProblem,
  type Environment,
  type VariableReader,
  type SecretSource,
} from './reader.ts';
import { passwordsIn, type LogLevel, type PublishedField } from './values.ts';
import {
  closestVariable,
  isUnknownVariable,
  OTHER_NAMES,
  SECRET_VARIABLES,
  type VariableName,
} from './variables.ts';

// The environment as the service uses it: text in, a typed, read-only Config out, or every problem at once. It never
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
  readonly keepAliveTimeoutMs: number;
  readonly corsOrigins: '*' | readonly string[];
  readonly trustProxy: number | readonly string[] | undefined;
  /** Whether ordinary requests for /banks skip node:http and Express. */
  readonly hotPath: boolean;
  readonly logLevel: LogLevel;
  readonly shutdownGraceMs: number;
}

/** The environment is unusable. The message has a line for each problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    const count = `${problems.length} problem${problems.length === 1 ? '' : 's'}`;
    super(
      [`The configuration has ${count}:`, ...problems.map((problem) => `  ${describeProblem(problem)}`)].join(
        '\n',
      ),
    );
    this.problems = problems;
  }
}

/** One line: the variables, what is wrong, what would be right. */
export const describeProblem = ({ variables, text }: ConfigProblem): string =>
  `${variables.join(', ')}: ${text}`;

/**
 * Reads the whole configuration from `env`. An empty string counts as unset.
 * @param fileProblems what is wrong with the files that variables name
 * @throws {ConfigError} with every problem, not only the first
 */
export const parseConfig = (env: Environment, fileProblems: readonly ConfigProblem[] = []): Config => {
  const reader = createReader(env);
  for (const { variables, text } of fileProblems) reader.report(variables, text);
  reportUnknownVariables(env, reader);
  // Node reads it before any code of ours runs, so it cannot be undone.
  if (env['NODE_DEBUG'])
    reader.report('NODE_DEBUG', 'makes Node print what passes through it, secrets included; unset it');
  const provider = readProvider(reader);
  if (provider.environment === 'production')
    for (const name of SECRET_VARIABLES) {
      const problem = demoProblem(env[name] ?? '');
      if (problem) reader.report(name, problem);
    }
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
    keepAliveTimeoutMs: reader.defaulted('KEEP_ALIVE_TIMEOUT'),
    corsOrigins: reader.optional('CORS_ORIGINS') ?? [],
    trustProxy: reader.optional('TRUST_PROXY'),
    hotPath: reader.defaulted('HOT_PATH') === 'on',
    logLevel: reader.defaulted('LOG_LEVEL'),
    shutdownGraceMs: reader.defaulted('SHUTDOWN_GRACE'),
  };
  const { environment, baseUrl, token } = provider;
  if (reader.problems.length > 0 || !environment || !baseUrl || !token)
    throw new ConfigError(reader.problems);
  return { ...config, provider: { ...provider, environment, baseUrl, token } };
};

const reportUnknownVariables = (env: Environment, { report }: VariableReader): void => {
  const isMeantForOthers = (name: string): boolean => Boolean(env[OTHER_NAMES[name] ?? '']);
  for (const name of Object.keys(env)) {
    if (!env[name] || !isUnknownVariable(name) || isMeantForOthers(name)) continue;
    const closest = closestVariable(name);
    const wayOut = closest ? `did you mean ${closest}?` : '.env.example lists them all';
    report(name, `is not a variable of this service; ${wayOut}`);
  }
};

const readListeners = (reader: VariableReader): Pick<Config, 'listen' | 'management'> => {
  const port = reader.defaulted('PORT');
  const managementPort = reader.defaulted('MANAGEMENT_PORT');
  if (port !== 0 && port === managementPort)
    reader.report('MANAGEMENT_PORT', 'is the same as PORT; choose another one');
  return {
    listen: { port, host: reader.defaulted('HOST') },
    management: {
      listen:
        managementPort === 'off'
          ? undefined
          : { port: managementPort, host: reader.defaulted('MANAGEMENT_HOST') },
      hosts: reader.optional('MANAGEMENT_HOSTS') ?? [],
      token: reader.secret('MANAGEMENT_TOKEN'),
    },
  };
};

const readBanks = (reader: VariableReader, environment?: ProviderConfig['environment']): Config['banks'] => {
  const fields = reader.optional('BANK_FIELDS');
  const requiredFields = reader.optional('BANK_REQUIRED_FIELDS') ?? [];
  if (environment === 'production' && !fields)
    reader.report(
      'BANK_FIELDS',
      'is required in production: the fields that browsers may see, such as code,ispb,name',
    );
  const unpublished = requiredFields.filter((name) => fields && !fields.some((field) => field.name === name));
  if (unpublished.length > 0)
    reader.report(
      'BANK_REQUIRED_FIELDS',
      `names ${unpublished.join(', ')}, which BANK_FIELDS does not publish`,
    );
  return { fields, requiredFields };
};

/** The secrets that `config` holds, each with its variable. Those in files become known when they are read. */
export const secretsOf = (config: Config): readonly (readonly [VariableName, string])[] => {
  const secrets: [VariableName, string][] = [];
  const add = (name: VariableName, source?: SecretSource, secretsIn = (text: string) => [text]): void => {
    if (source && 'reveal' in source)
      for (const secret of secretsIn(source.reveal())) secrets.push([name, secret]);
  };
  const { token, proxies } = config.provider;
  if (token.kind === 'fixed') add('PROVIDER_ACCESS_TOKEN', token.token);
  if (token.kind === 'client-credentials') add('PROVIDER_CLIENT_SECRET', token.clientSecret);
  add('MANAGEMENT_TOKEN', config.management.token);
  add('HTTPS_PROXY', proxies.https?.credentials, withPassword);
  add('HTTP_PROXY', proxies.http?.credentials, withPassword);
  // Only the password of the address is secret; errors quote it without the rest.
  add('CACHE_REDIS_URL', config.cache.redisUrl, passwordsIn);
  return secrets;
};

const withPassword = (credentials: string): string[] => [
  credentials,
  credentials.slice(credentials.indexOf(':') + 1),
];
