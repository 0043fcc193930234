import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { makeBanks } from '../kit/banks.ts';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import supertest from 'supertest';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import { listenOn } from '../kit/free-port.ts';
import { startProcess } from '../kit/process.ts';
import { describeWithRedis, startRedis, type RedisServer } from '../kit/redis-server.ts';
import { createManualClock, type ManualClock } from '../kit/manual-clock.ts';
import { createAuthority } from '../kit/authority.ts';
import { startTlsFront } from '../kit/tls-front.ts';
import { eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

// Replicas that share a real Redis: what one brings to the others, and what each does while Redis is bad.

let redis: RedisServer;
let provider: Emulator;
let clock: ManualClock;
let rigs: Rig[];

const start = async (options: RigOptions = {}): Promise<Rig> => {
  const draw = 0.9 - rigs.length / 10;
  const rig = await startRig({
    provider,
    clock,
    // The first that starts is also the first whose renewal is due.
    random: () => draw,
    ...options,
    env: { CACHE_REDIS_URL: redis.url, MANAGEMENT_TOKEN: 'operator-token-for-tests', ...options.env },
  });
  rigs.push(rig);
  await eventually(() => rig.service.list.status().nextLoadInMs > 0);
  return rig;
};
const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'banks-bff-'));
const count = async (rig: Rig): Promise<unknown> => {
  const { body } = await supertest(rig.url).get('/banks').expect(200);
  return Array.isArray(body) ? body.length : undefined;
};
const held = (rig: Rig): number | undefined => rig.service.list.status().held?.count;
const receivedAt = (rig: Rig): number | undefined => rig.service.list.status().held?.receivedAtMs;
const refresh = (rig: Rig, query = '') =>
  supertest(rig.operatorsUrl)
    .post(`/refresh${query}`)
    .set('Authorization', 'Bearer operator-token-for-tests');
const aboutRedis = (rig: Rig): string[] =>
  rig.messages().filter((message) => message.startsWith('CACHE_REDIS'));
/**
 * The key under which the list is, as soon as it is there and its writer has given the lease back: a load that falls due
 * before that waits for a clock that does not move.
 */
const keyOfList = async (): Promise<string> => {
  for (;;) {
    const keys = await redis.command('KEYS banks-bff:1:*');
    const [key] = /banks-bff\S+:list/.exec(keys) ?? [];
    if (key && !keys.includes(':lease')) return key;
  }
};
/** A number that Redis counts, such as `total_net_output_bytes:`. */
const counted = async (section: string, name: string): Promise<number> =>
  Number(new RegExp(`${name}(\\d+)`).exec(await redis.command(`INFO ${section}`))?.[1]);
/** Moves to the replica's next load and lets it end. */
const nextLoad = async (rig: Rig): Promise<void> => {
  clock.advance(rig.service.list.status().nextLoadInMs);
  await eventually(() => rig.service.list.status().nextLoadInMs > 0);
};

describeWithRedis('replicas that share Redis', () => {
  beforeEach(async () => {
    redis = await startRedis();
    provider = await startEmulator();
    clock = createManualClock();
    rigs = [];
  });
  afterEach(async () => {
    redis.resume();
    for (const rig of rigs) await rig.close();
    await redis.kill();
    await provider.close();
  });

  test('a replica that joins serves the shared list, which has no secret, and makes no call while it is fresh', async () => {
    const first = await start();
    const text = async (rig: Rig) => (await supertest(rig.url).get('/banks').expect(200)).text;
    const shared = await redis.command(`GET ${await keyOfList()}`);
    expect(shared).toContain('provenance');
    expect(shared).not.toMatch(/fullName|document|website|emulator-access-token|operator/);
    await start();
    const late = await start({ startedLaterByMs: 1_800_000 });
    expect(await text(late)).toBe(await text(first));
    expect(late.service.list.status()).toMatchObject({ state: 'fresh', ageMs: 1_800_000 });
    expect(provider.listCalls()).toBe(1);
  });

  test('a list that one of them renewed reaches the others and their snapshots, and spares their calls', async () => {
    const one = await start();
    await keyOfList();
    const snapshot = join(temporaryFolder(), 'banks.snapshot');
    // It finds the list in Redis when it starts, and loads none.
    const two = await start({ env: { CACHE_SNAPSHOT_FILE: snapshot } });
    const kept = (): number => readFileSync(snapshot, 'utf8').split('"code"').length - 1;
    await eventually(() => existsSync(snapshot) && kept() === 513);
    provider.setBanks(makeBanks(500));
    await nextLoad(one);
    await eventually(() => held(two) === 500 && kept() === 500);
    expect(provider.listCalls()).toBe(2);
    expect(two.messages()).toContainEqual(expect.stringMatching(/^list: changed/));
  });

  test('a forced refresh reaches the others, with what was held before, and what an operator accepted too', async () => {
    const [one, two] = [await start(), await start()];
    await provider.behave('some-unusable');
    clock.advance(1);
    await refresh(one).expect(200);
    await eventually(() => held(two) === 487);
    await keyOfList();
    // It has never held a longer one itself.
    const three = await start();
    await provider.behave('healthy');
    provider.setBanks(makeBanks(405));
    const { body } = await refresh(three).expect(502);
    expect(body.detail).toMatch(/^the list shrank from 513 to 405 entries in the last days/);
    await provider.behave('shrunk');
    await refresh(one).expect(502);
    expect(held(two)).toBe(487);
    clock.advance(1);
    await refresh(one, '?accept=shrunk').set('X-Request-Id', 'the-operator').expect(200);
    const told =
      /"reasons":\["shrunk"\],"requestId":"the-operator",.*"msg":"list: an operator has accepted it"/;
    for (const rig of rigs) await eventually(() => held(rig) !== 487 && told.test(rig.log()));
    expect(two.service.list.status().failure).toBeUndefined();
  });

  test('a shrunk list that nobody accepted is refused by replicas with a longer one', async () => {
    const one = await start();
    // Its write must not be what finds Redis dead: its failure would be the one that is logged.
    await keyOfList();
    await redis.kill();
    await provider.behave('shrunk');
    // It has no list to compare with.
    const two = await start({ startedLaterByMs: 1_000 });
    await redis.revive();
    await eventually(() => aboutRedis(one).some((line) => line.includes('shrank from 513 to 256')));
    expect(await count(one)).toBe(513);
    expect(await count(two)).toBe(256);
    // They do not overwrite each other's lists.
    expect(await counted('commandstats', 'cmdstat_publish:calls=')).toBeLessThan(5);
  });

  test.each<[string, () => unknown, () => unknown, RegExp]>([
    ['killed', () => redis.kill(), () => redis.revive(), /connection|ECONN|cannot be used/],
    ['stalled', () => redis.stall(), () => redis.resume(), /does not answer in time/],
    [
      'full',
      () => redis.command('CONFIG SET maxmemory 1'),
      () => redis.command('CONFIG SET maxmemory 0'),
      /is full \(OOM\)/,
    ],
    [
      'read-only, as after a failover',
      () => redis.command('REPLICAOF 127.0.0.1 1'),
      () => redis.command('REPLICAOF NO ONE'),
      /\((READONLY|MASTERDOWN)\)|connection/,
    ],
  ])(
    '%s: each replica carries on independently, sharing resumes, and each is reported once',
    async (_name, breakDown, repair, line) => {
      const [one, two] = [await start(), await start()];
      await breakDown();
      for (const rig of [one, two]) {
        await nextLoad(rig);
        await supertest(rig.url).get('/banks').expect(200);
      }
      expect(provider.listCalls()).toBe(3);
      await repair();
      const worksAgain = (rig: Rig): boolean => rig.messages().some((message) => /works again/.test(message));
      await eventually(() => worksAgain(one) && worksAgain(two));
      for (const rig of [one, two]) {
        expect(aboutRedis(rig).filter((message) => !/no saved list yet/.test(message))).toEqual([
          expect.stringMatching(line),
          'CACHE_REDIS_URL: works again',
        ]);
      }
      // The younger list has become the list of both; the next renewal is one call again.
      await eventually(() => receivedAt(one) === receivedAt(two));
      const before = receivedAt(one);
      await nextLoad(one);
      await eventually(() => receivedAt(one) !== before && receivedAt(one) === receivedAt(two));
      expect(provider.listCalls()).toBe(4);
    },
    60_000,
  );

  test('a value of a hundred megabytes is not fetched', async () => {
    const one = await start();
    const key = await keyOfList();
    await redis.command(`SETRANGE ${key} 100000000 x`);
    const output = () => counted('stats', 'total_net_output_bytes:');
    const outputBefore = await output();
    await refresh(one).expect(200);
    // The refreshed list is written in the background.
    await keyOfList();
    await redis.command(`SETRANGE ${key} 100000000 x`);
    await redis.command(`PUBLISH ${key.replace(/list$/, 'news')} x`);
    await eventually(() =>
      aboutRedis(one).some((line) => /contains more than \d+ bytes; ignored/.test(line)),
    );
    expect((await output()) - outputBefore).toBeLessThan(20_000_000);
    expect(await count(one)).toBe(513);
  });

  test('100,000 messages cost some reads, one after the other', async () => {
    const one = await start();
    const key = await keyOfList();
    const news = key.replace(/list$/, 'news');
    const reads = () => counted('commandstats', 'cmdstat_getrange:calls=');
    const before = await reads();
    const socket = connect(redis.port, '127.0.0.1');
    socket.resume();
    socket.end(`PUBLISH ${news} x\r\n`.repeat(100_000));
    await once(socket, 'close');
    // The replica has dealt with all of them once it reads no more.
    for (let earlier = -1, now = await reads(); now !== earlier;) {
      earlier = now;
      // oxlint-disable-next-line no-await-in-loop
      await one.service.list.refresh([]);
      // oxlint-disable-next-line no-await-in-loop
      now = await reads();
    }
    provider.setBanks(makeBanks(500));
    clock.advance(1);
    await refresh(one).expect(200);
    const two = await start();
    // What is shared is written after the refresh has been answered.
    await eventually(() => held(two) === 500);
    expect((await reads()) - before).toBeLessThan(5_000);
    expect(one.service.list.status().failure).toBeUndefined();
  });

  test('absent at the start, it delays nothing and is found when it comes', async () => {
    await redis.kill();
    const one = await start();
    expect(await count(one)).toBe(513);
    expect(aboutRedis(one)).toEqual([
      'CACHE_REDIS_URL: refuses the connection (ECONNREFUSED); the service continues without it',
    ]);
    await redis.revive();
    await eventually(() => aboutRedis(one).length === 2);
    const two = await start();
    expect(held(two)).toBe(513);
    expect(provider.listCalls()).toBe(1);
  });

  test('neither user nor password is in the log, right or wrong, and the reason is', async () => {
    await redis.command('CONFIG SET requirepass right-password');
    const port = String(redis.port);
    const rig = await start({
      env: { CACHE_REDIS_URL: `redis://canary-user:wrong%2Fpassword@127.0.0.1:${port}` },
    });
    expect(await count(rig)).toBe(513);
    expect(aboutRedis(rig)).toEqual([
      'CACHE_REDIS_URL: refuses the user or the password (WRONGPASS); the service continues without it',
    ]);
    const right = await start({ env: { CACHE_REDIS_URL: `redis://:right-password@127.0.0.1:${port}` } });
    expect(aboutRedis(right)).toEqual(['CACHE_REDIS_URL: no saved list yet']);
    for (const each of rigs) expect(each.log()).not.toMatch(/canary-user|wrong|right-password/);
  });

  test('an address from a file is read at each connection, so a rotated password takes effect', async () => {
    const file = join(temporaryFolder(), 'redis-url');
    const writeUrl = (password: string): void =>
      writeFileSync(file, `redis://app:${password}@127.0.0.1:${redis.port}\n`);
    await redis.command('ACL SETUSER app on >first-password allkeys allchannels +@all');
    writeUrl('first-password');
    const rig = await start({ env: { CACHE_REDIS_URL: '', CACHE_REDIS_URL_FILE: file } });
    await keyOfList();

    await redis.command('ACL SETUSER app <first-password >second-password');
    await redis.command('CLIENT KILL USER app');
    await eventually(() => aboutRedis(rig).length === 2);
    writeUrl('second-password');
    await eventually(() => aboutRedis(rig).length === 3);
    expect(aboutRedis(rig).at(-1)).toBe('CACHE_REDIS_URL: works again');
    await supertest(rig.url).get('/second-password').expect(404);
    await eventually(() => rig.log().includes('"path":"/[redacted]"'));
    expect(rig.log()).not.toContain('-password');
  });

  test.each([
    ['', 'has no usable secret: it is empty'],
    ['a-password-alone', 'is not a Redis address'],
  ])('a file that contains %j is one log line that does not quote it', async (text, problem) => {
    const file = join(temporaryFolder(), 'redis-url');
    writeFileSync(file, text);
    const rig = await start({ env: { CACHE_REDIS_URL: '', CACHE_REDIS_URL_FILE: file } });
    expect(await count(rig)).toBe(513);
    expect(aboutRedis(rig)).toEqual([
      expect.stringContaining(`CACHE_REDIS_URL: cannot be used: CACHE_REDIS_URL_FILE ${problem}`),
    ]);
    expect(rig.log()).not.toContain('a-password-alone');
  });

  test('over TLS, a trusted certificate is accepted and an untrusted one refused', async () => {
    const authority = createAuthority();
    const front = await startTlsFront({ to: redis.url, pair: authority.issue('localhost') });
    const url = front.url.replace('https:', 'rediss:');
    const rig = await start({ env: { CACHE_REDIS_URL: url } });
    expect(aboutRedis(rig)).toEqual([
      'CACHE_REDIS_URL: cannot be used (UNABLE_TO_VERIFY_LEAF_SIGNATURE); the service continues without it',
    ]);

    const trusting = await startProcess({
      PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
      CACHE_REDIS_URL: url,
      NODE_EXTRA_CA_CERTS: authority.certFile,
    });
    expect(await keyOfList()).toMatch(/^banks-bff:1:/);
    await trusting.end('SIGKILL');
    await front.close();
  });

  test.each<[string, (socket: Socket) => unknown]>([
    ['something that is not Redis', (socket) => socket.write('HTTP/1.1 400\r\n\r\n')],
    ['something that never answers', () => undefined],
    ['something that hangs up', (socket) => socket.destroy()],
  ])('%s at its address costs one line and less than a second', async (_name, behave) => {
    const server = createServer((socket) => behave(socket.on('error', () => undefined)));
    const rig = await start({ env: { CACHE_REDIS_URL: `redis://127.0.0.1:${await listenOn(server)}` } });
    expect(await count(rig)).toBe(513);
    expect(aboutRedis(rig)).toHaveLength(1);
    server.close();
  });
});
