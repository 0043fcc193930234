import { expect, test } from '@jest/globals';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import supertest from 'supertest';
import { postRefresh } from './helpers/management-port.ts';
import { describeWithRedis, redisOfTest } from './helpers/redis-server.ts';
import { clientCredentialsEnv, startLoadedRig, startRig } from './helpers/rig.ts';
import { MANAGEMENT_TOKEN } from './helpers/sandbox.ts';
import { serve } from './helpers/serve.ts';
import { temporaryFolder } from './helpers/temporary-folder.ts';
import { connectionsOf } from './helpers/server-sockets.ts';
import { eventually, waitUntil } from './helpers/wait-until.ts';

// A stop: what ends, who is told, and what is still reported before it.

describeWithRedis('while requests are still answered before the end', () => {
  test('failures of Redis, the snapshot and a secret file are reported', async () => {
    const redis = await redisOfTest();
    const folder = temporaryFolder();
    const token = join(folder, 'token');
    writeFileSync(token, 'emulator-access-token');
    const snapshots = join(folder, 'snapshots');
    mkdirSync(snapshots);
    const rig = await startLoadedRig({
      env: {
        CACHE_REDIS_URL: redis.url,
        CACHE_SNAPSHOT_FILE: join(snapshots, 'list'),
        PROVIDER_ACCESS_TOKEN: '',
        PROVIDER_ACCESS_TOKEN_FILE: token,
        SHUTDOWN_GRACE: '10m',
      },
    });
    const stopped = rig.service.stop({ noticeMs: 300_000 });
    await redis.kill();
    rmSync(snapshots, { recursive: true });
    rmSync(token);
    const health = async () =>
      (await supertest(rig.managementUrl).get('/healthz').expect(200)).body;
    await waitUntil(
      'all of them to be reported',
      async () => {
        rig.clock.advance(500);
        await rig.service.list.refresh();
        return health();
      },
      ({ stores, secretFiles }) =>
        !stores.CACHE_REDIS_URL.works &&
        !stores.CACHE_SNAPSHOT_FILE.works &&
        !secretFiles.PROVIDER_ACCESS_TOKEN_FILE.usable,
    );
    const told = rig.messages();
    for (const name of ['CACHE_REDIS_URL', 'CACHE_SNAPSHOT_FILE', 'PROVIDER_ACCESS_TOKEN_FILE'])
      expect(told.filter((message) => message.startsWith(`${name}: `)).length).toBeGreaterThan(0);
    rig.clock.advance(300_000);
    await stopped;
    // The stop itself is no failure.
    expect(rig.messages().slice(told.length)).toEqual(['stopped']);
  });
});

test('operators who wait for a load, or behind one, are told of a stop, which is no failure', async () => {
  const rig = await startLoadedRig({ env: { MANAGEMENT_TOKEN } });
  await rig.emulator.behave('hang');
  const refresh = async (query: string) =>
    (await postRefresh(rig.managementUrl, { query }).expect(503)).body;
  const answers = [refresh('')];
  await eventually(() => rig.emulator.listCalls() === 2);
  answers.push(refresh('?accept=shrunk'));
  // Until it waits too.
  await eventually(() => connectionsOf(rig.managementUrl) === 2);
  await setImmediate();
  const stopped = rig.service.stop({ noticeMs: 0 });
  rig.clock.advance(0);
  for (const answer of answers) expect(await answer).toMatchObject({ code: 'draining' });
  await stopped;
  // The line of the request comes before it.
  expect(rig.log().trim().split('\n').at(-1)).toContain('"msg":"stopped"');
});

test('a stop ends everything: renewals, the management port, and requests to the provider', async () => {
  const sockets = new Set<Socket>();
  const endpoint = createServer(
    (socket) => void sockets.add(socket.resume().on('error', () => undefined)),
  );
  const port = await serve(endpoint);
  const rig = await startRig({
    envFor: (emulator) => ({
      ...clientCredentialsEnv(emulator),
      PROVIDER_TOKEN_URL: `http://127.0.0.1:${port}/token`,
    }),
  });
  await eventually(() => sockets.size === 1);
  const page = connect(Number(new URL(rig.managementUrl).port), '127.0.0.1').on(
    'error',
    () => undefined,
  );
  // In the middle of its second request, because Node closes idle connections by itself.
  page.resume().write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\n');
  await eventually(() => page.bytesRead > 0);
  const stopped = rig.service.stop({ noticeMs: 0 });
  rig.clock.advance(0);
  await stopped;
  await eventually(
    () => page.destroyed && [...sockets].every(({ readableEnded }) => readableEnded),
  );
  await expect(fetch(rig.managementUrl)).rejects.toThrow('fetch failed');
  expect(rig.messages().join()).not.toContain('token: ');
  // Nothing is to come: a clock that moved on would only hide it.
  expect([sockets.size, rig.clock.waits()]).toEqual([1, []]);
});
