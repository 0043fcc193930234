import { beforeEach, describe, expect, test } from '@jest/globals';
import { chmod, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import supertest from 'supertest';
import type { Emulator } from '../../emulator/emulator.ts';
import type { EnvironmentVariables } from '../../src/config/reader.ts';
import { createAuthority, withoutDate } from '../helpers/authority.ts';
import { emulate } from '../helpers/emulate.ts';
import { describeWithRedis, redisOfTest } from '../helpers/redis-server.ts';
import {
  clientCredentialsEnv,
  nextLoad,
  openRig,
  startLoadedRig,
  startRig,
  stopAtOnce,
  type Rig,
} from '../helpers/rig.ts';
import { eventually } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// The life of each secret in a file: rotated, spoiled in every way, lost and restored, while the
// service runs and at its start.

const MANAGEMENT_TOKEN = 'management-token-0123456789';
const OLD_TOKEN = 'token-before-rotation';
const NEW_TOKEN = 'token-after-rotation';
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

/** A secret in a file, and what is said while that is not usable. */
interface Kind {
  readonly good: string;
  readonly env: (emulator: Emulator) => EnvironmentVariables;
  readonly consequence: string;
  /** What POST /refresh answers meanwhile, if not that. */
  readonly refresh?: readonly [status: number, code: string];
}
const KINDS: Record<string, Kind> = {
  PROVIDER_ACCESS_TOKEN_FILE: {
    good: OLD_TOKEN,
    env: () => ({ PROVIDER_ACCESS_TOKEN: '' }),
    consequence: 'the last usable one stays in use',
  },
  PROVIDER_CLIENT_SECRET_FILE: {
    good: 'emulator-secret',
    env: (emulator) => ({ ...clientCredentialsEnv(emulator), PROVIDER_CLIENT_SECRET: '' }),
    consequence: 'the last usable one stays in use',
  },
  PROVIDER_TLS_CA_FILE: {
    good: certificates.cert,
    env: () => ({ PROVIDER_ACCESS_TOKEN: OLD_TOKEN }),
    consequence: 'the last usable one stays in use',
  },
  PROVIDER_TLS_CERT_FILE: {
    good: pair.cert,
    env: () => ({ PROVIDER_ACCESS_TOKEN: OLD_TOKEN, PROVIDER_TLS_KEY_FILE: pair.keyFile }),
    consequence: 'the last usable one stays in use',
  },
  MANAGEMENT_TOKEN_FILE: {
    good: MANAGEMENT_TOKEN,
    env: () => ({ PROVIDER_ACCESS_TOKEN: OLD_TOKEN, MANAGEMENT_TOKEN: '' }),
    consequence: 'POST /refresh is refused until it is usable',
    refresh: [403, 'refresh_disabled'],
  },
  CACHE_SIGNING_KEY_FILE: {
    good: 'signing-key-of-32-characters-0001',
    env: () => ({ PROVIDER_ACCESS_TOKEN: OLD_TOKEN }),
    consequence: 'lists are neither saved nor restored until it is usable',
  },
};

/** How a file is spoiled, and what is said of it. */
const SPOILED: Record<string, readonly [spoil: () => Promise<unknown>, said: string]> = {
  gone: [() => rm(file()), 'cannot be read (ENOENT)'],
  'a dangling link': [
    () => rm(file()).then(() => symlink(join(folder, 'nowhere'), file())),
    'cannot be read (ENOENT)',
  ],
  'a folder': [() => rm(file()).then(() => mkdir(file())), 'cannot be read (not a regular file)'],
  'no permission': [() => chmod(file(), 0o000), 'cannot be read (EACCES)'],
  empty: [() => writeFile(file(), '\n'), 'is empty'],
  'two lines': [
    () => writeFile(file(), `${MARK}-line-1-of-2\n${MARK}-line-2`),
    'has more than one line',
  ],
  'Bearer in front': [
    () => writeFile(file(), `Bearer ${MARK}-token-123456`),
    'begins with the word Bearer',
  ],
  'five characters': [() => writeFile(file(), 'sPoIl'), 'has fewer than'],
  'no PEM': [() => writeFile(file(), MARK), 'contains no certificate in PEM'],
  'no date': [
    () => writeFile(file(), withoutDate(pair.cert)),
    'contains a certificate with a date that does not exist',
  ],
  'a damaged chain': [
    () => writeFile(file(), `${pair.cert}-----BEGIN CERTIFICATE-----\nMIIB\n`),
    'contains a certificate that cannot be used (ERR_OSSL_PEM_BAD_END_LINE)',
  ],
};
const OF_EVERY_FILE = ['gone', 'a dangling link', 'a folder', 'no permission'];
const OF_THE_KIND: Record<string, readonly string[]> = {
  PROVIDER_ACCESS_TOKEN_FILE: ['empty', 'two lines', 'Bearer in front'],
  PROVIDER_CLIENT_SECRET_FILE: ['empty', 'two lines'],
  PROVIDER_TLS_CA_FILE: ['no PEM'],
  PROVIDER_TLS_CERT_FILE: ['no PEM', 'no date', 'a damaged chain'],
  MANAGEMENT_TOKEN_FILE: ['empty', 'two lines', 'Bearer in front', 'five characters'],
  CACHE_SIGNING_KEY_FILE: ['empty', 'two lines', 'five characters'],
};
/** Root reads every file. */
const IS_ROOT = process.getuid?.() === 0;
const CASES = Object.entries(KINDS).flatMap(([variable, kind]) =>
  [...OF_EVERY_FILE, ...(OF_THE_KIND[variable] ?? [])]
    .filter((how) => !(IS_ROOT && how === 'no permission'))
    .map((how) => ({ variable, how, kind })),
);

const start = async (variable: string, { good, env }: Kind): Promise<void> => {
  await writeFile(file(), `${good}\n`);
  rig = await startLoadedRig({
    env: { MANAGEMENT_TOKEN },
    envFor: (emulator) => ({ ...env(emulator), [variable]: file() }),
    emulator: { accessTokens: [OLD_TOKEN, NEW_TOKEN] },
  });
};
const refresh = (token = MANAGEMENT_TOKEN) =>
  supertest(rig.managementUrl).post('/refresh').set('Authorization', `Bearer ${token}`);
const get = async (path: string) => (await supertest(rig.managementUrl).get(path).expect(200)).text;
const health = async () => (await supertest(rig.url).get('/healthz').expect(200)).body;
/** Lets the next look at the files happen, and waits for what it says. */
const looked = async (said: string): Promise<void> => {
  await eventually(() => {
    // Unless one is under way.
    if (rig.clock.waits().some((ms) => ms <= 500)) rig.clock.advance(500);
    return rig.messages().some((message) => message.includes(said));
  });
};
const lastTokenSent = (): string | undefined =>
  rig.emulator.calls
    .filter(({ path }) => path.endsWith('/banks'))
    .at(-1)
    ?.headers.authorization?.replace('Bearer ', '');

describe.each(CASES)('$variable, $how', ({ variable, how, kind }) => {
  const [spoil, said] = SPOILED[how] ?? [() => Promise.reject(new Error(how)), ''];

  test('is reported within a second and until it is usable, and refuses what it grants', async () => {
    await start(variable, kind);
    await spoil();
    await looked(`${variable}: ${said}`);
    expect(rig.messages().filter((message) => message.startsWith(variable))).toEqual([
      expect.stringContaining(`; ${kind.consequence}`),
    ]);
    expect(rig.log()).toMatch(new RegExp(`"severity":"WARNING".*"msg":"${variable}: `));
    expect(await health()).toMatchObject({
      status: 'warn',
      secretFiles: { [variable]: { usable: false, unusableSince: expect.any(String) } },
    });
    expect(await get('/metrics')).toContain(`banks_secret_file_usable{variable="${variable}"} 0`);
    const page = (await get('/')).replaceAll(/\s+/g, ' ');
    expect(page).toContain('Users get the current list, but 1 secret file cannot be used.');
    expect(page).toContain(`The file of ${variable} cannot be used.`);
    expect(page).toContain(kind.consequence);

    const { status, body, text } = await refresh();
    expect([status, body.code]).toEqual(kind.refresh ?? [502, 'secrets_not_renewed']);
    expect(body.detail).toContain(kind.refresh ? variable : `${variable} ${said}`);
    expect(`${rig.log()}${page}${text}`).not.toContain(MARK);
    // What is needed to keep working is used as it was.
    await nextLoad(rig);
    expect(rig.service.list.status().failure).toBeUndefined();
    expect(rig.emulator.calls.at(-1)?.status).toBe(200);

    await rm(file(), { recursive: true, force: true });
    await writeFile(file(), kind.good);
    await looked(`${variable}: is usable again`);
    expect(await health()).toMatchObject({
      status: 'pass',
      secretFiles: { [variable]: { usable: true } },
    });
    expect(await get('/metrics')).toContain(`banks_secret_file_usable{variable="${variable}"} 1`);
    await refresh().expect(200);
  });
});

test('a file is not usable since its first problem, whatever its problem is later', async () => {
  const { PROVIDER_ACCESS_TOKEN_FILE: kind } = KINDS;
  await start('PROVIDER_ACCESS_TOKEN_FILE', kind!);
  const since = async (): Promise<unknown> =>
    (await health()).secretFiles.PROVIDER_ACCESS_TOKEN_FILE.unusableSince;
  await writeFile(file(), '');
  await looked('PROVIDER_ACCESS_TOKEN_FILE: is empty');
  const first = await since();
  rig.clock.skip(5 * 60_000);
  await rm(file());
  await looked('PROVIDER_ACCESS_TOKEN_FILE: cannot be read (ENOENT)');
  expect([first, await since()]).toEqual([expect.any(String), first]);
  expect(await get('/')).toMatch(/Since \S+ \(5\smin\): the last usable one stays in use/);
});

describe('the runbook: write, refresh, 200, revoke', () => {
  /**
   * As orchestrators do: a new file in a new folder, and a symbolic link that is replaced in one
   * step.
   */
  const mount = async (secret: string): Promise<void> => {
    const version = await mkdtemp(join(folder, 'version-'));
    await writeFile(join(version, 'secret'), secret);
    await symlink(version, join(folder, 'next'));
    await rename(join(folder, 'next'), join(folder, 'data'));
  };

  test.each([
    ['written', (secret: string) => writeFile(file(), secret)],
    ['mounted anew', mount],
  ])('a token file that is %s', async (how, write) => {
    await write(OLD_TOKEN);
    const path = how === 'written' ? file() : join(folder, 'data', 'secret');
    rig = await startLoadedRig({
      env: { MANAGEMENT_TOKEN, PROVIDER_ACCESS_TOKEN: '', PROVIDER_ACCESS_TOKEN_FILE: path },
      emulator: { accessTokens: [OLD_TOKEN, NEW_TOKEN] },
    });
    await eventually(() => rig.service.list.served() !== undefined);
    rig.clock.advance(5_000);
    await write(` \t${NEW_TOKEN} \n`);
    const { body } = await refresh().expect(200);
    expect(body).toMatchObject({
      token: {
        from: 'PROVIDER_ACCESS_TOKEN_FILE',
        isNew: true,
        acceptedSince: new Date(rig.clock.wallMs()).toISOString(),
      },
      secretFiles: {
        PROVIDER_ACCESS_TOKEN_FILE: { contentSince: new Date(rig.clock.wallMs()).toISOString() },
      },
    });
    rig.emulator.acceptTokens([NEW_TOKEN]);
    await nextLoad(rig);
    expect(lastTokenSent()).toBe(NEW_TOKEN);
    expect(rig.service.list.status().failure).toBeUndefined();
    // Nothing has changed since.
    const { body: again } = await refresh().expect(200);
    expect(again.token.isNew).toBe(false);
    expect(again.secretFiles).toEqual(body.secretFiles);
  });

  test('a file that cannot be used is not among those that were verified', async () => {
    await start('PROVIDER_ACCESS_TOKEN_FILE', KINDS['PROVIDER_ACCESS_TOKEN_FILE']!);
    await writeFile(file(), '');
    const { body } = await refresh().expect(502);
    expect([body.code, body.secretFiles]).toEqual(['secrets_not_renewed', {}]);
  });

  test('a token that the provider does not accept is no success', async () => {
    await start('PROVIDER_ACCESS_TOKEN_FILE', KINDS['PROVIDER_ACCESS_TOKEN_FILE']!);
    await writeFile(file(), 'another-token-that-is-wrong');
    const { body } = await refresh().expect(502);
    expect(body).toMatchObject({ code: 'refresh_failed', kind: 'unauthorized' });
    expect(body.detail).toContain('check PROVIDER_ACCESS_TOKEN_FILE');
    // Nor is the old one, after it has been revoked.
    await writeFile(file(), '');
    rig.emulator.acceptTokens([]);
    const { body: both } = await refresh().expect(502);
    expect(both).toMatchObject({ code: 'refresh_failed', kind: 'unauthorized' });
    expect(both.detail).toMatch(
      /PROVIDER_ACCESS_TOKEN_FILE is empty.*PROVIDER_ACCESS_TOKEN_FILE: it is empty/,
    );
  });

  test('a token that the provider accepts only later is new then', async () => {
    await start('PROVIDER_ACCESS_TOKEN_FILE', KINDS['PROVIDER_ACCESS_TOKEN_FILE']!);
    rig.emulator.acceptTokens([OLD_TOKEN]);
    await writeFile(file(), NEW_TOKEN);
    rig.clock.advance(1_250);
    await refresh().expect(502);
    expect(lastTokenSent()).toBe(NEW_TOKEN);
    // Neither does one that fails say that it accepts the token.
    await rig.emulator.behave('unavailable');
    await refresh().expect(502);
    await rig.emulator.behave('healthy');
    rig.emulator.acceptTokens([OLD_TOKEN, NEW_TOKEN]);
    rig.clock.advance(1_250);
    const { body } = await refresh().expect(200);
    const acceptedSince = new Date(rig.clock.wallMs()).toISOString();
    expect(body.token).toMatchObject({ isNew: true, acceptedSince });
    rig.clock.advance(1_250);
    const { body: again } = await refresh().expect(200);
    expect(again.token).toMatchObject({ isNew: false, acceptedSince });
  });

  test('a client secret is verified by a new token, and the current one stays if that fails', async () => {
    await start('PROVIDER_CLIENT_SECRET_FILE', KINDS['PROVIDER_CLIENT_SECRET_FILE']!);
    const tokenCalls = rig.emulator.tokenCalls();
    const current = lastTokenSent();
    const { body } = await refresh().expect(200);
    expect(body.token).toMatchObject({ from: 'PROVIDER_TOKEN_URL', isNew: true });
    expect(rig.emulator.tokenCalls()).toBe(tokenCalls + 1);
    const renewed = lastTokenSent();
    expect(renewed).not.toBe(current);

    await writeFile(file(), 'a-wrong-client-secret');
    const { body: problem } = await refresh().expect(502);
    expect(problem).toMatchObject({
      code: 'secrets_not_renewed',
      detail: expect.stringMatching(
        /^PROVIDER_CLIENT_SECRET_FILE does not work: .*invalid_client.*; the current token stays in use\. The/,
      ),
    });
    expect(problem.secretFiles).toEqual({});
    expect(lastTokenSent()).toBe(renewed);
    expect(rig.service.list.status().failure).toBeUndefined();
    // It is reported for as long as it lasts, although the list is renewed with that token.
    expect(await health()).toMatchObject({
      status: 'warn',
      secretFiles: { PROVIDER_CLIENT_SECRET_FILE: { usable: false } },
    });
    expect(await get('/')).toContain('The file of PROVIDER_CLIENT_SECRET_FILE cannot be used.');
    // The file was right, and the endpoint learned of it later.
    rig.emulator.acceptSecrets(['a-wrong-client-secret']);
    await refresh().expect(200);
    expect(await health()).toMatchObject({ status: 'pass' });
  });

  test.each(['unknown-refusal', 'invalid-client'] as const)(
    'a client secret that the token endpoint refuses (%s) is a fault of its file',
    async (behaviour) => {
      await start('PROVIDER_CLIENT_SECRET_FILE', KINDS['PROVIDER_CLIENT_SECRET_FILE']!);
      rig.emulator.behaveToken(behaviour);
      const { body } = await refresh().expect(502);
      expect(body.detail).toMatch(/^PROVIDER_CLIENT_SECRET_FILE does not work: .*401/);
      expect(await health()).toMatchObject({
        secretFiles: { PROVIDER_CLIENT_SECRET_FILE: { usable: false } },
      });
    },
  );

  test('what a refused client secret means is told anew once the token in use has expired', async () => {
    await start('PROVIDER_CLIENT_SECRET_FILE', KINDS['PROVIDER_CLIENT_SECRET_FILE']!);
    rig.emulator.behaveToken('invalid-client');
    await refresh().expect(502);
    const told = () =>
      rig
        .messages()
        .filter((message) => message.startsWith('PROVIDER_CLIENT_SECRET_FILE: does not work'));
    expect(told()).toEqual([expect.stringContaining('; the current token stays in use')]);
    const page = await get('/');
    expect(page).toContain(': the current token stays in use.');
    rig.clock.skip(2 * 3_600_000);
    for (let load = 0; load < 2; load += 1)
      expect(await rig.service.list.refresh()).toMatchObject({ kind: 'no_token' });
    expect(told().slice(1)).toEqual([expect.stringContaining('; there is no valid token')]);
    expect(await get('/')).toContain(': there is no valid token.');
  });

  test('what it means is told anew too once the endpoint fails for another reason', async () => {
    await start('PROVIDER_CLIENT_SECRET_FILE', KINDS['PROVIDER_CLIENT_SECRET_FILE']!);
    rig.emulator.behaveToken('invalid-client');
    await refresh().expect(502);
    rig.emulator.behaveToken('server-error');
    rig.emulator.revokeIssued();
    const { body } = await refresh().expect(502);
    expect(body.detail).toMatch(/^PROVIDER_CLIENT_SECRET_FILE does not work: .*invalid_client/);
    const rejected = ': the provider does not accept the current token (401).';
    expect(await get('/')).toContain(rejected);
    rig.clock.skip(2 * 3_600_000);
    expect(await rig.service.list.refresh()).toMatchObject({ kind: 'unavailable' });
    expect(await get('/')).toContain(': there is no valid token.');
  });

  test.each(['server-error', 'unknown-refusal'] as const)(
    'no token is said to be in use before the first one is granted (%s)',
    async (behaviour) => {
      const env = { MANAGEMENT_TOKEN, CACHE_SNAPSHOT_FILE: join(folder, 'snapshot') };
      await stopAtOnce(await startLoadedRig({ env }));
      rig = await startRig({
        env,
        envFor: clientCredentialsEnv,
        before: (emulator) => emulator.behaveToken(behaviour),
      });
      const { body } = await refresh().expect(502);
      expect(body.detail).toMatch(/^the token endpoint .*; there is no valid token\. /);
      expect(rig.log() + (await get('/'))).not.toContain('stays in use');
    },
  );

  test.each(['server-error', 'not-found', 'rate-limited', 'reset'] as const)(
    'a failure of the token endpoint that says nothing of the client secret (%s) is none of its file',
    async (behaviour) => {
      const { good, env, ...rest } = KINDS['PROVIDER_CLIENT_SECRET_FILE']!;
      // A file of TLS is not verified either without a response.
      const authority = join(folder, 'authority.pem');
      await writeFile(authority, KINDS['PROVIDER_TLS_CA_FILE']!.good);
      await start('PROVIDER_CLIENT_SECRET_FILE', {
        good,
        env: (emulator) => ({ ...env(emulator), PROVIDER_TLS_CA_FILE: authority }),
        ...rest,
      });
      rig.emulator.behaveToken(behaviour);
      const { body } = await refresh().expect(502);
      expect(body).toMatchObject({
        code: 'secrets_not_renewed',
        detail: expect.stringContaining('; the current token stays in use'),
      });
      expect(body.secretFiles).toEqual({});
      expect(await health()).toMatchObject({
        secretFiles: { PROVIDER_CLIENT_SECRET_FILE: { usable: true } },
      });
    },
  );

  test('a client secret is verified by a request of its own, and not by one that is under way', async () => {
    await start('PROVIDER_CLIENT_SECRET_FILE', KINDS['PROVIDER_CLIENT_SECRET_FILE']!);
    const calls = rig.emulator.tokenCalls();
    rig.emulator.behaveToken('hang');
    const first = refresh();
    void first.then(() => undefined);
    await eventually(() => rig.emulator.tokenCalls() === calls + 1);
    await writeFile(file(), '');
    await looked('PROVIDER_CLIENT_SECRET_FILE: is empty');
    await writeFile(file(), 'a-wrong-client-secret');
    const second = refresh();
    void second.then(() => undefined);
    await eventually(() => rig.messages().at(-1)?.includes('is usable again') === true);
    rig.emulator.behaveToken('healthy');
    rig.clock.advance(15_000);
    expect((await first).status).toBe(502);
    const { body } = await second.expect(502);
    expect(body.detail).toMatch(/^PROVIDER_CLIENT_SECRET_FILE does not work: .*invalid_client/);
    expect(rig.emulator.tokenCalls()).toBe(calls + 2);
  });

  test('a management token', async () => {
    await start('MANAGEMENT_TOKEN_FILE', KINDS['MANAGEMENT_TOKEN_FILE']!);
    await refresh().expect(200);
    const next = 'another-management-token-1';
    await writeFile(file(), next);
    await refresh(next).expect(200);
    const refused = refresh().expect(401);
    void refused.then(() => undefined);
    await eventually(() => rig.clock.waits().includes(1_000));
    rig.clock.advance(1_000);
    await refused;
  });
});

describeWithRedis('a signing key that is withdrawn', () => {
  test('keeps no list from being renewed, although Redis is connected', async () => {
    const redis = await redisOfTest();
    const kind = KINDS['CACHE_SIGNING_KEY_FILE']!;
    await start('CACHE_SIGNING_KEY_FILE', {
      ...kind,
      env: (emulator) => ({ ...kind.env(emulator), CACHE_REDIS_URL: redis.url }),
    });
    await refresh().expect(200);
    await rm(file());
    await looked('CACHE_SIGNING_KEY_FILE: cannot be read (ENOENT)');
    await nextLoad(rig);
    expect(rig.service.list.status().failure).toBeUndefined();
    const { body } = await refresh().expect(502);
    expect(body).toMatchObject({
      code: 'secrets_not_renewed',
      detail: expect.stringContaining('. The list was renewed'),
    });
    expect(await health()).toMatchObject({
      list: { state: 'fresh' },
      stores: { CACHE_REDIS_URL: { works: false } },
    });
  });
});

describe('a 401 for the token in use', () => {
  test('is reported as that, and not as a token that stays in use', async () => {
    // The next load comes before the token is renewed for its age.
    rig = await startLoadedRig({ env: { CACHE_TTL: '10m' }, envFor: clientCredentialsEnv });
    rig.emulator.revokeIssued();
    rig.emulator.behaveToken('server-error');
    await nextLoad(rig);
    const said = rig.messages().filter((message) => message.startsWith('token: '));
    expect(said).toEqual([
      expect.stringContaining('the provider does not accept the current token (401)'),
    ]);
  });
});

test('a token of the greatest length is used, with the line break that an editor writes after it', async () => {
  const longest = 'x'.repeat(8_192);
  const provider = await emulate({ accessTokens: [longest] });
  const envFor = () => ({ PROVIDER_ACCESS_TOKEN: '', PROVIDER_ACCESS_TOKEN_FILE: file() });
  await writeFile(file(), `\ufeff${longest}\r\n`);
  rig = await startLoadedRig({ provider, envFor });
  await supertest(rig.url).get('/banks').expect(200);
  await writeFile(file(), `${longest}x\n`);
  await looked('PROVIDER_ACCESS_TOKEN_FILE: has more than 8192 bytes');
});

describe('a start with an unusable file', () => {
  const envFor = (): EnvironmentVariables => ({
    PROVIDER_ACCESS_TOKEN: '',
    PROVIDER_ACCESS_TOKEN_FILE: file(),
    CACHE_SNAPSHOT_FILE: join(folder, 'snapshot'),
  });

  test.each(['gone', 'empty', 'a folder', 'Bearer in front'])(
    'that is %s ends with the error, unless a saved list can be served',
    async (how) => {
      const [spoil, said] = SPOILED[how] ?? [];
      const provider = await emulate({ accessTokens: [OLD_TOKEN] });
      await writeFile(file(), OLD_TOKEN);
      await spoil?.();
      await expect(openRig({ provider, envFor })).rejects.toThrow(
        `PROVIDER_ACCESS_TOKEN_FILE: ${said}`,
      );

      await rm(file(), { recursive: true, force: true });
      await writeFile(file(), OLD_TOKEN);
      const first = await openRig({ provider, envFor });
      await eventually(() => first.service.list.served() !== undefined);
      await first.close();
      await spoil?.();
      rig = await openRig({ provider, envFor, startedLaterByMs: 1_000 });
      try {
        await supertest(rig.url).get('/banks').expect(200);
        expect(await health()).toMatchObject({ status: 'warn' });
        expect(rig.messages()).toContainEqual(
          expect.stringMatching(/^PROVIDER_ACCESS_TOKEN_FILE: .*; there is no earlier one to use$/),
        );
        // It is found as soon as it is there.
        await rm(file(), { recursive: true, force: true });
        await writeFile(file(), OLD_TOKEN);
        await looked('PROVIDER_ACCESS_TOKEN_FILE: is usable again');
        await nextLoad(rig);
        expect(await health()).toMatchObject({ status: 'pass' });
      } finally {
        await rig.close();
      }
    },
  );

  test('ends with the error where the saved list is too old to be served', async () => {
    const env = { CACHE_TTL: '1h', CACHE_MAX_STALE: '1h' };
    const provider = await emulate({ accessTokens: [OLD_TOKEN] });
    await writeFile(file(), OLD_TOKEN);
    const first = await openRig({ provider, env, envFor });
    await eventually(() => first.service.list.served() !== undefined);
    await first.close();
    await rm(file());
    const late = { provider, env, envFor, startedLaterByMs: 3 * 3_600_000 };
    await expect(startRig(late)).rejects.toThrow(
      'PROVIDER_ACCESS_TOKEN_FILE: cannot be read (ENOENT)',
    );
  });
});
