import { passwordsIn, secretProblem } from '../secrets/secret-rules.ts';
import { fileSourcesIn, SECRET_NAMES, type Secret, type SecretSources } from '../secrets/secret.ts';
import {
  isUnknown,
  SCHEMA,
  textOf,
  VARIABLE_NAMES,
  type EnvironmentVariables,
  type Values,
  type VariableName,
} from './variables.ts';

// The environment as the service uses it: text in, a typed, read-only Config out, or every problem
// at once. It never touches the process or a file, and no problem repeats a value: a misplaced
// secret must not reach a log.

/** What is wrong with a variable, and what would be right; never a value. */
export interface ConfigProblem {
  readonly variable: string;
  readonly problem: string;
}

/** The environment is unusable. The message has a line for each problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    const noun = problems.length === 1 ? 'problem' : 'problems';
    const lines = problems.map((problem) => `  ${describeProblem(problem)}`);
    super([`The configuration has ${problems.length} ${noun}:`, ...lines].join('\n'));
    this.problems = problems;
  }
}

export const describeProblem = ({ variable, problem }: ConfigProblem): string =>
  `${variable}: ${problem}`;

/**
 * Reads the whole configuration from `env`.
 * @throws {ConfigError} with every problem, not only the first
 */
export const parseConfig = (env: EnvironmentVariables): Config => {
  const { config, problems } = readVariables(env);
  if (!config || problems.length > 0) throw new ConfigError(problems);
  return config;
};

/** `config` is undefined where something is missing that `problems` names. */
export const readVariables = (env: EnvironmentVariables) => {
  const texts = new Map(
    VARIABLE_NAMES.map((name) => [name, textOf(env, name)] as const).filter(([, text]) => text),
  );
  const issues = SCHEMA.safeParse(Object.fromEntries(texts)).error?.issues ?? [];
  const wrong = issues.map(({ path, message }) => ({
    variable: String(path[0]),
    problem: message,
  }));
  // A variable that is wrong counts as unset from here on, but is not missing.
  const isRight = ([name]: readonly [string, unknown]): boolean =>
    wrong.every(({ variable }) => variable !== name);
  const values = SCHEMA.parse(Object.fromEntries([...texts].filter(isRight)));
  const unknown = Object.keys(env).filter((name) => env[name] && isUnknown(name));
  return {
    config: toConfig(values),
    problems: [
      ...wrong,
      ...unknown.map((variable) => ({ variable, problem: UNKNOWN })),
      // Node reads it before any code of ours runs, so it cannot be undone.
      ...(env['NODE_DEBUG'] ? [{ variable: 'NODE_DEBUG', problem: NODE_DEBUG }] : []),
      ...crossProblems(values, (name) => texts.has(name)),
    ],
  };
};

const UNKNOWN = 'is not a variable of this service; .env.example lists them all';
const NODE_DEBUG = 'makes Node print what passes through it, secrets included; unset it';

export type Config = NonNullable<ReturnType<typeof toConfig>>;
/** How tokens are granted. */
export type Grants = NonNullable<Config['provider']['grants']>;

const BASE_URL = {
  sandbox: 'PROVIDER_SANDBOX_BASE_URL',
  production: 'PROVIDER_PRODUCTION_BASE_URL',
} as const;

const toConfig = (values: Values) => {
  const environment = values.PROVIDER_ENVIRONMENT;
  const baseUrl = environment && values[BASE_URL[environment]];
  if (!environment || !baseUrl) return undefined;
  const { PROVIDER_TOKEN_URL: tokenUrl, MANAGEMENT_PORT: managementPort } = values;
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
    },
    provider: {
      environment,
      baseUrl,
      /** The query of the request for the list, without its question mark. */
      query: values.PROVIDER_QUERY,
      /** The one that says where the token comes from. */
      tokenVariable: TOKEN_VARIABLES.find((name) => values[name]) ?? '',
      /** Undefined: the token is a fixed one. */
      grants: tokenUrl && {
        url: tokenUrl,
        clientId: values.PROVIDER_CLIENT_ID ?? '',
        scope: values.PROVIDER_TOKEN_SCOPE,
        /** How the request for a token is written: as RFC 6749 wants it, or as a JSON object. */
        format: values.PROVIDER_TOKEN_FORMAT,
        /** HTTP Basic with escapes, without them, or id and secret in the body. */
        auth: values.PROVIDER_TOKEN_AUTH,
        /** Further members of the request, form-encoded. */
        params: values.PROVIDER_TOKEN_PARAMS,
        /** Where the token is in the grant: names of members, with dots between them. */
        field: values.PROVIDER_TOKEN_FIELD,
      },
      /** The way out to the provider and the token endpoint, as undici reads it. */
      proxies: {
        HTTPS_PROXY: values.HTTPS_PROXY,
        HTTP_PROXY: values.HTTP_PROXY,
        NO_PROXY: values.NO_PROXY,
      },
      timeoutMs: values.PROVIDER_TIMEOUT,
      maxBodyBytes: values.PROVIDER_MAX_BODY,
    },
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
    },
    guard: {
      minBanks: values.GUARD_MIN_BANKS,
      /** Shares from 0 to 1. */
      maxShrink: values.GUARD_MAX_SHRINK,
      maxDrift: values.GUARD_MAX_DRIFT,
    },
    secrets: sourcesIn(values),
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

const sourcesIn = (values: Values): SecretSources => ({
  ...Object.fromEntries(SECRET_NAMES.map((name) => [name, values[name]])),
  ...fileSourcesIn(values),
});

const TOKEN_VARIABLES = [
  'PROVIDER_ACCESS_TOKEN',
  'PROVIDER_ACCESS_TOKEN_FILE',
  'PROVIDER_TOKEN_URL',
] as const;

const OF_GRANTS = [
  'PROVIDER_TOKEN_URL',
  'PROVIDER_CLIENT_ID',
  'PROVIDER_CLIENT_SECRET',
  'PROVIDER_CLIENT_SECRET_FILE',
] as const;

/** What is missing, and what is wrong with variables that are each right. */
const crossProblems = (
  values: Values,
  isSet: (name: VariableName) => boolean,
): readonly ConfigProblem[] => {
  const problems: ConfigProblem[] = [];
  const report = (variable: string, problem: string): void =>
    void problems.push({ variable, problem });
  const need = (name: VariableName, why: string): void => {
    if (!isSet(name)) report(name, `is required${why}`);
  };
  const environment = values.PROVIDER_ENVIRONMENT;
  const isProduction = environment === 'production';

  need('PROVIDER_ENVIRONMENT', ': sandbox or production');
  if (environment) need(BASE_URL[environment], ` when PROVIDER_ENVIRONMENT is ${environment}`);
  if (isProduction)
    need('BANK_FIELDS', ' in production: the fields that browsers may see, such as code,ispb,name');
  const { BANK_FIELDS: fields, BANK_REQUIRED_FIELDS: required = [] } = values;
  const unpublished = required.filter((name) => fields?.every((field) => field.name !== name));
  if (unpublished.length > 0)
    report(
      'BANK_REQUIRED_FIELDS',
      `names ${unpublished.join(', ')}, which BANK_FIELDS does not publish`,
    );
  if (values.MANAGEMENT_PORT !== 0 && values.MANAGEMENT_PORT === values.PORT)
    report('MANAGEMENT_PORT', 'is the same as PORT; choose another one');

  for (const name of SECRET_NAMES) {
    const text = values[name]?.reveal();
    const problem = text && secretProblem(name, text, environment);
    if (problem) report(name, problem);
    if (isSet(name) && isSet(`${name}_FILE`) && name !== 'PROVIDER_ACCESS_TOKEN')
      report(`${name}_FILE`, `is set as well as ${name}; keep one`);
  }
  if (isSet('PROVIDER_TLS_CERT_FILE') || isSet('PROVIDER_TLS_KEY_FILE'))
    for (const name of ['PROVIDER_TLS_CERT_FILE', 'PROVIDER_TLS_KEY_FILE'] as const)
      need(name, ' too: mutual TLS needs a certificate and its key');

  const isGranted = OF_GRANTS.some(isSet);
  const isFixed = [isSet('PROVIDER_ACCESS_TOKEN'), isSet('PROVIDER_ACCESS_TOKEN_FILE')];
  const ways = [isGranted, ...isFixed].filter(Boolean).length;
  if (ways !== 1)
    report(
      TOKEN_VARIABLES.join(', '),
      `${ways === 0 ? 'none is' : 'more than one is'} configured; configure exactly one way to a token: ` +
        'a fixed token, its file, or PROVIDER_TOKEN_URL with PROVIDER_CLIENT_ID and PROVIDER_CLIENT_SECRET ' +
        'or PROVIDER_CLIENT_SECRET_FILE',
    );
  else if (isGranted) {
    const why = ' for the client-credentials grant';
    need('PROVIDER_TOKEN_URL', why);
    need('PROVIDER_CLIENT_ID', why);
    if (!isSet('PROVIDER_CLIENT_SECRET_FILE')) need('PROVIDER_CLIENT_SECRET', why);
  }
  if (isProduction && values.PROVIDER_TOKEN_URL?.reveal().startsWith('http:'))
    report('PROVIDER_TOKEN_URL', 'must be https: in production; the client secret is sent there');
  return problems;
};

/**
 * What must never be seen besides the secrets that may be in files, each with its variable:
 * passwords of proxies, and keys in queries.
 */
export const passwordsAndKeysOf = ({ provider: { grants, query, proxies } }: Config) => {
  const passwords = (url: Secret | undefined) => (url ? passwordsIn(url.reveal()) : []);
  return Object.entries({
    HTTPS_PROXY: passwords(proxies.HTTPS_PROXY),
    HTTP_PROXY: passwords(proxies.HTTP_PROXY),
    PROVIDER_TOKEN_URL: keysIn(grants && new URL(grants.url.reveal()).search.slice(1)),
    PROVIDER_TOKEN_PARAMS: keysIn(grants?.params?.reveal()),
    PROVIDER_QUERY: keysIn(query?.reveal()),
  });
};

/**
 * A query as a whole, and those of its values that may be keys: shorter ones may be ordinary words,
 * as in `type=institution`, which a list may contain.
 */
const keysIn = (query = ''): readonly string[] => [
  query,
  ...[...new URLSearchParams(query).values()].filter(({ length }) => length >= SHORTEST_KEY),
];

const SHORTEST_KEY = 16;
