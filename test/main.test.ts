import { afterEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmulator } from '../emulator/emulator.ts';
import { runNode, type Program } from './kit/program.ts';

// The built process as an operator sees it: exit status, signals, output.

const MAIN = fileURLToPath(new URL('../dist/src/main.js', import.meta.url));

const programs: Program[] = [];
afterEach(() => {
  for (const { child } of programs.splice(0)) child.kill('SIGKILL');
});

const run = (env: Record<string, string>, cwd = mkdtempSync(join(tmpdir(), 'banks-bff-'))): Program => {
  const program = runNode(MAIN, { env, cwd });
  programs.push(program);
  return program;
};

const SERVICE = {
  HOST: '127.0.0.1',
  PORT: '0',
  MANAGEMENT_PORT: '0',
  PROVIDER_ENVIRONMENT: 'sandbox',
  BANK_FIELDS: 'code,name',
};

describe('an invalid configuration', () => {
  test('ends the process with status 1, naming every variable and no value', async () => {
    const { exit, output } = run({
      PORT: 'SECRET-1',
      PROVIDER_ACCESS_TOKEN: 'SECRET-2 with blank',
      CACHE_TTLL: 'SECRET-3',
    });
    expect(await exit).toBe(1);
    for (const name of ['PORT', 'PROVIDER_ACCESS_TOKEN', 'CACHE_TTLL', 'PROVIDER_ENVIRONMENT']) {
      expect(output()).toMatch(new RegExp(`^  ${name}:`, 'm'));
    }
    expect(output()).not.toContain('SECRET');
  });

  test.each(['PORT', 'MANAGEMENT_PORT'])(
    'includes a port that is in use, and says which: %s',
    async (name) => {
      const emulator = await startEmulator();
      const { port } = new URL(emulator.baseUrl);
      const { exit, output } = run({
        ...SERVICE,
        [name]: port,
        PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
        PROVIDER_ACCESS_TOKEN: 'token',
      });
      expect(await exit).toBe(1);
      expect(output()).toContain(`cannot start. ${name}: ${port} is already in use`);
      await emulator.close();
    },
  );

  test('includes what is wrong with lines of .env', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'banks-bff-'));
    writeFileSync(
      join(cwd, '.env'),
      [
        '# A comment = "with a quote',
        'CACHE_MAX_STALE: 7d',
        'CACHE_TTL=5m',
        'export LOG_LEVEL = warn # a comment',
        "NO_PROXY='localhost",
        'NO_PROXY=within quotes',
        "'",
        'CACHE_TTL="6m"',
        'BROWSER_MAX_AGE 5m',
      ].join('\n'),
    );
    const { exit, output } = run({ ...SERVICE, PROVIDER_ACCESS_TOKEN: 'token' }, cwd);
    expect(await exit).toBe(1);
    expect(output().match(/^ {2}\.env.*$/gm)).toEqual([
      '  .env line 2: is not NAME=value; write = after the name',
      '  .env line 8: gives CACHE_TTL, as line 3 does; keep one of them',
      '  .env line 9: is not NAME=value; write = after the name',
    ]);
  });

  test('includes a secret of the demo in production, in a variable or a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'banks-bff-'));
    const file = join(folder, 'token');
    writeFileSync(file, 'emulator-access-token\n');
    const production = {
      ...SERVICE,
      PROVIDER_ENVIRONMENT: 'production',
      PROVIDER_PRODUCTION_BASE_URL: 'https://127.0.0.1:9',
      MANAGEMENT_TOKEN: 'demo-management-token',
    };
    for (const [name, token] of [
      ['PROVIDER_ACCESS_TOKEN', 'emulator-access-token'],
      ['PROVIDER_ACCESS_TOKEN_FILE', file],
    ] as const) {
      const { exit, output } = run({ ...production, [name]: token });
      // oxlint-disable-next-line no-await-in-loop -- one process after the other
      expect(await exit).toBe(1);
      expect(output()).toMatch(new RegExp(`^ {2}${name}: is the one of the demo`, 'm'));
      expect(output()).toMatch(/^ {2}MANAGEMENT_TOKEN: is the one of the demo/m);
      expect(output()).toContain('has 2 problems:');
    }
  });

  test('includes a token file that does not exist', async () => {
    const { exit, output } = run({
      ...SERVICE,
      PROVIDER_SANDBOX_BASE_URL: 'http://127.0.0.1:9',
      PROVIDER_ACCESS_TOKEN_FILE: '/nowhere/token',
    });
    expect(await exit).toBe(1);
    expect(output()).toMatch(/^ {2}PROVIDER_ACCESS_TOKEN_FILE: cannot be read \(ENOENT\)/m);
  });
});

describe('a pipe in place of a file', () => {
  const pipe = (name: string): string => {
    const directory = mkdtempSync(join(tmpdir(), 'banks-bff-'));
    execFileSync('mkfifo', [join(directory, name)]);
    return directory;
  };

  test.each(['PROVIDER_ACCESS_TOKEN_FILE', 'MANAGEMENT_TOKEN_FILE'])(
    'is refused as %s, without waiting for data',
    async (name) => {
      const { exit, output } = run({
        ...SERVICE,
        PROVIDER_SANDBOX_BASE_URL: 'http://127.0.0.1:9',
        ...(name === 'MANAGEMENT_TOKEN_FILE' && { PROVIDER_ACCESS_TOKEN: 'emulator-access-token' }),
        [name]: join(pipe('token'), 'token'),
      });
      expect(await exit).toBe(1);
      expect(output()).toMatch(new RegExp(`^ {2}${name}: cannot be read \\(not a regular file\\)`, 'm'));
    },
  );

  test('is refused as .env', async () => {
    const { exit, output } = run(SERVICE, pipe('.env'));
    expect(await exit).toBe(1);
    expect(output()).toContain('.env: cannot be read (not a regular file)');
  });
});

test('NODE_DEBUG, which makes Node print tokens, prevents the service from starting', async () => {
  const { exit, output } = run({
    ...SERVICE,
    PROVIDER_SANDBOX_BASE_URL: 'http://127.0.0.1:9',
    PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
    NODE_DEBUG: 'stream',
  });
  expect(await exit).toBe(1);
  expect(output()).toMatch(/^ {2}NODE_DEBUG: makes Node print/m);
});

test('a value that only a library rejects is reported like any other', async () => {
  const { exit, output } = run({
    ...SERVICE,
    PROVIDER_SANDBOX_BASE_URL: 'http://127.0.0.1:9',
    PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
    TRUST_PROXY: '0.0.0.0/0',
    CACHE_REDIS_URL: 'redis://:%zz@127.0.0.1',
  });
  expect(await exit).toBe(1);
  expect(output()).toMatch(/^ {2}TRUST_PROXY: must be/m);
  expect(output()).toMatch(/^ {2}CACHE_REDIS_URL: has a %/m);
  expect(output()).not.toMatch(/^ +at /m);
});

test('a byte order mark in .env hides no variable', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'banks-bff-'));
  writeFileSync(join(cwd, '.env'), '\ufeffPROVIDER_ACCESS_TOKEN=two words\n');
  const { exit, output } = run(SERVICE, cwd);
  expect(await exit).toBe(1);
  expect(output()).toContain('PROVIDER_ACCESS_TOKEN: has a character');
});

test('a .env file in another encoding is refused', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'banks-bff-'));
  writeFileSync(join(cwd, '.env'), Buffer.from('\ufeffPORT=1\n', 'utf16le'));
  const { exit, output } = run(SERVICE, cwd);
  expect(await exit).toBe(1);
  expect(output()).toContain('.env: cannot be read (not UTF-8)');
});

test('a .env file is read, and the environment has precedence', async () => {
  const emulator = await startEmulator();
  const cwd = mkdtempSync(join(tmpdir(), 'banks-bff-'));
  writeFileSync(
    join(cwd, '.env'),
    `PROVIDER_SANDBOX_BASE_URL=${emulator.baseUrl}\nPROVIDER_ACCESS_TOKEN=emulator-access-token\nBANK_FIELDS=ispb\n`,
  );
  const service = run({ ...SERVICE, BANK_FIELDS: 'name' }, cwd);
  const [, url] = await service.says(/"url":"([^"]+)"/);
  const banks: unknown = await (await fetch(`${url}/banks`)).json();
  expect(banks).toContainEqual({ name: 'BCO DO BRASIL S.A.' });
  service.child.kill('SIGINT');
  expect(await service.exit).toBe(0);
  await emulator.close();
});

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  '%s ends the process with status 0, after the responses in progress',
  async (signal) => {
    const emulator = await startEmulator();
    await emulator.behave('slow', { delayMs: 300 });
    const service = run({
      ...SERVICE,
      SHUTDOWN_GRACE: '3s',
      PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
      PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
    });
    const [, url] = await service.says(/"url":"([^"]+)"/);
    const answer = fetch(`${url}/banks`);
    // Once a later request has its answer, the earlier one is under way.
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    service.child.kill(signal);
    expect((await answer).status).toBe(200);
    expect(await service.exit).toBe(0);
    await emulator.close();
  },
);

describe('a signal that comes before anything is loaded', () => {
  /** Sends the process `signal` as soon as it listens for SIGUSR1, which it does before it loads anything. */
  const runSignalled = (signal: string, programArgs: string[] = []): Program => {
    const code = `process.on('newListener', (name) => {
      if (name === 'SIGUSR1') process.kill(process.pid, '${signal}');
    });`;
    const program = runNode(MAIN, {
      args: ['--import', `data:text/javascript,${encodeURIComponent(code)}`],
      env: {
        ...SERVICE,
        PROVIDER_SANDBOX_BASE_URL: 'http://127.0.0.1:9',
        PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
      },
      cwd: mkdtempSync(join(tmpdir(), 'banks-bff-')),
      programArgs,
    });
    programs.push(program);
    return program;
  };

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'])(
    'is remembered: %s ends the service with status 0, before it listens',
    async (signal) => {
      const { exit, output } = runSignalled(signal);
      expect(await exit).toBe(0);
      expect(output()).toBe('');
    },
  );

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ])('ends another command: %s with status %i', async (signal, status) => {
    expect(await runSignalled(signal, ['doctor']).exit).toBe(status);
  });
});
