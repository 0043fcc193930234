import { afterEach, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { startEmulator, type Emulator } from '../emulator/emulator.ts';
import type { Environment } from '../src/config/reader.ts';
import { findFreePort } from './kit/free-port.ts';
import { startProcess, type ServiceProcess } from './kit/process.ts';
import { eventually } from './kit/rig.ts';

// The four walks of docs/architecture.md, walked by the built process: V8 says in which files functions ran.

/** On a signal: the files of src/ in which a function ran since the last signal. */
const TELLS_FILES = `
  import { Session } from 'node:inspector';
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  // What starts at 0 is the module itself, which runs wherever it is imported.
  const ran = ({ ranges: [{ startOffset, count }] }) => startOffset > 0 && count > 0;
  process.on('SIGUSR2', () => session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
    const files = result.filter(({ functions }) => functions.some(ran)).flatMap(({ url }) => {
      const [, file] = url.match(/\\/dist\\/(src\\/.*)\\.js$/) ?? [];
      return file ? [file + '.ts'] : [];
    });
    process.stdout.write('ran ' + files.join(' ') + '\\n');
  }));
`;

let emulator: Emulator;
let service: ServiceProcess | undefined;
afterEach(async () => {
  service?.child.kill('SIGKILL');
  await emulator.close();
});

const start = async (env: Environment = {}) => {
  emulator = await startEmulator();
  if (env['PROVIDER_ACCESS_TOKEN'] === 'wrong') await emulator.behave('forbidden');
  const running = await startProcess(
    {
      PROVIDER_ENVIRONMENT: 'sandbox',
      PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
      PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
      BANK_FIELDS: 'code,ispb,name',
      CORS_ORIGINS: 'https://app.example.com',
      ...env,
    },
    TELLS_FILES,
  );
  service = running;
  const [url = ''] = running.urls();
  const lines = (): string[] => running.written().match(/^ran .*$/gm) ?? [];
  /** The files that ran since the last call. */
  const filesRun = async (): Promise<string[]> => {
    const before = lines().length;
    running.child.kill('SIGUSR2');
    await eventually(() => lines().length > before);
    return lines().at(-1)?.split(' ').slice(1) ?? [];
  };
  return { url, filesRun };
};

/** The connection is not kept: a later request on it would be node:http's too. */
const isReady = async (url: string): Promise<boolean> =>
  (await fetch(`${url}/readyz`, { headers: { Connection: 'close' } })).ok;

/** The files that the walk names. */
const walk = (name: string): string[] => {
  const [, section = ''] = readFileSync('docs/architecture.md', 'utf8').split(`\n**${name}**`);
  return [...(section.split(/\n\*\*|\n## /)[0] ?? '').matchAll(/`(src\/[\w./-]+\.ts)`/g)].map(
    ([, file = '']) => file,
  );
};

/** Fails with the files of the walk that were not passed. */
const expectPassed = (files: readonly string[], passed: readonly string[]): void => {
  expect(files.length).toBeGreaterThan(3);
  expect(files.filter((file) => !passed.includes(file))).toEqual([]);
};

test('an ordinary request passes the files of its walk, and not Express', async () => {
  const { url, filesRun } = await start();
  while (!(await isReady(url)));
  await filesRun();
  const response = await fetch(`${url}/banks`, { headers: { Origin: 'https://app.example.com' } });
  expect(await response.json()).toHaveLength(513);
  const passed = await filesRun();
  expectPassed(walk('An ordinary request'), passed);
  // Express.
  expect(passed).not.toContain('src/http/app.ts');
});

test('other requests pass the files of their walk', async () => {
  const { url, filesRun } = await start({ PROVIDER_ACCESS_TOKEN: 'wrong' });
  await filesRun();
  for (const path of ['/banks', '/healthz', '/openapi.json', '/nowhere']) await fetch(`${url}${path}`);
  expectPassed(walk('Another request'), await filesRun());
});

test('a renewal passes the files of its walk', async () => {
  const { url, filesRun } = await start({
    CACHE_TTL: '300ms',
    // Nobody listens there: the walk to Redis begins all the same.
    CACHE_REDIS_URL: `redis://127.0.0.1:${await findFreePort()}`,
  });
  while (!(await isReady(url)));
  await filesRun();
  emulator.setBanks(
    Array.from({ length: 500 }, (_, index) => ({ code: `${index}`, ispb: '1', name: 'New' })),
  );
  while (!(await (await fetch(`${url}/banks`)).text()).includes('New'));
  expectPassed(walk('A renewal'), await filesRun());
});

test('a configuration value passes the files of its walk', async () => {
  const { url, filesRun } = await start({ BROWSER_MAX_AGE: '7s' });
  const response = await fetch(`${url}/banks`);
  expect(response.headers.get('cache-control')).toContain('max-age=7,');
  expectPassed(walk('A configuration value'), await filesRun());
});
