import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { ConfigError, describeProblem, parseConfig, secretsOf } from '../../src/config/config.ts';
import { effectiveVariables, type ConfigProblem, type Environment } from '../../src/config/reader.ts';
import { VARIABLE_NAMES, VARIABLES, type VariableName } from '../../src/config/variables.ts';

// Where each variable ends up, and what is said of those that are wrong, alone or together.

const SANDBOX = {
  PROVIDER_ENVIRONMENT: 'sandbox',
  PROVIDER_SANDBOX_BASE_URL: 'http://localhost:4000',
  PROVIDER_ACCESS_TOKEN: 'a-token',
};
const PRODUCTION = {
  PROVIDER_ENVIRONMENT: 'production',
  PROVIDER_PRODUCTION_BASE_URL: 'https://api.example.com',
  PROVIDER_ACCESS_TOKEN: 'a-longer-token',
  BANK_FIELDS: 'code,name',
};
const GRANT = {
  PROVIDER_ACCESS_TOKEN: '',
  PROVIDER_TOKEN_URL: 'http://login.example/token',
  PROVIDER_CLIENT_ID: 'id',
  PROVIDER_CLIENT_SECRET: 'client-secret',
};

const problemsOf = (env: Environment, fileProblems?: readonly ConfigProblem[]): readonly string[] => {
  try {
    parseConfig(env, fileProblems);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(describeProblem);
    throw error;
  }
};

/** A secret is compared by what it reveals. */
const revealed = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_key, part: unknown) =>
      typeof part === 'object' && part !== null && 'reveal' in part && typeof part.reveal === 'function'
        ? { revealed: String(part.reveal()) }
        : part,
    ),
  );

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
  const field = (name: string) => ({ name, from: name, isOptional: false });
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
      tls: { PROVIDER_TLS_CA_FILE: '/ca', PROVIDER_TLS_CERT_FILE: '/cert', PROVIDER_TLS_KEY_FILE: '/key' },
      proxies: {
        https: { url: 'http://proxy-a/' },
        http: { url: 'http://proxy-b/' },
        exceptions: 'localhost',
      },
      timeoutMs: 11_000,
      maxBodyBytes: 12_288,
    },
    banks: { fields: [field('code'), field('name')], requiredFields: ['name'] },
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
  expect(JSON.stringify(config)).not.toMatch(/client-secret|management-token|redis-secret/);
});

test('what is unset or empty has its default, or no value', () => {
  const blank = Object.fromEntries(VARIABLE_NAMES.map((name) => [name, '']));
  expect(revealed(parseConfig({ ...blank, ...SANDBOX }))).toEqual(revealed(parseConfig(SANDBOX)));
  expect(parseConfig(SANDBOX)).toMatchObject({
    listen: { port: 3000, host: '0.0.0.0' },
    management: { listen: { port: 3001, host: '127.0.0.1' }, hosts: [], token: undefined },
    provider: {
      environment: 'sandbox',
      tls: { PROVIDER_TLS_CA_FILE: undefined, PROVIDER_TLS_CERT_FILE: undefined },
      proxies: { https: undefined, http: undefined, exceptions: '' },
      timeoutMs: 5_000,
      maxBodyBytes: 5 * 1024 * 1024,
    },
    banks: { fields: undefined, requiredFields: [] },
    cache: { ttlMs: 3_600_000, maxStaleMs: 7 * 86_400_000, snapshotFile: undefined, redisUrl: undefined },
    guard: { minBanks: 1, maxShrink: 0.2, maxDrift: 0.2 },
    browserMaxAgeMs: 300_000,
    keepAliveTimeoutMs: 65_000,
    corsOrigins: [],
    trustProxy: undefined,
    hotPath: true,
    logLevel: 'info',
    shutdownGraceMs: 10_000,
  });
  expect(secretsOf(parseConfig(SANDBOX))).toEqual([['PROVIDER_ACCESS_TOKEN', 'a-token']]);
  expect(parseConfig({ ...SANDBOX, ...GRANT }).provider.token).toMatchObject({
    scope: undefined,
    format: 'form',
  });
});

test('secrets may be in files, which are no secrets', () => {
  const { PROVIDER_ACCESS_TOKEN: _, ...sandbox } = SANDBOX;
  const files = { MANAGEMENT_TOKEN_FILE: '/management', CACHE_REDIS_URL_FILE: '/redis' };
  const config = parseConfig({ ...sandbox, ...files, PROVIDER_ACCESS_TOKEN_FILE: '/token' });
  expect(config.provider.token).toEqual({ kind: 'given', token: { path: '/token' } });
  expect(config.management.token).toEqual({ path: '/management' });
  expect(config.cache.redisUrl).toEqual({ path: '/redis' });
  expect(secretsOf(config)).toEqual([]);
  const grant = { ...GRANT, PROVIDER_CLIENT_SECRET: '', PROVIDER_CLIENT_SECRET_FILE: '/secret' };
  expect(parseConfig({ ...sandbox, ...grant }).provider.token).toMatchObject({
    kind: 'client-credentials',
    clientSecret: { path: '/secret' },
  });
});

test('MANAGEMENT_PORT may be off, and both ports may be picked', () => {
  expect(parseConfig({ ...SANDBOX, MANAGEMENT_PORT: 'off' }).management.listen).toBeUndefined();
  expect(parseConfig({ ...SANDBOX, PORT: '0', MANAGEMENT_PORT: '0' }).management.listen?.port).toBe(0);
});

test('the address of a proxy may be in a variable in lower case, which takes precedence', () => {
  const { proxies } = parseConfig({
    ...SANDBOX,
    HTTPS_PROXY: 'http://upper',
    https_proxy: 'http://lower',
    http_proxy: '',
    HTTP_PROXY: 'http://upper',
    no_proxy: 'lower',
  }).provider;
  expect([proxies.https?.url.host, proxies.http?.url.host]).toEqual(['lower', 'upper']);
  expect(proxies.exceptions).toBe('lower');
});

test('the user and the password of a proxy, and the password alone, are secrets', () => {
  const proxies = { HTTPS_PROXY: 'http://user:p%40ss-word@proxy:3128', HTTP_PROXY: 'http://:a:b@proxy' };
  expect(secretsOf(parseConfig({ ...SANDBOX, ...proxies })).slice(1)).toEqual([
    ['HTTPS_PROXY', 'user:p@ss-word'],
    ['HTTPS_PROXY', 'p@ss-word'],
    ['HTTP_PROXY', ':a:b'],
    ['HTTP_PROXY', 'a:b'],
  ]);
});

test('each variable with a wrong value is named, all at once, and no value is repeated', () => {
  const WRONG: Record<VariableName, string> = {
    PORT: 'MARK',
    HOST: 'MARK\0',
    MANAGEMENT_PORT: 'MARK',
    MANAGEMENT_HOST: 'MARK\n',
    MANAGEMENT_HOSTS: 'MARK:3001',
    MANAGEMENT_TOKEN: 'MARK-15-letters',
    MANAGEMENT_TOKEN_FILE: '/MARK\n',
    PROVIDER_ENVIRONMENT: 'MARK',
    PROVIDER_SANDBOX_BASE_URL: 'https://user:MARK@host',
    PROVIDER_PRODUCTION_BASE_URL: 'http://MARK',
    PROVIDER_ACCESS_TOKEN: 'MARK\nX-Injected: yes',
    PROVIDER_ACCESS_TOKEN_FILE: '/MARK\n',
    PROVIDER_TOKEN_URL: 'https://host/?token=MARK',
    PROVIDER_CLIENT_ID: 'MARK\n',
    PROVIDER_CLIENT_SECRET: 'MARK\0',
    PROVIDER_CLIENT_SECRET_FILE: '/MARK\n',
    PROVIDER_TOKEN_SCOPE: 'MARK\n',
    PROVIDER_TOKEN_FORMAT: 'MARK',
    PROVIDER_TLS_CA_FILE: '/MARK\n',
    PROVIDER_TLS_CERT_FILE: '/MARK\n',
    PROVIDER_TLS_KEY_FILE: '/MARK\n',
    HTTPS_PROXY: 'http://user:MARK@proxy/path',
    HTTP_PROXY: 'http://user:MARK%@proxy',
    NO_PROXY: 'MARK\0',
    PROVIDER_TIMEOUT: 'MARK',
    PROVIDER_MAX_BODY: 'MARK',
    BANK_FIELDS: 'MARK:a:b',
    BANK_REQUIRED_FIELDS: 'MARK?',
    CACHE_TTL: 'MARK',
    CACHE_MAX_STALE: 'MARK',
    CACHE_SNAPSHOT_FILE: '/MARK\0',
    CACHE_REDIS_URL: 'redis://:MARK%zz@host',
    CACHE_REDIS_URL_FILE: '/MARK\n',
    GUARD_MIN_BANKS: 'MARK',
    GUARD_MAX_SHRINK: 'MARK',
    GUARD_MAX_DRIFT: 'MARK',
    BROWSER_MAX_AGE: 'MARK',
    KEEP_ALIVE_TIMEOUT: 'MARK',
    CORS_ORIGINS: 'MARK',
    TRUST_PROXY: 'MARK',
    HOT_PATH: 'MARK',
    LOG_LEVEL: 'MARK',
    SHUTDOWN_GRACE: 'MARK',
  };
  const unknown = { CORS_ORIGIN: 'MARK', BANK_FEILDS: 'MARK' };
  const problems = problemsOf({ ...WRONG, ...unknown });
  const named = problems.map((line) => line.split(':')[0]);
  expect(named).toEqual([...VARIABLE_NAMES, ...Object.keys(unknown)]);
  expect(problems.join()).not.toContain('MARK');
});

test('the message counts the problems and lists them', () => {
  const problem = { variables: ['A', 'B'], text: 'are wrong' };
  expect(new ConfigError([problem]).message).toBe('The configuration has 1 problem:\n  A, B: are wrong');
  expect(new ConfigError([problem, problem]).message).toMatch(/^The configuration has 2 problems:\n/);
});

test('problems of files are among them; a path that is no path has one problem, not two', () => {
  const fileProblems = ['MANAGEMENT_TOKEN_FILE', 'CACHE_REDIS_URL_FILE'].map((name) => ({
    variables: [name],
    text: 'cannot be read',
  }));
  const env = { ...SANDBOX, MANAGEMENT_TOKEN_FILE: 'a\nb', CACHE_REDIS_URL_FILE: '/redis' };
  expect(problemsOf(env, fileProblems)).toEqual([
    expect.stringMatching(/^MANAGEMENT_TOKEN_FILE: has a control character/),
    'CACHE_REDIS_URL_FILE: cannot be read',
  ]);
});

const TOKEN = 'PROVIDER_ACCESS_TOKEN, PROVIDER_ACCESS_TOKEN_FILE, PROVIDER_TOKEN_URL';
const UNKNOWN = 'is not a variable of this service';

test.each<[env: Environment, ...problems: string[]]>([
  [{ PROVIDER_ENVIRONMENT: '' }, 'PROVIDER_ENVIRONMENT: is required: sandbox or production'],
  // Not called missing; and which address is needed cannot be known.
  [
    { PROVIDER_ENVIRONMENT: 'x', PROVIDER_SANDBOX_BASE_URL: '' },
    'PROVIDER_ENVIRONMENT: must be one of sandbox, production',
  ],
  [{ PROVIDER_SANDBOX_BASE_URL: '' }, 'PROVIDER_SANDBOX_BASE_URL: is required when PROVIDER_ENVIRONMENT is'],
  [{ PROVIDER_PRODUCTION_BASE_URL: 'x' }, 'PROVIDER_PRODUCTION_BASE_URL: is not an address'],
  [
    { ...PRODUCTION, PROVIDER_PRODUCTION_BASE_URL: '' },
    'PROVIDER_PRODUCTION_BASE_URL: is required when PROVIDER_ENVIRONMENT is production',
  ],
  [{ ...PRODUCTION, BANK_FIELDS: '' }, 'BANK_FIELDS: is required in production: the fields that browsers'],
  [{ ...PRODUCTION }],
  [{ ...PRODUCTION, ...GRANT }, 'PROVIDER_TOKEN_URL: must be https: in production'],
  [
    { ...PRODUCTION, ...GRANT, PROVIDER_TOKEN_URL: 'https://a', PROVIDER_CLIENT_SECRET: 'seven-7' },
    'PROVIDER_CLIENT_SECRET: has fewer than 8 characters',
  ],
  [
    { ...PRODUCTION, PROVIDER_ACCESS_TOKEN: 'seven-7' },
    'PROVIDER_ACCESS_TOKEN: has fewer than 8 characters, not counting backslashes; in production it needs at least 8',
  ],
  [
    {
      ...PRODUCTION,
      PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
      MANAGEMENT_TOKEN: 'demo-management-token',
    },
    'PROVIDER_ACCESS_TOKEN: is the one of the demo, which everybody knows',
    'MANAGEMENT_TOKEN: is the one of the demo, which everybody knows',
  ],
  [{ PROVIDER_ACCESS_TOKEN: 'emulator-access-token', MANAGEMENT_TOKEN: 'demo-management-token' }],
  [{ PROVIDER_ACCESS_TOKEN: 'x' }],
  [{ ...GRANT, PROVIDER_CLIENT_SECRET: 'é ' }],
  [{ PROVIDER_ACCESS_TOKEN: '' }, `${TOKEN}: none is configured; configure exactly one way`],
  [{ PROVIDER_ACCESS_TOKEN_FILE: '/token' }, `${TOKEN}: more than one is configured;`],
  [
    { PROVIDER_ACCESS_TOKEN: 'a b', PROVIDER_ACCESS_TOKEN_FILE: '/token' },
    'PROVIDER_ACCESS_TOKEN: has a character',
    `${TOKEN}: more than one is configured;`,
  ],
  [{ PROVIDER_TOKEN_SCOPE: 'scope' }, `${TOKEN}: more than one is configured;`],
  [
    { PROVIDER_ACCESS_TOKEN: '', PROVIDER_TOKEN_SCOPE: 'scope' },
    'PROVIDER_TOKEN_URL: is required for the client-credentials grant',
    'PROVIDER_CLIENT_ID: is required for the client-credentials grant',
    'PROVIDER_CLIENT_SECRET: or PROVIDER_CLIENT_SECRET_FILE is required for the client-credentials grant',
  ],
  [
    { PROVIDER_ACCESS_TOKEN: '', PROVIDER_ACCESS_TOKEN_FILE: '/a\nb' },
    'PROVIDER_ACCESS_TOKEN_FILE: has a control',
  ],
  [{ ...GRANT, PROVIDER_CLIENT_ID: 'a\nb' }, 'PROVIDER_CLIENT_ID: has a control'],
  [
    { ...GRANT, PROVIDER_CLIENT_SECRET_FILE: '/x' },
    'PROVIDER_CLIENT_SECRET_FILE: is set as well as PROVIDER_CLIENT_SECRET; keep one',
  ],
  [{ ...GRANT, PROVIDER_CLIENT_SECRET: '\\\\' }, 'PROVIDER_CLIENT_SECRET: has fewer than 1 characters'],
  [{ PROVIDER_TLS_CERT_FILE: '/cert' }, 'PROVIDER_TLS_KEY_FILE: is required too'],
  [{ PROVIDER_TLS_KEY_FILE: '/key' }, 'PROVIDER_TLS_CERT_FILE: is required too'],
  [{ PROVIDER_TLS_CERT_FILE: '/cert', PROVIDER_TLS_KEY_FILE: '/key' }],
  [{ PORT: '3001' }, 'MANAGEMENT_PORT: is the same as PORT'],
  [{ PORT: '3001', MANAGEMENT_PORT: 'off' }],
  [
    { BANK_FIELDS: 'a', BANK_REQUIRED_FIELDS: 'a,b,c' },
    'BANK_REQUIRED_FIELDS: names b, c, which BANK_FIELDS',
  ],
  [{ BANK_REQUIRED_FIELDS: 'b' }],
  [{ https_proxy: 'x y' }, 'https_proxy: is not the address'],
  [{ CORS_ORIGINS: 'https://a.example/' }, 'CORS_ORIGINS: has no exact origin in entry 1; it must be *, or'],
  [{ CORS_ORIGINS: 'https://a.example, *' }, 'CORS_ORIGINS: has no exact origin in entry 2; it must be'],
  [{ NODE_DEBUG: 'http' }, 'NODE_DEBUG: makes Node print'],
  [{ BANK_X: '1' }, `BANK_X: ${UNKNOWN}; .env.example lists them all`],
  [{ CACHE_NEW: '1' }, `CACHE_NEW: ${UNKNOWN}; .env.example lists them all`],
  [{ GUARD_NEW: '1' }, `GUARD_NEW: ${UNKNOWN}; .env.example lists them all`],
  [{ MANAGEMENT_NEW: '1' }, `MANAGEMENT_NEW: ${UNKNOWN}; .env.example lists them all`],
  [{ PROVIDER_NEW: '1' }, `PROVIDER_NEW: ${UNKNOWN}; .env.example lists them all`],
  [{ CORS_ORIGIN: '1' }, `CORS_ORIGIN: ${UNKNOWN}; did you mean CORS_ORIGINS?`],
  [{ LOGLEVEL: '1' }, `LOGLEVEL: ${UNKNOWN}; did you mean LOG_LEVEL?`],
  [{ LOG_LEVEL_2: '1' }, `LOG_LEVEL_2: ${UNKNOWN}; did you mean LOG_LEVEL?`],
  [{ TRUST_PROXI: '1' }, `TRUST_PROXI: ${UNKNOWN}; did you mean TRUST_PROXY?`],
  [{ HTTP_PROXYS: '1' }, `HTTP_PROXYS: ${UNKNOWN}; did you mean HTTP_PROXY?`],
  [{ PROVIDER_TIMEOT: '1' }, `PROVIDER_TIMEOT: ${UNKNOWN}; did you mean PROVIDER_TIMEOUT?`],
  [{ TRUST_PROXIES: '1' }, `TRUST_PROXIES: ${UNKNOWN}; did you mean TRUST_PROXY?`],
  [{ SHUTDOWN_TIMEOUT: '1' }, `SHUTDOWN_TIMEOUT: ${UNKNOWN}; did you mean SHUTDOWN_GRACE?`],
  [{ REDIS_URL: 'redis://other' }, `REDIS_URL: ${UNKNOWN}; did you mean CACHE_REDIS_URL?`],
  // Meant for another program.
  [{ REDIS_URL: 'redis://other', CACHE_REDIS_URL: 'redis://ours' }],
  [
    {
      BANK_X: '',
      NODE_DEBUG: '',
      BANKING: '1',
      CACHED: '1',
      HOTPATH: '1',
      HOSTS: '1',
      LOGNAME: '1',
      HOSTNAME: '1',
    },
  ],
  [
    {
      HOME: '1',
      PATH: '1',
      FTP_PROXY: '1',
      ftp_proxy: '1',
      ALL_PROXY: '1',
      CORS_ORIG: '1',
      HOT_PATCHES: '1',
    },
  ],
])('beside what is needed, %j has these problems: %s', (env, ...problems) => {
  expect(problemsOf({ ...SANDBOX, ...env })).toEqual(problems.map((line) => expect.stringContaining(line)));
});

describe('the effective configuration', () => {
  const find = (name: string, environment: Environment, dotEnv = {}, problems: ConfigProblem[] = []) => {
    const set = Object.entries(environment).filter(([, value]) => value !== '');
    const merged = { ...dotEnv, ...Object.fromEntries(set) };
    return effectiveVariables(environment, merged, problems).find((variable) => variable.name === name);
  };

  test('has every variable once', () => {
    expect(effectiveVariables({}, {}, []).map(({ name }) => name)).toEqual(VARIABLE_NAMES);
  });

  test.each<[string, Environment, Environment, string, string]>([
    ['PORT', { PORT: '1' }, { PORT: '2' }, 'environment', '1'],
    ['PORT', { PORT: '' }, { PORT: '2' }, '.env', '2'],
    ['PORT', {}, {}, 'default', '3000'],
    ['PORT', {}, { PORT: '' }, 'default', '3000'],
    ['BANK_FIELDS', {}, {}, 'unset', ''],
    ['HTTPS_PROXY', { HTTPS_PROXY: 'a' }, { https_proxy: 'b' }, '.env', 'set'],
    ['NO_PROXY', { NO_PROXY: 'a', no_proxy: 'b' }, {}, 'environment', 'b'],
    ['MANAGEMENT_TOKEN', { MANAGEMENT_TOKEN: 'x' }, {}, 'environment', 'set'],
    ['MANAGEMENT_TOKEN_FILE', { MANAGEMENT_TOKEN_FILE: '/x' }, {}, 'environment', '/x (readable)'],
  ])('has %s of %j and %j', (name, environment, dotEnv, source, shown) => {
    expect(find(name, environment, dotEnv)).toEqual({ name, source, shown });
  });

  test('shows no value that a problem is about', () => {
    const problems = [
      { variables: ['PORT', 'HOST'], text: 'are wrong' },
      { variables: ['no_proxy'], text: 'is wrong' },
    ];
    const env = { PORT: 'x', HOST: 'x', no_proxy: 'x' };
    for (const name of ['PORT', 'HOST', 'NO_PROXY'])
      expect(find(name, env, {}, problems)).toMatchObject({ shown: 'see below' });
    expect(find('LOG_LEVEL', env, {}, problems)).toMatchObject({ shown: 'info' });
  });
});

describe('the documents match the code', () => {
  const read = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
  const defaults = Object.fromEntries(
    Object.entries(VARIABLES).map(([name, row]) => [name, row.default ?? '']),
  );

  test('.env.example has every variable once, with its default, and is valid with the emulator', () => {
    const lines = [...read('.env.example').matchAll(/^(#?)([A-Z_]+)=(.*)$/gm)];
    const valuesOf = (mark: string): Record<string, string> =>
      Object.fromEntries(
        lines.filter(([, comment]) => comment === mark).map(([, , name, value]) => [name, value]),
      );
    expect(lines).toHaveLength(VARIABLE_NAMES.length);
    expect(new Set(lines.map(([, , name]) => name))).toEqual(new Set(VARIABLE_NAMES));
    expect(defaults).toMatchObject(valuesOf('#'));
    expect(problemsOf(valuesOf(''))).toEqual([]);
  });

  test('the table in the README has every variable once, with its default', () => {
    const rows = [...read('README.md').matchAll(/^\| `([A-Z_]+)` +\| (?:`([^`]*)`)?/gm)];
    expect(rows).toHaveLength(VARIABLE_NAMES.length);
    expect(Object.fromEntries(rows.map(([, name, value]) => [name, value ?? '']))).toEqual(defaults);
  });

  test('docs/dependencies.md gives a reason for every runtime dependency, and for no other', () => {
    const rows = [...read('docs/dependencies.md').matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name);
    const manifest: { dependencies?: object } = JSON.parse(read('package.json'));
    expect(new Set(rows)).toEqual(new Set(Object.keys(manifest.dependencies ?? {})));
  });
});
