import { expect, test } from '@jest/globals';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { VARIABLE_NAMES } from '../../src/config/variables.ts';
import type { Environment } from '../../src/config/reader.ts';
import { runNode } from '../kit/program.ts';

// check-config of the built program: the effective configuration, and no secret in it.

const emptyDirectory = (): string => mkdtempSync(join(tmpdir(), 'banks-bff-'));

const checkConfig = async (env: Environment, cwd = emptyDirectory()) => {
  const { exit, output } = runNode(resolve('dist/src/main.js'), { programArgs: ['check-config'], env, cwd });
  const status = await exit;
  const text = output();
  expect(text).not.toContain('hidden');
  /** Source and value of a variable. */
  const row = (name: string): string | undefined =>
    new RegExp(`^${name} +(.*)$`, 'm').exec(text)?.[1]?.replaceAll(/ +/g, ' ');
  return { status, text, row };
};

const SANDBOX = {
  PROVIDER_ENVIRONMENT: 'sandbox',
  PROVIDER_SANDBOX_BASE_URL: 'http://127.0.0.1:4000',
  PROVIDER_ACCESS_TOKEN: 'hidden-token',
};

test('a valid configuration is printed whole, with the source of each value, and status 0', async () => {
  const cwd = emptyDirectory();
  writeFileSync(join(cwd, '.env'), 'CACHE_TTL=5m\nCORS_ORIGINS=https://app.example.com\n');
  const file = join(cwd, 'management-token');
  writeFileSync(file, 'hidden-from-operators');
  const { status, text, row } = await checkConfig(
    { ...SANDBOX, CACHE_TTL: '10m', CORS_ORIGINS: '', MANAGEMENT_TOKEN_FILE: file },
    cwd,
  );
  expect(status).toBe(0);
  for (const name of VARIABLE_NAMES) expect([name, row(name)]).toEqual([name, expect.any(String)]);
  expect(row('PROVIDER_SANDBOX_BASE_URL')).toBe('environment http://127.0.0.1:4000');
  expect(row('CACHE_TTL')).toBe('environment 10m');
  expect(row('CORS_ORIGINS')).toBe('.env https://app.example.com');
  expect(row('CACHE_MAX_STALE')).toBe('default 7d');
  expect(row('BANK_FIELDS')).toBe('unset');
  expect(row('PROVIDER_ACCESS_TOKEN')).toBe('environment set');
  expect(row('MANAGEMENT_TOKEN_FILE')).toBe(`environment ${file} (readable)`);
  expect(text).toMatch(/\nThe configuration is valid\.\n$/);
});

test('every problem is printed, no invalid value is, and the status is 1', async () => {
  const { status, text, row } = await checkConfig({
    ...SANDBOX,
    PROVIDER_ACCESS_TOKEN: 'hidden with spaces',
    // The token itself, where the path belongs.
    MANAGEMENT_TOKEN_FILE: 'hidden-from-operators',
    CACHE_REDIS_URL: 'https://:hidden@redis',
    PORT: 'hidden',
    CORS_ORIGIN: 'hidden',
    PROVIDER_TLS_CA_FILE: '/hidden',
    https_proxy: 'ftp://hidden',
  });
  expect(status).toBe(1);
  expect(row('PORT')).toBe('environment see below');
  expect(row('PROVIDER_ACCESS_TOKEN')).toBe('environment see below');
  expect(row('PROVIDER_TLS_CA_FILE')).toBe('environment see below');
  expect(row('HTTPS_PROXY')).toBe('environment see below');
  expect(row('CACHE_REDIS_URL')).toBe('environment see below');
  expect(row('MANAGEMENT_TOKEN_FILE')).toBe('environment see below');
  const [, problems = ''] = text.split(/\nThe configuration has \d+ problems:\n/);
  for (const name of [
    'PORT',
    'PROVIDER_ACCESS_TOKEN',
    'CACHE_REDIS_URL',
    'MANAGEMENT_TOKEN_FILE',
    'CORS_ORIGIN',
  ])
    expect(problems).toMatch(new RegExp(`^  ${name}: `, 'm'));
});

test('an unreadable .env is reported with the other problems', async () => {
  const cwd = emptyDirectory();
  writeFileSync(join(cwd, '.env'), Buffer.from('\ufeffPORT=1\n', 'utf16le'));
  const { status, text, row } = await checkConfig({ ...SANDBOX, CACHE_TTL: '5' }, cwd);
  expect(status).toBe(1);
  expect(row('CACHE_MAX_STALE')).toBe('default 7d');
  expect(text).toContain('  .env: cannot be read (not UTF-8)');
  expect(text).toContain('  CACHE_TTL: is not a duration');
});

test('a value cannot write escape sequences to the terminal', async () => {
  const { text } = await checkConfig({ ...SANDBOX, PROVIDER_CLIENT_ID: '\u202ered' });
  expect(text).not.toContain('\u202e');
});
