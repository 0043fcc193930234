import { beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Emulator } from '../emulator/emulator.ts';
import type { Environment } from '../src/config/reader.ts';
import { closeLater } from './helpers/close-later.ts';
import { emulate } from './helpers/emulate.ts';
import { findFreePort, listenOn } from './helpers/free-port.ts';
import { LISTENING, runService, startProcess } from './helpers/process.ts';
import type { Program } from './helpers/program.ts';
import { eventually, waitUntil } from './helpers/wait-until.ts';
import { temporaryFolder } from './helpers/temporary-folder.ts';

// The built process as an operator sees it: exit status, real signals, and what it writes to a real
// standard output.

let emulator: Emulator;
let cwd: string;
beforeEach(async () => {
  emulator = await emulate();
  cwd = temporaryFolder();
});

const inFolder = (name: string): string => join(cwd, name);
const run = (env: Environment, options: Parameters<typeof runService>[1] = {}): Program =>
  runService({ PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl, ...env }, { cwd, ...options });
/** The service with a list. */
const start = async (env: Environment, preload?: string) => {
  const service = await startProcess(
    { PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl, ...env },
    preload,
  );
  await fetch(`${service.url}/banks`);
  return service;
};

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

test('all that it serves is loaded before clients can take all file descriptors', async () => {
  const port = await findFreePort();
  // As clients of the public port that are quick enough.
  const takeAll = `import { closeSync, openSync } from 'node:fs';
    import { Server } from 'node:net';
    const { listen } = Server.prototype;
    Server.prototype.listen = function (options) {
      if (options.port === ${port})
        this.once('listening', () => {
          const taken = [];
          try {
            for (;;) taken.push(openSync('/dev/null'));
          } catch {}
          setTimeout(() => {
            taken.forEach((file) => closeSync(file));
            process.stderr.write('released');
          }, 200);
        });
      return listen.apply(this, arguments);
    };`;
  const service = run({ PORT: String(port) }, { preload: takeAll });
  await service.says(/released/);
  const [, , operatorsUrl] = await service.says(LISTENING);
  expect((await fetch(`${operatorsUrl}/metrics`)).status).toBe(200);
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
    // These are checked by libraries.
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
    'CACHE_TTLL: is not a variable of this service',
    'NODE_DEBUG: makes Node print what passes through it, secrets included',
    'MANAGEMENT_TOKEN_FILE: cannot be read (not a regular file)',
    'PROVIDER_ACCESS_TOKEN_FILE: is the one of the demo, which everybody knows',
    'PROVIDER_TLS_CA_FILE: cannot be read (ENOENT)',
  ]);
  expect(output()).toContain('has 12 problems:');
  expect(output()).not.toMatch(/SECRET|^ +at /m);
});

test('a .env that is another file is refused, with its first problems', async () => {
  writeFileSync(inFolder('.env'), 'not a variable\n'.repeat(4_000));
  const garbage = run({});
  expect(await garbage.exit).toBe(1);
  expect(garbage.output()).toMatch(/at least 100 problems:\n {2}\.env line 1: /);
  expect(garbage.output().split('\n').length).toBeLessThan(110);
  writeFileSync(inFolder('.env'), '#'.repeat(65_537));
  const large = run({});
  expect(await large.exit).toBe(1);
  expect(large.output()).toContain('.env: cannot be read (more than 65536 bytes)');
});

test('a file system that hangs ends the start with the error, though Node waits for the read', async () => {
  // Opening a pipe as if it were no pipe keeps a thread, as a dead network file system does.
  const hang = `
    import fs, { constants } from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const { open } = fs.promises;
    fs.promises.open = (path, flags) => open(path, flags & ~constants.O_NONBLOCK);
    syncBuiltinESMExports();`;
  execFileSync('mkfifo', [inFolder('token')]);
  const { exit, output } = run(
    { PROVIDER_ACCESS_TOKEN: '', PROVIDER_ACCESS_TOKEN_FILE: inFolder('token') },
    { preload: hang },
  );
  // By SIGKILL.
  expect(await exit).toBe(null);
  expect(output()).toContain(
    '\n  PROVIDER_ACCESS_TOKEN_FILE: cannot be read (not within 2000 ms); check the file system',
  );
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
  expect(output()).toMatch(
    /PORT: nowhere\.invalid is not an address of this machine \(\w+\); set HOST to/,
  );
});

test('a .env file is read, the environment has precedence, and SIGHUP ends it with status 0', async () => {
  writeFileSync(
    inFolder('.env'),
    'PROVIDER_ACCESS_TOKEN=emulator-access-token\nBANK_FIELDS=ispb\n',
  );
  // An empty value counts as unset.
  const service = run({ BANK_FIELDS: 'name', PROVIDER_ACCESS_TOKEN: '' });
  const [, url] = await service.says(LISTENING);
  const banks: unknown = await (await fetch(`${url}/banks`)).json();
  expect(banks).toContainEqual({ name: 'BCO DO BRASIL S.A.' });
  service.child.kill('SIGHUP');
  expect(await service.exit).toBe(0);
});

test('a signal that comes before anything is loaded ends the service with status 0, and another command with its own', async () => {
  /**
   * Sends the process `signal` as soon as it listens for SIGUSR1, which it does before it loads
   * anything.
   */
  const signalled = (signal: string): string => `process.on('newListener', (name) => {
    if (name === 'SIGUSR1') process.kill(process.pid, '${signal}');
  });`;
  const service = run({}, { preload: signalled('SIGTERM') });
  const doctor = run({}, { preload: signalled('SIGINT'), programArgs: ['doctor'] });
  expect([await service.exit, service.output()]).toEqual([0, '']);
  expect(await doctor.exit).toBe(130);
});

test('SIGTERM under 200 keep-alive clients, and 20 that connect for each request, loses no request', async () => {
  const { url, end } = await start({ SHUTDOWN_GRACE: '6s' });
  const keepAlive = new Agent({ keepAlive: true, maxSockets: 200 });
  /** The status of the answer, or why there is none. */
  const ask = (agent: Agent | false): Promise<unknown> =>
    new Promise((resolve) => {
      get(`${url}/banks`, { agent }, (res) =>
        res.resume().on('close', () => resolve(res.complete ? res.statusCode : 'cut off')),
      ).on('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
    });
  // As a load balancer: it asks /readyz every 100 ms and sends nothing more once that is no 200.
  const balancer = { isInRotation: true };
  const probe = async (): Promise<void> => {
    for (; balancer.isInRotation; await sleep(100))
      balancer.isInRotation = (await fetch(`${url}/readyz`)).status === 200;
  };
  const answers: unknown[] = [];
  const keepAliveClient = async (): Promise<void> => {
    for (; balancer.isInRotation; await sleep(10)) answers.push(await ask(keepAlive));
  };
  /** Goes on until it is refused; a connection that was accepted has to be answered. */
  const connectingClient = async (): Promise<void> => {
    for (let answer = await ask(false); answer !== 'ECONNREFUSED'; answer = await ask(false)) {
      answers.push(answer);
      await sleep(10);
    }
  };
  const clients = [
    probe(),
    ...Array.from({ length: 200 }, keepAliveClient),
    ...Array.from({ length: 20 }, connectingClient),
  ];
  await eventually(() => answers.length > 220);
  const exit = end('SIGTERM');
  await Promise.all(clients);
  expect(answers.filter((answer) => answer !== 200)).toEqual([]);
  expect(await exit).toBe(0);
  keepAlive.destroy();
});

test('a closed log, SIGUSR1 and SIGUSR2 change nothing; a second SIGTERM ends it at once, with status 1', async () => {
  const debuggerPort = await findFreePort();
  const { url, child, written } = await start({
    SHUTDOWN_GRACE: '1h',
    NODE_OPTIONS: `--inspect-port=${debuggerPort}`,
  });
  child.stdout?.destroy();
  child.kill('SIGUSR1');
  child.kill('SIGUSR2');
  for (let count = 0; count < 50; count += 1)
    expect((await fetch(`${url}/banks`)).status).toBe(200);
  await expect(fetch(`http://127.0.0.1:${debuggerPort}/json`)).rejects.toThrow('fetch failed');
  expect(written()).not.toContain('Debugger');

  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const readiness = async (): Promise<number> => (await fetch(`${url}/readyz`)).status;
  await waitUntil('the begin of the drain', readiness, (status) => status !== 200);
  child.kill('SIGTERM');
  expect(await exited).toEqual([1, null]);
});

test('SIGHUP gives load balancers notice too: /readyz answers 503 while the list is still served', async () => {
  const { url, child } = await start({ SHUTDOWN_GRACE: '1h' });
  child.kill('SIGHUP');
  const readiness = async (): Promise<number> => (await fetch(`${url}/readyz`)).status;
  await waitUntil('the begin of the drain', readiness, (status) => status !== 200);
  // Each on a connection of its own, as from a load balancer that has not noticed yet.
  const headers = { connection: 'close' };
  for (const [path, status] of [
    ['/readyz', 503],
    ['/banks', 200],
  ] as const)
    expect((await fetch(`${url}${path}`, { headers })).status).toBe(status);
});

test('SIGTERM while Redis does not answer at the start ends it, and it says nothing but that', async () => {
  const redis = createServer((socket) => socket.on('error', () => undefined).resume());
  const port = await listenOn(redis);
  closeLater(() => redis.close());
  const connection = once(redis, 'connection');
  const service = run({ CACHE_REDIS_URL: `redis://127.0.0.1:${port}` });
  await connection;
  expect(await service.end('SIGTERM')).toBe(0);
  expect([...service.output().matchAll(/"msg":"([^"]*)"/g)].map(([, message]) => message)).toEqual([
    'draining',
    'stopped',
  ]);
});

test('a stop waits for the snapshot that is being written', async () => {
  // A disk so slow that the write is under way when the signal comes.
  const slowDisk = `
    import { open } from 'node:fs/promises';
    const file = await open(process.execPath);
    const FileHandle = Object.getPrototypeOf(file);
    const { sync } = FileHandle;
    FileHandle.sync = function () { return new Promise((resolve) => setTimeout(() => resolve(sync.call(this)), 500)); };
    await file.close();`;
  const { end } = await start({ CACHE_SNAPSHOT_FILE: inFolder('snapshot') }, slowDisk);
  // With SIGTERM the notice to load balancers would be longer than the write.
  expect(await end('SIGINT')).toBe(0);
  expect(readdirSync(cwd)).toEqual(['snapshot']);
});

/**
 * Keeps them full, as a reader does that has stopped. Asking for the streams makes them not block.
 */
const fill = (...fds: number[]): string => `
  import { writeSync } from 'node:fs';
  const bytes = Buffer.alloc(1_024, 10);
  const fill = () => { for (const fd of ${JSON.stringify(fds)}) try { for (;;) writeSync(fd, bytes); } catch {} };
  void process.stdout, process.stderr;
  setInterval(fill, 20).unref();
  process.on('SIGUSR2', () => { fill(); throw new Error('a crash'); });`;
const HANG = `import { Server } from 'node:net'; Server.prototype.close = function () { return this; };`;

/** So that the drain has not ended when the second signal comes. */
const LONG_GRACE = '1m';

const ENDS = [
  { what: 'both full: SIGTERM', preload: fill(1, 2), signals: ['SIGTERM'], status: 0 },
  {
    what: 'both full: a crash in the drain',
    grace: LONG_GRACE,
    preload: fill(1, 2),
    signals: ['SIGTERM', 'SIGUSR2'],
    status: 1,
  },
  {
    what: 'both closed: a crash in the drain',
    grace: LONG_GRACE,
    preload: fill(),
    isClosed: true,
    signals: ['SIGTERM', 'SIGUSR2'],
    status: 1,
  },
  // Standard error is read only where it says something.
  {
    what: 'a full log: a crash',
    preload: fill(1),
    signals: ['SIGUSR2'],
    status: 1,
    says: 'Error: a crash',
  },
  {
    what: 'a drain that hangs',
    preload: HANG,
    signals: ['SIGTERM'],
    status: 1,
    says: 'banks-bff did not stop within 2300 ms.',
  },
] as const;

test('it ends, with its last message, whether or not standard output and standard error are read', async () => {
  const running = ENDS.map((row) => {
    const { child, output } = run(
      { SHUTDOWN_GRACE: 'grace' in row ? row.grace : '300ms' },
      { preload: row.preload },
    );
    const says = 'says' in row ? row.says : '';
    child.stdout.pause();
    if (says === '') child.stderr.pause();
    return { ...row, says, child, output };
  });
  // Each listens before it asks for the list.
  await eventually(() => emulator.listCalls() === running.length);
  const ended = running.map(async ({ child, output, says, ...row }) => {
    if ('isClosed' in row) for (const stream of [child.stdout, child.stderr]) stream.destroy();
    const exited = once(child, 'exit');
    for (const signal of row.signals) {
      child.kill(signal);
      // Two signals at once may arrive in another order.
      // oxlint-disable-next-line no-await-in-loop -- one signal after the other
      await sleep(50);
    }
    const [status] = await exited;
    await eventually(() => output().includes(says));
    return [row.what, status];
  });
  expect(await Promise.all(ended)).toEqual(ENDS.map(({ what, status }) => [what, status]));
});
