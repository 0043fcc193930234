import { expect, test } from '@jest/globals';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { BANKS, makeBanks } from '../helpers/emulate.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { postRefresh } from '../helpers/management-port.ts';
import { createProcessStage } from '../helpers/process-stage.ts';
import { MANAGEMENT_TOKEN } from '../helpers/sandbox.ts';
import { serve } from '../helpers/serve.ts';
import { eventually, waitUntil } from '../helpers/wait-until.ts';

// The built process as an operator sees it when it stops: real signals, its exit status, and what
// it writes to a real standard output.

const { emulator, folder, inFolder, run, start } = createProcessStage();

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

test('SIGTERM under 200 keep-alive connections of a load balancer loses no request', async () => {
  // Nobody else gets this port when the service has left it.
  const { url, end } = await start({ SHUTDOWN_GRACE: '20s', PORT: String(await findFreePort()) });
  const keepAlive = new Agent({ keepAlive: true, maxSockets: 200 });
  /** The status of the answer, or why there is none. */
  const ask = (agent: Agent): Promise<unknown> =>
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
  const clients = [probe(), ...Array.from({ length: 200 }, keepAliveClient)];
  await eventually(() => answers.length > 200);
  const exit = end('SIGTERM');
  await Promise.all(clients);
  expect(answers.filter((answer) => answer !== 200)).toEqual([]);
  expect(await exit).toBe(0);
  keepAlive.destroy();
});

test('a closed log and SIGUSR1 change nothing; a second SIGTERM ends it at once, with status 1', async () => {
  const debuggerPort = await findFreePort();
  const { url, child, written } = await start({
    SHUTDOWN_GRACE: '1h',
    NODE_OPTIONS: `--inspect-port=${debuggerPort}`,
  });
  child.stdout?.destroy();
  child.kill('SIGUSR1');
  for (let count = 0; count < 50; count += 1)
    expect((await fetch(`${url}/banks`)).status).toBe(200);
  await expect(fetch(`http://127.0.0.1:${debuggerPort}/json`)).rejects.toThrow('fetch failed');
  expect(written()).not.toContain('Debugger');

  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await eventually(async () => (await fetch(`${url}/readyz`)).status !== 200);
  child.kill('SIGTERM');
  expect(await exited).toEqual([1, null]);
});

test('SIGHUP gives load balancers notice too: /readyz answers 503 while the list is still served', async () => {
  const { url, child, written } = await start({ SHUTDOWN_GRACE: '1h' });
  child.kill('SIGHUP');
  await eventually(async () => (await fetch(`${url}/readyz`)).status !== 200);
  // Each on a connection of its own, as from a load balancer that has not noticed yet.
  const headers = { connection: 'close' };
  for (const [path, status] of [
    ['/readyz', 503],
    ['/banks', 200],
  ] as const)
    expect((await fetch(`${url}${path}`, { headers })).status).toBe(status);
  const notice = '"noticeMs":1200000,"graceMs":3600000,"msg":"draining"';
  await waitUntil('its line', written, (text) => text.includes(notice));
});

test('SIGTERM while Redis does not answer at the start ends it', async () => {
  const redis = createServer((socket) => socket.on('error', () => undefined).resume());
  const port = await serve(redis);
  // By itself: on a busy machine the signal of another process may come after the time for Redis.
  const signalled = `
    import { subscribe } from 'node:diagnostics_channel';
    subscribe('net.client.socket', ({ socket }) => socket.once('connect', () => {
      if (socket.remotePort === ${port}) process.kill(process.pid, 'SIGTERM');
    }));`;
  const service = run({ CACHE_REDIS_URL: `redis://127.0.0.1:${port}` }, { preload: signalled });
  expect(await service.exit).toBe(0);
  const messages = [...service.output().matchAll(/"msg":"([^"]*)"/g)].map(([, message]) => message);
  // On a busy machine the limit for an answer may be over before the signal arrives.
  expect(messages.filter((message) => !message?.startsWith('CACHE_REDIS_URL'))).toEqual([
    'draining',
    'stopped',
  ]);
});

test('a stop waits for the snapshot that is being written, and for a list that came meanwhile', async () => {
  // A disk so slow that the write is under way when the signal comes.
  const slowDisk = `
    import { open } from 'node:fs/promises';
    const file = await open(process.execPath);
    const FileHandle = Object.getPrototypeOf(file);
    const { sync } = FileHandle;
    FileHandle.sync = function () { return new Promise((resolve) => setTimeout(() => resolve(sync.call(this)), 500)); };
    await file.close();`;
  const path = inFolder('snapshot');
  const env = { CACHE_SNAPSHOT_FILE: path, MANAGEMENT_TOKEN };
  const { managementUrl, end } = await start(env, slowDisk);
  emulator().setBanks(makeBanks(BANKS.length));
  await postRefresh(managementUrl).expect(200);
  // With SIGTERM the notice to load balancers would be longer than the write.
  expect(await end('SIGINT')).toBe(0);
  expect(readdirSync(folder())).toEqual(['snapshot']);
  expect(readFileSync(path, 'utf8')).toContain('"name":"Banco 0"');
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
  await eventually(() => emulator().listCalls() === running.length);
  const ended = running.map(async ({ child, output, says, ...row }) => {
    if ('isClosed' in row) for (const stream of [child.stdout, child.stderr]) stream.destroy();
    const exited = once(child, 'exit');
    for (const signal of row.signals) {
      child.kill(signal);
      // Two signals at once may arrive in another order.
      await sleep(50);
    }
    const [status] = await exited;
    await eventually(() => output().includes(says));
    return [row.what, status];
  });
  expect(await Promise.all(ended)).toEqual(ENDS.map(({ what, status }) => [what, status]));
});
