import { formatCount } from '../format-count.ts';
import { demoProblem, PROVIDER_SECRET_RULE, ruleFor, secretProblem } from '../secrets/secret.ts';
import { partName } from '../secrets/redaction.ts';
import {
  SECRET_NAMES,
  type SecretName,
  type SecretRules,
  type SecretSource,
} from '../secrets/secrets.ts';
import { providerProblems, toProvider, type Provider } from './provider.ts';
import {
  readVariables,
  sourceOf,
  type ConfigProblem,
  type EnvironmentVariables,
  type Variables,
} from './reader.ts';
import { headersIn } from './request-values.ts';
import { passwordsIn } from './values.ts';
import { SCHEMA, type Values, type VariableName } from './variables.ts';

// The environment as the service uses it: text in, a typed, read-only Config out, or every problem
// at once. It never touches the process or a file, and no problem repeats a value: a misplaced
// secret must not reach a log.

export type Config = ReturnType<typeof toConfig>;

/** The environment is unusable. The message has a line for each problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly ConfigProblem[];

  constructor(all: readonly ConfigProblem[]) {
    // One mistake is one problem: a further one of variables that all have one already is left out.
    const reported = new Set<string>();
    const problems = all.filter(({ variables }) => {
      const isNew = variables.some((name) => !reported.has(name));
      for (const name of variables) reported.add(name);
      return isNew;
    });
    const lines = problems.map((problem) => `  ${describeProblem(problem)}`);
    const count = formatCount(problems.length, 'problem', 'problems');
    super([`The configuration has ${count}:`, ...lines].join('\n'));
    this.problems = problems;
  }
}

/** One line: the variables, what is wrong, what would be right. */
export const describeProblem = ({ variables, text }: ConfigProblem): string =>
  `${variables.join(', ')}: ${text}`;

/**
 * Reads the whole configuration from `env`.
 * @param fileProblems what is wrong with the files that variables name
 * @throws {ConfigError} with every problem, not only the first
 */
export const parseConfig = (
  env: EnvironmentVariables,
  fileProblems: readonly ConfigProblem[] = [],
): Config => {
  const variables = readVariables(env);
  const provider = toProvider(variables);
  const problems = [
    ...variables.problems,
    ...(env['NODE_DEBUG'] ? [NODE_DEBUG] : []),
    ...providerProblems(variables),
    ...crossProblems(variables),
    ...weakSecrets(env, variables),
    ...fileProblems,
  ];
  if (problems.length > 0 || !provider) throw new ConfigError(problems);
  return toConfig(variables.values, provider);
};

/** Node reads it before any code of ours runs, so it cannot be undone. */
const NODE_DEBUG = {
  variables: ['NODE_DEBUG'],
  text: 'makes Node print what passes through it, secrets included; unset it',
};

const toConfig = (values: Values, provider: Provider) => {
  const { MANAGEMENT_PORT: managementPort } = values;
  return {
    listen: { port: values.PORT, host: values.HOST },
    management: {
      /** Undefined: there is no management port. */
      listen:
        managementPort === 'off'
          ? undefined
          : { port: managementPort, host: values.MANAGEMENT_HOST },
      /** Names that `Host` may have besides those that are always allowed. */
      hosts: values.MANAGEMENT_HOSTS ?? [],
      token: sourceOf(values, 'MANAGEMENT_TOKEN'),
    },
    provider,
    banks: {
      /** Undefined: the body is the list. */
      listPath: values.BANK_LIST,
      /** Undefined: every field is published (sandbox only). */
      fields: values.BANK_FIELDS,
      requiredFields: values.BANK_REQUIRED_FIELDS ?? [],
    },
    cache: {
      ttlMs: values.CACHE_TTL,
      maxStaleMs: values.CACHE_MAX_STALE,
      snapshotFile: values.CACHE_SNAPSHOT_FILE,
      redisUrl: sourceOf(values, 'CACHE_REDIS_URL'),
      /** Signs what is saved; undefined: nothing is signed. */
      signingKey: sourceOf(values, 'CACHE_SIGNING_KEY'),
    },
    guard: {
      minBanks: values.GUARD_MIN_BANKS,
      /** Shares from 0 to 1. */
      maxShrink: values.GUARD_MAX_SHRINK,
      maxDrift: values.GUARD_MAX_DRIFT,
    },
    browserMaxAgeMs: values.BROWSER_MAX_AGE,
    keepAliveTimeoutMs: values.KEEP_ALIVE_TIMEOUT,
    corsOrigins: values.CORS_ORIGINS ?? [],
    trustProxy: values.TRUST_PROXY,
    /** Whether ordinary requests for /banks skip node:http and Express. */
    hotPath: values.HOT_PATH === 'on',
    logLevel: values.LOG_LEVEL,
    shutdownGraceMs: values.SHUTDOWN_GRACE,
  } as const;
};

/** What is wrong with variables that are each right. */
const crossProblems = ({ values, isSet }: Variables): readonly ConfigProblem[] => {
  const problems: ConfigProblem[] = [];
  const report = (name: VariableName, text: string): void =>
    void problems.push({ variables: [name], text });
  for (const name of SECRET_NAMES)
    if (isSet(name) && isSet(`${name}_FILE`) && name !== 'PROVIDER_ACCESS_TOKEN')
      report(`${name}_FILE`, `is set as well as ${name}; keep one`);
  if (values.MANAGEMENT_PORT !== 0 && values.MANAGEMENT_PORT === values.PORT)
    report('MANAGEMENT_PORT', 'is the same as PORT; choose another one');
  if (values.PROVIDER_ENVIRONMENT === 'production' && !isSet('BANK_FIELDS'))
    report(
      'BANK_FIELDS',
      'is required in production: the fields that browsers may see, such as code,ispb,name',
    );
  const { BANK_FIELDS: fields, BANK_REQUIRED_FIELDS: required = [] } = values;
  const unpublished = required.filter((name) => fields?.every((field) => field.name !== name));
  if (unpublished.length > 0)
    report(
      'BANK_REQUIRED_FIELDS',
      `names ${unpublished.join(', ')}, which BANK_FIELDS does not publish`,
    );
  return problems;
};

/** Those that are too weak for production; in the sandbox even the demo's may be used. */
const weakSecrets = (env: EnvironmentVariables, { values }: Variables): readonly ConfigProblem[] =>
  SECRET_NAMES.flatMap((name) => {
    const text = env[name] && productionProblem(name, env[name], values.PROVIDER_ENVIRONMENT);
    return text ? [{ variables: [name], text }] : [];
  });

/** What is wrong with a secret in production, where a weaker one is refused. */
const productionProblem = (
  name: SecretName,
  secret: string,
  environment: string | undefined,
): string | undefined => {
  // The others are no secrets as a whole.
  if (environment !== 'production' || Object.hasOwn(PARTS_OF, name)) return undefined;
  const rule = ruleFor('production', PROVIDER_SECRET_RULE);
  const problem = secretProblem(secret, rule);
  return demoProblem(secret) ?? (problem && `${problem}; in production it needs ${rule.minChars}`);
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

/** The rules for secrets in files: those of the variables that could hold the same. */
export const secretRulesFor = (environment: string | undefined): SecretRules => ({
  problemOf: (name, text) => {
    if (text === '') return 'is empty; write the secret into it';
    const { error } = SCHEMA.shape[name].safeParse(text);
    return error?.issues[0]?.message ?? productionProblem(name, text, environment);
  },
  partsOf: (name, text) => PARTS_OF[name]?.(text) ?? [text],
});

/** What is secret in a value, if not all of it. */
const PARTS_OF: Readonly<Partial<Record<SecretName, (text: string) => readonly string[]>>> = {
  // Errors quote an address without its password.
  CACHE_REDIS_URL: passwordsIn,
  PROVIDER_HEADERS: (text) => headersIn(text).map(([, value]) => value),
};

/**
 * The secrets that `config` holds, each with its variable. Those in files become known when they
 * are read.
 */
export const secretsOf = (config: Config): readonly (readonly [name: string, secret: string])[] => {
  const { token, proxies, query } = config.provider;
  const { sources, rules } = secretSourcesOf(config);
  const grant = token.kind === 'client-credentials' ? token : undefined;
  const found: Partial<Record<VariableName, readonly string[]>> = {
    ...Object.fromEntries(
      SECRET_NAMES.map((name) => {
        const source = sources[name];
        return [name, source && 'reveal' in source ? rules.partsOf(name, source.reveal()) : []];
      }),
    ),
    PROVIDER_TOKEN_URL: grant ? queryOf(grant.url.reveal()) : [],
    PROVIDER_TOKEN_PARAMS: grant?.params ? keysIn(grant.params.reveal()) : [],
    PROVIDER_QUERY: query ? keysIn(query.reveal()) : [],
    HTTPS_PROXY: proxies.HTTPS_PROXY ? passwordsIn(proxies.HTTPS_PROXY.reveal()) : [],
    HTTP_PROXY: proxies.HTTP_PROXY ? passwordsIn(proxies.HTTP_PROXY.reveal()) : [],
  };
  return Object.entries(found).flatMap(([name, texts]) =>
    texts.map((text, index) => [partName(name, index), text] as const),
  );
};

/**
 * A query as a whole, and those of its values that may be keys: shorter ones may be ordinary words,
 * as in `type=institution`, which a list may contain.
 */
const keysIn = (query: string): readonly string[] => [
  query,
  ...[...new URLSearchParams(query).values()].filter(({ length }) => length >= SHORTEST_KEY),
];

const SHORTEST_KEY = 16;

const queryOf = (url: string): readonly string[] => {
  const { search } = new URL(url);
  return search === '' ? [] : [search.slice(1)];
};
