import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import type { Environment } from '../../src/config/reader.ts';
import { layOutImage, type Image } from '../kit/image.ts';
import { runProgram, type Program } from '../kit/program.ts';
import { clientCredentialsEnv } from '../kit/rig.ts';

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

const programs: Program[] = [];
afterEach(() => {
  for (const { child } of programs.splice(0)) child.kill('SIGKILL');
});

/** Runs Node in the image. */
const runNode = (args: readonly string[], env: Environment): Program => {
  const program = runProgram(process.execPath, { args, env, cwd: image.app });
  programs.push(program);
  return program;
};

/** `docker run … args`. */
const run = (args: readonly string[], env: Environment): Program =>
  runNode([...image.entrypoint, ...args], env);

const sandbox = (): Environment => ({
  PROVIDER_ENVIRONMENT: 'sandbox',
  PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
  PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
  BANK_FIELDS: 'code,ispb,name',
  // The doctor tries them.
  PORT: '0',
  MANAGEMENT_PORT: '0',
});

test('the image has no compiler, no source and no tests', () => {
  for (const path of ['node_modules/typescript', 'node_modules/jest', 'test', 'emulator', 'src'])
    expect([path, existsSync(join(image.app, path))]).toEqual([path, false]);
});

const LISTENERS = { HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: '0' };

test('the image serves the list, and a status page that names a command which works there', async () => {
  await emulator.behave('forbidden');
  const service = run(['serve'], { ...sandbox(), ...LISTENERS });
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

interface Mistake {
  readonly env: () => Environment;
  readonly named: RegExp;
}

const MISTAKES: Readonly<Record<string, Mistake>> = {
  'no environment chosen': {
    env: () => ({ PROVIDER_ENVIRONMENT: '' }),
    named: /PROVIDER_ENVIRONMENT: is required: sandbox or production/,
  },
  'a misspelt variable': {
    env: () => ({ PROVIDER_TIMEOT: '5s' }),
    named: /PROVIDER_TIMEOT: is not a variable of this service; did you mean PROVIDER_TIMEOUT\?/,
  },
  'a duration without a unit': {
    env: () => ({ PROVIDER_TIMEOUT: '5' }),
    named: /PROVIDER_TIMEOUT: is not a duration/,
  },
  'two ways to a token': {
    env: () => ({ ...clientCredentialsEnv(emulator), PROVIDER_ACCESS_TOKEN: 'emulator-access-token' }),
    named: /PROVIDER_ACCESS_TOKEN, .*: more than one is configured/,
  },
  'Bearer before the token': {
    env: () => ({ PROVIDER_ACCESS_TOKEN: 'Bearer emulator-access-token' }),
    named: /PROVIDER_ACCESS_TOKEN: has a character that a header cannot carry, such as a space/,
  },
  'a token file that does not exist': {
    env: () => ({ PROVIDER_ACCESS_TOKEN: '', PROVIDER_ACCESS_TOKEN_FILE: '/nowhere/token' }),
    named: /PROVIDER_ACCESS_TOKEN_FILE: cannot be read \(ENOENT\)/,
  },
  'an empty token file': {
    env: () => {
      const path = join(image.app, 'empty-token');
      writeFileSync(path, '\n');
      return { PROVIDER_ACCESS_TOKEN: '', PROVIDER_ACCESS_TOKEN_FILE: path };
    },
    named: /FAIL +token .*PROVIDER_ACCESS_TOKEN_FILE/,
  },
  'a wrong token': {
    env: () => ({ PROVIDER_ACCESS_TOKEN: 'of-the-other-environment' }),
    named: /FAIL +status .*\(401\); check PROVIDER_ACCESS_TOKEN/,
  },
  'a wrong client secret': {
    env: () => ({ ...clientCredentialsEnv(emulator), PROVIDER_CLIENT_SECRET: 'wrong-secret' }),
    named: /check PROVIDER_CLIENT_ID, PROVIDER_CLIENT_SECRET and PROVIDER_TOKEN_SCOPE/,
  },
  'an unknown host': {
    env: () => ({ PROVIDER_SANDBOX_BASE_URL: 'http://provider.invalid' }),
    named: /FAIL +address [^]*DNS/,
  },
  'a wrong port': {
    env: () => ({ PROVIDER_SANDBOX_BASE_URL: 'http://127.0.0.1:9' }),
    named: /nothing listens on port 9 [^]*check the port in PROVIDER_SANDBOX_BASE_URL/,
  },
  'https: for a server without TLS': {
    env: () => ({ PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl.replace('http:', 'https:') }),
    named: /FAIL +TLS [^]*check the scheme and port of PROVIDER_SANDBOX_BASE_URL/,
  },
  'a base address with the path of the list': {
    env: () => ({ PROVIDER_SANDBOX_BASE_URL: `${emulator.baseUrl}/api/v1` }),
    named: /PROVIDER_SANDBOX_BASE_URL contains a part of the path/,
  },
  'fields that the provider does not have': {
    env: () => ({ BANK_FIELDS: 'codigo,ispb,nome' }),
    named: /^ {2}BANK_FIELDS=code,ispb,name$/m,
  },
  'a limit below the size of the list': {
    env: () => ({ PROVIDER_MAX_BODY: '1kb' }),
    named: /FAIL +content [^]*raise PROVIDER_MAX_BODY/,
  },
  'a minimum above the length of the list': {
    env: () => ({ GUARD_MIN_BANKS: '1000' }),
    named: /FAIL +entries [^]*GUARD_MIN_BANKS/,
  },
};

describe('the doctor of the image names', () => {
  test.each(Object.entries(MISTAKES))('%s', async (_name, { env, named }) => {
    const { exit, output } = run(['doctor'], { ...sandbox(), ...env() });
    expect(await exit).toBe(1);
    expect(output()).toMatch(named);
    expect(output()).toContain('cannot serve a list');
  });

  test('nothing in a good configuration', async () => {
    const { exit, output } = run(['doctor'], sandbox());
    expect(await exit).toBe(0);
    expect(output()).not.toMatch(/^(?:FAIL|note)/m);
  });
});
