import { afterEach, expect, test } from '@jest/globals';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmulator, type Emulator } from '../emulator/emulator.ts';
import { startProcess } from './kit/process.ts';

// The built process, with real signals and a real standard output.

let emulator: Emulator;
let child: ChildProcess;
afterEach(async () => {
  child.kill('SIGKILL');
  await emulator.close();
});

const start = async (env: Readonly<Record<string, string>> = {}): Promise<string> => {
  emulator = await startEmulator();
  const service = await startProcess({
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

const get = (agent: Agent, url: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request(url, { agent }, (res) => {
      res.resume().on('end', () => resolve(res.statusCode));
      res.on('error', reject);
    })
      .on('error', reject)
      .end();
  });

test('SIGTERM under 200 keep-alive clients loses no request, and the process exits with 0', async () => {
  const url = await start({ SHUTDOWN_GRACE: '9s' });
  const exited = once(child, 'exit');
  const agent = new Agent({ keepAlive: true, maxSockets: 200 });
  const failures: unknown[] = [];
  let answered = 0;
  // As a load balancer: it asks /readyz every 100 ms and sends nothing more once that is no 200.
  const balancer = { inRotation: true };
  const probe = async (): Promise<void> => {
    while (balancer.inRotation) {
      balancer.inRotation = (await fetch(`${url}/readyz`)).status === 200;
      await sleep(100);
    }
  };
  const client = async (): Promise<void> => {
    while (balancer.inRotation) {
      await get(agent, `${url}/banks`).then(
        (status) => (status === 200 ? (answered += 1) : failures.push(status)),
        (error: unknown) => failures.push(error),
      );
      await sleep(5);
    }
  };
  const clients = [probe(), ...Array.from({ length: 200 }, client)];
  await sleep(300);
  child.kill('SIGTERM');
  await Promise.all(clients);
  expect(failures).toEqual([]);
  expect(answered).toBeGreaterThan(200);
  expect(await exited).toEqual([0, null]);
  agent.destroy();
}, 20_000);

test('a second signal ends it at once, with a status other than 0', async () => {
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

test('a log that nobody reads any more does not end the service', async () => {
  const url = await start();
  child.stdout?.destroy();
  for (let count = 0; count < 50; count += 1) {
    expect((await fetch(`${url}/banks`)).status).toBe(200);
  }
  expect(child.exitCode).toBeNull();
});

test('SIGTERM in the middle of writing the snapshot drains as at any other time', async () => {
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
