import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmulator, type Emulator } from '../emulator/emulator.ts';
import type { Environment } from '../src/config/reader.ts';
import { closeLater } from './kit/close-later.ts';
import { findFreePort } from './kit/free-port.ts';
import { runService, startProcess, type ServiceProcess } from './kit/process.ts';
import { eventually } from './kit/rig.ts';

// The built process, with real signals and a real standard output.

let emulator: Emulator;
beforeEach(async () => {
  emulator = await startEmulator();
});
afterEach(async () => {
  await emulator.close();
});

const sandbox = (): Environment => ({ PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl });
/** The service with a list. */
const start = async (env: Environment, preload?: string): Promise<ServiceProcess & { url: string }> => {
  const service = await startProcess({ ...sandbox(), ...env }, preload);
  closeLater(() => service.child.kill('SIGKILL'));
  const [url = ''] = service.urls();
  await fetch(`${url}/banks`);
  return { ...service, url };
};

test('SIGTERM under 200 keep-alive clients, and 20 that connect for each request, loses no request', async () => {
  const { url, end } = await start({ SHUTDOWN_GRACE: '6s' });
  const { hostname, port } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: 200 });
  const statusOf = (path: string): Promise<unknown> =>
    new Promise((resolve) => {
      const asked = request(url + path, { agent }, (res) =>
        res.resume().on('end', () => resolve(res.statusCode)),
      );
      asked.on('error', resolve).end();
    });
  // As a load balancer: it asks /readyz every 100 ms and sends nothing more once that is no 200.
  const balancer = { isInRotation: true };
  const probe = async (): Promise<void> => {
    for (; balancer.isInRotation; await sleep(100))
      balancer.isInRotation = (await fetch(`${url}/readyz`)).status === 200;
  };
  const answers: unknown[] = [];
  const keepAliveClient = async (): Promise<void> => {
    for (; balancer.isInRotation; await sleep(10)) answers.push(await statusOf('/banks'));
  };
  /** Goes on until it is refused; a connection that was accepted has to be answered. */
  const connectingClient = async (): Promise<void> => {
    for (;;) {
      const socket = connect(Number(port), hostname);
      const isConnected = await once(socket, 'connect').then(
        () => true,
        () => false,
      );
      if (!isConnected) break;
      socket.write('GET /banks HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
      const answer = await text(socket).catch(String);
      answers.push(answer.startsWith('HTTP/1.1 200') ? 200 : answer);
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
  agent.destroy();
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
  for (let count = 0; count < 50; count += 1) expect((await fetch(`${url}/banks`)).status).toBe(200);
  await expect(fetch(`http://127.0.0.1:${debuggerPort}/json`)).rejects.toThrow('fetch failed');
  expect(written()).not.toContain('Debugger');

  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  while ((await fetch(`${url}/readyz`)).status === 200);
  child.kill('SIGTERM');
  expect(await exited).toEqual([1, null]);
});

test('SIGTERM while the snapshot is being written drains as usual', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'banks-bff-'));
  // A disk so slow that the write is under way when the signal comes.
  const slowDisk = `
    import { open } from 'node:fs/promises';
    const file = await open(process.execPath);
    const FileHandle = Object.getPrototypeOf(file);
    const { sync } = FileHandle;
    FileHandle.sync = function () { return new Promise((resolve) => setTimeout(() => resolve(sync.call(this)), 500)); };
    await file.close();`;
  const env = { CACHE_SNAPSHOT_FILE: join(directory, 'snapshot'), SHUTDOWN_GRACE: '2s' };
  const { end } = await start(env, slowDisk);
  expect(await end('SIGTERM')).toBe(0);
  expect(await readdir(directory)).toEqual(['snapshot']);
  await rm(directory, { recursive: true });
});

/** Keeps them full, as a reader does that has stopped. Asking for the streams makes them not block. */
const fill = (...fds: number[]): string => `
  import { writeSync } from 'node:fs';
  const bytes = Buffer.alloc(1_024, 10);
  const fill = () => { for (const fd of ${JSON.stringify(fds)}) try { for (;;) writeSync(fd, bytes); } catch {} };
  void process.stdout, process.stderr;
  setInterval(fill, 20).unref();
  process.on('SIGUSR2', () => { fill(); throw new Error('a crash'); });`;
const HANG = `import { Server } from 'node:net'; Server.prototype.close = function () { return this; };`;

interface End {
  readonly preload: string;
  readonly signals: readonly NodeJS.Signals[];
  readonly status: number;
  readonly isClosed?: boolean;
  /** On standard error, which is not read otherwise. */
  readonly says?: string;
}
const ENDS: Readonly<Record<string, End>> = {
  'both full: SIGTERM': { preload: fill(1, 2), signals: ['SIGTERM'], status: 0 },
  'both full: a crash during the drain': { preload: fill(1, 2), signals: ['SIGTERM', 'SIGUSR2'], status: 1 },
  'both closed: a crash during the drain': {
    preload: fill(),
    isClosed: true,
    signals: ['SIGTERM', 'SIGUSR2'],
    status: 1,
  },
  'a drain that hangs': {
    preload: HANG,
    signals: ['SIGTERM'],
    status: 1,
    says: 'banks-bff did not stop within 2300 ms.',
  },
  'a full log: a crash': { preload: fill(1), signals: ['SIGUSR2'], status: 1, says: 'Error: a crash' },
};

test('it ends, with its last message, whether or not standard output and standard error are read', async () => {
  const running = Object.entries(ENDS).map(([what, end]) => {
    const { child, output } = runService({ ...sandbox(), SHUTDOWN_GRACE: '300ms' }, { preload: end.preload });
    closeLater(() => child.kill('SIGKILL'));
    child.stdout.pause();
    if (end.says === undefined) child.stderr.pause();
    return { what, ...end, child, output };
  });
  // Each listens before it asks for the list.
  await eventually(() => emulator.listCalls() === running.length);
  const ended = running.map(async ({ what, child, output, signals, isClosed, says = '' }) => {
    if (isClosed) for (const stream of [child.stdout, child.stderr]) stream.destroy();
    const exited = once(child, 'exit');
    for (const signal of signals) {
      child.kill(signal);
      // Two signals at once may arrive in another order.
      // oxlint-disable-next-line no-await-in-loop -- one signal after the other
      await sleep(50);
    }
    const [status] = await exited;
    await eventually(() => output().includes(says));
    return [what, status];
  });
  expect(await Promise.all(ended)).toEqual(running.map(({ what, status }) => [what, status]));
});
