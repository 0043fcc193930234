import { beforeEach, describe, expect, test } from '@jest/globals';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import supertest from 'supertest';
import type { Emulator } from '../../emulator/emulator.ts';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { createAuthority } from '../helpers/authority.ts';
import { emulate } from '../helpers/emulate.ts';
import { postRefresh } from '../helpers/management-port.ts';
import {
  clientCredentialsEnv,
  nextLoad,
  openRig,
  startLoadedRig,
  startRig,
  type Rig,
} from '../helpers/rig.ts';
import { MANAGEMENT_TOKEN } from '../helpers/sandbox.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { eventually } from '../helpers/wait-until.ts';

// Secrets in files: rotated, unusable, lost and restored while the service runs, and at its start.
// All at once, on the built service: rotation.test.ts.

const TOKEN = 'a-token-in-a-file';
/** In every text that spoils a file: it must not be repeated anywhere. */
const MARK = 'SPOILED';

let rig: Rig;
let folder: string;
const file = (): string => join(folder, 'secret');
beforeEach(() => {
  folder = temporaryFolder('banks-secret-files-');
});

const certificates = createAuthority();
const pair = certificates.issue('the service');

interface Kind {
  readonly good: string;
  /** One that is read and cannot be used, and what is said of it. */
  readonly bad: readonly [content: string, said: string];
  readonly env: (emulator: Emulator) => EnvironmentVariables;
  /** What POST /refresh answers meanwhile, if not that. */
  readonly refresh?: readonly [status: number, code: string];
  readonly consequence?: string;
}
const KINDS: Record<string, Kind> = {
  PROVIDER_ACCESS_TOKEN_FILE: {
    good: TOKEN,
    bad: [`Bearer ${MARK}-token`, 'has a character that no token has'],
    env: () => ({ PROVIDER_ACCESS_TOKEN: '' }),
  },
  PROVIDER_CLIENT_SECRET_FILE: {
    good: 'emulator-secret',
    bad: [`${MARK}-line-1-of-2\n${MARK}-line-2`, 'has more than one line'],
    env: (emulator) => ({ ...clientCredentialsEnv(emulator), PROVIDER_CLIENT_SECRET: '' }),
  },
  PROVIDER_TLS_KEY_FILE: {
    good: pair.key,
    bad: [certificates.issue('another').key, 'does not fit PROVIDER_TLS_CERT_FILE'],
    env: () => ({ PROVIDER_ACCESS_TOKEN: TOKEN, PROVIDER_TLS_CERT_FILE: pair.certFile }),
  },
  MANAGEMENT_TOKEN_FILE: {
    good: MANAGEMENT_TOKEN,
    bad: ['sPoIl', 'has fewer than 16 characters'],
    env: () => ({ PROVIDER_ACCESS_TOKEN: TOKEN, MANAGEMENT_TOKEN: '' }),
    refresh: [403, 'refresh_disabled'],
    consequence: 'POST /refresh is refused until it is usable',
  },
};
const kindOf = (variable: string): Kind =>
  KINDS[variable] ?? { good: '', bad: ['', ''], env: () => ({}) };

const start = async (variable: string): Promise<void> => {
  const { good, env } = kindOf(variable);
  await writeFile(file(), `\uFEFF${good}\r\n`);
  rig = await startLoadedRig({
    env: { MANAGEMENT_TOKEN },
    envFor: (emulator) => ({ ...env(emulator), [variable]: file() }),
    emulator: { accessTokens: [TOKEN] },
  });
};
const refresh = () => postRefresh(rig.managementUrl);
const get = async (path: string) => (await supertest(rig.managementUrl).get(path).expect(200)).text;
const health = async () => JSON.parse(await get('/healthz'));
const loadsWork = async (): Promise<void> => {
  await nextLoad(rig);
  expect(rig.service.list.status().failing).toBeUndefined();
  // A token may be requested at the same time.
  const lists = rig.emulator.calls.filter(({ path }) => path.endsWith('/banks'));
  expect(lists.at(-1)?.status).toBe(200);
};
/** Lets looks at the files happen until one says so. While one is under way, no next one is planned. */
const looked = (said: string): Promise<void> =>
  eventually(() => {
    const isSaid = rig.messages().some((message) => message.includes(said));
    const isPlanned = rig.clock.waits().some((ms) => ms <= 10_000);
    if (!isSaid && isPlanned) rig.clock.advance(10_000);
    return isSaid;
  });
const lastTokenSent = (): string | undefined =>
  rig.emulator.calls
    .filter(({ path }) => path.endsWith('/banks'))
    .at(-1)
    ?.headers.authorization?.replace('Bearer ', '');

test.each(Object.entries(KINDS))(
  '%s that cannot be used is reported within 10 s, until it can be, and fails a refresh',
  async (variable, { good, bad, refresh: refused, consequence }) => {
    await start(variable);
    const [content, said] = bad;
    await writeFile(file(), content);
    await looked(`${variable}: ${said}`);
    const meanwhile = consequence ?? 'the last usable one stays in use';
    expect(rig.messages().filter((message) => message.startsWith(variable))).toEqual([
      expect.stringContaining(`; ${meanwhile}`),
    ]);
    expect(rig.log()).toMatch(new RegExp(`"severity":"WARNING".*"msg":"${variable}: `));
    expect(await health()).toMatchObject({
      status: 'warn',
      secretFiles: { [variable]: { usable: false, unusableSince: expect.any(String) } },
    });
    expect(await get('/metrics')).toContain(`banks_secret_file_usable{variable="${variable}"} 0`);
    const page = (await get('/')).replaceAll(/\s+/g, ' ');
    expect(page).toContain(`${variable} cannot be used`);
    expect(page).toContain(meanwhile);
    expect(page).toContain('but something needs attention.');

    const { status, body, text } = await refresh();
    expect([status, body.code]).toEqual(refused ?? [502, 'secrets_not_renewed']);
    expect(body.detail).toContain(refused ? variable : `${variable} ${said}`);
    expect(`${rig.log()}${page}${text}`).not.toContain(MARK);
    await loadsWork();

    await writeFile(file(), good);
    await looked(`${variable}: is usable again`);
    expect(await health()).toMatchObject({
      status: 'pass',
      secretFiles: { [variable]: { usable: true } },
    });
    expect(await get('/metrics')).toContain(`banks_secret_file_usable{variable="${variable}"} 1`);
    expect(await get('/')).not.toContain('cannot be used');
    await refresh().expect(200);
  },
);

test.each<[string, string, () => Promise<unknown>]>([
  ['gone', 'ENOENT', () => rm(file())],
  ['a folder', 'not a regular file', () => rm(file()).then(() => mkdir(file()))],
  ['too long', 'more than 1048576 bytes', () => writeFile(file(), 'x'.repeat(1_048_577))],
  ['not UTF-8', 'not UTF-8', () => writeFile(file(), Buffer.from([0xff]))],
])('a file that is %s leaves the last content in use', async (_how, said, spoil) => {
  await start('PROVIDER_ACCESS_TOKEN_FILE');
  await spoil();
  const { body } = await refresh().expect(502);
  expect(body.detail).toContain(`PROVIDER_ACCESS_TOKEN_FILE cannot be read (${said})`);
  await loadsWork();
});

test('a file is not usable since its first problem, whatever its problem is later', async () => {
  await start('PROVIDER_ACCESS_TOKEN_FILE');
  const since = async (): Promise<unknown> =>
    (await health()).secretFiles.PROVIDER_ACCESS_TOKEN_FILE.unusableSince;
  await writeFile(file(), '');
  await looked('PROVIDER_ACCESS_TOKEN_FILE: is empty');
  const first = await since();
  rig.clock.skip(5 * 60_000);
  await rm(file());
  await looked('PROVIDER_ACCESS_TOKEN_FILE: cannot be read (ENOENT)');
  expect([first, await since()]).toEqual([expect.any(String), first]);
});

describe('the runbook: write, refresh, 200, revoke', () => {
  test('a token that the provider does not accept is no success', async () => {
    await start('PROVIDER_ACCESS_TOKEN_FILE');
    await writeFile(file(), 'another-token-that-is-wrong');
    const { body } = await refresh().expect(502);
    expect(body).toMatchObject({ code: 'refresh_failed', kind: 'unauthorized' });
    expect(body.detail).toContain('PROVIDER_ACCESS_TOKEN_FILE');
  });

  test('a client secret is verified by a new token, and the current one stays if that fails', async () => {
    await start('PROVIDER_CLIENT_SECRET_FILE');
    const current = lastTokenSent();
    const { body } = await refresh().expect(200);
    rig.clock.advance(5_000);
    // Nothing has changed since.
    expect((await refresh().expect(200)).body.secretFiles).toEqual(body.secretFiles);
    const renewed = lastTokenSent();
    expect(renewed).not.toBe(current);

    await writeFile(file(), 'a-wrong-client-secret');
    const { body: problem } = await refresh().expect(502);
    expect(problem).toMatchObject({
      code: 'secrets_not_renewed',
      detail: expect.stringMatching(/invalid_client/),
    });
    expect(lastTokenSent()).toBe(renewed);
    await loadsWork();
    // Its file is fine.
    expect(await health()).toMatchObject({
      secretFiles: { PROVIDER_CLIENT_SECRET_FILE: { usable: true } },
    });
    rig.emulator.acceptSecrets(['a-wrong-client-secret']);
    await refresh().expect(200);
  });
});

test('what production refuses at the start it refuses later too', async () => {
  await writeFile(file(), 'a-token-of-production');
  rig = await startRig({
    env: {
      MANAGEMENT_TOKEN,
      PROVIDER_ENVIRONMENT: 'production',
      PROVIDER_PRODUCTION_BASE_URL: 'https://localhost:1',
      PROVIDER_ACCESS_TOKEN: '',
      PROVIDER_ACCESS_TOKEN_FILE: file(),
      BANK_FIELDS: 'code,name',
    },
  });
  for (const [weak, said] of [
    ['emulator-access-token', 'is the demo secret'],
    ['short', 'has fewer than 8 characters'],
  ] as const) {
    await writeFile(file(), weak);
    await looked(`PROVIDER_ACCESS_TOKEN_FILE: ${said}`);
  }
  expect(rig.log()).not.toContain('emulator-access-token');
});

describe('a start with an unusable file', () => {
  const env = { CACHE_TTL: '1h', CACHE_MAX_STALE: '1h', MANAGEMENT_TOKEN };
  const envFor = (): EnvironmentVariables => ({
    PROVIDER_ACCESS_TOKEN: '',
    PROVIDER_ACCESS_TOKEN_FILE: file(),
    CACHE_SNAPSHOT_FILE: join(folder, 'snapshot'),
  });
  const problem = 'PROVIDER_ACCESS_TOKEN_FILE: cannot be read (ENOENT)';

  test('ends with the error, unless a saved list can be served', async () => {
    const provider = await emulate({ accessTokens: [TOKEN] });
    const options = { provider, env, envFor };
    await expect(openRig(options)).rejects.toThrow(problem);

    await writeFile(file(), TOKEN);
    const first = await openRig(options);
    await eventually(() => first.service.list.served() !== undefined);
    await first.close();
    await rm(file());
    await expect(openRig({ ...options, startedLaterByMs: 3 * 3_600_000 })).rejects.toThrow(problem);

    rig = await startRig({ ...options, startedLaterByMs: 1_000 });
    await supertest(rig.url).get('/banks').expect(200);
    expect(rig.messages()).toContainEqual(
      expect.stringMatching(/^PROVIDER_ACCESS_TOKEN_FILE: .*; there is no earlier one to use$/),
    );
    const { status, body } = await refresh();
    expect([status, body.kind]).toEqual([502, 'unusable_file']);
    // It is found as soon as it is there.
    await writeFile(file(), TOKEN);
    await looked('PROVIDER_ACCESS_TOKEN_FILE: is usable again');
    await loadsWork();
  });
});
