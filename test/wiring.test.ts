import { beforeEach, expect, test } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
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

// Variables with a value that is neither the default nor that of another one in the group, and seen
// from outside: a value that the composition drops, or hands to the wrong part, fails here.

const MINUTE = 60_000;

/** `''`: the test fills it in. */
const ADDRESSES = {
  PORT: '',
  HOST: '127.0.0.2',
  MANAGEMENT_PORT: '',
  MANAGEMENT_HOST: '127.0.0.3',
};
const RESPONSES = {
  BANK_LIST: 'data',
  BANK_FIELDS: 'id:ispb,name,logo?',
  CACHE_MAX_STALE: '90m',
  BROWSER_MAX_AGE: '7m',
  HOT_PATH: 'off',
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
const STORES = { CACHE_TTL: '40m', CACHE_MAX_STALE: '90m', CACHE_REDIS_URL: '' };

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

/** What a variable promises is seen by the test of that. */
const SEEN_ELSEWHERE = [
  // test/http, test/management, test/telemetry and test/process:
  'CORS_ORIGINS',
  'KEEP_ALIVE_TIMEOUT',
  'LOG_LEVEL',
  'MANAGEMENT_HOSTS',
  'SHUTDOWN_GRACE',
  'TRUST_PROXY',
  // test/sharing:
  'CACHE_SIGNING_KEY',
  'CACHE_SNAPSHOT_FILE',
  // In a request to the provider, or on its way: test/provider and test/secrets.
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
  const groups = { ...ADDRESSES, ...RESPONSES, ...CHECKS, ...TIMES, ...STORES };
  const names = [...Object.keys(groups), ...SEEN_ELSEWHERE];
  const isHere = (name: string): boolean =>
    names.includes(name) || names.includes(name.replace(/_FILE$/, ''));
  expect(VARIABLE_NAMES.filter((name) => !isHere(name))).toEqual([]);
});

test('the listeners have their ports and hosts', async () => {
  // Both at once, or they may be the same.
  const [port, managementPort] = await Promise.all([findFreePort(), findFreePort()]);
  const ports = { PORT: String(port), MANAGEMENT_PORT: String(managementPort) };
  const rig = await start({ ...ADDRESSES, ...ports });
  expect(rig.url).toBe(`http://127.0.0.2:${port}`);
  expect(rig.managementUrl).toBe(`http://127.0.0.3:${managementPort}`);
  for (const url of [rig.url, rig.managementUrl]) await supertest(url).get('/readyz').expect(200);
});

test('a response has the published fields and the ages for caches, and passes node:http with HOT_PATH=off', async () => {
  await emulator.behave('envelope');
  const rig = await start(RESPONSES);
  let throughNode = 0;
  // As OpenTelemetry does.
  const onRequest = (): void => void (throughNode += 1);
  subscribe('http.server.request.start', onRequest);
  const { body, headers } = await supertest(rig.url).get('/banks');
  unsubscribe('http.server.request.start', onRequest);
  expect(throughNode).toBe(1);
  expect(body[0]).toEqual({ id: '10000000', name: 'Bank 0', logo: null });
  expect(headers['cache-control']).toBe(
    'public, max-age=420, stale-while-revalidate=420, stale-if-error=5400',
  );
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
  test('the list there lives as long as it can be used', async () => {
    const redis = await redisOfTest();
    await start({ ...STORES, CACHE_REDIS_URL: redis.url });
    let key = '';
    await eventually(async () => {
      key = /banks-bff\S+:list/.exec(await redis.command('keys *'))?.[0] ?? '';
      return key !== '';
    });
    const leftMs = Number(/\d+/.exec(await redis.command(`pttl ${key}`))?.[0]);
    expect(leftMs).toBeGreaterThan(129 * MINUTE);
    expect(leftMs).toBeLessThanOrEqual(130 * MINUTE);
  });
});
