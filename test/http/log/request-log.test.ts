import { afterEach, expect, test } from '@jest/globals';
import { startProcess } from '../../kit/process.ts';
import { sendRaw } from '../../kit/raw-http.ts';
import { eventually, startRig, type Rig, type RigOptions } from '../../kit/rig.ts';

// Which requests operators see in the log, and at which level.

let rig: Rig;
afterEach(() => rig.close());
const start = async (options: RigOptions = {}): Promise<void> => {
  rig = await startRig({ ...options, env: { LOG_LEVEL: 'debug', ...options.env } });
};

/** The levels of the lines for `path`, once there are as many as `count`. */
const levelsOf = async (path: string, count = 1): Promise<string[]> => {
  const lines = (): string[] =>
    rig
      .log()
      .split('\n')
      .filter((line) => line.includes(`"path":"${path}"`));
  await eventually(() => lines().length === count);
  return lines().map((line) => LEVELS[/"level":(\d+)/.exec(line)?.[1] ?? ''] ?? 'unknown');
};
const LEVELS: Readonly<Record<string, string>> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' };

test('an ordinary request is logged at info, a successful probe at debug', async () => {
  await start();
  await eventually(() => rig.service.list.served() !== undefined);
  for (const path of ['/banks', '/openapi.json', '/nowhere', '/healthz', '/readyz'])
    await fetch(`${rig.url}${path}`);
  expect(await levelsOf('/banks')).toEqual(['info']);
  expect(await levelsOf('/openapi.json')).toEqual(['info']);
  expect(await levelsOf('/nowhere')).toEqual(['info']);
  expect(await levelsOf('/healthz')).toEqual(['debug']);
  expect(await levelsOf('/readyz')).toEqual(['debug']);
});

test('a request that finds no list is logged at error, the failing probe at info', async () => {
  await start({ before: (emulator) => emulator.behave('unavailable') });
  expect((await fetch(`${rig.url}/banks`)).status).toBe(503);
  expect((await fetch(`${rig.url}/readyz`)).status).toBe(503);
  expect(await levelsOf('/banks')).toEqual(['error']);
  expect(await levelsOf('/readyz')).toEqual(['info']);
});

test('another 5xx is logged at warn', async () => {
  await start({ env: { MANAGEMENT_TOKEN: 'management-token-for-tests-0123456789' } });
  await eventually(() => rig.service.list.served() !== undefined);
  await rig.emulator.behave('unavailable');
  const headers = { Authorization: 'Bearer management-token-for-tests-0123456789' };
  const refused = await fetch(`${rig.operatorsUrl}/refresh`, { method: 'POST', headers });
  expect(refused.status).toBe(502);
  expect(await levelsOf('/refresh')).toEqual(['warn']);
});

test('a malformed target is refused before Express reads it, which would make Node print a warning', async () => {
  await start();
  const service = await startProcess({
    PROVIDER_ENVIRONMENT: 'sandbox',
    PROVIDER_SANDBOX_BASE_URL: rig.emulator.baseUrl,
    PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
  });
  const [url = ''] = service.urls();
  const [answer] = await sendRaw(url, 'GET http://a:b/banks HTTP/1.1\r\nHost: a\r\n\r\n');
  expect(answer?.status).toBe(400);
  await service.end('SIGINT');
  expect(service.written()).toContain('"path":"http://a:b/banks","status":400');
  expect(service.written()).not.toContain('Warning');
});
