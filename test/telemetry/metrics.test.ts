import { expect, test } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import supertest from 'supertest';
import { LIMITS } from '../../src/http-front/limits.ts';
import { BANKS, emulate, makeBanks } from '../helpers/emulate.ts';
import { metricsOf } from '../helpers/management-port.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { ALERT_RULES, DASHBOARD, TESTS_OF_RULES } from '../helpers/repository.ts';
import { openRaw, sendRaw } from '../helpers/raw-http.ts';
import { describeWithRedis, redisOfTest } from '../helpers/redis-server.ts';
import {
  advanceToLoad,
  clientCredentialsEnv,
  nextLoad,
  startLoadedRig,
  startRig,
  type Rig,
} from '../helpers/rig.ts';
import { connectionsOf } from '../helpers/server-sockets.ts';
import { eventually } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// What Prometheus scrapes, and what stands on it: the alert rules and the dashboard name what is
// really there.

const HOUR_MS = 3_600_000;

let rig: Rig;
const scrape = async (): Promise<string> =>
  (await supertest(rig.managementUrl).get('/metrics').expect(200)).text;
/** Expects each of the series to have its value. */
const expectSamples = async (expected: Readonly<Record<string, number>>): Promise<void> =>
  expect(await metricsOf(rig.managementUrl)).toMatchObject(expected);
/**
 * A request counts when its connection has let go of it, which may be after its client has seen the
 * answer.
 */
const settles = async (series: string, value: number): Promise<void> => {
  for (let tries = 0; tries < 50; tries += 1)
    if ((await metricsOf(rig.managementUrl))[series] === value) break;
  await expectSamples({ [series]: value });
};

test('connections that are dropped because there are too many are counted, and not logged', async () => {
  rig = await startRig({ before: (emulator) => emulator.behave('hang') });
  const open = Array.from({ length: LIMITS.connections }, () => openRaw(rig.url));
  const [first, second] = await Promise.all(open);
  const { socket } = await openRaw(rig.url);
  await eventually(() => socket.destroyed);
  await expectSamples({ banks_connections_dropped_total: 1 });
  // The others are not disturbed, and who leaves makes room.
  first?.socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await eventually(() => first?.received().includes('200 OK') === true);
  await eventually(() => connectionsOf(rig.url) === LIMITS.connections - 1);
  expect(second?.socket.destroyed).toBe(false);
  expect((await fetch(`${rig.url}/healthz`)).status).toBe(200);
  expect(rig.messages()).toEqual(['listening']);
});

test('requests that are malformed, too large or too slow are counted with the others', async () => {
  rig = await startRig();
  const get = (path: string, ...headers: string[]): string =>
    [`GET ${path} HTTP/1.1`, 'Host: a', ...headers, '\r\n'].join('\r\n');
  for (const [bytes, code] of [
    // Node's parser does not take this, and takes the others.
    ['no request\r\n\r\n', 'bad_request'],
    [get('/', 'Host: b'), 'bad_request'],
    [get('/', ...Array.from({ length: 100 }, () => 'A: a')), 'headers_too_large'],
  ] as const) {
    const [answer] = await sendRaw(rig.url, bytes);
    expect(JSON.parse(answer?.body ?? '').code).toBe(code);
  }
  const requests = 'banks_http_request_duration_seconds_count';
  await expectSamples({
    'banks_http_requests_total{answered_by="server"}': 3,
    'banks_http_requests_total{answered_by="express"}': 0,
    [`${requests}{route="other",method="other",status="4xx"}`]: 1,
    [`${requests}{route="other",method="GET",status="4xx"}`]: 2,
  });
  // The line in the log says why.
  expect(rig.log()).toMatch(/"statusCode":431,"code":"headers_too_large",.*"msg":"request"/);
});

test('the list is exposed as it is at the moment of the scrape', async () => {
  rig = await startLoadedRig({ env: { BANK_REQUIRED_FIELDS: 'code' } });
  const sentAt = rig.clock.wallMs() / 1_000;
  rig.clock.skip(90_000);
  await expectSamples({
    banks_list_age_seconds: 90,
    banks_list_ttl_seconds: 3_600,
    banks_list_max_stale_seconds: 604_800,
    banks_list_entries: BANKS.length,
    'banks_list_rejected_entries{reason="not_an_object"}': 0,
    banks_list_last_success_timestamp_seconds: sentAt,
    banks_list_last_change_timestamp_seconds: sentAt,
    'banks_list_state{state="fresh"}': 1,
    'banks_list_state{state="stale"}': 0,
  });
  await nextLoad(rig);
  const sentAgainAt = rig.clock.wallMs() / 1_000;
  expect(sentAgainAt).toBeGreaterThan(sentAt);
  await expectSamples({
    banks_list_last_success_timestamp_seconds: sentAgainAt,
    banks_list_last_change_timestamp_seconds: sentAt,
  });
  rig.emulator.setBanks(
    makeBanks(BANKS.length).map((bank, index) => (index < 24 ? { ...bank, name: '' } : bank)),
  );
  await nextLoad(rig);
  const changedAt = rig.clock.wallMs() / 1_000;
  await expectSamples({
    banks_list_last_change_timestamp_seconds: changedAt,
    banks_list_last_large_change_timestamp_seconds: changedAt,
  });
  await nextLoad(rig);
  await expectSamples({ banks_list_last_large_change_timestamp_seconds: changedAt });
  const { body } = await supertest(rig.managementUrl).get('/healthz').expect(200);
  const lastChanged = new Date(changedAt * 1_000).toISOString();
  const lastSuccess = new Date(rig.clock.wallMs()).toISOString();
  expect(body).toMatchObject({ list: { lastChanged, lastSuccess } });
});

test('loads are counted by outcome, calls by class of status and duration; the kind of failure is exposed until a load succeeds', async () => {
  rig = await startLoadedRig({ before: (emulator) => emulator.behave('unavailable') });
  await supertest(rig.url).get('/banks').expect(503);
  await settles('banks_served_total{state="empty"}', 1);
  await expectSamples({
    banks_list_entries: 0,
    'banks_list_state{state="empty"}': 1,
    'banks_refresh_failing{kind="unavailable"}': 1,
  });
  // Nothing is told of a list that is not there.
  expect(await scrape()).not.toMatch(/^banks_list_(?:age|last_\w+)\b/m);
  await rig.emulator.behave('healthy');
  await nextLoad(rig);
  await nextLoad(rig);
  await expectSamples({ 'banks_refresh_failing{kind="unavailable"}': 0 });
  await rig.emulator.behave('hang');
  await advanceToLoad(rig);
  await eventually(() => rig.emulator.listCalls() === 4);
  rig.clock.advance(5_000);
  await eventually(() => rig.service.list.status().failing?.attempts === 1);
  const calls = 'banks_upstream_call_duration_seconds';
  await expectSamples({
    'banks_refreshes_total{outcome="changed"}': 1,
    'banks_refreshes_total{outcome="unchanged"}': 1,
    'banks_refreshes_total{outcome="unavailable"}': 1,
    'banks_refreshes_total{outcome="timeout"}': 1,
    'banks_refreshes_total{outcome="shrunk"}': 0,
    [`${calls}_count{status="2xx"}`]: 2,
    [`${calls}_count{status="5xx"}`]: 1,
    [`${calls}_count{status="none"}`]: 1,
    [`${calls}_bucket{le="2.5",status="none"}`]: 0,
    [`${calls}_bucket{le="5",status="none"}`]: 1,
    [`${calls}_bucket{le="+Inf",status="none"}`]: 1,
    [`${calls}_sum{status="none"}`]: 5,
  });
});

describeWithRedis('with Redis', () => {
  test('a load counts for the replica that made it, and shows on all if it fails', async () => {
    const redis = await redisOfTest();
    const env = { CACHE_REDIS_URL: redis.url };
    const [clock, provider] = [createManualClock(), await emulate()];
    const other = await startLoadedRig({ env, provider, clock });
    rig = await startLoadedRig({ env, provider, clock });
    await provider.behave('unavailable');
    await other.service.list.refresh();
    const failing = 'banks_refresh_failing{kind="unavailable"}';
    await eventually(async () => {
      clock.advance(100);
      return (await metricsOf(rig.managementUrl))[failing] === 1;
    });
    // Its list is that of the other one, too.
    await expectSamples({
      'banks_refreshes_total{outcome="changed"}': 0,
      'banks_refreshes_total{outcome="unavailable"}': 0,
    });
  });
});

test.each(['on', 'off'])(
  'requests are counted by route, method and class of status, and what they were served, with HOT_PATH=%s',
  async (hotPath) => {
    // Whatever is logged.
    rig = await startLoadedRig({ env: { HOT_PATH: hotPath, LOG_LEVEL: 'warn' } });
    await supertest(rig.url).get('/banks?a=b').expect(200);
    await supertest(rig.url).head('/banks').expect(200);
    await supertest(rig.url).get('/banks').set('If-None-Match', '*').expect(304);
    rig.clock.skip(2 * HOUR_MS);
    await supertest(rig.url).get('/banks').expect(200);
    await supertest(rig.url).get('/healthz').expect(200);
    const requests = 'banks_http_request_duration_seconds_count';
    await settles('banks_served_total{state="stale"}', 1);
    await settles(`${requests}{route="/healthz",method="GET",status="2xx"}`, 1);
    await expectSamples({
      'banks_served_total{state="fresh"}': 3,
      'banks_http_requests_total{answered_by="hot_path"}': hotPath === 'on' ? 3 : 0,
      'banks_http_requests_total{answered_by="express"}': hotPath === 'on' ? 2 : 5,
      [`${requests}{route="/banks",method="GET",status="2xx"}`]: 2,
      [`${requests}{route="/banks",method="GET",status="3xx"}`]: 1,
      [`${requests}{route="/banks",method="HEAD",status="2xx"}`]: 1,
    });
  },
);

test('nothing that a client sends makes a new series but one for all of its kind', async () => {
  rig = await startLoadedRig();
  await Promise.all(
    Array.from({ length: 40 }, (_, index) => supertest(rig.url).get(`/${'x'.repeat(index + 1)}`)),
  );
  for (const method of ['PROPFIND', 'REPORT', 'SEARCH']) {
    await fetch(`${rig.url}/banks`, { method });
  }
  const other =
    'banks_http_request_duration_seconds_count{route="other",method="GET",status="4xx"}';
  await settles(other, 40);
  const routes = [...(await scrape()).matchAll(/route="([^"]*)",method="([^"]*)"/g)].map(
    ([text]) => text,
  );
  expect(new Set(routes)).toEqual(
    new Set(['route="other",method="GET"', 'route="/banks",method="other"']),
  );
});

test('lost log lines are counted once, however often they are scraped', async () => {
  let lost = 3;
  rig = await startRig({ lostLines: () => lost });
  await expectSamples({ banks_log_lines_lost_total: 3 });
  await expectSamples({ banks_log_lines_lost_total: 3 });
  lost = 5;
  await expectSamples({ banks_log_lines_lost_total: 5 });
});

test('token renewals are counted; a store that is not configured is not exposed', async () => {
  rig = await startLoadedRig({
    envFor: clientCredentialsEnv,
    env: { CACHE_SNAPSHOT_FILE: '/nowhere/list' },
  });
  await settles('banks_store_up{store="snapshot"}', 0);
  rig.emulator.behaveToken('server-error');
  rig.clock.skip(2 * HOUR_MS);
  rig.clock.next();
  await eventually(() => rig.service.list.status().failing !== undefined);
  await expectSamples({
    'banks_token_renewals_total{outcome="renewed"}': 1,
    'banks_token_renewals_total{outcome="failed"}': 1,
  });
  expect(await scrape()).not.toContain('store="redis"');
});

test('docs/operations.md has every metric with its labels and help; the alerts and the dashboard name no other', async () => {
  const folder = temporaryFolder();
  const MANAGEMENT_TOKEN_FILE = join(folder, 'token');
  writeFileSync(MANAGEMENT_TOKEN_FILE, 'management-token-0123456789');
  rig = await startLoadedRig({
    env: { CACHE_SNAPSHOT_FILE: join(folder, 'list'), MANAGEMENT_TOKEN_FILE },
  });
  await supertest(rig.url).get('/banks').expect(200);
  await settles('banks_served_total{state="fresh"}', 1);
  const text = await scrape();
  expect(text).toContain('\nnodejs_version_info{');
  expect(text).toContain('banks_build_info{version="0.0.0-test",environment="sandbox"} 1');
  expect(text).not.toContain('emulator-access-token');
  expect(text).not.toContain(new URL(rig.emulator.baseUrl).host);

  /** `{status,route}`; empty if there are none. */
  const labelsOf = (name: string): string =>
    new RegExp(`^${name}(?:_count)?({.*}) `, 'm').exec(text)?.[1]?.replaceAll(/="[^"]*"/g, '') ??
    '';
  const scraped = [...text.matchAll(/^# HELP (banks_\w+) (.*)$/gm)].map(
    ([, name = '', help = '']) => [name, `\`${name}${labelsOf(name)}\``, help] as const,
  );
  const rows = [
    ...readFileSync('docs/operations.md', 'utf8').matchAll(/^\| (`banks_.*) \|$/gm),
  ].map(([, row = '']) => row.split('|').map((cell) => cell.trim()));
  expect(rows.length).toBeGreaterThan(20);
  expect(rows).toEqual(scraped.map(([, ...row]) => row));

  const namesIn = (source: string): string[] =>
    source.match(/\b(?:banks|process|nodejs)_[a-z0-9_]+\b(?!\()/g) ?? [];
  const exposed = new Set(namesIn(text));
  for (const path of [ALERT_RULES, TESTS_OF_RULES, DASHBOARD]) {
    const used = namesIn(readFileSync(path, 'utf8'));
    expect(used.length).toBeGreaterThan(5);
    expect([path, used.filter((name) => !exposed.has(name))]).toEqual([path, []]);
  }
  const shown = readFileSync(DASHBOARD, 'utf8');
  expect(scraped.filter(([name]) => !shown.includes(name))).toEqual([]);
});
