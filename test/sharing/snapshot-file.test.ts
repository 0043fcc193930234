import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import supertest from 'supertest';
import type { Environment } from '../../src/config/reader.ts';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import { eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

// The last good list on disk: what a restart finds there, and what it makes of it.

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
  const rig = await start({ env: { MANAGEMENT_TOKEN: 'operator-token-for-tests' } });
  const refresh = (query: string) =>
    supertest(rig.operatorsUrl)
      .post(`/refresh${query}`)
      .set('Authorization', 'Bearer operator-token-for-tests');
  expect((await refresh('').expect(502)).body).toMatchObject({ kind: 'drifted' });
  await refresh('?accept=drifted').expect(200);
  await rig.close();
  rigs.pop();

  const restarted = await start();
  const { body } = await supertest(restarted.url).get('/banks').expect(200);
  expect(body[0]).toEqual({ code: '001', ispb: '00000000', name: null });
  expect(restarted.service.list.status().state).toBe('fresh');
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
  const rewrite = (change: (text: string) => string): void =>
    writeFileSync(path, change(readFileSync(path, 'utf8')));

  test.each<[string, () => void, RegExp]>([
    ['empty', () => rewrite(() => ''), /does not contain a saved list/],
    ['torn in the middle', () => rewrite((text) => text.slice(0, text.length / 2)), /damaged/],
    ['torn at the last byte of the list', () => rewrite((text) => text.slice(0, -2)), /damaged/],
    ['with one changed character', () => rewrite((text) => text.replace('BRASIL', 'BRAZIL')), /damaged/],
    [
      'of another version',
      () => rewrite((text) => text.replace('"version":1', '"version":2')),
      /another version/,
    ],
    ['some other JSON', () => rewrite(() => '{"banks":[]}'), /does not contain a saved list/],
    ['binary', () => writeFileSync(path, Buffer.alloc(100_000, 0xff)), /does not contain a saved list/],
  ])('%s', async (_name, damage, line) => {
    await leaveSnapshot();
    damage();
    const rig = await start();
    expect((await supertest(rig.url).get('/banks').expect(200)).body).toHaveLength(513);
    expect(calls()).toBe(1);
    expect(rig.messages().filter((message) => line.test(message))).toHaveLength(1);
  });

  test('missing', async () => {
    const rig = await start();
    await supertest(rig.url).get('/banks').expect(200);
    expect(rig.messages()).toContain('CACHE_SNAPSHOT_FILE: no saved list yet');
  });

  test('a directory in its place', async () => {
    mkdirSync(path);
    const rig = await start();
    await supertest(rig.url).get('/banks').expect(200);
    expect(rig.messages()).toContain('CACHE_SNAPSHOT_FILE: cannot be read (not a regular file); ignored');
  });

  test.each<[string, Environment]>([
    ['other fields', { BANK_FIELDS: 'code,name' }],
    ['the same names from other fields', { BANK_FIELDS: 'code,ispb,name:fullName' }],
    ['other required fields', { BANK_REQUIRED_FIELDS: 'code' }],
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

  test.each<[string, (list: string) => string]>([
    ['with a field that is not published', (list) => list.replace('{"code"', '{"document":"secret","code"')],
    ['with empty entries', (list) => list.replace('"banks":[', '"banks":[{},')],
    ['with entries that are not objects', (list) => list.replace('"banks":[', '"banks":[7,')],
    [
      'with a number that would be altered',
      (list) => list.replace('"code":"001"', '"code":9007199254740993'),
    ],
    ['with another white space', (list) => list.replace('"banks":[', '"banks":[ ')],
    ['with a key twice', (list) => list.replace('"code"', '"code":"0","code"')],
    ['nested too deep', (list) => list.replace('"code":"001"', `"code":${'['.repeat(99)}${']'.repeat(99)}`)],
    ['with too many entries', (list) => list.replace('"banks":[', `"banks":[${'1,'.repeat(50_000)}`)],
    ['that is no list', (list) => list.replace(/"banks":.*/, '"banks":{"a":1}}')],
    ['that is not JSON', (list) => list.replace(/\]\}$/, ']]')],
    ['with more members', (list) => list.replace(/\}$/, ',"x":1}')],
    ['from the year 275760', (list) => list.replace(/"receivedAtMs":\d+/, '"receivedAtMs":8640000000000000')],
    ['from no time at all', (list) => list.replace(/"receivedAtMs":\d+/, '"receivedAtMs":9007199254740991')],
    ['from before 1970', (list) => list.replace(/"receivedAtMs":\d+/, '"receivedAtMs":-1')],
  ])('%s is ignored', async (_name, change) => {
    await leaveSnapshot();
    forge(change);
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
    const rig = await startDown({ env: { MANAGEMENT_TOKEN: 'operator-token-for-tests' } });
    const { headers } = await supertest(rig.url).get('/banks').expect(200);
    expect(Date.parse(headers['last-modified'] ?? '')).toBeLessThanOrEqual(rig.clock.wallMs());
    await supertest(rig.url).get('/healthz').expect(200);
    await provider.behave('shrunk');
    const refresh = (query: string) =>
      supertest(rig.operatorsUrl)
        .post(`/refresh${query}`)
        .set('Authorization', 'Bearer operator-token-for-tests');
    await refresh('').expect(502);
    await refresh('?accept=shrunk').expect(200);
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
