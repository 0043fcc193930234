import { beforeEach, describe, expect, test } from '@jest/globals';
import { createHash, createHmac } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import supertest from 'supertest';
import type { Emulator } from '../../emulator/emulator.ts';
import { checkConfig } from '../../src/config/environment.ts';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { BANKS, emulate } from '../helpers/emulate.ts';
import { plannedInMs, refresh, startRig, type Rig } from '../helpers/rig.ts';
import { SANDBOX } from '../helpers/sandbox.ts';
import { temporaryFile, temporaryFolder } from '../helpers/temporary-folder.ts';
import { eventually } from '../helpers/wait-until.ts';

// A saved list is untrusted. Each test saves one by a running service, changes it, and starts
// another service in an outage: it serves the list or has none, and says why. The snapshot stands
// for Redis: the format and what opens it are the same.

const KEY = 'a signing key of more than 32 characters';
const HOUR = 3_600_000;
const DAMAGED = 'has a damaged list, or one of another version; ignored';
const UNSIGNED = 'has a list that is not signed with the signing key; ignored';
const OTHER_CONFIGURATION = 'has a list that was saved with another configuration; ignored';
const NOT_PUBLISHABLE = 'has a list that this service would not publish; ignored';

let emulator: Emulator;
let file: string;
beforeEach(async () => {
  emulator = await emulate();
  file = join(temporaryFolder(), 'list');
});

/** Starts a service with the snapshot. */
const startService = (env: EnvironmentVariables = {}, laterByMs = 0): Promise<Rig> =>
  startRig({
    provider: emulator,
    env: { CACHE_SNAPSHOT_FILE: file, ...env },
    startedLaterByMs: laterByMs,
  });

/** What a service saves. */
const save = async (env: EnvironmentVariables = {}): Promise<Buffer> => {
  const rig = await startService(env);
  await eventually(() => existsSync(file));
  await rig.close();
  return readFileSync(file);
};

/** What a service serves that starts in an outage, and why it does not use the file. */
const restore = async (env: EnvironmentVariables = {}, laterByMs = 0) => {
  await emulator.behave('unavailable');
  const rig = await startService(env, laterByMs);
  const { status, body } = await supertest(rig.url).get('/banks');
  const reason = /"CACHE_SNAPSHOT_FILE: (.*; ignored)"/.exec(rig.log())?.[1];
  const { state } = rig.service.list.status();
  await rig.close();
  return { status, body: status === 200 ? body : undefined, state, reason };
};

interface Parts {
  readonly id: string;
  readonly header: Readonly<Record<string, unknown>>;
  readonly list: string;
}

const partsOf = (saved: Buffer): Parts => {
  const [first = '', header = '', ...rest] = saved.toString().split('\n');
  return { id: first.split(' ')[1] ?? '', header: JSON.parse(header), list: rest.join('\n') };
};

/** A saved list with a checksum that fits it, or with a key a signature. */
const forge = ({ id, header, list }: Parts, key?: string): string => {
  const rest = `${JSON.stringify(header)}\n${list}`;
  const mac = key === undefined ? createHash('sha256') : createHmac('sha256', key);
  return `banks-bff/3 ${id} ${mac.update(`${id}\n${rest}`).digest('base64url')}\n${rest}`;
};

describe('a restart in an outage', () => {
  test('serves the list as it was: bytes, validators, age and time of the last change', async () => {
    const before = await startService();
    const first = await supertest(before.url).get('/banks').expect(200);
    await eventually(() => existsSync(file));
    await before.close();
    await emulator.behave('unavailable');
    const after = await startService({}, HOUR / 2);
    const second = await supertest(after.url).get('/banks').expect(200);
    expect(second.text).toBe(first.text);
    for (const name of ['etag', 'last-modified'])
      expect(second.headers[name]).toBe(first.headers[name]);
    expect(second.headers['cache-status']).toMatch(/ttl=(1799|1800);?/);
    expect(emulator.listCalls()).toBe(1);
    // Loads as if it had loaded the list itself: 23 s before that is stale.
    expect(await plannedInMs(after)).toBe(HOUR / 2 - 23_000);
  });

  test('finds a list fresh that was renewed with the same content', async () => {
    await save();
    const renewed = await startService({}, 1.5 * HOUR);
    await eventually(() => renewed.service.list.status().state === 'fresh');
    await renewed.close();
    await emulator.behave('unavailable');
    const after = await startService({}, 1.5 * HOUR);
    expect(after.service.list.status()).toMatchObject({ state: 'fresh', ageMs: 0 });
  });

  test('serves a list past its TTL for as long as CACHE_MAX_STALE says, and none after that', async () => {
    await save();
    const env = { CACHE_MAX_STALE: '1d' };
    expect((await restore(env, 24.9 * HOUR)).status).toBe(200);
    expect((await restore(env, 25.1 * HOUR)).status).toBe(503);
  });

  test('remembers the marks of the guard: a slow decline is refused across restarts', async () => {
    await save();
    emulator.setBanks(BANKS.slice(0, 100));
    const second = await startService({ GUARD_MAX_SHRINK: '20%' }, 2 * HOUR);
    await eventually(() => second.service.list.served()?.list.count === 100);
    await second.close();
    emulator.setBanks(BANKS.slice(0, 90));
    const third = await startService({ GUARD_MAX_SHRINK: '20%' }, 4 * HOUR);
    await eventually(() => third.service.list.status().failing !== undefined);
    expect(third.service.list.status().failing?.error.message).toBe(
      'the list shrank from 120 to 90 entries',
    );
    // They last for a day, whoever has restarted meanwhile.
    const fourth = await startService(
      { GUARD_MAX_SHRINK: '20%', CACHE_MAX_STALE: '1d' },
      24.5 * HOUR,
    );
    await eventually(() => fourth.service.list.served()?.list.count === 90);
  });

  test('serves a list whose repeated entries were left out', async () => {
    emulator.setBanks([...BANKS, ...BANKS.slice(0, 10)]);
    await save();
    expect((await restore()).status).toBe(200);
  });

  test('does not tell again that an operator has accepted the list', async () => {
    await save();
    emulator.setBanks(BANKS.slice(0, 50));
    const told = (rig: Rig) =>
      rig.messages().filter((message) => message === 'list: accepted by an operator');
    const before = await startService({}, 2 * HOUR);
    await before.service.list.refresh(['shrunk']);
    await before.close();
    expect(told(before)).toHaveLength(1);
    const after = await startService({}, 2 * HOUR);
    expect(after.service.list.served()?.list.count).toBe(50);
    expect(told(after)).toEqual([]);
  });

  test('takes a list from the future as a stale one', async () => {
    const parts = partsOf(await save());
    const askedAtMs = Number(parts.header['askedAtMs']) + 10_000;
    writeFileSync(file, forge({ ...parts, header: { ...parts.header, askedAtMs } }));
    expect(await restore()).toMatchObject({ state: 'stale' });
  });
});

describe('a forged list', () => {
  const FORGED = '[{"code":"1","ispb":"1","name":"Forged"}]';

  test('is taken without a signing key, as SECURITY.md says', async () => {
    const parts = partsOf(await save());
    writeFileSync(file, forge({ ...parts, list: FORGED }));
    expect((await restore()).body).toEqual(JSON.parse(FORGED));
  });

  test('is not taken with a signing key, whatever it is signed with', async () => {
    const signed = partsOf(await save({ CACHE_SIGNING_KEY: KEY }));
    const forgeries = [
      forge({ ...signed, list: FORGED }),
      forge({ ...signed, list: FORGED }, `${KEY}.`),
      // What was signed, with another id: the greatest id would stay for ever.
      forge(signed, KEY).replace(signed.id, '4999999999999999000000'),
    ];
    for (const forgery of forgeries) {
      writeFileSync(file, forgery);
      expect(await restore({ CACHE_SIGNING_KEY: KEY })).toMatchObject({
        status: 503,
        reason: UNSIGNED,
      });
    }
    writeFileSync(file, forge(signed, KEY));
    expect((await restore({ CACHE_SIGNING_KEY: KEY })).status).toBe(200);
  });

  test('is told by the key that its file has now', async () => {
    const [keyFile, newer] = [temporaryFile(KEY), KEY.toUpperCase()];
    const rig = await startService({ CACHE_SIGNING_KEY_FILE: keyFile });
    await eventually(() => existsSync(file));
    const signed = readFileSync(file);
    writeFileSync(keyFile, newer);
    await rig.service.list.refresh();
    await eventually(() => !readFileSync(file).equals(signed));
    await rig.close();
    expect((await restore({ CACHE_SIGNING_KEY: newer })).status).toBe(200);
  });

  test.each<[string, EnvironmentVariables, string]>([
    ['BANK_FIELDS', { BANK_FIELDS: 'ispb,code,name' }, OTHER_CONFIGURATION],
    ['source of a field', { BANK_FIELDS: 'code,ispb,name:fullName' }, OTHER_CONFIGURATION],
    ['BANK_REQUIRED_FIELDS', { BANK_REQUIRED_FIELDS: 'name' }, OTHER_CONFIGURATION],
    ['BANK_LIST', { BANK_LIST: 'data' }, OTHER_CONFIGURATION],
    ['base address', { PROVIDER_SANDBOX_BASE_URL: 'http://127.0.0.1:9' }, OTHER_CONFIGURATION],
    ['signing key', { CACHE_SIGNING_KEY: KEY }, UNSIGNED],
  ])('or one that was saved with another %s is not taken', async (_what, env, reason) => {
    await save();
    expect(await restore(env)).toMatchObject({ status: 503, reason });
  });

  test('or with another path of the same provider', async () => {
    await save();
    const env = { PROVIDER_SANDBOX_BASE_URL: `${emulator.baseUrl}/another-tenant` };
    expect((await restore(env)).reason).toBe(OTHER_CONFIGURATION);
  });

  test.each<EnvironmentVariables>([
    { GUARD_MIN_BANKS: '500', GUARD_MAX_SHRINK: '0%', GUARD_MAX_DRIFT: '0%' },
    { PROVIDER_MAX_BODY: '1kb', PROVIDER_ACCESS_TOKEN: 'another-token-of-the-sandbox' },
    { CACHE_TTL: '2h', CACHE_MAX_STALE: '1d', BROWSER_MAX_AGE: '1s' },
  ])('is told by nothing in which replicas may differ for a while: %j', async (env) => {
    await save();
    expect(await restore(env)).toMatchObject({ status: 200, reason: undefined });
  });
});

describe('a list that does not have the form', () => {
  const BANK = '{"code":"1","ispb":"1","name":"A"}';
  /** One more than are kept. */
  const HASHES = Array.from({ length: 17 }, () => 'x');

  test.each([
    ['an entry twice', `[${BANK},${BANK}]`],
    ['a field more', '[{"code":"1","ispb":"1","name":"A","x":1}]'],
    ['its fields in another order', '[{"ispb":"1","code":"1","name":"A"}]'],
    ['white space', `[${BANK}]\n`],
    ['an object as a value', '[{"code":{},"ispb":"1","name":"A"}]'],
    ['another text than a list', 'null'],
    ['no list', ''],
  ])('is ignored: %s', async (_what, list) => {
    writeFileSync(file, forge({ ...partsOf(await save()), list }));
    expect(await restore()).toMatchObject({ status: 503, reason: NOT_PUBLISHABLE });
  });

  test.each<[string, (parts: Parts) => Partial<Parts>]>([
    ['an id beyond all times', () => ({ id: '9'.repeat(22) })],
    ['a short id', ({ id }) => ({ id: id.slice(1) })],
    ['no age', ({ header }) => ({ header: { ...header, askedAtMs: undefined } })],
    ['a negative age', ({ header }) => ({ header: { ...header, askedAtMs: -1 } })],
    ['too many known contents', ({ header }) => ({ header: { ...header, known: HASHES } })],
    ['a long header', ({ header }) => ({ header: { ...header, x: 'x'.repeat(65_536) } })],
  ])('is ignored: %s', async (_what, change) => {
    const parts = partsOf(await save());
    writeFileSync(file, forge({ ...parts, ...change(parts) }));
    expect(await restore()).toMatchObject({ status: 503, reason: DAMAGED });
  });

  test('may have a header with more or fewer members: of a later version, or an earlier one', async () => {
    const parts = partsOf(await save());
    const { namespace, askedAtMs, changedAtMs, marks } = parts.header;
    const header = { namespace, askedAtMs, changedAtMs, marks, later: { anything: 1 } };
    writeFileSync(file, forge({ ...parts, header }));
    expect((await restore()).body).toHaveLength(BANKS.length);
  });

  test('is ignored if it is larger than 32 MiB', async () => {
    const parts = partsOf(await save());
    writeFileSync(file, forge({ ...parts, list: ' '.repeat(32 * 1024 * 1024) }));
    expect(await restore()).toMatchObject({
      status: 503,
      reason: 'cannot be read (more than 33554432 bytes); ignored',
    });
  });
});

describe('damage', () => {
  /** The name, the id, the checksum, the header and the list, from begin to end. */
  const POSITIONS = [0, 10, 11, 12, 33, 34, 77, 78, 79, 900, -1];

  test.each(POSITIONS)('of one bit at byte %i is noticed', async (at) => {
    const damaged = await save();
    const position = at < 0 ? damaged.length + at : at;
    damaged.writeUInt8(damaged.readUInt8(position) ^ 1, position);
    writeFileSync(file, damaged);
    expect(await restore()).toMatchObject({ status: 503, reason: DAMAGED });
  });

  test('does not keep the service from loading a list, which replaces the damaged one', async () => {
    const saved = await save();
    writeFileSync(file, Buffer.concat([Buffer.alloc(512), saved.subarray(512)]));
    const rig = await startService();
    await supertest(rig.url).get('/banks').expect(200);
    await eventually(() => readFileSync(file).subarray(0, 10).toString() === 'banks-bff/');
    await rig.close();
    expect((await restore()).body).toHaveLength(BANKS.length);
  });

  test('that cuts it short is noticed at any length', async () => {
    const saved = await save();
    for (const length of [1, 9, 11, 34, 78, 79, 200, saved.length - 1]) {
      writeFileSync(file, saved.subarray(0, length));
      expect(await restore()).toMatchObject({ status: 503, reason: DAMAGED });
    }
  });
});

describe('at the start, a snapshot file', () => {
  /** The problem with CACHE_SNAPSHOT_FILE that the program reports, and ends with. */
  const problemWith = async (content: string | Buffer): Promise<string | undefined> => {
    writeFileSync(file, content);
    const address = { PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl, CACHE_SNAPSHOT_FILE: file };
    const { error } = await checkConfig({ ...SANDBOX, ...address });
    return error?.message;
  };

  test('may be empty, or whole or damaged one of the service’s own', async () => {
    const saved = await save();
    for (const content of [
      '',
      saved,
      saved.subarray(0, 1),
      saved.subarray(0, 10),
      Buffer.concat([Buffer.from('\uFEFF'), saved]),
      Buffer.concat([Buffer.from('c'), saved.subarray(1)]),
      Buffer.alloc(1),
      Buffer.concat([Buffer.alloc(512), saved.subarray(512)]),
      'banks-bff/2 of another version',
    ])
      expect(await problemWith(content)).toBeUndefined();
  });

  test.each(['{"banks":[]}', 'PORT=3000\n', 'b0nks-bfg/3', '\u0000\u0000not zeros', ' '])(
    'that has something else is an error of the configuration, and is left as it is: %j',
    async (content) => {
      expect(await problemWith(content)).toContain(
        'CACHE_SNAPSHOT_FILE: is not a list that this service saved; name a file that does not exist yet',
      );
      expect(readFileSync(file, 'utf8')).toBe(content);
    },
  );
});

test('a file that somebody puts in the place of the snapshot while the service runs stays', async () => {
  await save();
  const rig = await startService();
  writeFileSync(file, 'mine');
  await refresh(rig);
  await rig.close();
  expect(readFileSync(file, 'utf8')).toBe('mine');
});
