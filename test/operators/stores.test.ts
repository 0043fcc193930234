import { afterEach, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import supertest from 'supertest';
import { findFreePort } from '../kit/free-port.ts';
import { describeWithRedis, startRedis, type RedisServer } from '../kit/redis-server.ts';
import { eventually, startRig, type Rig } from '../kit/rig.ts';

// What an operator sees of the stores of the last good list, on the status page and in /healthz.

let rig: Rig;
let redis: RedisServer | undefined;
afterEach(async () => {
  await rig.close();
  await redis?.kill();
  redis = undefined;
});

const start = async (env: Record<string, string>): Promise<void> => {
  rig = await startRig({ env });
  await eventually(() => rig.service.list.status().held !== undefined);
};
const page = async (): Promise<string> => {
  const { text } = await supertest(rig.operatorsUrl).get('/').expect(200);
  return text.replaceAll(/<[^>]*>|\s+/g, ' ').replaceAll(/[\s\u00A0]+/g, ' ');
};
/** On both ports. */
const health = async () => {
  const [open, internal] = await Promise.all(
    [rig.url, rig.operatorsUrl].map((url) => supertest(url).get('/healthz').expect(200)),
  );
  expect(open?.body).toEqual(internal?.body);
  return open?.body;
};
const said = (text: string) => eventually(() => rig.messages().some((message) => message.includes(text)));

test('without a store none is mentioned', async () => {
  await start({});
  expect(await health()).toMatchObject({ status: 'pass', stores: {} });
  expect(await page()).not.toMatch(/Redis|Snapshot/i);
});

test('a snapshot file that cannot be written is told with its consequence, until it can', async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'banks-bff-')), 'missing');
  await start({ CACHE_SNAPSHOT_FILE: join(folder, 'list') });
  await said('cannot be written');
  const since = new Date(rig.clock.wallMs()).toISOString();
  rig.clock.skip(65_000);
  expect(await health()).toMatchObject({
    status: 'warn',
    stores: { CACHE_SNAPSHOT_FILE: { works: false, failingSince: since } },
  });
  const text = await page();
  expect(text).toContain('! sandbox: Users get the current list, but the snapshot file fails.');
  expect(text).toContain('a restart during an outage of the provider has no list');
  expect(text).toContain(`Failing since ${since.slice(11, 19)} (65 s).`);
  expect(text).toContain('Details: cannot be written (ENOENT)');
  expect(text).toContain('whether the service may write to the directory of CACHE_SNAPSHOT_FILE');
  expect(text).toContain('node dist/src/main.js doctor');
  expect(text).not.toContain(folder);

  mkdirSync(folder);
  rig.clock.next();
  await said('works again');
  expect(await health()).toMatchObject({
    status: 'pass',
    stores: { CACHE_SNAPSHOT_FILE: { works: true, failingSince: null } },
  });
  const recovered = await page();
  expect(recovered).toContain('✓ sandbox: Users get the current list.');
  expect(recovered).toContain('Snapshot file works keeps the list across restarts');
  rmSync(folder, { recursive: true });
});

describeWithRedis('Redis', () => {
  test('that refuses is told with its consequence, until it answers', async () => {
    const port = await findFreePort();
    await start({ CACHE_REDIS_URL: `redis://user:SECRET-password@127.0.0.1:${port}` });
    await said('CACHE_REDIS_URL: ');
    expect(await health()).toMatchObject({
      status: 'warn',
      list: { state: 'fresh' },
      stores: { CACHE_REDIS_URL: { works: false } },
    });
    const text = await page();
    expect(text).toContain('Users get the current list, but Redis fails.');
    expect(text).toContain('Without Redis each replica loads the list by itself');
    // The second where connecting takes longer than the first operation waits.
    expect(text).toMatch(/Details: (?:refuses the connection \(ECONNREFUSED\)|is not connected)/);
    for (const secret of ['SECRET', String(port)]) expect(text).not.toContain(secret);
  });

  test('that fails beside the provider does not hide what users get', async () => {
    redis = await startRedis();
    await start({ CACHE_REDIS_URL: redis.url });
    await eventually(() => rig.service.list.status().nextLoadInMs > 0);
    expect(await health()).toMatchObject({
      stores: { CACHE_REDIS_URL: { works: true, failingSince: null } },
    });
    expect(await page()).toContain('Redis works shares the list between replicas');
    await redis.kill();
    await said('CACHE_REDIS_URL');
    await rig.emulator.behave('unavailable');
    rig.clock.skip(8 * 86_400_000);
    const text = await page();
    expect(text).toContain('✕ sandbox: Users get errors: the cached list has expired.');
    expect(text).toContain('A store of the list cannot be used: Redis (CACHE_REDIS_URL).');
    expect(text).not.toMatch(/notice nothing|get the current list/);
    await redis.revive();
    await said('works again');
    expect(await page()).not.toContain('cannot be used');
  });
});

test('an expired list says since when users have been getting errors', async () => {
  await start({ CACHE_TTL: '1h', CACHE_MAX_STALE: '5h' });
  await rig.emulator.behave('refuse');
  rig.clock.skip(8.5 * 3_600_000 - (rig.service.list.status().ageMs ?? 0));
  const since = new Date(rig.clock.wallMs() - 2.5 * 3_600_000).toISOString().slice(11, 19);
  expect(await page()).toContain(`Users have been getting errors since ${since} (2 h 30 min)`);
});

test('the last change of the list is told, and a renewal without one does not move it', async () => {
  await start({});
  const changed = new Date(rig.clock.wallMs()).toISOString();
  rig.clock.advance(3_580_000);
  await eventually(() => rig.emulator.listCalls() === 2);
  await eventually(() => rig.service.list.status().nextLoadInMs > 0);
  expect(await health()).toMatchObject({ list: { lastChanged: changed } });
  expect(await page()).toContain(`The content last changed 1 h ago ( ${changed.slice(11, 19)} ).`);
});
