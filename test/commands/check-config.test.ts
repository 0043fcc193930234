import { expect, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { printConfig } from '../../src/commands/check-config.ts';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { VARIABLE_NAMES } from '../../src/config/variables.ts';
import { runCommand } from '../helpers/run-command.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// check-config: the effective configuration, and no secret in it.

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
  const directory = temporaryFolder();
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
  expect(row('MANAGEMENT_TOKEN_FILE')).toBe(`environment ${file}`);
  expect(text).toMatch(/\nThe configuration is valid\.\n$/);
});

test('every problem is printed, no invalid value is, and the status is 1', async () => {
  const directory = temporaryFolder();
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
    { ...SANDBOX, ...wrong, CACHE_TTLL: 'hidden' },
    directory,
  );
  expect(status).toBe(1);
  expect(row('CACHE_MAX_STALE')).toBe('default 7d');
  for (const name of Object.keys(wrong))
    expect([name, row(name.toUpperCase())]).toEqual([name, 'environment see below']);
  const [, problems = ''] = text.split('\nThe configuration has 9 problems:\n');
  for (const name of [...Object.keys(wrong), 'CACHE_TTLL', '.env'])
    expect(problems).toMatch(new RegExp(`^  ${name}: `, 'im'));
});

test('no secret is printed, in whatever variable it is, and nothing that writes to the terminal', async () => {
  const secrets = {
    MANAGEMENT_TOKEN: 'hidden-from-operators',
    PROVIDER_TOKEN_URL: 'https://login.example/token?key=hidden',
    PROVIDER_TOKEN_PARAMS: 'key=hidden',
    PROVIDER_CLIENT_SECRET: 'hidden-secret',
    PROVIDER_QUERY: 'key=hidden',
    PROVIDER_HEADERS: 'x-api-key: hidden',
    HTTPS_PROXY: 'http://user:hidden@proxy.example:3128',
    HTTP_PROXY: 'http://user:hidden@proxy.example:3128',
    CACHE_REDIS_URL: 'redis://:hidden@redis.example',
    CACHE_SIGNING_KEY: 'hidden-key-of-more-than-32-characters',
  };
  const { status, text, row } = await checkConfig({
    ...SANDBOX,
    ...secrets,
    PROVIDER_ACCESS_TOKEN: '',
    PROVIDER_CLIENT_ID: '\u202ered',
  });
  expect([status, text.includes('hidden')]).toEqual([0, false]);
  expect(row('PROVIDER_CLIENT_ID')).toBe(String.raw`environment \u{202e}red`);
  for (const name of Object.keys(secrets))
    expect([name, row(name)]).toEqual([name, 'environment set']);
});
