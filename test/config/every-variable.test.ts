import { describe, expect, test } from '@jest/globals';
import { ConfigError, describeProblem, parseConfig, secretsOf } from '../../src/config/config.ts';
import { effectiveVariables, type ConfigProblem, type Environment } from '../../src/config/reader.ts';
import { VARIABLE_NAMES } from '../../src/config/variables.ts';
import { PRODUCTION, SANDBOX } from '../kit/malformed.ts';

// Where each variable ends up, alone and beside the others.

/** A secret is compared by what it reveals. */
const revealed = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_key, part: unknown) =>
      typeof part === 'object' && part !== null && 'reveal' in part && typeof part.reveal === 'function'
        ? { revealed: String(part.reveal()) }
        : part,
    ),
  );
const problemsOf = (env: Environment, fileProblems?: readonly ConfigProblem[]): readonly string[] => {
  try {
    parseConfig(env, fileProblems);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(describeProblem);
    throw error;
  }
};

test('every variable reaches its place', () => {
  const config = parseConfig({
    PORT: '1',
    HOST: 'host-a',
    MANAGEMENT_PORT: '2',
    MANAGEMENT_HOST: 'host-b',
    MANAGEMENT_HOSTS: 'ops.example',
    MANAGEMENT_TOKEN: 'management-token-1',
    PROVIDER_ENVIRONMENT: 'production',
    PROVIDER_SANDBOX_BASE_URL: 'http://sandbox.example',
    PROVIDER_PRODUCTION_BASE_URL: 'https://production.example',
    PROVIDER_TOKEN_URL: 'https://login.example',
    PROVIDER_CLIENT_ID: 'client',
    PROVIDER_CLIENT_SECRET: 'client-secret',
    PROVIDER_TOKEN_SCOPE: 'scope',
    PROVIDER_TOKEN_FORMAT: 'json',
    PROVIDER_TLS_CA_FILE: '/ca',
    PROVIDER_TLS_CERT_FILE: '/cert',
    PROVIDER_TLS_KEY_FILE: '/key',
    HTTPS_PROXY: 'http://proxy-a',
    HTTP_PROXY: 'http://proxy-b',
    NO_PROXY: 'localhost',
    PROVIDER_TIMEOUT: '11s',
    PROVIDER_MAX_BODY: '12kb',
    BANK_FIELDS: 'code,name',
    BANK_REQUIRED_FIELDS: 'name',
    CACHE_TTL: '13s',
    CACHE_MAX_STALE: '14s',
    CACHE_SNAPSHOT_FILE: '/snapshot',
    CACHE_REDIS_URL: 'redis://:redis-secret@redis',
    GUARD_MIN_BANKS: '15',
    GUARD_MAX_SHRINK: '16%',
    GUARD_MAX_DRIFT: '17%',
    BROWSER_MAX_AGE: '18s',
    KEEP_ALIVE_TIMEOUT: '20s',
    CORS_ORIGINS: 'https://app.example',
    TRUST_PROXY: '2',
    HOT_PATH: 'off',
    LOG_LEVEL: 'warn',
    SHUTDOWN_GRACE: '19s',
  });
  expect(revealed(config)).toEqual({
    listen: { port: 1, host: 'host-a' },
    management: {
      listen: { port: 2, host: 'host-b' },
      hosts: ['ops.example'],
      token: { revealed: 'management-token-1' },
    },
    provider: {
      environment: 'production',
      baseUrl: 'https://production.example/',
      token: {
        kind: 'client-credentials',
        url: 'https://login.example/',
        clientId: 'client',
        clientSecret: { revealed: 'client-secret' },
        scope: 'scope',
        format: 'json',
      },
      tls: { ca: '/ca', cert: '/cert', key: '/key' },
      proxies: {
        https: { url: 'http://proxy-a/' },
        http: { url: 'http://proxy-b/' },
        exceptions: 'localhost',
      },
      timeoutMs: 11_000,
      maxBodyBytes: 12_288,
    },
    banks: {
      fields: [
        { name: 'code', from: 'code', isOptional: false },
        { name: 'name', from: 'name', isOptional: false },
      ],
      requiredFields: ['name'],
    },
    cache: {
      ttlMs: 13_000,
      maxStaleMs: 14_000,
      snapshotFile: '/snapshot',
      redisUrl: { revealed: 'redis://:redis-secret@redis' },
    },
    guard: { minBanks: 15, maxShrink: 0.16, maxDrift: 0.17 },
    browserMaxAgeMs: 18_000,
    keepAliveTimeoutMs: 20_000,
    corsOrigins: ['https://app.example'],
    trustProxy: 2,
    hotPath: false,
    logLevel: 'warn',
    shutdownGraceMs: 19_000,
  });
  expect(secretsOf(config)).toEqual([
    ['PROVIDER_CLIENT_SECRET', 'client-secret'],
    ['MANAGEMENT_TOKEN', 'management-token-1'],
    ['CACHE_REDIS_URL', 'redis-secret'],
  ]);
});

test('what is unset has no value', () => {
  const { provider, management, cache, trustProxy } = parseConfig(SANDBOX);
  expect(revealed(provider.token)).toEqual({ kind: 'fixed', token: { revealed: 'a-token' } });
  expect(provider.tls).toEqual({ ca: undefined, cert: undefined, key: undefined });
  expect(provider.proxies).toEqual({ https: undefined, http: undefined, exceptions: '' });
  expect(management).toEqual({ listen: { port: 3001, host: '127.0.0.1' }, hosts: [], token: undefined });
  expect(cache).toMatchObject({ snapshotFile: undefined, redisUrl: undefined });
  expect(trustProxy).toBeUndefined();
  expect(secretsOf(parseConfig(SANDBOX))).toEqual([['PROVIDER_ACCESS_TOKEN', 'a-token']]);
});

test('secrets may be in files, which are no secrets', () => {
  const { PROVIDER_ACCESS_TOKEN: _, ...sandbox } = SANDBOX;
  const files = { MANAGEMENT_TOKEN_FILE: '/management', CACHE_REDIS_URL_FILE: '/redis' };
  const config = parseConfig({ ...sandbox, ...files, PROVIDER_ACCESS_TOKEN_FILE: '/token' });
  expect(config.provider.token).toEqual({ kind: 'file', path: '/token' });
  expect(config.management.token).toEqual({ path: '/management' });
  expect(config.cache.redisUrl).toEqual({ path: '/redis' });
  expect(secretsOf(config)).toEqual([]);
  const grant = {
    PROVIDER_TOKEN_URL: 'http://a',
    PROVIDER_CLIENT_ID: 'id',
    PROVIDER_CLIENT_SECRET_FILE: '/secret',
  };
  const { token } = parseConfig({ ...sandbox, ...grant }).provider;
  expect(token).toMatchObject({
    kind: 'client-credentials',
    clientSecret: { path: '/secret' },
    scope: undefined,
    format: 'form',
  });
});

test('MANAGEMENT_PORT may be off, and both ports may be picked', () => {
  expect(parseConfig({ ...SANDBOX, MANAGEMENT_PORT: 'off' }).management.listen).toBeUndefined();
  expect(parseConfig({ ...SANDBOX, PORT: '0', MANAGEMENT_PORT: '0' }).management.listen?.port).toBe(0);
});

describe('problems', () => {
  test('are counted and listed in the message', () => {
    const problem = { variables: ['A', 'B'], text: 'are wrong' };
    expect(new ConfigError([problem]).message).toBe('The configuration has 1 problem:\n  A, B: are wrong');
    expect(new ConfigError([problem, problem]).message).toMatch(/^The configuration has 2 problems:\n/);
  });

  test('of files are among them; a path that is no path has one problem, not two', () => {
    const fileProblems = [
      { variables: ['MANAGEMENT_TOKEN_FILE'], text: 'cannot be read' },
      { variables: ['CACHE_REDIS_URL_FILE'], text: 'cannot be read' },
    ];
    const env = { ...SANDBOX, MANAGEMENT_TOKEN_FILE: 'a\nb', CACHE_REDIS_URL_FILE: '/redis' };
    expect(problemsOf(env, fileProblems)).toEqual([
      expect.stringMatching(/^MANAGEMENT_TOKEN_FILE: has a control character/),
      'CACHE_REDIS_URL_FILE: cannot be read',
    ]);
  });

  const GRANT = 'for the client-credentials grant';
  const TOKEN = 'PROVIDER_ACCESS_TOKEN, PROVIDER_ACCESS_TOKEN_FILE, PROVIDER_TOKEN_URL';
  test.each<[string, Environment, readonly RegExp[]]>([
    [
      'no environment',
      { PROVIDER_ENVIRONMENT: '' },
      [/^PROVIDER_ENVIRONMENT: is required: sandbox or production$/],
    ],
    [
      'a wrong environment, which is not called missing',
      { PROVIDER_ENVIRONMENT: 'x' },
      [/^PROVIDER_ENVIRONMENT: must be one of sandbox, production$/],
    ],
    [
      'a wrong environment without an address, which may not be needed',
      { PROVIDER_ENVIRONMENT: 'x', PROVIDER_SANDBOX_BASE_URL: '' },
      [/^PROVIDER_ENVIRONMENT: must be one of sandbox, production$/],
    ],
    [
      'no address',
      { PROVIDER_SANDBOX_BASE_URL: '' },
      [/^PROVIDER_SANDBOX_BASE_URL: is required when PROVIDER_ENVIRONMENT is sandbox$/],
    ],
    [
      'a wrong address that is not used yet',
      { PROVIDER_PRODUCTION_BASE_URL: 'x' },
      [/^PROVIDER_PRODUCTION_BASE_URL: is not/],
    ],
    [
      'no address in production',
      { ...PRODUCTION, PROVIDER_PRODUCTION_BASE_URL: '' },
      [/^PROVIDER_PRODUCTION_BASE_URL: is required when PROVIDER_ENVIRONMENT is production$/],
    ],
    ['no token', { PROVIDER_ACCESS_TOKEN: '' }, [new RegExp(`^${TOKEN}: none is configured;`)]],
    [
      'two tokens',
      { PROVIDER_ACCESS_TOKEN_FILE: '/token' },
      [new RegExp(`^${TOKEN}: more than one is configured;`)],
    ],
    [
      'one part of a grant besides a token',
      { PROVIDER_TOKEN_SCOPE: 'scope' },
      [new RegExp(`^${TOKEN}: more than one is configured;`)],
    ],
    [
      'only a scope',
      { PROVIDER_ACCESS_TOKEN: '', PROVIDER_TOKEN_SCOPE: 'scope' },
      [
        new RegExp(`^PROVIDER_TOKEN_URL: is required ${GRANT}$`),
        new RegExp(`^PROVIDER_CLIENT_ID: is required ${GRANT}$`),
        new RegExp(`^PROVIDER_CLIENT_SECRET: or PROVIDER_CLIENT_SECRET_FILE is required ${GRANT}$`),
      ],
    ],
    [
      'a grant with two secrets',
      {
        PROVIDER_ACCESS_TOKEN: '',
        PROVIDER_TOKEN_URL: 'http://a',
        PROVIDER_CLIENT_ID: 'id',
        PROVIDER_CLIENT_SECRET: 'x',
        PROVIDER_CLIENT_SECRET_FILE: '/x',
      },
      [/^PROVIDER_CLIENT_SECRET_FILE: is set as well as PROVIDER_CLIENT_SECRET; keep one$/],
    ],
    [
      'a client secret that has only backslashes',
      {
        PROVIDER_ACCESS_TOKEN: '',
        PROVIDER_TOKEN_URL: 'http://a',
        PROVIDER_CLIENT_ID: 'id',
        PROVIDER_CLIENT_SECRET: '\\\\',
      },
      [/^PROVIDER_CLIENT_SECRET: has fewer than 1 characters, .*; it needs 1 to 8192 bytes of text$/],
    ],
    [
      'a certificate without its key',
      { PROVIDER_TLS_CERT_FILE: '/cert' },
      [/^PROVIDER_TLS_KEY_FILE: is required too/],
    ],
    [
      'a key without its certificate',
      { PROVIDER_TLS_KEY_FILE: '/key' },
      [/^PROVIDER_TLS_CERT_FILE: is required too/],
    ],
    ['one port twice', { PORT: '3001' }, [/^MANAGEMENT_PORT: is the same as PORT/]],
    [
      'a required field that is not published',
      { BANK_FIELDS: 'a', BANK_REQUIRED_FIELDS: 'a,b,c' },
      [/^BANK_REQUIRED_FIELDS: names b, c, which/],
    ],
    ['a wrong lower-case variable', { https_proxy: 'x y' }, [/^https_proxy: is not the address/]],
    ['debug output', { NODE_DEBUG: 'http' }, [/^NODE_DEBUG: makes Node print/]],
    ...['BANK_X', 'CACHE_NEW', 'GUARD_NEW', 'MANAGEMENT_NEW', 'PROVIDER_NEW'].map<
      [string, Environment, RegExp[]]
    >((name) => [
      `the name ${name}, with a prefix of ours`,
      { [name]: '1' },
      [new RegExp(`^${name}: is not a variable of this service; .env.example lists them all$`)],
    ]),
  ])('are reported for %s', (_name, env, expected) => {
    expect(problemsOf({ ...SANDBOX, ...env })).toEqual(expected.map((line) => expect.stringMatching(line)));
  });

  test.each<[string, Environment]>([
    ['an unknown variable that is empty', { BANK_X: '', NODE_DEBUG: '' }],
    ['required fields where every field is published', { BANK_REQUIRED_FIELDS: 'b' }],
    ['the ports 3001 and off', { PORT: '3001', MANAGEMENT_PORT: 'off' }],
    ['both halves of a certificate', { PROVIDER_TLS_CERT_FILE: '/cert', PROVIDER_TLS_KEY_FILE: '/key' }],
    [
      'a client secret that a header could not carry',
      {
        PROVIDER_ACCESS_TOKEN: '',
        PROVIDER_TOKEN_URL: 'http://a',
        PROVIDER_CLIENT_ID: 'id',
        PROVIDER_CLIENT_SECRET: 'é ',
      },
    ],
    ['names of other programs', { BANKING: '1', CACHED: '1', PORTS: '1', HOT_PATCHES: '1', LEVEL_LOG: '1' }],
  ])('there are none with %s', (_name, env) => {
    expect(problemsOf({ ...SANDBOX, ...env })).toEqual([]);
  });
});

describe('the effective configuration', () => {
  const find = (
    name: string,
    environment: Environment,
    dotEnv: Environment = {},
    problems: readonly ConfigProblem[] = [],
  ) => effectiveVariables({ environment, dotEnv }, problems).find((variable) => variable.name === name);

  test('has every variable once', () => {
    const names = effectiveVariables({ environment: {}, dotEnv: {} }, []).map(({ name }) => name);
    expect(names).toEqual(VARIABLE_NAMES);
  });

  test.each<[string, Environment, Environment, string, string]>([
    ['PORT', { PORT: '1' }, { PORT: '2' }, 'environment', '1'],
    ['PORT', { PORT: '' }, { PORT: '2' }, '.env', '2'],
    ['PORT', {}, {}, 'default', '3000'],
    ['BANK_FIELDS', {}, {}, 'unset', ''],
    ['HTTPS_PROXY', { HTTPS_PROXY: 'a' }, { https_proxy: 'b' }, '.env', 'set'],
    ['NO_PROXY', { NO_PROXY: 'a', no_proxy: 'b' }, {}, 'environment', 'b'],
    ['MANAGEMENT_TOKEN', { MANAGEMENT_TOKEN: 'x' }, {}, 'environment', 'set'],
    ['MANAGEMENT_TOKEN_FILE', { MANAGEMENT_TOKEN_FILE: '/x' }, {}, 'environment', '/x (readable)'],
  ])('%s of %j and %j', (name, environment, dotEnv, source, shown) => {
    expect(find(name, environment, dotEnv)).toEqual({ name, source, shown });
  });

  test('shows no value that a problem is about', () => {
    const problems = [
      { variables: ['PORT', 'HOST'], text: 'are wrong' },
      { variables: ['no_proxy'], text: 'is wrong' },
    ];
    for (const [name, env] of [
      ['PORT', { PORT: 'x' }],
      ['HOST', { HOST: 'x' }],
      ['NO_PROXY', { no_proxy: 'x' }],
    ] as const)
      expect(find(name, env, {}, problems)).toMatchObject({ shown: 'see below' });
    expect(find('LOG_LEVEL', {}, {}, problems)).toMatchObject({ shown: 'info' });
  });
});
