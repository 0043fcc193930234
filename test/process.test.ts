import { afterEach, describe, expect, test } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmulator, type Emulator } from '../emulator/emulator.ts';
import { endUnderLoad } from './kit/drain-under-load.ts';
import { findFreePort } from './kit/free-port.ts';
import { eventually } from './kit/rig.ts';
import { startProcess, type ServiceProcess } from './kit/process.ts';

// The built process, with real signals and a real standard output.

let emulator: Emulator;
let service: ServiceProcess;
let child: ChildProcess;
afterEach(async () => {
  child.kill('SIGKILL');
  await emulator.close();
});

const start = async (env: Readonly<Record<string, string>> = {}): Promise<string> => {
  emulator = await startEmulator();
  service = await startProcess({
    PROVIDER_ENVIRONMENT: 'sandbox',
    PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
    PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
    ...env,
  });
  child = service.child;
  const [url = ''] = service.urls();
  await fetch(`${url}/banks`);
  return url;
};

test('SIGTERM under 200 keep-alive clients loses no request, and the process exits with 0', async () => {
  await start({ SHUTDOWN_GRACE: '9s' });
  const { answered, failures, status } = await endUnderLoad(service);
  expect(failures).toEqual([]);
  expect(answered).toBeGreaterThan(200);
  expect(status).toBe(0);
}, 20_000);

test('a second signal ends it immediately, with another status than 0', async () => {
  await start({ SHUTDOWN_GRACE: '1h' });
  const exited = once(child, 'exit');
  const draining = new Promise<void>((resolve) =>
    child.stdout?.on('data', (chunk: Buffer) => String(chunk).includes('draining') && resolve()),
  );
  child.kill('SIGTERM');
  await draining;
  child.kill('SIGTERM');
  expect(await exited).toEqual([1, null]);
});

test('a closed log does not end the service', async () => {
  const url = await start();
  child.stdout?.destroy();
  for (let count = 0; count < 50; count += 1) {
    expect((await fetch(`${url}/banks`)).status).toBe(200);
  }
  expect(child.exitCode).toBeNull();
});

test('SIGTERM while the snapshot is being written drains as usual', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'banks-bff-'));
  // A disk so slow that the write is under way when the signal comes; the library that writes listens for signals too.
  const slowDisk = `import fs from 'node:fs'; const { fsync } = fs; fs.fsync = (...args) => setTimeout(fsync, 500, ...args);`;
  await start({
    CACHE_SNAPSHOT_FILE: join(directory, 'snapshot'),
    SHUTDOWN_GRACE: '2s',
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(slowDisk)}`,
  });
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(await readdir(directory)).toEqual(['snapshot']);
  await rm(directory, { recursive: true });
});

test('SIGUSR1 opens no debugger, SIGUSR2 does nothing, and the service goes on', async () => {
  const debuggerPort = await findFreePort();
  emulator = await startEmulator();
  service = await startProcess({
    PROVIDER_ENVIRONMENT: 'sandbox',
    PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
    PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
    NODE_OPTIONS: `--inspect-port=${debuggerPort}`,
  });
  child = service.child;
  child.kill('SIGUSR1');
  child.kill('SIGUSR2');
  const [url = ''] = service.urls();
  for (let count = 0; count < 50; count += 1) {
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  }
  await expect(fetch(`http://127.0.0.1:${debuggerPort}/json`)).rejects.toThrow('fetch failed');
  expect(await service.end('SIGTERM')).toBe(0);
  expect(service.written()).not.toContain('Debugger');
});

describe('the process ends whether or not standard output and standard error are read', () => {
  /** Keeps them full, as a reader does that has stopped. Asking for the streams makes them not block. */
  const fill = (...fds: number[]): string => `
    import { writeSync } from 'node:fs';
    const bytes = Buffer.alloc(1_024, 10);
    const fill = () => { for (const fd of ${JSON.stringify(fds)}) try { for (;;) writeSync(fd, bytes); } catch {} };
    void process.stdout, process.stderr;
    setInterval(fill, 1).unref();
    process.on('SIGUSR2', () => { fill(); throw new Error('a crash'); });`;

  /** Nothing is read from it, except from standard error where `reads` says so. */
  const startUnread = async (preload: string, reads?: 'stderr'): Promise<() => string> => {
    emulator = await startEmulator();
    child = spawn(process.execPath, ['dist/src/main.js'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        HOST: '127.0.0.1',
        PORT: '0',
        MANAGEMENT_PORT: '0',
        PROVIDER_ENVIRONMENT: 'sandbox',
        PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
        PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
        SHUTDOWN_GRACE: '300ms',
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(preload)}`,
      },
    });
    let words = '';
    if (reads) child.stderr?.on('data', (chunk: Buffer) => (words += chunk.toString()));
    // It listens before it asks for the list.
    await eventually(() => emulator.listCalls() > 0);
    return () => words;
  };

  const ENDS: [what: string, signals: NodeJS.Signals[], status: number][] = [
    ['SIGTERM', ['SIGTERM'], 0],
    ['a second SIGTERM', ['SIGTERM', 'SIGTERM'], 1],
    ['a crash', ['SIGUSR2'], 1],
    ['a crash during the drain', ['SIGTERM', 'SIGUSR2'], 1],
  ];

  const end = async (signals: readonly NodeJS.Signals[]): Promise<unknown[]> => {
    const exited = once(child, 'exit');
    for (const signal of signals) {
      child.kill(signal);
      // Two equal signals at once would arrive as one.
      // oxlint-disable-next-line no-await-in-loop -- one signal after the other
      await sleep(50);
    }
    return exited;
  };

  test.each(ENDS)('both full: %s', async (_what, signals, status) => {
    await startUnread(fill(1, 2));
    expect(await end(signals)).toEqual([status, null]);
  });

  test.each(ENDS)('both closed: %s', async (_what, signals, status) => {
    await startUnread(fill());
    child.stdout?.destroy();
    child.stderr?.destroy();
    expect(await end(signals)).toEqual([status, null]);
  });

  test('a drain that hangs is abandoned with a message', async () => {
    const hang = `import { Server } from 'node:net'; Server.prototype.close = function () { return this; };`;
    const words = await startUnread(hang, 'stderr');
    expect(await end(['SIGTERM'])).toEqual([1, null]);
    await eventually(() => words().includes('banks-bff did not stop within 2300 ms.'));
  });

  test('the last message is written even if the log is full', async () => {
    const words = await startUnread(fill(1), 'stderr');
    expect(await end(['SIGUSR2'])).toEqual([1, null]);
    await eventually(() => words().includes('Error: a crash'));
  });
});
