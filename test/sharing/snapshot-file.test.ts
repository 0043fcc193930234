import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import supertest from 'supertest';
import { checkConfig } from '../../src/config/environment.ts';
import type { Environment } from '../../src/config/reader.ts';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import { makeBanks } from '../kit/banks.ts';
import { eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

// The last good list on disk: what a restart finds there, and what it makes of it.

const OPERATOR = 'operator-token-for-tests';
const ENV = { PROVIDER_ENVIRONMENT: 'sandbox', PROVIDER_SANDBOX_BASE_URL: 'http://127.0.0.1:9' };

let path: string;
let rigs: Rig[];
let provider: Emulator;
beforeEach(async () => {
  provider = await startEmulator();
  path = join(mkdtempSync(join(tmpdir(), 'banks-bff-')), 'banks.snapshot');
  rigs = [];
});
afterEach(async () => {
  for (const rig of rigs) await rig.close();
  await provider.close();
});

const start = async (options: RigOptions = {}): Promise<Rig> => {
  const rig = await startRig({ provider, ...options, env: { CACHE_SNAPSHOT_FILE: path, ...options.env } });
  rigs.push(rig);
  return rig;
};
const startDown = (options: RigOptions = {}): Promise<Rig> =>
  start({ ...options, before: (emulator) => emulator.behave('unavailable') });

const refresh = (rig: Rig, query = '') =>
  supertest(rig.operatorsUrl).post(`/refresh${query}`).set('Authorization', `Bearer ${OPERATOR}`);

/** The provider's calls since the snapshot was left. */
const calls = (): number => provider.listCalls() - 1;

/** Runs a service until its list is on disk, and stops it. */
const leaveSnapshot = async (): Promise<string> => {
  const rig = await startRig({ provider, env: { CACHE_SNAPSHOT_FILE: path } });
  const { text } = await supertest(rig.url).get('/banks').expect(200);
  await rig.close();
  return text;
};

test('a restart during an outage serves the last good list at once, and is ready', async () => {
  const before = await leaveSnapshot();
  const rig = await startDown();
  await supertest(rig.url).get('/readyz').expect(200);
  expect((await supertest(rig.url).get('/banks').expect(200)).text).toBe(before);
});

test('a restart compares the next list with the kept one, and keeps one that an operator accepted', async () => {
  await leaveSnapshot();
  await provider.behave('renamed-field');
  const rig = await start({ env: { MANAGEMENT_TOKEN: OPERATOR } });
  expect((await refresh(rig).expect(502)).body).toMatchObject({ kind: 'drifted' });
  await refresh(rig, '?accept=drifted').expect(200);
  await rig.close();
  rigs.pop();

  const restarted = await start();
  const { body } = await supertest(restarted.url).get('/banks').expect(200);
  expect(body[0]).toEqual({ code: '001', ispb: '00000000', name: null });
  expect(restarted.service.list.status().state).toBe('fresh');
});

test('a restart remembers the largest list of the week, and the one to return to', async () => {
  const sizes = (count: number) => provider.setBanks(makeBanks(count));
  sizes(100);
  const loadOnce = async (): Promise<string> => {
    const rig = await startRig({ provider, env: { CACHE_SNAPSHOT_FILE: path, MANAGEMENT_TOKEN: OPERATOR } });
    await supertest(rig.url).get('/banks').expect(200);
    const { body } = await refresh(rig);
    await rig.close();
    return body.detail ?? `${body.count}`;
  };
  expect(await loadOnce()).toBe('100');
  sizes(85);
  expect(await loadOnce()).toBe('85');
  sizes(79);
  expect(await loadOnce()).toMatch(
    /^the list shrank from 100 to 79 entries in the last days; if that is right/,
  );
  sizes(1_000);
  expect(await loadOnce()).toBe('1000');
  sizes(85);
  expect(await loadOnce()).toBe('85');
  sizes(79);
  expect(await loadOnce()).toMatch(/^the list shrank from 100 to 79 entries/);
});

test('a list that the version before has saved is served, also while the provider is down', async () => {
  copyFileSync('test/sharing/files/saved-by-the-version-before', path);
  const rig = await start({ env: { PROVIDER_SANDBOX_BASE_URL: 'http://127.0.0.1:9' } });
  const { body } = await supertest(rig.url).get('/banks').expect(200);
  expect(body).toHaveLength(5);
  expect(body[4]).toEqual({ code: '341', ispb: '60701190', name: 'ITAÚ UNIBANCO S.A.' });
});

test('a restart with a fresh list makes no call until that one is due', async () => {
  await leaveSnapshot();
  const rig = await start();
  await supertest(rig.url).get('/banks').expect(200);
  expect(calls()).toBe(0);
  rig.clock.next();
  await eventually(() => calls() === 1);
});

test('the age of a restored list counts from when the provider sent it', async () => {
  await leaveSnapshot();
  for (const [lateMs, state, status] of [
    [1_800_000, 'fresh', 200],
    [7_200_000, 'stale', 200],
    [8 * 86_400_000, 'expired', 503],
  ] as const) {
    const rig = await startDown({ startedLaterByMs: lateMs });
    await eventually(() => rig.service.list.status().nextLoadInMs > 0);
    const { body } = await supertest(rig.url).get('/healthz');
    expect(body).toMatchObject({ list: { state, ageSeconds: lateMs / 1_000 } });
    await supertest(rig.url).get('/banks').expect(status);
  }
});

test('a list from the future, which a wrong clock left, is served and renewed at once', async () => {
  await leaveSnapshot();
  const rig = await startDown({ startedLaterByMs: -86_400_000 });
  await supertest(rig.url).get('/banks').expect(200);
  await eventually(() => calls() === 1);
  expect(rig.service.list.status().state).toBe('stale');
});

describe('a snapshot that cannot be used is one log line, and never a failed start:', () => {
  test('torn in the middle', async () => {
    await leaveSnapshot();
    truncateSync(path, Math.floor(statSync(path).size / 2));
    const rig = await start();
    expect((await supertest(rig.url).get('/banks').expect(200)).body).toHaveLength(513);
    expect(calls()).toBe(1);
    expect(rig.messages().filter((message) => /damaged/.test(message))).toHaveLength(1);
  });

  test('missing', async () => {
    const rig = await start();
    await supertest(rig.url).get('/banks').expect(200);
    expect(rig.messages()).toContain('CACHE_SNAPSHOT_FILE: no saved list yet');
  });

  test.each<[string, Environment]>([
    ['other fields', { BANK_FIELDS: 'code,name' }],
    ['another provider', { PROVIDER_SANDBOX_BASE_URL: 'http://127.0.0.1:9' }],
  ])('made with %s', async (_name, env) => {
    await leaveSnapshot();
    const rig = await startDown({ env });
    await eventually(() => rig.service.list.status().failure !== undefined);
    await supertest(rig.url).get('/banks').expect(503);
    expect(rig.messages()).toContain(
      'CACHE_SNAPSHOT_FILE: contains a list saved with another configuration; ignored',
    );
  });
});

test('a directory that cannot be written is reported once and affects nothing else', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'banks-bff-'));
  chmodSync(directory, 0o500);
  // A file as the directory fails for every user; the permission alone would not stop root.
  writeFileSync(join(directory, 'file'), '');
  const rig = await start({ env: { CACHE_SNAPSHOT_FILE: join(directory, 'file', 'banks.snapshot') } });
  for (let load = 0; load < 3; load += 1) {
    await eventually(() => rig.service.list.status().nextLoadInMs > 0);
    rig.clock.next();
  }
  await supertest(rig.url).get('/banks').expect(200);
  expect(rig.messages().filter((message) => message.startsWith('CACHE_SNAPSHOT_FILE'))).toHaveLength(1);
});

describe('nothing is replaced that the service did not write:', () => {
  const problemsOf = async (env: Environment): Promise<string> => {
    const { error } = await checkConfig({ ...ENV, ...env });
    return error?.message ?? 'none';
  };
  const FOREIGN =
    /^ *CACHE_SNAPSHOT_FILE: is not a list that this service saved; name a file that does not exist yet$/m;
  const SPECIAL =
    /^ *CACHE_SNAPSHOT_FILE: cannot be read \(not a regular file\); name a file that does not exist yet$/m;

  test.each<[string, (path: string) => unknown, RegExp]>([
    ['a text', (file) => writeFileSync(file, 'mine'), FOREIGN],
    ['other JSON', (file) => writeFileSync(file, '{"format":"banks"}'), FOREIGN],
    ['a pipe', (file) => spawnSync('mkfifo', [file]), SPECIAL],
    ['a directory', (file) => mkdirSync(file), SPECIAL],
    ['a link to a device', (file) => symlinkSync('/dev/null', file), SPECIAL],
  ])('%s is named at the start', async (_what, put, problem) => {
    put(path);
    const before = lstatSync(path);
    expect(await problemsOf({ PROVIDER_ACCESS_TOKEN: 'some-token', CACHE_SNAPSHOT_FILE: path })).toMatch(
      problem,
    );
    const { ino, size, mtimeMs } = lstatSync(path);
    expect([ino, size, mtimeMs]).toEqual([before.ino, before.size, before.mtimeMs]);
  });

  test('the file of another variable is named with it', async () => {
    writeFileSync(path, 'the-token-of-the-provider');
    const env = {
      PROVIDER_ACCESS_TOKEN_FILE: path,
      CACHE_SNAPSHOT_FILE: `${dirname(path)}/./banks.snapshot`,
    };
    expect(await problemsOf(env)).toContain(
      'CACHE_SNAPSHOT_FILE, PROVIDER_ACCESS_TOKEN_FILE: name the same file, which the snapshot would replace',
    );
  });

  test('a directory that does not exist is named, unless a snapshot is there to be served', async () => {
    const env = { PROVIDER_ACCESS_TOKEN: 'some-token', CACHE_SNAPSHOT_FILE: path };
    expect(await problemsOf(env)).toBe('none');
    writeFileSync(path, '');
    expect(await problemsOf(env)).toBe('none');
    await leaveSnapshot();
    expect(await problemsOf(env)).toBe('none');
    expect(
      await problemsOf({ ...env, CACHE_SNAPSHOT_FILE: join(dirname(path), 'missing', 'list') }),
    ).toContain(
      'CACHE_SNAPSHOT_FILE: its directory cannot be written (ENOENT); create it, or let this user write there',
    );
  });

  test('a file that comes while the service runs stays', async () => {
    const rig = await start();
    await eventually(() => rig.service.list.status().nextLoadInMs > 0);
    await eventually(() => existsSync(path));
    writeFileSync(path, 'mine');
    rig.clock.next();
    const told = 'CACHE_SNAPSHOT_FILE: is not a list that this service saved; left as it is';
    await eventually(() => rig.messages().includes(told));
    expect(readFileSync(path, 'utf8')).toBe('mine');
  });
});

test('the file contains the published fields and no secret', async () => {
  await leaveSnapshot();
  const text = readFileSync(path, 'utf8');
  expect(text).toContain('BCO DO BRASIL S.A.');
  expect(text).not.toMatch(/fullName|document|website|emulator-access-token|127\.0\.0\.1/);
});

describe('a forged snapshot with a valid checksum', () => {
  /** Replaces what the checksum covers, and the checksum. */
  const forge = (change: (list: string) => string): void => {
    const [headText = '', list = ''] = readFileSync(path, 'utf8').split('\n');
    const forged = change(list);
    const checksum = createHash('sha256').update(forged).digest('base64url');
    const head = headText.replace(/"checksum":"[^"]*"/, `"checksum":"${checksum}"`);
    writeFileSync(path, `${head}\n${forged}\n`);
  };
  const FUTURE = String(Date.UTC(9000, 0, 1));

  test('that has a field which is not published is ignored', async () => {
    await leaveSnapshot();
    forge((list) => list.replace('{"code"', '{"document":"secret","code"'));
    const rig = await startDown();
    await eventually(() => rig.service.list.status().failure !== undefined);
    await supertest(rig.url).get('/banks').expect(503);
    await supertest(rig.url).get('/healthz').expect(200);
    expect(
      rig.messages().filter((message) => message.startsWith('CACHE_SNAPSHOT_FILE: contains')),
    ).toHaveLength(1);
  });

  test('from a distant future is served, answers every question, and can be replaced and accepted', async () => {
    await leaveSnapshot();
    forge((list) =>
      list.replace(
        /("receivedAtMs":)\d+,("changedAtMs":)\d+/,
        `$1${FUTURE},$2${FUTURE},"acceptedAtMs":${FUTURE}`,
      ),
    );
    const rig = await startDown({ env: { MANAGEMENT_TOKEN: OPERATOR } });
    const { headers } = await supertest(rig.url).get('/banks').expect(200);
    expect(Date.parse(headers['last-modified'] ?? '')).toBeLessThanOrEqual(rig.clock.wallMs());
    await supertest(rig.url).get('/healthz').expect(200);
    await provider.behave('shrunk');
    await refresh(rig).expect(502);
    await refresh(rig, '?accept=shrunk').expect(200);
    expect(rig.service.list.status().held?.acceptedAtMs).toBeLessThanOrEqual(rig.clock.wallMs());
  });

  test('larger than any list is not read', async () => {
    await leaveSnapshot();
    truncateSync(path, 200 * 1024 * 1024);
    const rig = await startDown();
    expect(rig.messages()).toContainEqual(
      expect.stringMatching(/^CACHE_SNAPSHOT_FILE: cannot be read \(more than \d+ bytes\); ignored$/),
    );
  });

  test('that is a pipe without a writer does not delay the start', async () => {
    expect(spawnSync('mkfifo', [path]).status).toBe(0);
    const rig = await startDown();
    expect(rig.messages()).toContain('CACHE_SNAPSHOT_FILE: cannot be read (not a regular file); ignored');
    await supertest(rig.url).get('/healthz').expect(200);
  });
});
