import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { ConfigError, describeProblem, parseConfig, secretsOf } from '../../src/config/config.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import type { Environment } from '../../src/config/reader.ts';
import { DEFAULT_ACCESS_TOKEN } from '../../emulator/emulator.ts';
import { createClientAddress } from '../../src/http/client-address.ts';
import { MALFORMED, MARK, PRODUCTION, SANDBOX } from '../kit/malformed.ts';

const problemsOf = (env: Environment): readonly string[] => {
  try {
    parseConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(describeProblem);
    throw error;
  }
  return [];
};

test('the smallest sandbox configuration gets every default', () => {
  expect(parseConfig(SANDBOX)).toMatchObject({
    listen: { port: 3000, host: '0.0.0.0' },
    provider: { environment: 'sandbox', timeoutMs: 5_000, maxBodyBytes: 5 * 1024 * 1024 },
    banks: { fields: undefined, requiredFields: [] },
    cache: { ttlMs: 3_600_000, maxStaleMs: 7 * 86_400_000 },
    guard: { minBanks: 1, maxShrink: 0.2, maxDrift: 0.2 },
    browserMaxAgeMs: 300_000,
    keepAliveTimeoutMs: 65_000,
    corsOrigins: [],
    hotPath: true,
    logLevel: 'info',
    shutdownGraceMs: 10_000,
  });
});

test('an empty string counts as unset', () => {
  const blank = Object.fromEntries(Object.keys(VARIABLES).map((name) => [name, '']));
  expect(parseConfig({ ...blank, ...SANDBOX })).toEqual(
    expect.objectContaining({ listen: { port: 3000, host: '0.0.0.0' } }),
  );
});

test('a field can be published under another name', () => {
  expect(parseConfig({ ...SANDBOX, BANK_FIELDS: 'id:ispb, name' }).banks.fields).toEqual([
    { name: 'id', from: 'ispb', isOptional: false },
    { name: 'name', from: 'name', isOptional: false },
  ]);
});

test('a field can be optional', () => {
  expect(parseConfig({ ...SANDBOX, BANK_FIELDS: 'code, logo?,site:website?' }).banks.fields).toEqual([
    { name: 'code', from: 'code', isOptional: false },
    { name: 'logo', from: 'logo', isOptional: true },
    { name: 'site', from: 'website', isOptional: true },
  ]);
});

test.each([
  ['10ms', 10],
  ['250ms', 250],
  ['1.5s', 1_500],
  ['5m', 300_000],
  ['7d', 604_800_000],
])('CACHE_TTL=%s is %d milliseconds', (text, ms) => {
  expect(parseConfig({ ...SANDBOX, CACHE_TTL: text }).cache.ttlMs).toBe(ms);
});

describe('each malformed value is refused, its variable is named and the value is not repeated', () => {
  test.each(MALFORMED)('%s %j', (name, env) => {
    const problems = problemsOf({ ...SANDBOX, ...env });
    expect(problems.filter((line) => line.split(':')[0]?.split(', ').includes(name))).toHaveLength(1);
    expect(problems.join('\n')).not.toContain(MARK);
  });
});

test('MANAGEMENT_HOSTS is normalised', () => {
  const { management } = parseConfig({ ...SANDBOX, MANAGEMENT_HOSTS: 'Ops.Example.com., banks_bff.local' });
  expect(management.hosts).toEqual(['ops.example.com', 'banks_bff.local']);
  expect(parseConfig(SANDBOX).management.hosts).toEqual([]);
});

test('all problems are reported at once', () => {
  const problems = problemsOf({ PORT: 'x', CACHE_TTL: 'x', LOG_LEVEL: 'x' });
  for (const name of ['PORT', 'CACHE_TTL', 'LOG_LEVEL', 'PROVIDER_ENVIRONMENT', 'PROVIDER_ACCESS_TOKEN']) {
    expect(problems.some((line) => line.startsWith(name))).toBe(true);
  }
});

test('production requires https, also for the token endpoint, and BANK_FIELDS', () => {
  expect(problemsOf(PRODUCTION)).toEqual([]);
  expect(problemsOf({ ...PRODUCTION, BANK_FIELDS: '' })).toHaveLength(1);
  const grant = {
    PROVIDER_ACCESS_TOKEN: '',
    PROVIDER_TOKEN_URL: 'http://login.example.com/token',
    PROVIDER_CLIENT_ID: 'id',
    PROVIDER_CLIENT_SECRET: 'a-longer-secret',
  };
  expect(problemsOf({ ...PRODUCTION, ...grant })).toContainEqual(
    expect.stringMatching(/^PROVIDER_TOKEN_URL: must be https/),
  );
});

test.each(['PROVIDER_ACCESS_TOKEN', 'PROVIDER_CLIENT_SECRET'])(
  'production requires eight characters in %s; the sandbox does not',
  (name) => {
    const grant = {
      PROVIDER_TOKEN_URL: 'https://login.example.com/token',
      PROVIDER_CLIENT_ID: 'id',
      PROVIDER_ACCESS_TOKEN: '',
    };
    const way = { ...(name === 'PROVIDER_CLIENT_SECRET' && grant), [name]: 'seven-7' };
    expect(problemsOf({ ...SANDBOX, ...way })).toEqual([]);
    expect(problemsOf({ ...PRODUCTION, ...way })).toContainEqual(
      expect.stringMatching(new RegExp(`^${name}: has fewer than 8 characters`)),
    );
  },
);

test.each(MALFORMED.filter(([name]) => name === 'TRUST_PROXY'))(
  '%s %j is reported, as proxy-addr would reject it',
  (_name, env) => {
    expect(problemsOf({ ...SANDBOX, ...env })).toEqual([
      expect.stringMatching(/^TRUST_PROXY: must be the number of proxies/),
    ]);
  },
);

test.each(['10.0.0.0/8', '2001:db8::/32', '::ffff:10.0.0.1', 'fe80::1%eth0', '127.0.0.1,::1'])(
  'TRUST_PROXY=%s is accepted',
  (addresses) => {
    const { trustProxy } = parseConfig({ ...SANDBOX, TRUST_PROXY: addresses });
    expect(() => createClientAddress(trustProxy)).not.toThrow();
  },
);

test('the secrets of the demo are refused in production, and only there', () => {
  for (const [name, value] of [
    ['PROVIDER_ACCESS_TOKEN', DEFAULT_ACCESS_TOKEN],
    ['MANAGEMENT_TOKEN', 'demo-management-token'],
  ] as const) {
    expect(problemsOf({ ...SANDBOX, [name]: value })).toEqual([]);
    expect(problemsOf({ ...PRODUCTION, [name]: value })).toEqual([
      expect.stringMatching(new RegExp(`^${name}: is the one of the demo, which everybody knows`)),
    ]);
  }
});

describe('one mistake is one problem', () => {
  test.each<[string, Environment, RegExp]>([
    ['a path with a line break', { MANAGEMENT_TOKEN_FILE: '/a\nb' }, /^MANAGEMENT_TOKEN_FILE: has a control/],
    [
      'a token file with one',
      { PROVIDER_ACCESS_TOKEN: '', PROVIDER_ACCESS_TOKEN_FILE: '/a\nb' },
      /^PROVIDER_ACCESS_TOKEN_FILE: has a control/,
    ],
    [
      'a client id with one',
      {
        PROVIDER_ACCESS_TOKEN: '',
        PROVIDER_TOKEN_URL: 'http://a',
        PROVIDER_CLIENT_ID: 'a\nb',
        PROVIDER_CLIENT_SECRET: 'x',
      },
      /^PROVIDER_CLIENT_ID: has a control/,
    ],
  ])('%s', (_what, env, problem) => {
    expect(problemsOf({ ...SANDBOX, ...env })).toEqual([expect.stringMatching(problem)]);
  });
});

describe('of CORS_ORIGINS the wrong entry is told, and what is wrong with it', () => {
  test.each([
    ['https://www.example.com/', 'has a slash or a path after the host in entry 1'],
    ['https://a.example, https://b.example/app', 'has a slash or a path after the host in entry 2'],
    ['https://a.example,b.example', 'has no address with http:// or https:// in entry 2'],
    ['https://a.example,*', 'has no address with http:// or https:// in entry 2'],
    ['https://user@a.example', 'has user info in entry 1'],
    ['https://A.example', 'has capital letters or a default port, which browsers leave out, in entry 1'],
    ['https://a.example:443', 'has capital letters or a default port, which browsers leave out, in entry 1'],
    ['https://a.example?', 'has a slash or a path after the host in entry 1'],
  ])('%s', (origins, problem) => {
    expect(problemsOf({ ...SANDBOX, CORS_ORIGINS: origins })).toEqual([
      expect.stringContaining(`CORS_ORIGINS: ${problem}; it must be *, or exact origins`),
    ]);
  });
});

describe('a name that is close to one of our variables', () => {
  test.each([
    ['CORS_ORIGIN', 'CORS_ORIGINS'],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['TRUST_PROXI', 'TRUST_PROXY'],
    ['SHUTDOWN_GRACE_', 'SHUTDOWN_GRACE'],
    ['PROVIDER_TIMEOT', 'PROVIDER_TIMEOUT'],
    ['LOG_LEVEL_2', 'LOG_LEVEL'],
    ['HTTP_PROXYS', 'HTTP_PROXY'],
    ['HTTPS_PROXYS', 'HTTPS_PROXY'],
    ['CORS_ALLOWED_ORIGINS', 'CORS_ORIGINS'],
    ['CORS_ALLOW_ORIGINS', 'CORS_ORIGINS'],
    ['TRUST_PROXIES', 'TRUST_PROXY'],
    ['BROWSER_CACHE_MAX_AGE', 'BROWSER_MAX_AGE'],
    ['SHUTDOWN_TIMEOUT', 'SHUTDOWN_GRACE'],
    ['REDIS_URL', 'CACHE_REDIS_URL'],
  ])('%s is a problem that suggests %s', (name, suggestion) => {
    expect(problemsOf({ ...SANDBOX, [name]: 'value' })).toEqual([
      `${name}: is not a variable of this service; did you mean ${suggestion}?`,
    ]);
  });

  test.each([
    'HOME',
    'PATH',
    'HOSTS',
    'LOGNAME',
    'HOSTNAME',
    'FTP_PROXY',
    'ftp_proxy',
    'ALL_PROXY',
    'CORS_ORIG',
  ])('%s is not', (name) => {
    expect(problemsOf({ ...SANDBOX, [name]: 'value' })).toEqual([]);
  });
});

test('a name that others use is theirs where ours is set', () => {
  const env = { ...SANDBOX, REDIS_URL: 'redis://other', CACHE_REDIS_URL: 'redis://ours' };
  expect(problemsOf(env)).toEqual([]);
});

describe('the address of a proxy', () => {
  test.each([
    ['http://proxy.example.com:3128', 'http://proxy.example.com:3128/', undefined],
    ['proxy.example.com:3128', 'http://proxy.example.com:3128/', undefined],
    ['https://proxy.example.com/', 'https://proxy.example.com/', undefined],
    ['http://user:p%40ss@proxy:3128', 'http://proxy:3128/', 'user:p@ss'],
    ['user:pass@proxy:3128', 'http://proxy:3128/', 'user:pass'],
    ['http://user@[::1]:3128', 'http://[::1]:3128/', 'user:'],
  ])('%s is split into the address and its credentials', (text, href, credentials) => {
    const { https } = parseConfig({ ...SANDBOX, HTTPS_PROXY: text }).provider.proxies;
    expect(https?.url.href).toBe(href);
    expect(https?.credentials?.reveal()).toBe(credentials);
  });

  test('may be in a variable in lower case, which takes precedence', () => {
    const { proxies } = parseConfig({
      ...SANDBOX,
      HTTPS_PROXY: 'http://upper',
      https_proxy: 'http://lower',
      http_proxy: '',
      HTTP_PROXY: 'http://upper',
      no_proxy: 'lower',
    }).provider;
    expect(proxies.https?.url.host).toBe('lower');
    expect(proxies.http?.url.host).toBe('upper');
    expect(proxies.exceptions).toBe('lower');
  });

  test('has a password that counts as a secret', () => {
    const config = parseConfig({ ...SANDBOX, HTTPS_PROXY: 'http://user:p%40ss-word@proxy:3128' });
    expect(secretsOf(config)).toEqual(
      expect.arrayContaining([
        ['HTTPS_PROXY', 'user:p@ss-word'],
        ['HTTPS_PROXY', 'p@ss-word'],
      ]),
    );
    expect(secretsOf(parseConfig({ ...SANDBOX, HTTP_PROXY: 'http://:a:b@proxy' }))).toEqual([
      ['PROVIDER_ACCESS_TOKEN', 'a-token'],
      ['HTTP_PROXY', ':a:b'],
      ['HTTP_PROXY', 'a:b'],
    ]);
  });
});

test('a secret is not printed', () => {
  const config = parseConfig({ ...SANDBOX, PROVIDER_ACCESS_TOKEN: 'MARKED-VALUE' });
  expect(JSON.stringify(config)).not.toContain('MARKED-VALUE');
});

describe('the documents match the code', () => {
  const read = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
  const defaults = Object.fromEntries(
    Object.entries(VARIABLES).map(([name, row]) => [name, row.default ?? '']),
  );

  test('.env.example has every variable once, with its default', () => {
    const lines = [...read('.env.example').matchAll(/^(#?)([A-Z_]+)=(.*)$/gm)];
    expect(lines).toHaveLength(Object.keys(defaults).length);
    expect(new Set(lines.map(([, , name]) => name))).toEqual(new Set(Object.keys(defaults)));
    const commented = lines.filter(([, comment]) => comment).map(([, , name = '', value]) => [name, value]);
    expect(defaults).toMatchObject(Object.fromEntries(commented));
  });

  test('.env.example is a valid configuration for the emulator', () => {
    const lines = [...read('.env.example').matchAll(/^([A-Z_]+)=(.*)$/gm)];
    expect(problemsOf(Object.fromEntries(lines.map(([, name, value]) => [name, value])))).toEqual([]);
  });

  test('the table in the README has every variable once, with its default', () => {
    const rows = [...read('README.md').matchAll(/^\| `([A-Z_]+)` +\| (?:`([^`]*)`)?/gm)];
    expect(rows).toHaveLength(Object.keys(defaults).length);
    expect(Object.fromEntries(rows.map(([, name, value]) => [name, value ?? '']))).toEqual(defaults);
  });

  test('docs/dependencies.md gives a reason for every runtime dependency, and for no other', () => {
    const rows = [...read('docs/dependencies.md').matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name);
    const manifest: { dependencies?: object } = JSON.parse(read('package.json'));
    expect(new Set(rows)).toEqual(new Set(Object.keys(manifest.dependencies ?? {})));
  });
});
