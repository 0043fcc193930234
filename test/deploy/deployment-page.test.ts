import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startEmulator } from '../../emulator/emulator.ts';
import { findFreePort } from '../kit/free-port.ts';
import { read } from '../kit/repository.ts';
import { startProcess } from '../kit/process.ts';
import { startRig } from '../kit/rig.ts';
import { SANDBOX } from '../kit/sandbox.ts';

// What docs/deployment.md says and no other test here judges.

test('a list made beforehand by the printed command is served on day 0, while the provider is down', async () => {
  const provider = await startEmulator();
  const folder = mkdtempSync(join(tmpdir(), 'banks-day-0-'));
  const snapshot = join(folder, 'list.json');
  const port = await findFreePort();
  const env = { PROVIDER_SANDBOX_BASE_URL: provider.baseUrl };
  const [command = ''] = /^CACHE_SNAPSHOT_FILE=.*$/m.exec(read('docs/deployment.md')) ?? [];
  const here = command
    .replace('=list.json', `=${snapshot}`)
    .replace(' node ', ` ${process.execPath} `)
    .replace('localhost:3000', `127.0.0.1:${port}`);
  await promisify(execFile)('bash', ['-c', here], {
    env: { ...SANDBOX, ...env, PATH: '/usr/bin:/bin', PORT: String(port), MANAGEMENT_PORT: 'off' },
  });
  await provider.close();

  const service = await startProcess({ ...env, CACHE_SNAPSHOT_FILE: snapshot });
  const [url = ''] = service.urls();
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect(await (await fetch(`${url}/banks`)).json()).toHaveLength(513);
  await service.end('SIGINT');
  rmSync(folder, { recursive: true });
}, 60_000);

test('HOST=:: takes connections of IPv6 and of IPv4', async () => {
  const rig = await startRig({ env: { HOST: '::' } });
  const { port } = new URL(rig.url);
  for (const host of ['[::1]', '127.0.0.1'])
    expect((await fetch(`http://${host}:${port}/healthz`)).status).toBe(200);
  await rig.close();
});
