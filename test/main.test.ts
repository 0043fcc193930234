import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmulator, type Emulator } from '../emulator/emulator.ts';
import type { Environment } from '../src/config/reader.ts';
import { closeLater } from './kit/close-later.ts';
import { runService } from './kit/process.ts';
import type { Program } from './kit/program.ts';

// The built process as an operator sees it: exit status, signals, output.

let emulator: Emulator;
let cwd: string;
beforeEach(async () => {
  emulator = await startEmulator();
  cwd = mkdtempSync(join(tmpdir(), 'banks-bff-'));
});
afterEach(async () => {
  await emulator.close();
});

const inFolder = (name: string): string => join(cwd, name);
const run = (env: Environment, options: Parameters<typeof runService>[1] = {}): Program => {
  const program = runService({ PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl, ...env }, { cwd, ...options });
  closeLater(() => program.child.kill('SIGKILL'));
  return program;
};

test('an invalid configuration ends it with status 1, a line for each problem, and no value', async () => {
  execFileSync('mkfifo', [inFolder('pipe')]);
  writeFileSync(inFolder('token'), 'emulator-access-token\n');
  const dotEnv = [
    // A byte order mark hides no variable.
    '\ufeffPORT=SECRET-1',
    '# A comment = "with a quote',
    'CACHE_MAX_STALE: 7d',
    'CACHE_TTL=5m',
    'export LOG_LEVEL = warn # a comment',
    "NO_PROXY='localhost",
    'NO_PROXY=within quotes',
    "'",
    'CACHE_TTL="6m"',
    'BROWSER_MAX_AGE 5m',
  ];
  writeFileSync(inFolder('.env'), dotEnv.join('\n'));
  const { exit, output } = run({
    PORT: '',
    PROVIDER_ENVIRONMENT: 'production',
    PROVIDER_PRODUCTION_BASE_URL: 'https://127.0.0.1:9',
    PROVIDER_ACCESS_TOKEN: '',
    // That of the demo.
    PROVIDER_ACCESS_TOKEN_FILE: inFolder('token'),
    MANAGEMENT_TOKEN_FILE: inFolder('pipe'),
    PROVIDER_TLS_CA_FILE: '/nowhere/SECRET',
    CACHE_TTLL: 'SECRET-3',
    // These are judged by libraries.
    TRUST_PROXY: '0.0.0.0/0',
    CACHE_REDIS_URL: 'redis://:SECRET%zz@127.0.0.1',
    // It would make Node print tokens.
    NODE_DEBUG: 'stream',
  });
  expect(await exit).toBe(1);
  expect(output().match(/(?<=^ {2})[^;?\n]+/gm)).toEqual([
    'PORT: is not a port',
    'NO_PROXY: has a control character, such as a line break',
    'CACHE_REDIS_URL: has a % in its user or password that does not start an escape',
    'TRUST_PROXY: must be the number of proxies in front, or their addresses such as 10.0.0.0/8',
    '.env line 3: is not NAME=value',
    '.env line 9: gives CACHE_TTL, as line 4 does',
    '.env line 10: is not NAME=value',
    'MANAGEMENT_TOKEN_FILE: cannot be read (not a regular file)',
    'PROVIDER_ACCESS_TOKEN_FILE: is the one of the demo, which everybody knows',
    'PROVIDER_TLS_CA_FILE: cannot be read (ENOENT)',
    'CACHE_TTLL: is not a variable of this service',
    'NODE_DEBUG: makes Node print what passes through it, secrets included',
  ]);
  expect(output()).toContain('has 12 problems:');
  expect(output()).not.toMatch(/SECRET|^ +at /m);
});

test('a .env that is a pipe is not waited for', async () => {
  execFileSync('mkfifo', [inFolder('.env')]);
  const { exit, output } = run({});
  expect(await exit).toBe(1);
  expect(output()).toContain('\n  .env: cannot be read (not a regular file)');
});

test('a port that is in use, and a host that does not exist, are named with the variable', async () => {
  const { port } = new URL(emulator.baseUrl);
  for (const name of ['PORT', 'MANAGEMENT_PORT']) {
    const { exit, output } = run({ [name]: port });
    expect(await exit).toBe(1);
    expect(output()).toContain(`cannot start. ${name}: another program uses port ${port}`);
  }
  const { exit, output } = run({ HOST: 'nowhere.invalid' });
  expect(await exit).toBe(1);
  expect(output()).toMatch(/PORT: nowhere\.invalid is not an address of this machine \(\w+\); set HOST to/);
});

test('a .env file is read, the environment has precedence, and SIGHUP ends it with status 0', async () => {
  writeFileSync(inFolder('.env'), 'PROVIDER_ACCESS_TOKEN=emulator-access-token\nBANK_FIELDS=ispb\n');
  // An empty value counts as unset.
  const service = run({ BANK_FIELDS: 'name', PROVIDER_ACCESS_TOKEN: '' });
  const [, url] = await service.says(/"url":"([^"]+)"/);
  const banks: unknown = await (await fetch(`${url}/banks`)).json();
  expect(banks).toContainEqual({ name: 'BCO DO BRASIL S.A.' });
  service.child.kill('SIGHUP');
  expect(await service.exit).toBe(0);
});

test('a signal that comes before anything is loaded ends the service with status 0, and another command with its own', async () => {
  /** Sends the process `signal` as soon as it listens for SIGUSR1, which it does before it loads anything. */
  const runSignalled = (signal: string, ...programArgs: string[]): Program =>
    run(
      {},
      {
        programArgs,
        preload: `process.on('newListener', (name) => {
        if (name === 'SIGUSR1') process.kill(process.pid, '${signal}');
      });`,
      },
    );
  const [service, doctor] = [runSignalled('SIGTERM'), runSignalled('SIGINT', 'doctor')];
  expect([await service.exit, service.output()]).toEqual([0, '']);
  expect(await doctor.exit).toBe(130);
});
