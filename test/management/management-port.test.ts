import { expect, test } from '@jest/globals';
import supertest from 'supertest';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { BANKS, emulate, makeBanks, UNUSABLE } from '../helpers/emulate.ts';
import { metricsOf, postRefresh } from '../helpers/management-port.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { askRaw, type RawAnswer } from '../helpers/raw-http.ts';
import { describeWithRedis, redisOfTest } from '../helpers/redis-server.ts';
import { nextLoad, startLoadedRig, type Rig } from '../helpers/rig.ts';
import { MANAGEMENT_TOKEN } from '../helpers/sandbox.ts';
import { eventually } from '../helpers/wait-until.ts';

// The management port: a forced refresh, what it accepts, and who may ask for it; pages of other
// origins, DNS rebinding and guessed tokens.

let rig: Rig;

const start = async (env: EnvironmentVariables = {}): Promise<void> => {
  rig = await startLoadedRig({ env: { MANAGEMENT_TOKEN, ...env } });
};

const ask = (requestLine: string, ...fields: string[]): Promise<RawAnswer> =>
  askRaw(rig.managementUrl, requestLine, ...fields);

/** How many requests were refused for `reason`, by the port's own metric. */
const refusals = async (reason: string): Promise<number | undefined> =>
  (await metricsOf(rig.managementUrl))[`banks_management_refusals_total{reason="${reason}"}`];

/** Asks for a refresh with the query, and returns the answer, which must have the status. */
const refresh = async (status: number, query = '', token = MANAGEMENT_TOKEN) =>
  (await postRefresh(rig.managementUrl, { query, token }).expect(status)).body;
const bankCount = async () => (await supertest(rig.url).get('/banks').expect(200)).body.length;

test('a refresh loads now, and says whether anything changed', async () => {
  await start();
  expect(await refresh(200)).toEqual({
    outcome: 'unchanged',
    count: BANKS.length,
    rejected: 0,
    secretFiles: {},
  });
  await rig.emulator.behave('some-unusable');
  expect(await refresh(200)).toMatchObject({
    outcome: 'changed',
    count: BANKS.length - UNUSABLE,
    rejected: UNUSABLE,
  });
  expect(rig.emulator.listCalls()).toBe(3);
});

test('what an open status page and Prometheus ask for is no line of level info, and a refresh is', async () => {
  await start();
  for (const path of ['/', '/status-page.js', '/metrics', '/healthz'])
    await supertest(rig.managementUrl).get(path).expect(200);
  await supertest(rig.managementUrl).get('/nothing').expect(404);
  await refresh(200);
  await eventually(() => rig.requests('/refresh').length > 0);
  expect(rig.requests().map(({ path }) => path)).toEqual(['/nothing', '/refresh']);
});

test('without a configured token nobody can refresh', async () => {
  await start({ MANAGEMENT_TOKEN: '' });
  expect(await refresh(403, '', '')).toMatchObject({ code: 'refresh_disabled' });
});

test('a list that the guard refuses is taken when an operator names its reasons, and the next one is another decision', async () => {
  // A letter that is not one of ASCII: a response is as long as its bytes.
  await start({ BANK_FIELDS: 'code,razão:name' });
  rig.emulator.setBanks(makeBanks(60).map((bank) => ({ ...bank, name: null })));
  expect(await refresh(502)).toMatchObject({ code: 'refresh_failed', kind: 'shrunk' });
  expect(await refresh(502, '?accept=drifted')).toMatchObject({ kind: 'shrunk' });
  expect(await refresh(502, '?accept=shrunk')).toMatchObject({
    kind: 'drifted',
    detail:
      'published fields changed: razão: filled in 100 % of entries before, 0 % now; if that is right, POST /refresh?accept=shrunk,drifted accepts it',
  });
  expect(await bankCount()).toBe(BANKS.length);
  const accepted = await postRefresh(rig.managementUrl, { query: '?accept=shrunk,drifted' })
    .set('X-Request-Id', 'not valid')
    .expect(200);
  expect(accepted.body).toMatchObject({ outcome: 'changed', count: 60 });
  expect(await bankCount()).toBe(60);
  // Told once, and not with each renewal after it.
  await nextLoad(rig);
  const lines = rig.log().split('\n');
  expect(lines.filter((line) => line.includes('list: accepted by an operator'))).toEqual([
    expect.stringContaining(`"requestId":"${accepted.headers['x-request-id']}"`),
  ]);

  await rig.emulator.behave('few');
  expect(await refresh(502)).toMatchObject({ kind: 'shrunk' });
  for (const behaviour of ['empty', 'most-unusable', 'html', 'unavailable'] as const) {
    await rig.emulator.behave(behaviour);
    await refresh(502, '?accept=shrunk');
  }
  expect(await bankCount()).toBe(60);
});

describeWithRedis('with Redis', () => {
  test('a list to be accepted that another replica has overtaken is refused with 409', async () => {
    const redis = await redisOfTest();
    const env = { MANAGEMENT_TOKEN, CACHE_REDIS_URL: redis.url, PROVIDER_TIMEOUT: '10m' };
    const clock = createManualClock();
    const provider = await emulate();
    rig = await startLoadedRig({ env, provider, clock });
    const other = await startLoadedRig({ env, provider, clock });
    let answer = (): void => {};
    provider.respondWith((_req, res) => {
      answer = () => res.end(JSON.stringify(makeBanks(60)));
      provider.respondWith(undefined);
    });
    const overtaken = refresh(409, '?accept=shrunk');
    await eventually(() => provider.listCalls() === 2);
    const later = other.service.list.refresh();
    await eventually(() => {
      clock.advance(1_000);
      return provider.listCalls() === 3;
    });
    expect(await later).toMatchObject({ outcome: 'ok' });
    answer();
    expect(await overtaken).toMatchObject({ code: 'overtaken', secretFiles: {} });
    expect(rig.log()).not.toContain('load failed');
    await eventually(async () => {
      clock.advance(1_000);
      return (await bankCount()) === BANKS.length;
    });
  });
});

test('an unknown parameter or value of accept, another method and another path are refused', async () => {
  await start();
  const values = ['everything', '', 'shrunk,everything', 'shrunk&accept=drifted'];
  for (const query of [...values.map((value) => `accept=${value}`), 'acept=shrunk', 'force']) {
    const { detail } = await refresh(400, `?${query}`);
    expect(detail).toBe(
      'The only parameter is accept: shrunk or drifted, or both, separated by a comma.',
    );
  }
  expect(rig.emulator.listCalls()).toBe(1);
  const operators = supertest(rig.managementUrl);
  expect((await operators.get('/refresh').expect(405)).headers['allow']).toBe('POST');
  expect(rig.log()).toMatch(/"path":"\/refresh","statusCode":405,"code":"method_not_allowed"/);
  await operators.get('/readyz').expect(200);
  await operators.get('/banks').expect(404);
});

test('a Host of this port is answered', async () => {
  await start({ MANAGEMENT_HOSTS: 'ops.example.com, Other.Example.com' });
  const addresses = ['127.0.0.1', '127.0.0.1:3001', '10.1.2.3:80', '[::1]:3001', '[FE80::1]'];
  const names = ['localhost', 'LOCALHOST:3001', 'localhost.', 'banks-bff:3001', 'BANKS_BFF'];
  const configured = ['ops.example.com', 'Ops.Example.COM.:3001', 'other.example.com'];
  for (const host of [...addresses, ...names, ...configured])
    expect([host, (await ask('GET /healthz HTTP/1.1', `Host: ${host}`)).status]).toEqual([
      host,
      200,
    ]);
  // Checks of load balancers may speak HTTP/1.0, which has none.
  expect((await ask('GET /healthz HTTP/1.0')).status).toBe(200);
});

test('a Host of any other name is refused with 421, whatever is asked for', async () => {
  await start({ MANAGEMENT_HOSTS: 'ops.example.com' });
  const refuse = async (request: string, host: string): Promise<void> => {
    const answer = await ask(
      `${request} HTTP/1.1`,
      `Host: ${host}`,
      `Authorization: Bearer ${MANAGEMENT_TOKEN}`,
    );
    expect([host, request, answer.status]).toEqual([host, request, 421]);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.body).toContain('"code":"host_not_allowed"');
    expect(answer.body).not.toContain('ops.example.com');
  };
  const others = ['evil.example.net:3001', 'x.ops.example.com', 'x.localhost', 'com.', '', ':3001'];
  const alike = ['ops.example.com.evil.net', 'localhost.evil.net', '127.0.0.1.evil.net', '127.1'];
  for (const host of [...others, ...alike, 'evil%2Eexample', "a';touch;'"])
    await refuse('GET /', host);
  const paths = [
    '/metrics',
    '/healthz',
    '/readyz',
    '/status-page.js',
    '/status-page.css',
    '/nothing',
  ];
  for (const path of paths) await refuse(`GET ${path}`, 'evil.example.net');
  await refuse('POST /refresh', 'evil.example.net');
  expect(rig.emulator.listCalls()).toBe(1);
  expect(await refusals('host')).toBe(19);
});

test('a page of another origin gets no permission to read or to send a token, also where it may read the list', async () => {
  await start({ CORS_ORIGINS: 'https://evil.example.net' });
  const preflight = await supertest(rig.managementUrl)
    .options('/refresh')
    .set('Origin', 'https://evil.example.net')
    .set('Access-Control-Request-Method', 'POST')
    .set('Access-Control-Request-Headers', 'authorization');
  expect(Object.keys(preflight.headers).join()).not.toContain('access-control-allow');
  for (const path of ['/', '/metrics', '/healthz', '/status-page.js']) {
    const request = supertest(rig.managementUrl)
      .get(path)
      .set('Origin', 'https://evil.example.net');
    const { headers } = await request.expect(200);
    expect(headers).not.toHaveProperty('access-control-allow-origin');
    expect(headers).not.toHaveProperty('x-powered-by');
    expect(headers['cross-origin-resource-policy']).toBe('same-origin');
  }
});

test('a wrong token and none at all are refused at once, and counted', async () => {
  await start();
  for (const wrong of [
    'another-token-of-an-operator',
    MANAGEMENT_TOKEN.slice(0, -1),
    `${MANAGEMENT_TOKEN}0`,
  ])
    expect(await refresh(401, '', wrong)).toMatchObject({ code: 'unauthorized' });
  const none = supertest(rig.managementUrl).post('/refresh');
  expect((await none.expect(401)).headers['www-authenticate']).toBe('Bearer');
  expect([await refusals('wrong_token'), await refusals('no_token')]).toEqual([3, 1]);
  expect(rig.emulator.listCalls()).toBe(1);
});
