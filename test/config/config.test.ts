import { expect, test } from '@jest/globals';
import { parseEnv } from 'node:util';
import { ConfigError, describeProblem, parseConfig, secretsOf } from '../../src/config/config.ts';
import type { ConfigProblem, EnvironmentVariables } from '../../src/config/reader.ts';
import { VARIABLE_NAMES, VARIABLES } from '../../src/config/variables.ts';
import { read } from '../helpers/repository.ts';

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

const problemsOf = (
  env: EnvironmentVariables,
  fileProblems?: readonly ConfigProblem[],
): readonly string[] => {
  try {
    parseConfig(env, fileProblems);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(describeProblem);
    throw error;
  }
};

test('what is unset or empty has its default, or no value', () => {
  const blank = Object.fromEntries(VARIABLE_NAMES.map((name) => [name, '']));
  const config = parseConfig({ ...blank, ...SANDBOX });
  expect(JSON.stringify(config)).toEqual(JSON.stringify(parseConfig(SANDBOX)));
  expect(config).toMatchObject({
    listen: { port: 3000, host: '0.0.0.0' },
    management: { listen: { port: 3001, host: '127.0.0.1' }, hosts: [], token: undefined },
    provider: { proxies: { https: undefined, http: undefined, exceptions: '' } },
    banks: { fields: undefined, requiredFields: [] },
    cache: {
      ttlMs: 3_600_000,
      maxStaleMs: 7 * 86_400_000,
      snapshotFile: undefined,
      redisUrl: undefined,
    },
    corsOrigins: [],
    trustProxy: undefined,
    hotPath: true,
  });
  const grant = parseConfig({ ...SANDBOX, ...GRANT }).provider.token;
  expect(grant).toMatchObject({ scope: undefined, format: 'form' });
  expect(parseConfig(PRODUCTION).provider.baseUrl.href).toBe('https://api.example.com/');
});

test('secrets are listed with their variables, and cannot be printed with the configuration', () => {
  expect(secretsOf(parseConfig(SANDBOX))).toEqual([['PROVIDER_ACCESS_TOKEN', 'a-token']]);
  const config = parseConfig({
    ...SANDBOX,
    ...GRANT,
    PROVIDER_TOKEN_URL: 'http://login.example/token?key=query-key',
    MANAGEMENT_TOKEN: 'management-token-1',
    CACHE_REDIS_URL: 'redis://:redis-secret@redis',
    CACHE_SIGNING_KEY: 'signing-key-of-more-than-32-characters',
    HTTPS_PROXY: 'http://user:p%40ss-word@proxy:3128',
    HTTP_PROXY: 'http://:a:b@proxy',
  });
  expect(secretsOf(config)).toEqual([
    ['PROVIDER_CLIENT_SECRET', 'client-secret'],
    ['PROVIDER_TOKEN_URL', 'key=query-key'],
    ['MANAGEMENT_TOKEN', 'management-token-1'],
    ['HTTPS_PROXY', 'user:p@ss-word'],
    ['HTTPS_PROXY', 'p@ss-word'],
    ['HTTP_PROXY', ':a:b'],
    ['HTTP_PROXY', 'a:b'],
    ['CACHE_REDIS_URL', 'redis-secret'],
    ['CACHE_SIGNING_KEY', 'signing-key-of-more-than-32-characters'],
  ]);
  expect(JSON.stringify(config)).not.toMatch(
    /client-secret|query-key|management-token|redis-secret|signing-key|ss-word|a:b/,
  );
});

test('each variable that ends in _FILE names a file to be read at the start, except for the snapshot', () => {
  const files = VARIABLE_NAMES.filter((name) => VARIABLES[name].file);
  const named = VARIABLE_NAMES.filter((name) => name.endsWith('_FILE'));
  expect([...files, 'CACHE_SNAPSHOT_FILE'].toSorted()).toEqual(named.toSorted());
});

test('secrets may be in files, which are no secrets', () => {
  const tls = {
    PROVIDER_TLS_CA_FILE: '/ca',
    PROVIDER_TLS_CERT_FILE: '/cert',
    PROVIDER_TLS_KEY_FILE: '/key',
  };
  const config = parseConfig({
    ...SANDBOX,
    ...GRANT,
    ...tls,
    PROVIDER_CLIENT_SECRET: '',
    PROVIDER_CLIENT_SECRET_FILE: '/secret',
    MANAGEMENT_TOKEN_FILE: '/management',
    CACHE_REDIS_URL_FILE: '/redis',
  });
  expect(config.provider).toMatchObject({ token: { clientSecret: { path: '/secret' } }, tls });
  expect(config.management.token).toEqual({ path: '/management' });
  expect(config.cache.redisUrl).toEqual({ path: '/redis' });
  expect(secretsOf(config)).toEqual([]);
  const file = { ...SANDBOX, PROVIDER_ACCESS_TOKEN: '', PROVIDER_ACCESS_TOKEN_FILE: '/token' };
  expect(parseConfig(file).provider.token).toEqual({ kind: 'given', token: { path: '/token' } });
});

test('a client id with a colon cannot be sent with basic_plain', () => {
  const colon = { ...SANDBOX, ...GRANT, PROVIDER_CLIENT_ID: 'a:b' };
  expect(problemsOf({ ...colon, PROVIDER_TOKEN_AUTH: 'basic' })).toEqual([]);
  expect(problemsOf({ ...colon, PROVIDER_TOKEN_AUTH: 'basic_plain' })).toEqual([
    expect.stringContaining('PROVIDER_CLIENT_ID: has a colon, which basic_plain cannot send'),
  ]);
});

test('MANAGEMENT_PORT may be off, and both ports may be picked', () => {
  expect(parseConfig({ ...SANDBOX, MANAGEMENT_PORT: 'off' }).management.listen).toBeUndefined();
  expect(parseConfig({ ...SANDBOX, PORT: '0', MANAGEMENT_PORT: '0' }).management.listen?.port).toBe(
    0,
  );
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

test('each variable with a wrong value is named, all at once, and no value is repeated', () => {
  const wrong = {
    ...Object.fromEntries(VARIABLE_NAMES.map((name) => [name, 'MARK\0\n'])),
    // What libraries would quote.
    PROVIDER_SANDBOX_BASE_URL: 'https://user:MARK@host',
    PROVIDER_PRODUCTION_BASE_URL: 'http://MARK',
    PROVIDER_TOKEN_URL: 'https://host/?token=MARK#',
    HTTPS_PROXY: 'http://user:MARK@proxy/path',
    HTTP_PROXY: 'http://user:MARK%@proxy',
    CACHE_REDIS_URL: 'redis://:MARK%zz@host',
    CORS_ORIGIN: 'MARK',
    BANK_FEILDS: 'MARK',
  };
  const problems = problemsOf(wrong);
  expect(problems.map((line) => line.split(':')[0])).toEqual(Object.keys(wrong));
  expect(problems.join()).not.toContain('MARK');
});

test('the message counts the problems and lists them', () => {
  const problem = { variables: ['A', 'B'], text: 'are wrong' };
  expect(new ConfigError([problem]).message).toBe(
    'The configuration has 1 problem:\n  A, B: are wrong',
  );
  expect(new ConfigError([problem, problem]).message).toMatch(
    /^The configuration has 2 problems:\n/,
  );
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

const DEMO = {
  PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
  MANAGEMENT_TOKEN: 'demo-management-token',
};
const TOKEN = 'PROVIDER_ACCESS_TOKEN, PROVIDER_ACCESS_TOKEN_FILE, PROVIDER_TOKEN_URL';
const WAYS =
  'configure exactly one way to a token: a fixed token, its file, or PROVIDER_TOKEN_URL with PROVIDER_CLIENT_ID and ' +
  'PROVIDER_CLIENT_SECRET or PROVIDER_CLIENT_SECRET_FILE';
/** Not nearly ours. */
const NAMES_OF_OTHERS =
  'BANKING CACHED HOTPATH HOSTS LOGNAME HOSTNAME HOME PATH FTP_PROXY ftp_proxy ALL_PROXY CORS_ORIG HOT_PATCHES';
const UNKNOWN = 'is not a variable of this service';
/** Nearly ours, or what other programs call the same thing. */
const MEANT = {
  LOGLEVEL: 'LOG_LEVEL',
  TRUST_PROXI: 'TRUST_PROXY',
  PROVIDER_TIMOT: 'PROVIDER_TIMEOUT',
  BROWSER_CACHE_MAX_AGE: 'BROWSER_MAX_AGE',
  CORS_ALLOW_ORIGINS: 'CORS_ORIGINS',
  CORS_ALLOWED_ORIGINS: 'CORS_ORIGINS',
  REDIS_URL: 'CACHE_REDIS_URL',
  SHUTDOWN_TIMEOUT: 'SHUTDOWN_GRACE',
  TRUST_PROXIES: 'TRUST_PROXY',
  TRUSTED_PROXIES: 'TRUST_PROXY',
};

test.each<[env: EnvironmentVariables, ...problems: string[]]>([
  [{ PROVIDER_ENVIRONMENT: '' }, 'PROVIDER_ENVIRONMENT: is required: sandbox or production'],
  // Not called missing; and which address is needed cannot be known.
  [
    { PROVIDER_ENVIRONMENT: 'x', PROVIDER_SANDBOX_BASE_URL: '' },
    'PROVIDER_ENVIRONMENT: must be one of',
  ],
  [
    { PROVIDER_SANDBOX_BASE_URL: '' },
    'PROVIDER_SANDBOX_BASE_URL: is required when PROVIDER_ENVIRONMENT is',
  ],
  [{ PROVIDER_PRODUCTION_BASE_URL: 'x' }, 'PROVIDER_PRODUCTION_BASE_URL: is not an address'],
  [
    { ...PRODUCTION, PROVIDER_PRODUCTION_BASE_URL: '' },
    'PROVIDER_PRODUCTION_BASE_URL: is required when',
  ],
  [
    { ...PRODUCTION, BANK_FIELDS: '' },
    'BANK_FIELDS: is required in production: the fields that browsers',
  ],
  [{ ...PRODUCTION }],
  [{ ...PRODUCTION, ...GRANT }, 'PROVIDER_TOKEN_URL: must be https: in production'],
  [
    { ...PRODUCTION, PROVIDER_ACCESS_TOKEN: 'seven-7' },
    'PROVIDER_ACCESS_TOKEN: has fewer than 8 characters',
  ],
  [
    { ...PRODUCTION, ...DEMO },
    'PROVIDER_ACCESS_TOKEN: is the demo secret, which is public',
    'MANAGEMENT_TOKEN: is the demo secret, which is public',
  ],
  [{ ...DEMO }],
  [
    {
      ...PRODUCTION,
      ...GRANT,
      PROVIDER_TOKEN_URL: 'https://a',
      PROVIDER_CLIENT_SECRET: 'emulator-secret ',
    },
    'PROVIDER_CLIENT_SECRET: is the demo secret',
  ],
  [{ MANAGEMENT_TOKEN: 'fifteen-letters' }, 'MANAGEMENT_TOKEN: has fewer than 16 characters'],
  [
    { MANAGEMENT_TOKEN: 'a password of words' },
    'MANAGEMENT_TOKEN: has a character that a header cannot',
  ],
  [{ ...GRANT, PROVIDER_CLIENT_SECRET: 'é ' }],
  [{ PROVIDER_ACCESS_TOKEN: '' }, `${TOKEN}: none is configured; ${WAYS}`],
  [{ PROVIDER_ACCESS_TOKEN_FILE: '/token' }, `${TOKEN}: more than one is configured; ${WAYS}`],
  [
    { PROVIDER_ACCESS_TOKEN: 'a b', PROVIDER_ACCESS_TOKEN_FILE: '/token' },
    'PROVIDER_ACCESS_TOKEN: has a character',
    `${TOKEN}: more than one is configured;`,
  ],
  // Each variable of a grant counts.
  ...[
    'PROVIDER_TOKEN_URL',
    'PROVIDER_CLIENT_ID',
    'PROVIDER_CLIENT_SECRET',
    'PROVIDER_CLIENT_SECRET_FILE',
    'PROVIDER_TOKEN_SCOPE',
  ].map((name): [EnvironmentVariables, string] => [
    { [name]: 'https://login.example' },
    `${TOKEN}: more than one is configured;`,
  ]),
  [
    { PROVIDER_ACCESS_TOKEN: '', PROVIDER_TOKEN_SCOPE: 'scope' },
    'PROVIDER_TOKEN_URL: is required for the client-credentials grant',
    'PROVIDER_CLIENT_ID: is required for the client-credentials grant',
    'PROVIDER_CLIENT_SECRET: or PROVIDER_CLIENT_SECRET_FILE is required for the client-credentials grant',
  ],
  [
    { PROVIDER_ACCESS_TOKEN: '', PROVIDER_ACCESS_TOKEN_FILE: '/a\nb' },
    'PROVIDER_ACCESS_TOKEN_FILE: has a',
  ],
  [
    { ...GRANT, PROVIDER_CLIENT_SECRET_FILE: '/x' },
    'PROVIDER_CLIENT_SECRET_FILE: is set as well as',
  ],
  [{ PROVIDER_TLS_CERT_FILE: '/cert' }, 'PROVIDER_TLS_KEY_FILE: is required too'],
  [{ PROVIDER_TLS_KEY_FILE: '/key' }, 'PROVIDER_TLS_CERT_FILE: is required too'],
  [{ PORT: '3001' }, 'MANAGEMENT_PORT: is the same as PORT'],
  [{ PORT: '3001', MANAGEMENT_PORT: 'off' }],
  [
    { BANK_FIELDS: 'a,d', BANK_REQUIRED_FIELDS: 'a,b,c' },
    'BANK_REQUIRED_FIELDS: names b, c, which',
  ],
  [{ BANK_REQUIRED_FIELDS: 'b' }],
  [{ BANK_FIELDS: 'a:c', BANK_REQUIRED_FIELDS: 'a' }],
  [{ BANK_FIELDS: 'a:c', BANK_REQUIRED_FIELDS: 'c' }, 'BANK_REQUIRED_FIELDS: names c, which'],
  [{ https_proxy: 'x y' }, 'https_proxy: is not the address'],
  [
    { CORS_ORIGINS: 'https://a.example, *' },
    'CORS_ORIGINS: has no exact origin in entry 2; it must be',
  ],
  [{ CORS_ORIGINS: 'capacitor://localhost,chrome-extension://abcdefghij,app://obsidian.md:8080' }],
  ...['htps://a.example', 'httpss://a.example', 'app://', 'tauri://A', 'tauri://a/'].map(
    (origin): [EnvironmentVariables, string] => [
      { CORS_ORIGINS: origin },
      'CORS_ORIGINS: has no exact origin in entry 1; it must be',
    ],
  ),
  [{ NODE_DEBUG: 'http' }, 'NODE_DEBUG: makes Node print'],
  ...['BANK_', 'PROVIDER_', 'CACHE_', 'GUARD_', 'MANAGEMENT_'].map(
    (prefix): [EnvironmentVariables, string] => [
      { [`${prefix}NEW`]: '1' },
      `${prefix}NEW: ${UNKNOWN}; .env.example lists them all`,
    ],
  ),
  [
    MEANT,
    ...Object.entries(MEANT).map(([name, ours]) => `${name}: ${UNKNOWN}; did you mean ${ours}?`),
  ],
  // Meant for another program.
  [{ REDIS_URL: 'redis://other', CACHE_REDIS_URL: 'redis://ours' }],
  [{ BANK_X: '', NODE_DEBUG: '' }],
  [Object.fromEntries(NAMES_OF_OTHERS.split(' ').map((name) => [name, '1']))],
])('beside what is needed, %j has these problems: %s', (env, ...problems) => {
  expect(problemsOf({ ...SANDBOX, ...env })).toEqual(
    problems.map((line) => expect.stringContaining(line)),
  );
});

test('of what is not an environment for this service, the first 100 problems are reported', () => {
  const env = Object.fromEntries(
    Array.from({ length: 200 }, (_, index) => [`PROVIDER_${index}`, '1']),
  );
  expect(problemsOf({ ...SANDBOX, PORT: 'x', ...env })).toHaveLength(100);
  expect(() => parseConfig({ ...SANDBOX, PORT: 'x', ...env })).toThrow(
    /^The configuration has at least 100 problems:\n {2}PORT: /,
  );
});

const DEFAULTS = Object.fromEntries(
  Object.entries(VARIABLES).map(([name, row]) => [name, row.default ?? '']),
);

test('.env.example has every variable once, with its default, and is valid with the emulator', () => {
  const example = read('.env.example');
  const names = [...example.matchAll(/^#?([A-Z_]+)=/gm)].map(([, name = '']) => name);
  expect(names.toSorted()).toEqual(VARIABLE_NAMES.toSorted());
  // What is commented out is as it would be without it.
  expect(DEFAULTS).toMatchObject(parseEnv(example.replaceAll(/^(?!#[A-Z_]+=).*$|^#/gm, '')));
  expect(problemsOf(parseEnv(example))).toEqual([]);
});

test('docs/configuration.md has every variable once, with its default', () => {
  const rows = [...read('docs/configuration.md').matchAll(/^\| `([A-Z_]+)` +\| (?:`([^`]*)`)?/gm)];
  expect(rows).toHaveLength(VARIABLE_NAMES.length);
  expect(Object.fromEntries(rows.map(([, name, value]) => [name, value ?? '']))).toEqual(DEFAULTS);
});
