import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { closeLater } from '../helpers/close-later.ts';
import { needProgram } from '../helpers/needs.ts';
import { LISTENING } from '../helpers/process.ts';
import { createProcessStage } from '../helpers/process-stage.ts';
import { runProgram } from '../helpers/program.ts';
import { SANDBOX } from '../helpers/sandbox.ts';
import { eventually } from '../helpers/wait-until.ts';

// The built process as an operator sees it when it starts: its exit status and what it writes, its
// environment, and clients that come at once.

const { emulator, inFolder, run, start } = createProcessStage();

const { describeWithIt: describeWithTerminal } = needProgram(
  ['script'],
  'On Debian and Ubuntu: apt-get install bsdutils',
);

test('it survives clients that take every file descriptor as soon as it listens', async () => {
  const service = await start({ CACHE_SNAPSHOT_FILE: inFolder('banks.json'), CACHE_TTL: '1s' });
  const { port } = new URL(service.url);
  execFileSync('prlimit', ['--pid', String(service.child.pid), '--nofile=60:60']);
  const sockets = new Set<Socket>();
  let closed = 0;
  /** Also takes the descriptors that become free, such as that of a load when it ends. */
  const takeAll = (): void => {
    while (sockets.size < 100) {
      const socket = connect(Number(port)).on('error', () => undefined);
      sockets.add(socket);
      socket.on('close', () => {
        sockets.delete(socket);
        closed += 1;
      });
    }
  };
  takeAll();
  // Those that it cannot accept are closed.
  await eventually(() => closed > 0);
  // A load fails for want of a descriptor, and not only a write of the snapshot.
  await eventually(() => {
    takeAll();
    return /load failed.*EMFILE/.test(service.written());
  });
  for (const socket of sockets) socket.destroy();
  await eventually(() => service.written().includes('list: recovered'));
  for (const url of [
    `${service.url}/openapi.json`,
    `${service.managementUrl}/metrics`,
    `${service.managementUrl}/`,
  ])
    expect((await fetch(url)).status).toBe(200);
});

test('900 connections that come while it is busy wait for it', async () => {
  const { child, url } = await start({});
  child.kill('SIGSTOP');
  const { port } = new URL(url);
  let connected = 0;
  const statusLines: string[] = [];
  for (let count = 0; count < 900; count += 1) {
    const socket = connect(Number(port)).on('connect', () => (connected += 1));
    closeLater(() => socket.destroy());
    socket.once('data', (chunk) => statusLines.push(String(chunk).split('\r\n', 1)[0] ?? ''));
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
  }
  // The others would be delayed by a second, by three, and so on.
  await eventually(() => connected === 900);
  child.kill('SIGCONT');
  await eventually(() => statusLines.length === 900);
  expect(new Set(statusLines)).toEqual(new Set(['HTTP/1.1 200 OK']));
});

describeWithTerminal('a terminal', () => {
  test('that is stopped does not block it', async () => {
    const program = runProgram('script', {
      args: ['-qec', `${process.execPath} ${resolve('dist/src/main.js')}`, '/dev/null'],
      cwd: tmpdir(),
      env: { ...SANDBOX, PROVIDER_SANDBOX_BASE_URL: emulator().baseUrl, SHUTDOWN_GRACE: '100ms' },
    });
    closeLater(() => program.child.kill('SIGKILL'));
    const [, url = ''] = await program.says(LISTENING);
    program.child.stdout.pause();
    // Some 600 kB of lines: neither the terminal nor the pipe behind it holds as much.
    for (let count = 0; count < 2_000; count += 100) {
      const asked = Array.from({ length: 100 }, () => fetch(`${url}/nothing`));
      for (const { status } of await Promise.all(asked)) expect(status).toBe(404);
    }
  });
});

test('an invalid configuration ends it with status 1, a line for each problem, and no value', async () => {
  execFileSync('mkfifo', [inFolder('pipe')]);
  writeFileSync(inFolder('token'), 'emulator-access-token\n');
  const dotEnv = [
    // A byte order mark hides no variable.
    '\ufeffPORT=SECRET-1',
    '# A comment = "with a quote',
    'CACHE_TTL=5m',
    'export LOG_LEVEL = warn # a comment',
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
    // These are checked by libraries.
    TRUST_PROXY: '0.0.0.0/0',
    CACHE_REDIS_URL: 'redis://:SECRET%zz@127.0.0.1',
    CACHE_SNAPSHOT_FILE: inFolder('pipe'),
    // It would make Node print tokens.
    NODE_DEBUG: 'stream',
  });
  expect(await exit).toBe(1);
  expect(output().match(/(?<=^ {2})[^;?\n]+/gm)).toEqual([
    'PORT: is not a port',
    'TRUST_PROXY: must be the number of proxies in front, or their addresses such as 10.0.0.0/8',
    'CACHE_TTLL: is not a variable of this service',
    'NODE_DEBUG: makes Node print what passes through it, secrets included',
    'CACHE_REDIS_URL: is not a Redis address',
    'CACHE_SNAPSHOT_FILE: cannot be read (not a regular file)',
    'MANAGEMENT_TOKEN_FILE: cannot be read (not a regular file)',
    'PROVIDER_ACCESS_TOKEN_FILE: is the demo secret, which is public',
    'PROVIDER_TLS_CA_FILE: cannot be read (ENOENT)',
  ]);
  expect(output()).toContain('has 9 problems:');
  expect(output()).not.toMatch(/SECRET|^ +at /m);
});

test('a port that is in use, and an address of another machine, are named with their variables', async () => {
  const { port } = new URL(emulator().baseUrl);
  const first = run({ PORT: port });
  // RFC 5737: no machine has it.
  const second = run({ MANAGEMENT_HOST: '192.0.2.1', PORT: '0', MANAGEMENT_PORT: '0' });
  expect([await first.exit, await second.exit]).toEqual([1, 1]);
  expect(first.output()).toContain(`cannot start. PORT: another program uses port ${port}`);
  expect(second.output()).toMatch(
    /MANAGEMENT_HOST: 192\.0\.2\.1 is not an address of this machine \(EADDRNOTAVAIL\); set MANAGEMENT_HOST to/m,
  );
  expect(second.output()).not.toMatch(/^ +at /m);
});

test('a .env file is read, the environment has precedence, DEBUG makes no library print requests, and SIGHUP ends it with status 0', async () => {
  writeFileSync(
    inFolder('.env'),
    'PROVIDER_ACCESS_TOKEN=emulator-access-token\nBANK_FIELDS=ispb\n',
  );
  // An empty value counts as unset.
  const service = run({ BANK_FIELDS: 'name', PROVIDER_ACCESS_TOKEN: '', DEBUG: '*' });
  const [, url] = await service.says(LISTENING);
  const banks: unknown = await (await fetch(`${url}/banks`)).json();
  expect(banks).toContainEqual({ name: 'BCO DO BRASIL S.A.' });
  await fetch(`${url}/nothing?SECRET-QUERY`);
  expect(await service.end('SIGHUP')).toBe(0);
  expect(service.output()).toContain('"path":"/nothing"');
  expect(service.output()).not.toContain('SECRET-QUERY');
});
