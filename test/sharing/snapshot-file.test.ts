import { beforeEach, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import supertest from 'supertest';
import { checkConfig } from '../../src/config/environment.ts';
import type { EnvironmentVariables } from '../../src/config/reader.ts';
import type { Emulator } from '../../emulator/emulator.ts';
import { wall } from '../../src/clock.ts';
import { makeBanks } from '../helpers/banks.ts';
import { createManualClock, type ManualClock } from '../helpers/manual-clock.ts';
import { createStoreReport } from '../../src/sharing/store-report.ts';
import { createSnapshotFile } from '../../src/sharing/snapshot-file.ts';
import { BANKS, UNUSABLE, emulate } from '../helpers/emulate.ts';
import { openRig, startRig, type Rig, type RigOptions } from '../helpers/rig.ts';
import { eventually, waitUntil } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// The last good list on disk: what a restart finds there, and what it makes of it. Its format is in
// envelope.test.ts.

const OPERATOR = 'operator-token-for-tests';
const DAY_MS = 86_400_000;

let path: string;
let provider: Emulator;
beforeEach(async () => {
  provider = await emulate();
  path = join(temporaryFolder(), 'banks.snapshot');
});

const start = (options: RigOptions = {}): Promise<Rig> =>
  startRig({ provider, ...options, env: { CACHE_SNAPSHOT_FILE: path, ...options.env } });
const startDown = (options: RigOptions = {}): Promise<Rig> =>
  start({ ...options, before: (emulator) => emulator.behave('unavailable') });

const refresh = (rig: Rig, query = '') =>
  supertest(rig.managementUrl).post(`/refresh${query}`).set('Authorization', `Bearer ${OPERATOR}`);

/** The provider's calls since the snapshot was left. */
const calls = (): number => provider.listCalls() - 1;

/** Runs a service until its list is on disk, and stops it. */
const leaveSnapshot = async (): Promise<string> => {
  const rig = await openRig({ provider, env: { CACHE_SNAPSHOT_FILE: path } });
  const { text } = await supertest(rig.url).get('/banks').expect(200);
  await rig.close();
  return text;
};

test('what a killed service left beside the snapshot goes with the first list that is saved', async () => {
  const abandoned = `${path}.1-0123456789ab.tmp`;
  writeFileSync(abandoned, 'half a list');
  utimesSync(abandoned, 0, 0);
  await leaveSnapshot();
  expect(readdirSync(dirname(path))).toEqual([basename(path)]);
});

test.each([
  ['half an hour', 1_800_000, 'fresh', 1_800, 200, 0],
  ['two hours', 7_200_000, 'stale', 7_200, 200, 1],
  ['eight days', 8 * DAY_MS, 'expired', 8 * 86_400, 503, 1],
  // A wrong clock left a list from the future, which is renewed at once.
  ['minus a day', -DAY_MS, 'stale', 3_600, 200, 1],
] as const)(
  'a restart after %s serves the last good list of an outage at once, as one that the provider sent then',
  async (_when, lateMs, state, ageSeconds, status, loads) => {
    const before = await leaveSnapshot();
    const rig = await startDown({ startedLaterByMs: lateMs });
    await supertest(rig.url).get('/readyz').expect(status);
    const { text } = await supertest(rig.url).get('/banks').expect(status);
    expect(text === before).toBe(status === 200);
    await eventually(() => rig.service.list.status().nextLoadInMs > 0);
    expect((await supertest(rig.managementUrl).get('/healthz')).body).toMatchObject({
      list: { state, ageSeconds },
    });
    // A fresh list puts off the first load until it is due.
    expect(calls()).toBe(loads);
  },
);

describe('a wall clock that is corrected takes no list from a later restart:', () => {
  /** A rig whose wall clock is wrong by as much as a test says; its other clock is right. */
  const wrongClock = (errorMs: number) => {
    const clock = createManualClock();
    let wrongByMs = errorMs;
    return {
      clock: { ...clock, wallMs: () => wall(clock.wallMs() + wrongByMs) },
      correct: (toErrorMs = 0) => (wrongByMs = toErrorMs),
    };
  };
  const down = (emulator: Emulator) => emulator.behave('unavailable');
  const run = (clock: ManualClock): Promise<Rig> =>
    openRig({ provider, clock, before: down, env: { CACHE_SNAPSHOT_FILE: path } });

  test.each([
    ['behind', -30 * DAY_MS],
    ['ahead', 30 * DAY_MS],
  ])('one that was %s at an earlier restart', async (_where, errorMs) => {
    const before = await leaveSnapshot();
    const saved = readFileSync(path);
    rmSync(path);
    writeFileSync(path, saved);
    const inode = statSync(path).ino;
    const restarted = await run(wrongClock(errorMs).clock);
    // It writes the list back.
    await eventually(() => statSync(path).ino !== inode);
    await restarted.close();
    const rig = await startDown({ startedLaterByMs: 2 * 3_600_000 });
    expect((await supertest(rig.url).get('/banks').expect(200)).text).toBe(before);
    expect((await supertest(rig.managementUrl).get('/healthz')).body).toMatchObject({
      list: { ageSeconds: 7_200 },
    });
  });

  test.each([
    ['behind', -30 * DAY_MS],
    ['ahead', 30 * DAY_MS],
  ])(
    'one that was %s when the list was saved, a minute after the correction',
    async (_, errorMs) => {
      const { clock, correct } = wrongClock(errorMs);
      const loaded = await openRig({ provider, clock, env: { CACHE_SNAPSHOT_FILE: path } });
      // It has been saved, and is checked each minute.
      await eventually(() => clock.waits().includes(60_000));
      const savedWrong = readFileSync(path, 'utf8');
      clock.advance(60_000);
      expect(clock.waits()).toContain(60_000);
      correct();
      clock.advance(60_000);
      await eventually(() => readFileSync(path, 'utf8') !== savedWrong);
      await loaded.close();
      const rig = await startDown({ startedLaterByMs: 2 * 3_600_000 });
      await supertest(rig.url).get('/banks').expect(200);
      expect((await supertest(rig.managementUrl).get('/healthz')).body).toMatchObject({
        list: { ageSeconds: 7_200 },
      });
    },
  );

  test('one that was ahead at the start gives a list back that seemed too old', async () => {
    const before = await leaveSnapshot();
    const { clock, correct } = wrongClock(30 * DAY_MS);
    const rig = await startDown({ clock });
    await supertest(rig.url).get('/banks').expect(503);
    await eventually(() => clock.waits().includes(60_000));
    correct();
    clock.advance(60_000);
    await eventually(() => rig.service.list.served() !== undefined);
    // The provider still fails.
    expect(rig.service.list.status().failure?.kind).toBe('unavailable');
    expect((await supertest(rig.url).get('/banks').expect(200)).text).toBe(before);
    expect((await supertest(rig.managementUrl).get('/healthz')).body).toMatchObject({
      list: { ageSeconds: 60 },
    });
  });

  test('one that goes wrong takes no list away that was restored, and makes none younger', async () => {
    const before = await leaveSnapshot();
    const { clock, correct } = wrongClock(0);
    const rig = await startDown({ clock, startedLaterByMs: 1_800_000 });
    for (const errorMs of [30 * DAY_MS, -1_200_000]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await eventually(() => clock.waits().includes(60_000));
      correct(errorMs);
      clock.advance(60_000);
    }
    await eventually(() => clock.waits().includes(60_000));
    expect((await supertest(rig.url).get('/banks').expect(200)).text).toBe(before);
    expect((await supertest(rig.managementUrl).get('/healthz')).body).toMatchObject({
      list: { ageSeconds: 1_800 + 120 },
    });
  });
});

test('a restart remembers how large the lists were that had hundreds of fields', async () => {
  const names = Array.from({ length: 200 }, (_, index) => `fieldWithALongName${index}`);
  const wide = (count: number, content: number): object[] =>
    Array.from({ length: count }, (_, index) =>
      Object.fromEntries(names.map((name) => [name, `${index} ${content}`])),
    );
  provider.setBanks(wide(20, 0));
  const env = { CACHE_SNAPSHOT_FILE: path, BANK_FIELDS: '' };
  const rig = await openRig({ provider, env });
  await eventually(() => rig.service.list.served() !== undefined);
  const { list } = rig.service;
  for (let content = 1; content <= 10; content += 1) {
    provider.setBanks(wide(content === 10 ? 17 : 20, content));
    // oxlint-disable-next-line no-await-in-loop -- one list after the other
    expect(await list.refresh()).toBeUndefined();
  }
  await rig.close();
  // Of 20, too many are gone; of 17, not.
  provider.setBanks(wide(14, 11));
  const again = await start({ env });
  expect(await again.service.list.refresh()).toMatchObject({ kind: 'shrunk' });
});

test.each<[string, () => unknown, EnvironmentVariables, RegExp]>([
  ['is missing', () => rmSync(path), {}, /no saved list yet$/],
  ['is empty', () => truncateSync(path, 0), {}, /no saved list yet$/],
  [
    'is torn',
    () => truncateSync(path, Math.floor(statSync(path).size / 2)),
    {},
    /contains a damaged list; ignored$/,
  ],
  [
    'is torn in its last line',
    () => truncateSync(path, statSync(path).size - 10),
    {},
    /contains a list with damaged metadata; ignored$/,
  ],
  [
    'is larger than any list',
    () => truncateSync(path, 200_000_000),
    {},
    /more than \d+ bytes\); ignored$/,
  ],
  [
    'has other fields',
    () => undefined,
    { BANK_FIELDS: 'code' },
    /with another configuration; ignored$/,
  ],
  [
    'is a pipe without a writer',
    () => [rmSync(path), spawnSync('mkfifo', [path])],
    {},
    /\(not a regular file\);/,
  ],
])(
  'a snapshot that %s is one log line, and the start goes on without it',
  async (_how, spoil, env, line) => {
    await leaveSnapshot();
    spoil();
    const rig = await start({ env });
    expect((await supertest(rig.url).get('/banks').expect(200)).body).toHaveLength(BANKS.length);
    expect(calls()).toBe(1);
    const lines = rig.messages().filter((message) => message.startsWith('CACHE_SNAPSHOT_FILE'));
    expect(lines[0]).toMatch(line);
    expect(
      lines.slice(1).filter((message) => message !== 'CACHE_SNAPSHOT_FILE: works again'),
    ).toEqual([]);
  },
);

test('a snapshot that the guard refuses by now is one log line', async () => {
  await leaveSnapshot();
  const rig = await start({ env: { GUARD_MIN_BANKS: String(BANKS.length + 1) } });
  expect(rig.messages()).toContain(
    `CACHE_SNAPSHOT_FILE: contains a list that is refused: the list has ${BANKS.length} usable entries; GUARD_MIN_BANKS is ${BANKS.length + 1}`,
  );
});

test('a list that a restart with stricter limits finds again is neither shrunk nor drifted', async () => {
  const nameless = makeBanks(50).map((bank) => ({ ...bank, name: null }));
  provider.setBanks(makeBanks(100));
  const lax = { CACHE_SNAPSHOT_FILE: path, GUARD_MAX_SHRINK: '90%', GUARD_MAX_DRIFT: '90%' };
  const rig = await openRig({ provider, env: lax });
  await eventually(() => rig.service.list.served() !== undefined);
  provider.setBanks([...makeBanks(100).slice(50, 70), ...nameless]);
  expect(await rig.service.list.refresh()).toBeUndefined();
  await rig.close();
  const { list } = (await start()).service;
  expect(await list.refresh()).toBeUndefined();
  expect(list.status().cached?.count).toBe(70);
  // What changes from now on is compared with all that was cached.
  provider.setBanks([...makeBanks(100).slice(51, 70), ...nameless]);
  expect(await list.refresh()).toMatchObject({ kind: 'shrunk' });
});

test.each(['saved-by-the-version-before', 'saved-by-the-version-before-with-memory'])(
  'a list %s is served while the provider is down, and a failing disk is told at once',
  async (saved) => {
    // What is written beside it would have a name that is too long.
    path = join(dirname(path), 'a'.repeat(250));
    copyFileSync(`test/sharing/files/${saved}`, path);
    const rig = await start({ env: { PROVIDER_SANDBOX_BASE_URL: 'http://127.0.0.1:9' } });
    const { body } = await supertest(rig.url).get('/banks').expect(200);
    expect(body).toHaveLength(5);
    expect(body[4]).toEqual({ code: '341', ispb: '60701190', name: 'ITAÚ UNIBANCO S.A.' });
    const told =
      'CACHE_SNAPSHOT_FILE: cannot be written (ENAMETOOLONG); the service continues without it';
    await eventually(() => rig.messages().includes(told));
  },
);

test('after an upgrade a list is compared with those from before it too', async () => {
  await leaveSnapshot();
  const [provenance = ''] = /"provenance":"[^"]*"/.exec(readFileSync(path, 'utf8')) ?? [];
  // Eight banks, of which an operator accepted six; then five.
  const saved = readFileSync('test/sharing/files/saved-by-the-version-before-with-memory', 'utf8');
  writeFileSync(path, saved.replace(/"provenance":"[^"]*"/, provenance));
  const banks: unknown = JSON.parse(/\[.*\]/.exec(saved.split('\n')[1] ?? '')?.[0] ?? '');
  provider.setBanks([banks].flat().slice(0, 4));
  const { list } = (await startDown()).service;
  expect(list.status().cached?.decisions).toMatchObject([{ requestId: 'ticket-7' }]);
  await provider.behave('healthy');
  expect(await list.refresh()).toMatchObject({ kind: 'shrunk' });
});

test('a list that could not be saved is saved a minute later', async () => {
  const folder = dirname(path);
  rmSync(folder, { recursive: true });
  const rig = await start();
  const failed =
    'CACHE_SNAPSHOT_FILE: cannot be written (ENOENT); the service continues without it';
  await eventually(() => rig.messages().includes(failed));
  mkdirSync(folder);
  rig.clock.advance(59_999);
  expect(rig.messages().at(-1)).toBe(failed);
  rig.clock.advance(1);
  await eventually(() => rig.messages().includes('CACHE_SNAPSHOT_FILE: works again'));
  expect(existsSync(path)).toBe(true);
  expect(provider.listCalls()).toBe(1);
});

test('a list that could not be saved is not saved over a later one', async () => {
  const folder = dirname(path);
  rmSync(folder, { recursive: true });
  const rig = await openRig({ provider, env: { CACHE_SNAPSHOT_FILE: path } });
  await eventually(() => rig.messages().some((message) => message.includes('ENOENT')));
  mkdirSync(folder);
  await provider.behave('some-unusable');
  await rig.service.list.refresh();
  await eventually(() => rig.messages().includes('CACHE_SNAPSHOT_FILE: works again'));
  rig.clock.advance(60_000);
  await rig.close();
  const restarted = await startDown();
  expect((await supertest(restarted.url).get('/banks').expect(200)).body).toHaveLength(
    BANKS.length - UNUSABLE,
  );
});

test('a list that fails to be saved while a later one waits is not saved over that one', async () => {
  let failFirst: (() => void) | undefined;
  let saves = 0;
  const disk: RigOptions['files'] = {
    read: () => Promise.resolve(Buffer.alloc(0)),
    removeAbandoned: () => Promise.resolve(),
    replace: async () => {
      saves += 1;
      if (saves === 1) await new Promise<void>((_resolve, reject) => (failFirst = reject));
    },
  };
  const rig = await openRig({ provider, files: disk, env: { CACHE_SNAPSHOT_FILE: path } });
  await eventually(() => failFirst !== undefined);
  expect(await rig.service.list.refresh()).toBeUndefined();
  failFirst?.();
  await eventually(() => rig.messages().includes('CACHE_SNAPSHOT_FILE: works again'));
  rig.clock.advance(60_000);
  // It waits for what is being saved.
  await rig.close();
  expect(saves).toBe(2);
});

test('a list that comes just as another one has been saved is saved too, before the end', async () => {
  const { service, clock } = await start();
  const { cached } = await waitUntil('a list', service.list.status, (seen) => Boolean(seen.cached));
  if (!cached) throw new Error('no list');
  let saves = 0;
  const events: string[] = [];
  const snapshot = createSnapshotFile({
    path,
    clock,
    envelope: {
      provenance: '',
      maxBytes: 1,
      seal: () => Promise.resolve(Buffer.of()),
      open: () => Promise.reject(),
    },
    take: () => Promise.reject(),
    report: createStoreReport('CACHE_SNAPSHOT_FILE', ({ type }) => {
      events.push(type);
      // Runs between the end of the writing and whatever waits for it.
      if (type === 'store-recovered') queueMicrotask(() => snapshot.save(cached));
    }),
    files: {
      read: () => Promise.resolve(Buffer.of()),
      removeAbandoned: () => Promise.resolve(),
      replace: () => ((saves += 1) === 1 ? Promise.reject(new Error('full')) : Promise.resolve()),
    },
  });
  for (const wanted of ['store-failed', 'store-recovered']) {
    snapshot.save(cached);
    await eventually(() => events.at(-1) === wanted);
  }
  await snapshot.stop();
  expect(saves).toBe(3);
});

describe('nothing is replaced that the service did not write:', () => {
  const problemsOf = async (env: EnvironmentVariables): Promise<string> => {
    const configured = {
      PROVIDER_SANDBOX_BASE_URL: 'http://127.0.0.1:9',
      CACHE_SNAPSHOT_FILE: path,
      ...env,
    };
    const { error } = await checkConfig({ PROVIDER_ENVIRONMENT: 'sandbox', ...configured });
    return error?.message ?? 'none';
  };

  test.each<[string, () => unknown, string]>([
    [
      'a text',
      () => writeFileSync(path, 'mine'),
      'is not a list that this service saved; name a file that',
    ],
    [
      'a link to a device',
      () => symlinkSync('/dev/null', path),
      'cannot be read (not a regular file); name a',
    ],
    [
      'a path that ends as one of a directory',
      () => (path += '/'),
      'names a directory; name a file that',
    ],
  ])('%s is named at the start', async (_what, put, problem) => {
    put();
    const problems = await problemsOf({ PROVIDER_ACCESS_TOKEN: 'some-token' });
    expect(problems).toContain(`CACHE_SNAPSHOT_FILE: ${problem}`);
  });

  const header = '{"format":"banks-bff/list","version":1}';
  test.each([
    ['whole', header],
    ['cut short', header.slice(0, 11)],
    ['zeros', '\0'.repeat(100)],
    ['behind a byte order mark', `\uFEFF${header}`],
    ['with a flipped bit', header.replace('b', 'c')],
    ['empty', ''],
  ])('a snapshot that is %s keeps no service from starting', async (_what, content) => {
    writeFileSync(path, content);
    expect(await problemsOf({ PROVIDER_ACCESS_TOKEN: 'some-token' })).toBe('none');
  });

  test('a link stays, and the file that it names is written, which did not exist', async () => {
    const target = `${path}.target`;
    symlinkSync('banks.snapshot.target', path);
    await start();
    await eventually(() => existsSync(target));
    expect(readlinkSync(path)).toBe('banks.snapshot.target');
  });
});

test('a list with the times of a distant future is served, answers every question, and can be replaced and accepted', async () => {
  await leaveSnapshot();
  const [head = '', list = ''] = readFileSync(path, 'utf8').split('\n');
  const future = String(Date.UTC(9000, 0, 1));
  const forged = list.replace(
    /("receivedAtMs":)\d+,("changedAtMs":)\d+/,
    `$1${future},$2${future},"acceptedAtMs":${future}`,
  );
  const checksum = createHash('sha256').update(forged).digest('base64url');
  writeFileSync(
    path,
    `${head.replace(/"checksum":"[^"]*"/, `"checksum":"${checksum}"`)}\n${forged}\n`,
  );

  const rig = await startDown({ env: { MANAGEMENT_TOKEN: OPERATOR } });
  const { headers } = await supertest(rig.url).get('/banks').expect(200);
  expect(Date.parse(headers['last-modified'] ?? '')).toBeLessThanOrEqual(rig.clock.wallMs());
  await supertest(rig.url).get('/healthz').expect(200);
  await provider.behave('shrunk');
  await refresh(rig).expect(502);
  await refresh(rig, '?accept=shrunk').expect(200);
  expect(rig.service.list.status().cached?.decisions[0]?.madeAtWallMs).toBeLessThanOrEqual(
    rig.clock.wallMs(),
  );
});
