import { expect, test } from '@jest/globals';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { emulate } from '../helpers/emulate.ts';
import { postRefresh } from '../helpers/management-port.ts';
import { startProcess } from '../helpers/process.ts';
import { MANAGEMENT_TOKEN } from '../helpers/sandbox.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { eventually } from '../helpers/wait-until.ts';

// What the built process must not overwrite with its snapshot. At its start: start.test.ts.

test('a file that somebody puts in the place of the snapshot while the service runs stays', async () => {
  const { baseUrl } = await emulate();
  const path = join(temporaryFolder(), 'file');
  const { url, managementUrl, end } = await startProcess({
    PROVIDER_SANDBOX_BASE_URL: baseUrl,
    MANAGEMENT_TOKEN,
    CACHE_SNAPSHOT_FILE: path,
  });
  await (await fetch(`${url}/banks`)).text();
  await eventually(() => existsSync(path));
  writeFileSync(path, 'mine');
  await postRefresh(managementUrl).expect(200);
  expect(await end('SIGINT')).toBe(0);
  expect(readFileSync(path, 'utf8')).toBe('mine');
});
