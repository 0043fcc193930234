import { beforeEach, expect, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { once } from 'node:events';
import supertest from 'supertest';
import type { EnvironmentVariables } from '../../src/config/reader.ts';
import { closeLater } from '../helpers/close-later.ts';
import { makeBanks } from '../helpers/banks.ts';
import { BANKS, UNUSABLE } from '../helpers/emulate.ts';
import { findFreePort, listenOn } from '../helpers/free-port.ts';
import { startProcess } from '../helpers/process.ts';
import { describeWithRedis, redisOfTest } from '../helpers/redis-server.ts';
import { beginAnew, clock, countIn, provider, redis } from '../helpers/replicas.ts';
import { createAuthority } from '../helpers/authority.ts';
import { startTlsFront } from '../helpers/tls-front.ts';
import {
  nextLoad,
  plannedInMs,
  startLoadedRig,
  type Rig,
  type RigOptions,
} from '../helpers/rig.ts';
import { eventually, waitUntil } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// Replicas that share a real Redis: what one brings to the others, and what each does while Redis
// is bad.

let rigs: Rig[];

const start = async (options: RigOptions = {}): Promise<Rig> => {
  const draw = 0.9 - rigs.length / 10;
  const rig = await startLoadedRig({
    provider,
    clock,
    // The first that starts is also the first whose renewal is due.
    random: () => draw,
    ...options,
    env: {
      CACHE_REDIS_URL: redis.url,
      MANAGEMENT_TOKEN: 'operator-token-for-tests',
      ...options.env,
    },
  });
  rigs.push(rig);
  return rig;
};
/** The address is in a file. */
const fromFile = (text: string): { readonly file: string; readonly env: EnvironmentVariables } => {
  const file = join(temporaryFolder(), 'redis-url');
  writeFileSync(file, text);
  return { file, env: { CACHE_REDIS_URL: '', CACHE_REDIS_URL_FILE: file } };
};
const count = async (rig: Rig): Promise<unknown> => {
  const { body } = await supertest(rig.url).get('/banks').expect(200);
  return Array.isArray(body) ? body.length : undefined;
};
const receivedAt = (rig: Rig): number | undefined =>
  rig.service.list.status().cached?.loadedAtWallMs;
const refresh = (rig: Rig, query = '') =>
  supertest(rig.managementUrl)
    .post(`/refresh${query}`)
    .set('Authorization', 'Bearer operator-token-for-tests');
const aboutRedis = (rig: Rig): string[] =>
  rig.messages().filter((message) => message.startsWith('CACHE_REDIS'));
/** The key under which the list is, as soon as it is there. */
const keyOfList = (): Promise<string> =>
  waitUntil(
    'a list in Redis',
    async () => /banks-bff:2:\S+:list|$/.exec(await redis.command('KEYS banks-bff:2:*'))?.[0] ?? '',
    Boolean,
  );
/** Waits for what happens as time goes on. */
const becomes = async (what: string, isSo: () => Promise<boolean>): Promise<void> => {
  const isSoLater = async (): Promise<boolean> => {
    if (await isSo()) return true;
    clock.advance(500);
    return false;
  };
  await waitUntil(what, isSoLater, Boolean);
};
/** A number that Redis counts, such as `total_net_output_bytes:`. */
const counted = async (section: string, name: string): Promise<number> =>
  Number(new RegExp(`${name}(\\d+)`).exec(await redis.command(`INFO ${section}`))?.[1]);
describeWithRedis('replicas that share Redis', () => {
  beginAnew();
  beforeEach(() => {
    rigs = [];
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

  test('a forced refresh reaches the others, and what an operator accepted too', async () => {
    const [one, two] = [await start(), await start()];
    await provider.behave('some-unusable');
    clock.advance(1);
    await refresh(one).expect(200);
    await eventually(() => countIn(two) === BANKS.length - UNUSABLE);
    await provider.behave('shrunk');
    await refresh(one).expect(502);
    expect(countIn(two)).toBe(BANKS.length - UNUSABLE);
    clock.advance(1);
    await refresh(one, '?accept=shrunk').set('X-Request-Id', 'the-operator').expect(200);
    const told =
      /"reasons":\["shrunk"\],"requestId":"the-operator",.*"msg":"list: accepted by an operator"/;
    for (const rig of rigs)
      await eventually(() => countIn(rig) !== BANKS.length - UNUSABLE && told.test(rig.log()));
    expect(two.service.list.status().failure).toBeUndefined();
  });

  const command = (text: string) => () => redis.command(text);
  test.each<[string, () => unknown, () => unknown, RegExp]>([
    ['killed', () => redis.kill(), () => redis.revive(), /connection|ECONN|cannot be used/],
    ['stalled', () => redis.stall(), () => redis.resume(), /does not answer in time/],
    [
      'full',
      command('CONFIG SET maxmemory 1'),
      command('CONFIG SET maxmemory 0'),
      /is full \(OOM\)/,
    ],
    // As after a failover.
    [
      'read-only',
      command('REPLICAOF 127.0.0.1 1'),
      command('REPLICAOF NO ONE'),
      /READONLY|MASTERDOWN|connection/,
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
      for (const rig of [one, two]) {
        await eventually(() => aboutRedis(rig).includes('CACHE_REDIS_URL: works again'));
        expect(aboutRedis(rig).filter((message) => !/no saved list yet/.test(message))).toEqual([
          expect.stringMatching(line),
          'CACHE_REDIS_URL: works again',
        ]);
      }
      // The younger list has become the list of both.
      await eventually(() => receivedAt(one) === receivedAt(two));
    },
    60_000,
  );

  test('what was wrong is reported again when it comes back', async () => {
    const rig = await start();
    await eventually(() => rig.service.list.status().isShared === true);
    const told = (line: string): number =>
      aboutRedis(rig).filter((message) => message === `CACHE_REDIS_URL: ${line}`).length;
    for (let outages = 1; outages <= 2; outages += 1) {
      await redis.command('CONFIG SET maxmemory 1');
      await nextLoad(rig);
      await eventually(() => told('is full (OOM); the service continues without it') === outages);
      const { body } = await supertest(rig.managementUrl).get('/healthz').expect(200);
      expect(body).toMatchObject({ status: 'warn', stores: { CACHE_REDIS_URL: { works: false } } });
      await redis.command('CONFIG SET maxmemory 0');
      await eventually(() => told('works again') === outages);
    }
    await becomes('the only connection', async () => {
      const clients = await redis.command('CLIENT LIST');
      return clients.match(/name=banks-bff /g)?.length === 1;
    });
  });

  const missing = '/missing/file';
  const withClientSecret = {
    PROVIDER_ACCESS_TOKEN: '',
    PROVIDER_TOKEN_URL: 'http://127.0.0.1:9/token',
    PROVIDER_CLIENT_ID: 'banks',
    PROVIDER_CLIENT_SECRET_FILE: missing,
  };
  test.each([
    [
      'access token',
      'no_token',
      { PROVIDER_ACCESS_TOKEN: '', PROVIDER_ACCESS_TOKEN_FILE: missing },
    ],
    ['client secret', 'no_token', withClientSecret],
    ['certificate authority', 'unreachable', { PROVIDER_TLS_CA_FILE: missing }],
  ])(
    'what is wrong with the file of the %s of one replica delays no other one',
    async (_, kind, env: EnvironmentVariables) => {
      await start();
      await keyOfList();
      const without = await start({ env });
      expect(await without.service.list.refresh()).toMatchObject({ kind });
      const late = await start();
      expect(late.service.list.status().lastFailure).toBeUndefined();
    },
  );

  test('a Cluster gets user name and password as they are, without their escapes', async () => {
    const folder = temporaryFolder();
    const busPort = await findFreePort();
    const options = `--cluster-enabled yes --cluster-announce-ip 127.0.0.1 --cluster-port ${busPort}`;
    const cluster = await redisOfTest(
      ...options.split(' '),
      '--cluster-config-file',
      join(folder, 'nodes'),
    );
    await cluster.command('CLUSTER ADDSLOTSRANGE 0 16383');
    await becomes('a Cluster with all its slots', async () =>
      (await cluster.command('CLUSTER INFO')).includes('cluster_state:ok'),
    );
    await cluster.command("ACL SETUSER 'b@nks' on '>p@ss/word' ~* &* +@all");
    await cluster.command('ACL SETUSER default off');
    const url = cluster.url.replace('//', '//b%40nks:p%40ss%2Fword@');
    const rig = await start({ env: { CACHE_REDIS_URL: url } });
    await eventually(() => rig.service.list.status().isShared === true);
    expect(aboutRedis(rig)).toEqual(['CACHE_REDIS_URL: no saved list yet']);
  });

  test.each([
    ['every script gets a status', /EVAL/, '+OK\r\n'],
    ['every script gets null', /EVAL/, '_\r\n'],
    ['every script gets 0', /EVAL/, ':0\r\n'],
    ['every script gets an empty list', /EVAL/, '*0\r\n'],
    ['every script gets a number of a million digits', /EVAL/, `(${'9'.repeat(1e6)}\r\n`],
    ['somebody is always quicker to write', /'set'/, ':0\r\n'],
  ])('while %s, a replica renews its list by itself, with one call', async (_, request, reply) => {
    let isEvil = false;
    const front = createServer((client) => {
      const server = connect(redis.port, '127.0.0.1');
      for (const socket of [client, server]) socket.on('error', () => undefined);
      client.on('data', (bytes) => {
        if (isEvil && request.test(bytes.toString('latin1'))) client.write(reply);
        else server.write(bytes);
      });
      client.on('close', () => server.destroy());
      server.pipe(client);
    });
    closeLater(() => front.close());
    const url = `redis://127.0.0.1:${await listenOn(front)}`;
    provider.setBanks(makeBanks(100));
    const rig = await start({ env: { CACHE_REDIS_URL: url } });
    await eventually(() => rig.service.list.status().isShared === true);
    provider.setBanks(makeBanks(101));
    const calls = provider.listCalls();
    isEvil = true;
    await nextLoad(rig);
    await eventually(() => countIn(rig) === 101);
    expect((await plannedInMs(rig)) > 60_000).toBe(true);
    expect((await refresh(rig)).status).toBe(200);
    expect(provider.listCalls() - calls).toBe(2);
  });

  test('a value of a hundred megabytes is not fetched', async () => {
    const one = await start();
    const key = await keyOfList();
    const output = () => counted('stats', 'total_net_output_bytes:');
    const outputBefore = await output();
    await redis.command(`SETRANGE ${key} 100000000 x`);
    await redis.command(`SET ${key.replace(/list$/, 'head')} register:9:another`);
    await redis.command(`PUBLISH ${key.replace(/list$/, 'news')} x`);
    await eventually(() =>
      aboutRedis(one).some((line) => /contains more than \d+ bytes; ignored/.test(line)),
    );
    expect((await output()) - outputBefore).toBeLessThan(20_000_000);
    expect(await count(one)).toBe(BANKS.length);
  });

  test('100,000 messages cost some reads, one after the other', async () => {
    const one = await start();
    const news = (await keyOfList()).replace(/list$/, 'news');
    const reads = () => counted('commandstats', 'cmdstat_eval:calls=');
    const before = await reads();
    const socket = connect(redis.port, '127.0.0.1').resume();
    socket.end(`PUBLISH ${news} x\r\n`.repeat(100_000));
    await once(socket, 'close');
    // The replica has dealt with all of them once it does no more than what the refresh itself
    // takes.
    let earlier = -Infinity;
    const readsMore = async (): Promise<boolean> => {
      await refresh(one).expect(200);
      const now = await reads();
      const isMore = now - earlier > 10;
      earlier = now;
      return isMore;
    };
    await waitUntil('the last of the reads', readsMore, (isMore) => !isMore);
    expect(earlier - before).toBeLessThan(5_000);
  });

  test('neither user nor password is in the log, right or wrong, and the reason is', async () => {
    await redis.command('CONFIG SET requirepass right-password');
    const port = String(redis.port);
    const rig = await start({
      env: { CACHE_REDIS_URL: `redis://canary-user:wrong%2Fpassword@127.0.0.1:${port}` },
    });
    expect(await count(rig)).toBe(BANKS.length);
    expect(aboutRedis(rig)).toEqual([
      'CACHE_REDIS_URL: refuses the user or the password (WRONGPASS); the service continues without it',
    ]);
    const right = await start({
      env: { CACHE_REDIS_URL: `redis://:right-password@127.0.0.1:${port}` },
    });
    expect(aboutRedis(right)).toEqual(['CACHE_REDIS_URL: no saved list yet']);
    for (const each of rigs) expect(each.log()).not.toMatch(/canary-user|wrong|right-password/);
  });

  test('an address from a file is read at each connection, so a rotated password takes effect', async () => {
    const urlWith = (password: string): string =>
      `redis://app:${password}@127.0.0.1:${redis.port}\n`;
    await redis.command('ACL SETUSER app on >first-password allkeys allchannels +@all');
    const { file, env } = fromFile(urlWith('first-password'));
    const rig = await start({ env });
    await keyOfList();

    await redis.command('ACL SETUSER app <first-password >second-password');
    await redis.command('CLIENT KILL USER app');
    await eventually(() => aboutRedis(rig).length === 2);
    writeFileSync(file, urlWith('second-password'));
    await eventually(() => aboutRedis(rig).length === 3);
    expect(aboutRedis(rig).at(-1)).toBe('CACHE_REDIS_URL: works again');
    await supertest(rig.url).get('/second-password').expect(404);
    await eventually(() => rig.log().includes('"path":"/[redacted]"'));
    expect(rig.log()).not.toContain('-password');
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
    expect(await keyOfList()).toMatch(/^banks-bff:2:/);
    await trusting.end('SIGKILL');
    await front.close();
  });

  /** At the address is a server that does this with each connection. */
  const from = async (
    behave: (socket: Socket) => unknown,
  ): Promise<{ readonly env: EnvironmentVariables }> => {
    const server = createServer((socket) => behave(socket.on('error', () => undefined)));
    closeLater(() => server.close());
    return { env: { CACHE_REDIS_URL: `redis://127.0.0.1:${await listenOn(server)}` } };
  };
  test.each<[string, () => RigOptions | Promise<RigOptions>, string]>([
    [
      'nothing',
      () => ({ env: { CACHE_REDIS_URL: 'redis://127.0.0.1:9' } }),
      'refuses the connection (ECONNREFUSED)',
    ],
    [
      'something that is not Redis',
      () => from((socket) => socket.write('HTTP/1.1 400\r\n\r\n')),
      '',
    ],
    ['something that never answers', () => from(() => undefined), ''],
    ['something that hangs up', () => from((socket) => socket.destroy()), ''],
  ])(
    '%s at its address costs one line and less than a second',
    async (_what, configure, reason) => {
      const rig = await start(await configure());
      expect(await count(rig)).toBe(BANKS.length);
      expect(aboutRedis(rig)).toEqual([expect.stringContaining(reason)]);
    },
  );
});
