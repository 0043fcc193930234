import type { SecretName, SecretRules, SecretSource } from '../secrets/secrets.ts';
import { demoProblem, PROVIDER_SECRET_RULE, ruleFor, secretProblem } from '../secrets/secret.ts';
import { readProvider } from './provider.ts';
import {
  createReader,
  MAX_PROBLEMS,
  type ConfigProblem,
  type EnvironmentVariables,
  type VariableReader,
} from './reader.ts';
import { headerValuesIn } from './request-values.ts';
import { InvalidValue, passwordsIn } from './values.ts';
import { nameProblem, VARIABLES, type VariableName } from './variables.ts';

// The environment as the service uses it: text in, a typed, read-only Config out, or every problem
// at once. It never touches the process or a file, and no problem repeats a value: a misplaced
// secret must not reach a log.

export type Config = ReturnType<typeof parseConfig>;

/** The environment is unusable. The message has a line for each problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    const bound = problems.length >= MAX_PROBLEMS ? 'at least ' : '';
    const noun = problems.length === 1 ? 'problem' : 'problems';
    const lines = problems.map((problem) => `  ${describeProblem(problem)}`);
    super([`The configuration has ${bound}${problems.length} ${noun}:`, ...lines].join('\n'));
    this.problems = problems;
  }
}

/** One line: the variables, what is wrong, what would be right. */
export const describeProblem = ({ variables, text }: ConfigProblem): string =>
  `${variables.join(', ')}: ${text}`;

/**
 * Reads the whole configuration from `env`. An empty string counts as unset.
 * @param fileProblems what is wrong with the files that variables name
 * @param unusableFiles the same, of files that may become usable while the service runs: reported
 *   with other problems only
 * @throws {ConfigError} with every problem, not only the first
 */
export const parseConfig = (
  env: EnvironmentVariables,
  fileProblems: readonly ConfigProblem[] = [],
  unusableFiles: readonly ConfigProblem[] = [],
) => {
  const reader = createReader(env);
  for (const { variables, text } of fileProblems) reader.report(variables, text);
  for (const name of Object.keys(env)) {
    if (reader.isFull()) break;
    const problem = env[name] && nameProblem(name, reader.isSet);
    if (problem) reader.report(name, problem);
  }
  // Node reads it before any code of ours runs, so it cannot be undone.
  if (env['NODE_DEBUG'])
    reader.report(
      'NODE_DEBUG',
      'makes Node print what passes through it, secrets included; unset it',
    );
  const isProduction = reader.optional('PROVIDER_ENVIRONMENT') === 'production';
  if (isProduction) reportWeakSecrets(env, reader);
  const provider = readProvider(reader);
  const config = {
    ...readListeners(reader),
    banks: readBanks(reader, isProduction),
    cache: {
      ttlMs: reader.defaulted('CACHE_TTL'),
      maxStaleMs: reader.defaulted('CACHE_MAX_STALE'),
      snapshotFile: reader.optional('CACHE_SNAPSHOT_FILE'),
      redisUrl: reader.secret('CACHE_REDIS_URL'),
      /** Signs what is saved; undefined: nothing is signed. */
      signingKey: reader.secret('CACHE_SIGNING_KEY'),
    },
    guard: {
      minBanks: reader.defaulted('GUARD_MIN_BANKS'),
      /** Shares from 0 to 1. */
      maxShrink: reader.defaulted('GUARD_MAX_SHRINK'),
      maxDrift: reader.defaulted('GUARD_MAX_DRIFT'),
    },
    browserMaxAgeMs: reader.defaulted('BROWSER_MAX_AGE'),
    keepAliveTimeoutMs: reader.defaulted('KEEP_ALIVE_TIMEOUT'),
    corsOrigins: reader.optional('CORS_ORIGINS') ?? [],
    trustProxy: reader.optional('TRUST_PROXY'),
    /** Whether ordinary requests for /banks skip node:http and Express. */
    hotPath: reader.defaulted('HOT_PATH') === 'on',
    logLevel: reader.defaulted('LOG_LEVEL'),
    shutdownGraceMs: reader.defaulted('SHUTDOWN_GRACE'),
  } as const;
  if (reader.problems.length > 0 || !provider) {
    for (const { variables, text } of unusableFiles) reader.report(variables, text);
    throw new ConfigError(reader.problems);
  }
  return { ...config, provider } as const;
};

/** Those that are too weak for production; in the sandbox even the demo's may be used. */
const reportWeakSecrets = (env: EnvironmentVariables, { report }: VariableReader): void => {
  for (const name of MUST_BE_STRONG) {
    const problem = env[name] && weakness(env[name]);
    if (problem) report(name, problem);
  }
};

const MUST_BE_STRONG: readonly VariableName[] = [
  'PROVIDER_ACCESS_TOKEN',
  'PROVIDER_CLIENT_SECRET',
  'MANAGEMENT_TOKEN',
  'CACHE_SIGNING_KEY',
];

/** What is wrong with `secret` in production. */
const weakness = (secret: string): string | undefined => {
  const problem = secretProblem(secret, PRODUCTION_RULE);
  return (
    demoProblem(secret) ??
    (problem && `${problem}; in production it needs at least ${PRODUCTION_RULE.minChars}`)
  );
};

/** The rules for secrets in files: those of the variables that could hold the same. */
export const secretRulesFor = (environment: string | undefined): SecretRules => ({
  problemOf: (name, text) => {
    if (text === '') return 'is empty; write the secret into it';
    try {
      VARIABLES[name].parse(text);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      return error.message;
    }
    return environment === 'production' && MUST_BE_STRONG.includes(name)
      ? weakness(text)
      : undefined;
  },
  partsOf: (name, text) => PARTS_OF[name]?.(text) ?? [text],
});

/** What is secret in a value, if not all of it. */
const PARTS_OF: Readonly<Partial<Record<SecretName, (text: string) => readonly string[]>>> = {
  // Errors quote an address without its password.
  CACHE_REDIS_URL: passwordsIn,
  PROVIDER_HEADERS: headerValuesIn,
};

const PRODUCTION_RULE = ruleFor('production', PROVIDER_SECRET_RULE);

const readListeners = (reader: VariableReader) => {
  const listen = { port: reader.defaulted('PORT'), host: reader.defaulted('HOST') } as const;
  const [port, host] = [reader.defaulted('MANAGEMENT_PORT'), reader.defaulted('MANAGEMENT_HOST')];
  if (port !== 0 && port === listen.port)
    reader.report('MANAGEMENT_PORT', 'is the same as PORT; choose another one');
  return {
    listen,
    management: {
      /** Undefined: there is no management port. */
      listen: port === 'off' ? undefined : ({ port, host } as const),
      /**
       * Names that `Host` may have besides those that are always allowed; lower case, no trailing
       * dot.
       */
      hosts: reader.optional('MANAGEMENT_HOSTS') ?? [],
      token: reader.secret('MANAGEMENT_TOKEN'),
    },
  } as const;
};

const readBanks = (reader: VariableReader, isProduction: boolean) => {
  const fields = reader.optional('BANK_FIELDS');
  const requiredFields = reader.optional('BANK_REQUIRED_FIELDS') ?? [];
  if (isProduction && !fields)
    reader.report(
      'BANK_FIELDS',
      'is required in production: the fields that browsers may see, such as code,ispb,name',
    );
  const unpublished = requiredFields.filter(
    (name) => fields && !fields.some((field) => field.name === name),
  );
  if (unpublished.length > 0)
    reader.report(
      'BANK_REQUIRED_FIELDS',
      `names ${unpublished.join(', ')}, which BANK_FIELDS does not publish`,
    );
  return {
    /** Undefined: the body is the list. */
    listPath: reader.optional('BANK_LIST'),
    /** Undefined: every field is published (sandbox only). */
    fields,
    requiredFields,
  } as const;
};

/** The secrets that `config` holds or names the files of, and how they are checked. */
export const secretSourcesOf = ({ provider, management, cache }: Config) => {
  const { token, headers, tls, environment } = provider;
  const sources: Readonly<Record<SecretName, SecretSource | undefined>> = {
    MANAGEMENT_TOKEN: management.token,
    PROVIDER_ACCESS_TOKEN: token.kind === 'given' ? token.token : undefined,
    PROVIDER_CLIENT_SECRET: token.kind === 'client-credentials' ? token.clientSecret : undefined,
    PROVIDER_HEADERS: headers,
    CACHE_REDIS_URL: cache.redisUrl,
    CACHE_SIGNING_KEY: cache.signingKey,
  };
  return { sources, tlsFiles: tls, rules: secretRulesFor(environment) };
};

/**
 * The secrets that `config` holds, each with its variable. Those in files become known when they
 * are read.
 */
export const secretsOf = ({ provider, management, cache }: Config) => {
  const { token, proxies } = provider;
  const secrets: Partial<Record<VariableName, readonly string[]>> = {
    PROVIDER_ACCESS_TOKEN: token.kind === 'given' ? textsOf(token.token) : [],
    PROVIDER_CLIENT_SECRET: token.kind === 'client-credentials' ? textsOf(token.clientSecret) : [],
    // As a whole: its values may be ordinary words.
    PROVIDER_TOKEN_URL:
      token.kind === 'client-credentials' ? textsOf(token.endpoint.query).map(withoutMark) : [],
    PROVIDER_TOKEN_PARAMS:
      token.kind === 'client-credentials' ? textsOf(token.params).flatMap(keysIn) : [],
    PROVIDER_QUERY: textsOf(provider.query).flatMap(keysIn),
    PROVIDER_HEADERS: textsOf(provider.headers).flatMap(headerValuesIn),
    MANAGEMENT_TOKEN: textsOf(management.token),
    HTTPS_PROXY: textsOf(proxies.https?.credentials).flatMap(withPassword),
    HTTP_PROXY: textsOf(proxies.http?.credentials).flatMap(withPassword),
    // Only the password of the address is secret; errors quote it without the rest.
    CACHE_REDIS_URL: textsOf(cache.redisUrl).flatMap(passwordsIn),
    CACHE_SIGNING_KEY: textsOf(cache.signingKey),
  };
  return Object.entries(secrets).flatMap(([name, texts]) =>
    texts.map((text) => [name, text] as const),
  );
};

const textsOf = (source: SecretSource | undefined): readonly string[] =>
  source && 'reveal' in source ? [source.reveal()] : [];

/**
 * A query as a whole, and those of its values that may be keys: shorter ones may be ordinary words,
 * as in `type=institution`, which a list may contain.
 */
const keysIn = (query: string): readonly string[] => [
  query,
  ...[...new URLSearchParams(query).values()].filter(({ length }) => length >= SHORTEST_KEY),
];

const SHORTEST_KEY = 16;

/** The query of an address without its question mark. */
const withoutMark = (query: string): string => query.slice(1);

const withPassword = (credentials: string): string[] => [
  credentials,
  credentials.slice(credentials.indexOf(':') + 1),
];
