import { afterAll, expect, test } from '@jest/globals';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { closeLater } from '../helpers/close-later.ts';
import { type Program, runProgram, SIGUSR1_BEFORE_THE_PROGRAM } from '../helpers/program.ts';
import { emulate } from '../helpers/emulate.ts';
import { layOutImage } from '../helpers/image.ts';
import { LISTENING } from '../helpers/process.ts';
import { SANDBOX } from '../helpers/sandbox.ts';

// The service as it is deployed: production dependencies only, in the image's file layout, started
// by its command.

const { app, entrypoint } = layOutImage();
afterAll(() => rmSync(app, { recursive: true }));

/** Runs Node in the image. */
const runNode = (args: readonly string[], env: EnvironmentVariables): Program => {
  const program = runProgram(process.execPath, { args, env, cwd: app });
  closeLater(() => program.child.kill('SIGKILL'));
  return program;
};

test('the image has no compiler, no source and no tests', () => {
  const unwanted = ['node_modules/typescript', 'node_modules/jest', 'test', 'emulator', 'src'];
  expect(unwanted.filter((path) => existsSync(join(app, path)))).toEqual([]);
});

// Node 20 has no option against the debugger, and the image has a later version.
const EARLY_SIGUSR1 = process.allowedNodeEnvironmentFlags.has('--disable-sigusr1')
  ? SIGUSR1_BEFORE_THE_PROGRAM
  : [];

test('the image serves the list and a status page that names a command which works there, and opens no debugger', async () => {
  const emulator = await emulate();
  const env = { ...SANDBOX, PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl };
  await emulator.behave('forbidden');
  const service = runNode([...EARLY_SIGUSR1, ...entrypoint, 'serve'], env);
  const [, url = '', managementUrl = ''] = await service.says(LISTENING);
  expect((await fetch(`${url}/banks`)).status).toBe(502);
  const [, command = ''] =
    />node ([^<]* doctor)</.exec(await (await fetch(managementUrl)).text()) ?? [];
  await emulator.behave('healthy');
  const doctor = runNode(command.split(' '), env);
  expect(await doctor.exit).toBe(0);
  expect(doctor.output()).toContain('This configuration can serve a list.');
  expect(await service.end('SIGINT')).toBe(0);
  expect(service.output()).not.toContain('Debugger listening');
});
