import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import type { Environment } from '../../src/config/reader.ts';
import { closeLater } from '../kit/close-later.ts';
import { layOutImage, type Image } from '../kit/image.ts';
import { runProgram, type Program } from '../kit/program.ts';
import { SANDBOX } from '../kit/sandbox.ts';

// The service as it is deployed: production dependencies only, in the image's file layout, started by its command.

let image: Image;
let emulator: Emulator;
beforeAll(async () => {
  image = layOutImage();
  emulator = await startEmulator();
});
afterAll(async () => {
  await emulator.close();
  rmSync(image.app, { recursive: true });
});

/** Runs Node in the image. */
const runNode = (args: readonly string[], env: Environment): Program => {
  const program = runProgram(process.execPath, { args, env, cwd: image.app });
  closeLater(() => program.child.kill('SIGKILL'));
  return program;
};

/** `docker run … args`. */
const run = (args: readonly string[], env: Environment): Program =>
  runNode([...image.entrypoint, ...args], env);

const sandbox = (): Environment => ({ ...SANDBOX, PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl });

test('the image has no compiler, no source and no tests', () => {
  for (const path of ['node_modules/typescript', 'node_modules/jest', 'test', 'emulator', 'src'])
    expect([path, existsSync(join(image.app, path))]).toEqual([path, false]);
});

test('the image serves the list, and a status page that names a command which works there', async () => {
  await emulator.behave('forbidden');
  const service = run(['serve'], sandbox());
  const [, url = '', operatorsUrl = ''] = await service.says(/"url":"([^"]+)","operatorsUrl":"([^"]+)"/);
  expect((await fetch(`${url}/banks`)).status).toBe(502);
  const [, command = ''] = />(node [^<]* doctor)</.exec(await (await fetch(operatorsUrl)).text()) ?? [];
  await emulator.behave('healthy');
  const [, ...args] = command.split(' ');
  const doctor = runNode(args, sandbox());
  expect(await doctor.exit).toBe(0);
  expect(doctor.output()).toContain('can serve a list: 513 banks');
  service.child.kill('SIGINT');
  expect(await service.exit).toBe(0);
});
