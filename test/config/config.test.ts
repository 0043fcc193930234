import { expect, test } from '@jest/globals';
import { parseEnv } from 'node:util';
import { parseConfig } from '../../src/config/config.ts';
import {
  defaultOf,
  VARIABLE_NAMES,
  type EnvironmentVariables,
} from '../../src/config/variables.ts';
import {
  GRANT,
  problemsOf,
  REQUIRED_IN_PRODUCTION,
  REQUIRED_IN_SANDBOX,
} from '../helpers/config.ts';
import { read } from '../helpers/repository.ts';

// Where each variable ends up, and what is said of those that are wrong, alone or together. What
// each may hold: values.test.ts.

test('what is unset or empty has its default, or no value', () => {
  const blank = Object.fromEntries(VARIABLE_NAMES.map((name) => [name, '']));
  const config = parseConfig({ ...blank, ...REQUIRED_IN_SANDBOX });
  expect(JSON.stringify(config)).toEqual(JSON.stringify(parseConfig(REQUIRED_IN_SANDBOX)));
  expect(config).toMatchObject({
    listen: { port: 3000, host: '0.0.0.0' },
    management: { listen: { port: 3001, host: '127.0.0.1' }, hosts: [] },
    provider: { grants: undefined, proxies: { HTTPS_PROXY: undefined, NO_PROXY: undefined } },
    banks: { fields: undefined, requiredFields: [] },
    cache: { ttlMs: 3_600_000, maxStaleMs: 7 * 86_400_000, snapshotFile: undefined },
    secrets: { MANAGEMENT_TOKEN: undefined, CACHE_REDIS_URL: undefined },
    corsOrigins: [],
    trustProxy: undefined,
    hotPath: true,
  });
  expect(parseConfig({ ...REQUIRED_IN_SANDBOX, ...GRANT }).provider).toMatchObject({
    tokenVariable: 'PROVIDER_TOKEN_URL',
    grants: { scope: undefined, format: 'form' },
  });
  expect(parseConfig(REQUIRED_IN_PRODUCTION).provider.baseUrl.href).toBe(
    'https://api.example.com/',
  );
});

test('each variable with a wrong value is named, all at once, and no value is repeated', () => {
  const wrong: EnvironmentVariables = {
    ...Object.fromEntries(VARIABLE_NAMES.map((name) => [name, '"MARK"'])),
    // What libraries would quote.
    PROVIDER_SANDBOX_BASE_URL: 'https://user:MARK@host',
    PROVIDER_PRODUCTION_BASE_URL: 'http://MARK',
    PROVIDER_TOKEN_URL: 'https://host/?token=MARK#',
    HTTPS_PROXY: 'http://user:MARK@proxy/path',
    HTTP_PROXY: 'http://user:MARK%@proxy',
    CACHE_REDIS_URL: 'redis://:MARK%zz@host',
    BANK_FEILDS: 'MARK',
  };
  const problems = problemsOf(wrong);
  expect(Object.keys(wrong).filter((name) => !problems.join('\n').includes(`${name}: `))).toEqual(
    [],
  );
  expect(problems.join()).not.toContain('MARK');
});

const DEMO = {
  PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
  MANAGEMENT_TOKEN: 'demo-management-token',
};
const TOKEN = 'PROVIDER_ACCESS_TOKEN, PROVIDER_ACCESS_TOKEN_FILE, PROVIDER_TOKEN_URL';
const WAYS =
  'configure exactly one way to a token: a fixed token, its file, or PROVIDER_TOKEN_URL with PROVIDER_CLIENT_ID and ' +
  'PROVIDER_CLIENT_SECRET or PROVIDER_CLIENT_SECRET_FILE';
const UNKNOWN = 'is not a variable of this service; .env.example lists them all';

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
    { ...REQUIRED_IN_PRODUCTION, PROVIDER_PRODUCTION_BASE_URL: '' },
    'PROVIDER_PRODUCTION_BASE_URL: is required when',
  ],
  [
    { ...REQUIRED_IN_PRODUCTION, BANK_FIELDS: '' },
    'BANK_FIELDS: is required in production: the fields that browsers',
  ],
  [{ ...REQUIRED_IN_PRODUCTION }],
  [{ ...REQUIRED_IN_PRODUCTION, ...GRANT }, 'PROVIDER_TOKEN_URL: must be https: in production'],
  [
    { ...REQUIRED_IN_PRODUCTION, PROVIDER_ACCESS_TOKEN: 'seven-7' },
    'PROVIDER_ACCESS_TOKEN: has fewer than 8 characters',
  ],
  [
    { ...REQUIRED_IN_PRODUCTION, ...DEMO },
    'MANAGEMENT_TOKEN: is the demo secret, which is public',
    'PROVIDER_ACCESS_TOKEN: is the demo secret, which is public',
  ],
  [{ ...DEMO }],
  [
    {
      ...REQUIRED_IN_PRODUCTION,
      ...GRANT,
      PROVIDER_TOKEN_URL: 'https://a',
      PROVIDER_CLIENT_SECRET: 'emulator-secret ',
    },
    'PROVIDER_CLIENT_SECRET: is the demo secret',
  ],
  [{ MANAGEMENT_TOKEN: 'fifteen-letters' }, 'MANAGEMENT_TOKEN: has fewer than 16 characters'],
  [
    { MANAGEMENT_TOKEN: 'a password of words' },
    'MANAGEMENT_TOKEN: has a character that no token has',
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
  ].map((name): [EnvironmentVariables, string] => [
    { [name]: 'https://login.example' },
    `${TOKEN}: more than one is configured;`,
  ]),
  [
    { PROVIDER_ACCESS_TOKEN: '', PROVIDER_CLIENT_ID: 'id' },
    'PROVIDER_TOKEN_URL: is required for the client-credentials grant',
    'PROVIDER_CLIENT_SECRET: is required for the client-credentials grant',
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
  [{ https_proxy: 'x y' }, 'HTTPS_PROXY: is not the address'],
  [{ NODE_DEBUG: 'http' }, 'NODE_DEBUG: makes Node print'],
  ...['BANK_', 'PROVIDER_', 'CACHE_', 'GUARD_', 'MANAGEMENT_'].map(
    (prefix): [EnvironmentVariables, string] => [
      { [`${prefix}NEW`]: '1' },
      `${prefix}NEW: ${UNKNOWN}`,
    ],
  ),
  // What Kubernetes adds for Services named `cache` and `bank-api`.
  [
    {
      CACHE_SERVICE_HOST: '10.0.0.1',
      CACHE_SERVICE_PORT: '80',
      CACHE_SERVICE_PORT_HTTP: '80',
      CACHE_PORT: 'tcp://10.0.0.1:80',
      CACHE_PORT_80_TCP: 'tcp://10.0.0.1:80',
      CACHE_PORT_80_TCP_PROTO: 'tcp',
      BANK_API_PORT_53_UDP_ADDR: '10.0.0.1',
    },
  ],
  [{ BANK_X: '', NODE_DEBUG: '' }],
  [{ HOME: '/', LOGLEVEL: 'x', BANKING: '1', FTP_PROXY: 'x', REDIS_URL: 'x' }],
])('beside what is needed, %j has these problems: %s', (env, ...problems) => {
  expect(problemsOf({ ...REQUIRED_IN_SANDBOX, ...env })).toEqual(
    problems.map((line) => expect.stringContaining(line)),
  );
});

const DEFAULTS = Object.fromEntries(VARIABLE_NAMES.map((name) => [name, defaultOf(name)]));

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
