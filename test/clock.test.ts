import { expect, test } from '@jest/globals';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { emulate } from './kit/emulate.ts';
import { startProcess } from './kit/process.ts';

// The built process on a machine whose clock is set to anything.

test.each([
  ['beyond the year 275760, the last of dates,', 9e15],
  ['as far before 1970', -9e15],
])('a clock %s ends nothing', async (_where, aheadMs) => {
  const emulator = await emulate();
  const env = {
    PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
    CACHE_SNAPSHOT_FILE: join(mkdtempSync(join(tmpdir(), 'banks-bff-')), 'list'),
    // Longer than Node's timers can be.
    CACHE_TTL: '30d',
  };
  const preload = `const { now } = Date; Date.now = () => now() + ${aheadMs};`;
  // The second time with a saved list.
  for (let start = 0; start < 2; start += 1) {
    const { url, operatorsUrl, end, written } = await startProcess(env, preload);
    for (const address of [`${url}/banks`, `${url}/openapi.json`, operatorsUrl, `${operatorsUrl}/metrics`])
      expect((await fetch(address)).status).toBe(200);
    expect(await end('SIGINT')).toBe(0);
    expect(written()).not.toContain('TimeoutOverflowWarning');
  }
});
