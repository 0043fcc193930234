import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { emulate } from '../helpers/emulate.ts';
import { LISTENING, runService, startProcess } from '../helpers/process.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { eventually } from '../helpers/wait-until.ts';

// What the built process must not overwrite with its snapshot.

test('a service whose snapshot would replace a pipe does not start, and leaves it', async () => {
  const { baseUrl } = await emulate();
  const path = join(temporaryFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  const before = lstatSync(path).ino;
  const { child, says, exit, output } = runService({
    PROVIDER_SANDBOX_BASE_URL: baseUrl,
    CACHE_SNAPSHOT_FILE: path,
  });
  // One that starts is given the time to save its list.
  const stop = async ([, url]: RegExpExecArray): Promise<void> => {
    await fetch(`${url}/banks`);
    child.kill('SIGINT');
  };
  await says(LISTENING).then(stop, () => undefined);
  const status = await exit;
  expect([status, lstatSync(path).ino]).toEqual([1, before]);
  expect(output()).toMatch(/^ {2}CACHE_SNAPSHOT_FILE[:,]/m);
});

test('a file that somebody puts in the place of the snapshot while the service runs stays', async () => {
  const { baseUrl } = await emulate();
  const path = join(temporaryFolder(), 'file');
  const token = 'operator-token-0123456789';
  const { url, managementUrl, end } = await startProcess({
    PROVIDER_SANDBOX_BASE_URL: baseUrl,
    MANAGEMENT_TOKEN: token,
    CACHE_SNAPSHOT_FILE: path,
  });
  await (await fetch(`${url}/banks`)).text();
  await eventually(() => existsSync(path));
  writeFileSync(path, 'mine');
  const headers = { Authorization: `Bearer ${token}` };
  const refreshed = await fetch(`${managementUrl}/refresh`, { method: 'POST', headers });
  expect(refreshed.status).toBe(200);
  expect(await end('SIGINT')).toBe(0);
  expect(readFileSync(path, 'utf8')).toBe('mine');
});
