import { beforeEach, expect, test } from '@jest/globals';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import supertest from 'supertest';
import type { Emulator } from '../../emulator/emulator.ts';
import { snapshot } from '../../src/commands/snapshot.ts';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { BANKS, emulate } from '../helpers/emulate.ts';
import { runService } from '../helpers/process.ts';
import { read } from '../helpers/repository.ts';
import { startRig } from '../helpers/rig.ts';
import { runCommand } from '../helpers/run-command.ts';
import { SANDBOX } from '../helpers/sandbox.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// `banks-bff snapshot FILE`: a list for a service that starts while the provider is down.

let emulator: Emulator;
let folder: string;
let file: string;
beforeEach(async () => {
  emulator = await emulate();
  folder = temporaryFolder();
  file = join(folder, 'list');
});

/** The saved banks. */
const saved = (): unknown => JSON.parse(readFileSync(file, 'utf8').split('\n')[2] ?? '');

const withEmulator = (env: EnvironmentVariables): EnvironmentVariables => ({
  ...SANDBOX,
  PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
  ...env,
});

const run = async (env: EnvironmentVariables = {}, path = file) => {
  const { status, text } = await runCommand(
    (context) => snapshot(path, context),
    withEmulator(env),
    folder,
  );
  return { status, text };
};

test('the documented command saves a list that a service serves while the provider is down', async () => {
  expect(read('docs/deployment.md')).toContain('\nnode dist/src/main.js snapshot list.json\n');
  // Neither is used: nothing listens there, and the other file is the service's.
  const env = {
    CACHE_REDIS_URL: 'redis://127.0.0.1:9',
    CACHE_SNAPSHOT_FILE: join(folder, 'another'),
  };
  const { exit, output } = runService(withEmulator(env), { programArgs: ['snapshot', file] });
  expect([await exit, output()]).toEqual([0, `${file}: ${BANKS.length} banks\n`]);
  expect(emulator.listCalls()).toBe(1);
  expect(readdirSync(folder)).toEqual(['list']);
  const rig = await startRig({
    provider: emulator,
    env: { CACHE_SNAPSHOT_FILE: file },
    before: (provider) => provider.behave('unavailable'),
  });
  const { body } = await supertest(rig.url).get('/banks').expect(200);
  expect(body).toHaveLength(BANKS.length);
});

test('a list that is there is what the new one is compared with, and is replaced by a good one', async () => {
  await run();
  const before = saved();
  await emulator.behave('shrunk');
  expect(await run()).toEqual({
    status: 1,
    text: `No list was saved. Compared with the list in ${file}, the list shrank from ${BANKS.length} to ${BANKS.length / 2} entries. To save it all the same, remove that file first.\n`,
  });
  expect(saved()).toEqual(before);
  await emulator.behave('healthy');
  emulator.setBanks(BANKS.slice(1));
  expect((await run()).status).toBe(0);
  expect(saved()).toHaveLength(BANKS.length - 1);
});

test('a list that was saved with other fields is replaced, without a comparison', async () => {
  expect((await run({ BANK_FIELDS: 'code,name' })).status).toBe(0);
  await emulator.behave('shrunk');
  expect(await run()).toEqual({ status: 0, text: `${file}: ${BANKS.length / 2} banks\n` });
  expect(saved()).toContainEqual({
    code: '001',
    ispb: '00000000',
    name: 'BCO DO BRASIL S.A.',
  });
});

test('a load that fails leaves what is there, and its reason is written', async () => {
  await emulator.behave('unavailable');
  expect(await run()).toEqual({
    status: 1,
    text: 'No list was saved. The list could not be loaded: the provider fails (503). The command doctor reports each step.\n',
  });
  expect(readdirSync(folder)).toEqual([]);
  expect(emulator.listCalls()).toBe(1);
});

test('with a list that is stale at once it also asks the provider once', async () => {
  for (const calls of [1, 2, 3]) {
    expect((await run({ CACHE_TTL: '10ms' })).status).toBe(0);
    expect(emulator.listCalls()).toBe(calls);
  }
});

test('it replaces nothing but a saved list or an empty file, and asks the provider only then', async () => {
  writeFileSync(file, 'somebody else’s');
  mkdirSync(join(folder, 'directory'));
  symlinkSync(file, join(folder, 'link'));
  const texts: string[] = [];
  for (const path of [file, join(folder, 'link'), join(folder, 'directory')]) {
    const { status, text } = await run({}, path);
    expect(status).toBe(1);
    texts.push(text.replaceAll(folder, ''));
  }
  expect(texts).toEqual([
    'No list was saved. /list: is not a list that this service saved; name a file that does not exist yet.\n',
    'No list was saved. /link: is not a list that this service saved; name a file that does not exist yet.\n',
    expect.stringMatching(/^No list was saved\. \/directory: cannot be read .*; name a file/),
  ]);
  expect(readFileSync(file, 'utf8')).toBe('somebody else’s');
  expect(emulator.listCalls()).toBe(0);
  writeFileSync(file, '');
  expect((await run()).status).toBe(0);
});

test('an invalid configuration is reported whole, and no secret is written', async () => {
  const { status, text } = await run({
    CACHE_TTL: 'soon',
    PROVIDER_ACCESS_TOKEN: 'SECRET with a space',
  });
  expect(status).toBe(1);
  expect(text).toContain('No list was saved. The configuration has 2 problems:');
  expect(text).not.toContain('SECRET');
});

test('with a signing key, the list that it saves is what a service with that key restores', async () => {
  const signed = { CACHE_SIGNING_KEY: 'a signing key of more than 32 characters' };
  const statusWith = async (env: EnvironmentVariables): Promise<number> => {
    const rig = await startRig({
      provider: emulator,
      env: { CACHE_SNAPSHOT_FILE: file, ...env },
      before: (provider) => provider.behave('unavailable'),
    });
    return (await supertest(rig.url).get('/banks')).status;
  };
  expect((await run(signed)).status).toBe(0);
  expect(await statusWith(signed)).toBe(200);
  const otherKey = { CACHE_SIGNING_KEY: 'another key of more than 32 characters' };
  expect(await statusWith(otherKey)).toBe(503);
});

test('with an unusable signing key, nothing is saved', async () => {
  const key = join(folder, 'key');
  writeFileSync(key, '');
  const { status, text } = await run({ CACHE_SIGNING_KEY_FILE: key });
  expect(status).toBe(1);
  expect(text).toMatch(/^No list was saved\. .*CACHE_SIGNING_KEY_FILE/s);
  expect(readdirSync(folder)).toEqual(['key']);
});

test('a list that cannot be written is an error, with its reason', async () => {
  const directory = join(folder, 'unmounted');
  mkdirSync(directory);
  emulator.respondWith((_req, res) => {
    rmSync(directory, { recursive: true });
    res.setHeader('Content-Type', 'application/json').end('[{"code":"1","ispb":"1","name":"A"}]');
  });
  const path = join(directory, 'list');
  expect(await run({}, path)).toEqual({
    status: 1,
    text: expect.stringMatching(/^No list was saved\. \S+unmounted\/list .*ENOENT/),
  });
  expect(readdirSync(folder)).toEqual([]);
});
