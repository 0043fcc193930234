import { beforeEach, expect, test } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import supertest from 'supertest';
import type { Emulator } from '../emulator/emulator.ts';
import type { EnvironmentVariables } from '../src/config/variables.ts';
import { VARIABLE_NAMES } from '../src/config/variables.ts';
import { emulate } from './helpers/emulate.ts';
import { findFreePort } from './helpers/free-port.ts';
import { postRefresh } from './helpers/management-port.ts';
import { describeWithRedis, redisOfTest } from './helpers/redis-server.ts';
import { startLoadedRig, type Rig } from './helpers/rig.ts';
import { MANAGEMENT_TOKEN } from './helpers/sandbox.ts';
import { eventually } from './helpers/wait-until.ts';
import { temporaryFolder } from './helpers/temporary-folder.ts';

// Every variable, with a value that is neither its default nor that of another one in its group,
// and seen from outside: a value that the composition drops, or hands to the wrong part, fails
// here. Values in files are in the tests of the parts that read them.

const MINUTE = 60_000;

/** `''`: the test fills it in. */
const LISTENERS = {
  MANAGEMENT_TOKEN,
  PORT: '',
  HOST: '127.0.0.2',
  MANAGEMENT_PORT: '',
  MANAGEMENT_HOST: '127.0.0.3',
  MANAGEMENT_HOSTS: 'operators.example',
  KEEP_ALIVE_TIMEOUT: '33s',
  SHUTDOWN_GRACE: '13s',
};
const RESPONSES = {
  BANK_LIST: 'data',
  BANK_FIELDS: 'id:ispb,name,logo?',
  CACHE_MAX_STALE: '90m',
  BROWSER_MAX_AGE: '7m',
  CORS_ORIGINS: 'https://app.example',
  TRUST_PROXY: '127.0.0.0/8',
  HOT_PATH: 'off',
  LOG_LEVEL: 'debug',
};
const CHECKS = {
  MANAGEMENT_TOKEN,
  PROVIDER_MAX_BODY: '4kb',
  BANK_FIELDS: 'id:ispb,name',
  BANK_REQUIRED_FIELDS: 'id',
  GUARD_MIN_BANKS: '3',
  GUARD_MAX_SHRINK: '35%',
  GUARD_MAX_DRIFT: '45%',
};
const TIMES = { PROVIDER_TIMEOUT: '1700ms', CACHE_TTL: '40m', CACHE_MAX_STALE: '90m' };
const STORES = {
  CACHE_TTL: '40m',
  CACHE_MAX_STALE: '90m',
  CACHE_SNAPSHOT_FILE: '',
  CACHE_REDIS_URL: '',
  CACHE_SIGNING_KEY: 'signing-key-of-32-characters-0001',
};

/** Fewer banks than the emulator has, for a small PROVIDER_MAX_BODY. */
const banks = (count: number, named = count) =>
  Array.from({ length: count }, (_, index) => ({
    code: String(index),
    ispb: String(10_000_000 + index),
    ...(index < named && { name: `Bank ${index}` }),
    internal: 'not for browsers',
  }));

let emulator: Emulator;
beforeEach(async () => {
  emulator = await emulate({ banks: banks(10) });
});
const start = (env: EnvironmentVariables): Promise<Rig> =>
  startLoadedRig({ provider: emulator, env });

/** Each is in a request, or decides its way: test/provider and test/secrets see it there. */
const SEEN_IN_REQUESTS = [
  'PROVIDER_ENVIRONMENT',
  'PROVIDER_SANDBOX_BASE_URL',
  'PROVIDER_PRODUCTION_BASE_URL',
  'PROVIDER_ACCESS_TOKEN',
  'PROVIDER_TOKEN_URL',
  'PROVIDER_CLIENT_ID',
  'PROVIDER_CLIENT_SECRET',
  'PROVIDER_TOKEN_SCOPE',
  'PROVIDER_TOKEN_FORMAT',
  'PROVIDER_TOKEN_AUTH',
  'PROVIDER_TOKEN_PARAMS',
  'PROVIDER_TOKEN_FIELD',
  'PROVIDER_QUERY',
  'PROVIDER_HEADERS',
  'PROVIDER_TLS_CA_FILE',
  'PROVIDER_TLS_CERT_FILE',
  'PROVIDER_TLS_KEY_FILE',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
];

test('every variable, or the one whose file it names, is in a group', () => {
  const groups = { ...LISTENERS, ...RESPONSES, ...CHECKS, ...TIMES, ...STORES };
  const names = [...Object.keys(groups), ...SEEN_IN_REQUESTS];
  const isHere = (name: string): boolean =>
    names.includes(name) || names.includes(name.replace(/_FILE$/, ''));
  expect(VARIABLE_NAMES.filter((name) => !isHere(name))).toEqual([]);
});

test('the listeners have their ports, hosts and times', async () => {
  // Both at once, or they may be the same.
  const [port, managementPort] = await Promise.all([findFreePort(), findFreePort()]);
  const ports = { PORT: String(port), MANAGEMENT_PORT: String(managementPort) };
  const rig = await start({ ...LISTENERS, ...ports });
  expect(rig.url).toBe(`http://127.0.0.2:${port}`);
  expect(rig.managementUrl).toBe(`http://127.0.0.3:${managementPort}`);
  const statusFor = async (host: string): Promise<number> =>
    (await supertest(rig.managementUrl).get('/healthz').set('Host', host)).status;
  expect(await statusFor('operators.example')).toBe(200);
  expect(await statusFor('elsewhere.example')).toBe(421);
  await postRefresh(rig.managementUrl).expect(200);
  for (const url of [rig.url, rig.managementUrl]) {
    const { headers } = await supertest(url).get('/healthz').set('Connection', 'keep-alive');
    expect(headers['keep-alive']).toBe('timeout=33');
  }
  const stopped = rig.service.stop({ noticeMs: 0 });
  expect(rig.log()).toContain('"graceMs":13000');
  rig.clock.advance(13_000);
  await stopped;
});

test('a response has the published fields and the configured headers, and the log its address', async () => {
  await emulator.behave('envelope');
  const rig = await start(RESPONSES);
  let throughNode = 0;
  const onRequest = (): void => void (throughNode += 1);
  subscribe('http.server.request.start', onRequest);
  const { body, headers } = await supertest(rig.url)
    .get('/banks')
    .set('Origin', 'https://app.example')
    .set('X-Forwarded-For', '203.0.113.7');
  unsubscribe('http.server.request.start', onRequest);
  expect(throughNode).toBe(1);
  expect(body[0]).toEqual({ id: '10000000', name: 'Bank 0', logo: null });
  expect(headers).toMatchObject({
    'access-control-allow-origin': 'https://app.example',
    'cache-control': 'public, max-age=420, stale-while-revalidate=420, stale-if-error=5400',
    'content-type': 'application/json; charset=utf-8',
  });
  await supertest(rig.url).get('/healthz');
  await eventually(() => rig.requests('/healthz').length > 0);
  expect(rig.requests('/banks')[0]?.ip).toBe('203.0.113.7');
});

test('the guard and the checks of a list have their limits', async () => {
  const rig = await start(CHECKS);
  /** The provider sends `list` from now on; what a refresh then says. */
  const refreshWith = async (list: readonly unknown[]): Promise<string> => {
    emulator.setBanks(list);
    const { body } = await postRefresh(rig.managementUrl);
    return body.outcome ?? body.kind ?? body.code;
  };
  expect(await refreshWith(banks(10, 6))).toBe('changed');
  expect(await refreshWith(banks(10))).toBe('changed');
  expect(await refreshWith(banks(10, 5))).toBe('drifted');
  expect(await refreshWith(banks(7))).toBe('changed');
  expect(await refreshWith(banks(6))).toBe('shrunk');
  expect(await refreshWith(banks(2))).toBe('too_few');
  expect(await refreshWith([...banks(10), { name: 'without an id' }])).toBe('changed');
  expect((await supertest(rig.url).get('/banks')).body).toHaveLength(10);
  expect(await refreshWith(banks(70))).toBe('too_large');
  expect(await refreshWith(banks(9))).toBe('changed');
});

test('a load ends at its time limit, and a list is served until its age is too great', async () => {
  const { url, service, clock } = await start(TIMES);
  const { status } = service.list;
  const hasPlanned = () => eventually(() => status().nextLoadInMs > 0);
  const calls = emulator.listCalls();
  await emulator.behave('hang');
  clock.advance(status().nextLoadInMs);
  await eventually(() => emulator.listCalls() === calls + 1);
  clock.advance(1_699);
  expect(status().failing).toBeUndefined();
  clock.advance(1);
  await eventually(() => status().failing?.error.kind === 'timeout');
  // Otherwise the next attempt begins after the skip, and hangs in time that nobody moves.
  await hasPlanned();
  clock.skip(40 * MINUTE - (status().ageMs ?? 0));
  expect(status().state).toBe('fresh');
  clock.skip(1);
  expect(status().state).toBe('stale');
  clock.skip(90 * MINUTE - 1);
  await supertest(url).get('/banks').expect(200);
  clock.advance(1);
  // While loads fail, a request gets the error and does not wait for the load that has become due.
  await supertest(url).get('/banks').expect(504);
});

describeWithRedis('with a real Redis', () => {
  test('the stores have their addresses, the key that signs, and how long a list can be used', async () => {
    const redis = await redisOfTest();
    const snapshot = join(temporaryFolder('banks-wiring-'), 'snapshot');
    const addresses = { CACHE_SNAPSHOT_FILE: snapshot, CACHE_REDIS_URL: redis.url };
    await start({ ...STORES, ...addresses });
    let key = '';
    await eventually(async () => {
      key = /banks-bff\S+:list/.exec(await redis.command('keys *'))?.[0] ?? '';
      return key !== '';
    });
    const leftMs = Number(/\d+/.exec(await redis.command(`pttl ${key}`))?.[0]);
    expect(leftMs).toBeGreaterThan(129 * MINUTE);
    expect(leftMs).toBeLessThanOrEqual(130 * MINUTE);
    await eventually(() => existsSync(snapshot));
    expect(readFileSync(snapshot, 'utf8')).toContain('Bank 9');

    await emulator.behave('unavailable');
    const otherKey = { CACHE_SIGNING_KEY: 'signing-key-of-32-characters-0002' };
    const stranger = await start({ ...STORES, ...addresses, ...otherKey });
    expect(stranger.service.list.served()).toBeUndefined();
  });
});
