import { expect, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { printConfig } from '../../src/commands/check-config.ts';
import type { EnvironmentVariables } from '../../src/config/reader.ts';
import { VARIABLE_NAMES } from '../../src/config/variables.ts';
import { runCommand } from '../helpers/run-command.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// check-config: the effective configuration, and no secret in it.

const emptyDirectory = (): string => temporaryFolder();

const checkConfig = async (env: EnvironmentVariables, directory?: string) => {
  const result = await runCommand(printConfig, env, directory);
  expect(result.text).not.toContain('hidden');
  /** Source and value of a variable. */
  const row = (name: string): string | undefined =>
    new RegExp(`^${name} +(.*)$`, 'm').exec(result.text)?.[1]?.replaceAll(/ +/g, ' ');
  return { ...result, row };
};

const SANDBOX = {
  PROVIDER_ENVIRONMENT: 'sandbox',
  PROVIDER_SANDBOX_BASE_URL: 'http://127.0.0.1:4000',
  PROVIDER_ACCESS_TOKEN: 'hidden-token',
};

test('a valid configuration is printed whole, with the source of each value, and status 0', async () => {
  const directory = emptyDirectory();
  writeFileSync(
    join(directory, '.env'),
    'CACHE_TTL=5m\nCORS_ORIGINS=https://app.example.com\nPROVIDER_TLS_CA_FILE=\nno_proxy=lower\nHOST=\n',
  );
  const file = join(directory, 'management-token');
  writeFileSync(file, 'hidden-from-operators');
  const own = {
    CACHE_TTL: '10m',
    CORS_ORIGINS: '',
    MANAGEMENT_TOKEN_FILE: file,
    NO_PROXY: 'upper',
  };
  const { status, text, row } = await checkConfig({ ...SANDBOX, ...own }, directory);
  expect(status).toBe(0);
  for (const name of VARIABLE_NAMES) expect([name, row(name)]).toEqual([name, expect.any(String)]);
  expect(row('PROVIDER_SANDBOX_BASE_URL')).toBe('environment http://127.0.0.1:4000');
  expect(row('CACHE_TTL')).toBe('environment 10m');
  expect(row('CORS_ORIGINS')).toBe('.env https://app.example.com');
  expect(row('CACHE_MAX_STALE')).toBe('default 7d');
  expect(row('HOST')).toBe('default 0.0.0.0');
  expect(row('NO_PROXY')).toBe('.env lower');
  expect(row('BANK_FIELDS')).toBe('unset');
  expect(row('PROVIDER_ACCESS_TOKEN')).toBe('environment set');
  expect(row('MANAGEMENT_TOKEN_FILE')).toBe(`environment ${file} (readable)`);
  expect(text).toMatch(/\nThe configuration is valid\.\n$/);
});

test('every problem is printed, no invalid value is, and the status is 1', async () => {
  const directory = emptyDirectory();
  writeFileSync(join(directory, '.env'), Buffer.from('\ufeffPORT=1\n', 'utf16le'));
  const wrong = {
    PORT: 'hidden',
    PROVIDER_ACCESS_TOKEN: 'hidden with spaces',
    // The token itself, where the path belongs.
    MANAGEMENT_TOKEN_FILE: 'hidden-from-operators',
    CACHE_REDIS_URL: 'https://:hidden@redis',
    PROVIDER_TLS_CA_FILE: '/hidden',
    HTTPS_PROXY: 'ftp://hidden',
    http_proxy: 'hidden hidden',
  };
  const { status, text, row } = await checkConfig(
    { ...SANDBOX, ...wrong, CORS_ORIGIN: 'hidden' },
    directory,
  );
  expect(status).toBe(1);
  expect(row('CACHE_MAX_STALE')).toBe('default 7d');
  for (const name of Object.keys(wrong))
    expect([name, row(name.toUpperCase())]).toEqual([name, 'environment see below']);
  const [, problems = ''] = text.split('\nThe configuration has 9 problems:\n');
  for (const name of [...Object.keys(wrong), 'CORS_ORIGIN', '.env'])
    expect(problems).toMatch(new RegExp(`^  ${name}: `, 'm'));
});

test('a secret in the value of another variable is redacted, also one that is not valid', async () => {
  const proxy = 'http://user:password@proxy.example.com';
  const lower = { ...SANDBOX, https_proxy: proxy, PROVIDER_CLIENT_ID: `id-${proxy}` };
  expect((await checkConfig(lower)).redacted).toMatch(/^PROVIDER_CLIENT_ID .* id-\[redacted\]$/m);
  for (const secret of ['management-token', 'too-short']) {
    const env = { ...SANDBOX, MANAGEMENT_TOKEN: secret, PROVIDER_CLIENT_ID: `id-${secret}` };
    expect((await checkConfig(env)).redacted).toMatch(/^PROVIDER_CLIENT_ID .* id-\[redacted\]$/m);
  }
});

test('no secret is printed, in whatever variable it is', async () => {
  const env = {
    MANAGEMENT_TOKEN: 'hidden-management-token',
    PROVIDER_CLIENT_SECRET: 'hidden-secret',
    HTTPS_PROXY: 'http://user:hidden@proxy',
    HTTP_PROXY: 'http://user:hidden@proxy',
    CACHE_REDIS_URL: 'redis://:hidden@redis',
    CACHE_SIGNING_KEY: 'hidden-key-of-more-than-32-characters',
  };
  const { row } = await checkConfig({ ...env, PROVIDER_ENVIRONMENT: 'sandbox' });
  for (const name of Object.keys(env)) expect([name, row(name)]).toEqual([name, 'environment set']);
});

test('of the address of the token endpoint, the query is not printed, nor anything if it is not valid', async () => {
  const directory = emptyDirectory();
  writeFileSync(
    join(directory, '.env'),
    'PROVIDER_TOKEN_URL=https://login.example/token?key=hidden?hidden&tenant=hidden\n',
  );
  const { text, row } = await checkConfig({ PROVIDER_ENVIRONMENT: 'sandbox' }, directory);
  expect(row('PROVIDER_TOKEN_URL')).toBe('.env https://login.example/token?[redacted]');
  expect(text).not.toContain('  PROVIDER_TOKEN_URL: ');
  const wrong = { PROVIDER_TOKEN_URL: 'https://user:hidden@login.example/token?key=hidden' };
  expect((await checkConfig(wrong)).row('PROVIDER_TOKEN_URL')).toBe('environment see below');
});

test('a value cannot write escape sequences to the terminal', async () => {
  const { text } = await checkConfig({ ...SANDBOX, PROVIDER_CLIENT_ID: '\u202ered' });
  expect(text).not.toContain('\u202e');
});

test('a secret in a file may be as long as in a variable, whatever line break follows it', async () => {
  const file = join(emptyDirectory(), 'secret');
  const longest = 'x'.repeat(8_192);
  const address = `redis://:${longest}`.slice(0, 8_183) + '@redis:99';
  const { PROVIDER_ACCESS_TOKEN: _, ...rest } = SANDBOX;
  const client = { PROVIDER_TOKEN_URL: 'http://login.example/token', PROVIDER_CLIENT_ID: 'id' };
  for (const [variable, secret, env] of [
    ['PROVIDER_ACCESS_TOKEN_FILE', longest, rest],
    ['PROVIDER_CLIENT_SECRET_FILE', longest, { ...rest, ...client }],
    ['MANAGEMENT_TOKEN_FILE', longest, SANDBOX],
    ['CACHE_SIGNING_KEY_FILE', longest, SANDBOX],
    ['CACHE_REDIS_URL_FILE', address, SANDBOX],
  ] as const) {
    const check = async (content: string): Promise<string> => {
      writeFileSync(file, content);
      return (await checkConfig({ ...env, [variable]: file })).text;
    };
    expect(Buffer.byteLength(secret)).toBe(8_192);
    expect(await check(`${secret}\r\n`)).toContain('The configuration is valid.');
    expect(await check(`${secret}9\n`)).toContain(`${variable}: has more than 8192 bytes`);
    expect(await check(`${secret}${'\n'.repeat(8_193)}`)).toContain(
      `${variable}: cannot be read (more than 16384 bytes)`,
    );
  }
});

test('what would be ignored of the address of Redis is a problem', async () => {
  const file = join(emptyDirectory(), 'address');
  writeFileSync(file, 'redis://:hidden@redis?db=2\n');
  const said =
    'must have no query or fragment, which would be ignored; the number of a database is';
  const inFile = await checkConfig({ ...SANDBOX, CACHE_REDIS_URL_FILE: file });
  expect(inFile.text).toContain(`\n  CACHE_REDIS_URL_FILE: ${said}`);
  const given = await checkConfig({ ...SANDBOX, CACHE_REDIS_URL: 'redis://:hidden@redis/0#2' });
  expect(given.text).toContain(`\n  CACHE_REDIS_URL: ${said}`);
});

test('a number of banks that no list can have is a problem', async () => {
  const { text } = await checkConfig({ ...SANDBOX, GUARD_MIN_BANKS: '50001' });
  expect(text).toContain('\n  GUARD_MIN_BANKS: is not a number of banks; use a whole number');
});

test.each([
  ['http://0.0.0.0', 'is not an address or a host name; write it without scheme, port, path'],
  ['0.0.0.0:3000', 'is not an address or a host name; write it without scheme, port, path'],
  ['[::]', 'brackets and *, such as 127.0.0.1, or 0.0.0.0 or :: for all addresses'],
  ['*', 'brackets and *, such as 127.0.0.1, or 0.0.0.0 or :: for all addresses'],
])('%s is no host on which a port can be opened', async (host, said) => {
  for (const name of ['HOST', 'MANAGEMENT_HOST']) {
    const { status, text } = await checkConfig({ ...SANDBOX, [name]: host });
    expect(text).toMatch(new RegExp(`\n  ${name}: .*${said.replace('*', String.raw`\*`)}`));
    expect(status).toBe(1);
  }
});

test.each([
  ['CACHE_REDIS_URL', 'redis://', 'use one such as redis://host:6379 or rediss://user:'],
  ['HTTPS_PROXY', 'http://', 'use one such as http://user:password@proxy.example.com:3128'],
  ['http_proxy', 'http:///', 'use one such as http://user:password@proxy.example.com:3128'],
])(
  'of %s=%s, what would be right can be read: there is no secret in it',
  async (name, text, said) => {
    const { status, redacted } = await checkConfig({ ...SANDBOX, [name]: text });
    expect(status).toBe(1);
    expect(redacted).toContain(said);
  },
);

test.each([
  ['HTTPS_PROXY', 'http://127.0.0.1:400'],
  ['CACHE_REDIS_URL', 'redis://[::1]:6379/15'],
])('an address without a secret, %s=%s, is not taken for one elsewhere', async (name, address) => {
  const { redacted } = await checkConfig({ ...SANDBOX, [name]: address, NO_PROXY: `${address}0` });
  expect(redacted).toMatch(
    new RegExp(`^NO_PROXY +environment  ${address.replaceAll(/[[\]]/g, '\\$&')}0$`, 'm'),
  );
});

test.each([
  'a-misplaced-password',
  'redis://user:p-assword@host',
  'redis://p-assword@host',
  'redis://:p-assword',
  'redis://:1234567',
  'redis://host?key=p-assword',
  'redis://host#p-assword',
  'redis://host/p-assword',
])('%s in the place of an address is redacted wherever it is', async (secret) => {
  for (const name of ['CACHE_REDIS_URL', 'HTTPS_PROXY', 'http_proxy']) {
    const env = { ...SANDBOX, [name]: secret, PROVIDER_CLIENT_ID: `id-${secret}` };
    expect((await checkConfig(env)).redacted).toMatch(/^PROVIDER_CLIENT_ID .* id-\[redacted\]$/m);
  }
});
