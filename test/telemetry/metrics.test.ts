import { afterEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import supertest from 'supertest';
import { makeBanks } from '../kit/banks.ts';
import { describeWithPromtool, promtool } from '../kit/promtool.ts';
import { clientCredentialsEnv, eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

// What Prometheus scrapes, and what stands on it: the alert rules and the dashboard name what is really there.

const HOUR_MS = 3_600_000;
const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url));
const RULES = join(DEPLOY, 'prometheus/banks-bff.rules.yml');

let rig: Rig;
afterEach(() => rig?.close());

const start = async (options?: RigOptions): Promise<void> => {
  rig = await startRig(options);
  await eventually(() => rig.service.list.status().nextLoadInMs > 0);
};
const scrape = async (): Promise<string> =>
  (await supertest(rig.operatorsUrl).get('/metrics').expect(200)).text;
/** The sample's value; undefined where there is none. */
const sample = async (series: string): Promise<number | undefined> => {
  const line = (await scrape()).split('\n').find((text) => text.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length));
};
/** A request counts when its connection has let go of it, which may be after its client has seen the answer. */
const settles = async (series: string, value: number): Promise<void> => {
  for (let tries = 0; tries < 50; tries += 1) if ((await sample(series)) === value) return;
  expect(await sample(series)).toBe(value);
};
const outage = async (): Promise<void> => {
  await rig.emulator.behave('unavailable');
  rig.clock.next();
  await eventually(() => rig.service.list.status().failure !== undefined);
};

describe('the list', () => {
  test('is exposed with its age at the moment of the scrape', async () => {
    await start({ env: { BANK_REQUIRED_FIELDS: 'code' } });
    rig.clock.skip(90_000);
    expect(await sample('banks_list_age_seconds')).toBe(90);
    expect(await sample('banks_list_ttl_seconds')).toBe(3_600);
    expect(await sample('banks_list_entries')).toBe(rig.service.list.status().held?.count);
    expect(await sample('banks_list_rejected_entries{reason="not_an_object"}')).toBe(0);
    expect(await sample('banks_list_field_filled_share{field="name"}')).toBe(1);
    expect(await sample('banks_list_last_success_timestamp_seconds')).toBe(rig.clock.wallMs() / 1_000 - 90);
    expect(await sample('banks_list_state{state="fresh"}')).toBe(1);
  });

  test('says when its content last changed, as /healthz does', async () => {
    await start();
    const expectChange = async (wallMs: number): Promise<void> => {
      expect(await sample('banks_list_last_change_timestamp_seconds')).toBe(wallMs / 1_000);
      const { body } = await supertest(rig.url).get('/healthz').expect(200);
      expect(body).toMatchObject({ list: { lastChanged: new Date(wallMs).toISOString() } });
    };
    const firstMs = rig.clock.wallMs();
    await expectChange(firstMs);
    rig.clock.next();
    await eventually(() => rig.emulator.listCalls() === 2 && rig.service.list.status().nextLoadInMs > 0);
    await expectChange(firstMs);
    rig.emulator.setBanks(makeBanks(513));
    rig.clock.next();
    await eventually(() => rig.emulator.listCalls() === 3 && rig.service.list.status().nextLoadInMs > 0);
    await expectChange(rig.clock.wallMs());
  });

  test('has no age while there is none', async () => {
    rig = await startRig({ before: (emulator) => emulator.behave('unavailable') });
    await eventually(() => rig.service.list.status().failure !== undefined);
    expect(await sample('banks_list_age_seconds')).toBeUndefined();
    expect(await sample('banks_list_last_change_timestamp_seconds')).toBeUndefined();
    expect(await sample('banks_list_state{state="empty"}')).toBe(1);
    await supertest(rig.url).get('/banks').expect(503);
    expect(await sample('banks_served_total{state="empty"}')).toBe(1);
  });

  test('counts each refresh by outcome, and exposes the kind of failure until a load succeeds', async () => {
    await start({ emulator: { validators: true } });
    expect(await sample('banks_refreshes_total{outcome="changed"}')).toBe(1);
    rig.clock.next();
    await eventually(() => rig.emulator.listCalls() === 2 && rig.service.list.status().nextLoadInMs > 0);
    expect(await sample('banks_refreshes_total{outcome="not_modified"}')).toBe(1);
    await outage();
    expect(await sample('banks_refreshes_total{outcome="unavailable"}')).toBe(1);
    expect(await sample('banks_refresh_failing{kind="unavailable"}')).toBe(1);
    await rig.emulator.behave('healthy');
    rig.clock.next();
    await eventually(() => rig.service.list.status().failure === undefined);
    expect(await sample('banks_refresh_failing{kind="unavailable"}')).toBe(0);
    expect(await sample('banks_upstream_call_duration_seconds_count{status="5xx"}')).toBe(1);
    expect(await sample('banks_upstream_call_duration_seconds_count{status="3xx"}')).toBe(1);
    // After a failure the whole list is asked for.
    expect(await sample('banks_upstream_call_duration_seconds_count{status="2xx"}')).toBe(2);
  });
});

test('requests are counted by route, method and class of status, and what they were served', async () => {
  await start();
  await supertest(rig.url).get('/banks?a=b').expect(200);
  await supertest(rig.url).head('/banks').expect(200);
  await outage();
  rig.clock.advance(HOUR_MS);
  await supertest(rig.url).get('/banks').expect(200);
  await supertest(rig.url).get('/healthz').expect(200);
  const requests = 'banks_http_request_duration_seconds_count';
  await settles('banks_served_total{state="stale"}', 1);
  await settles(`${requests}{route="/healthz",method="GET",status="2xx"}`, 1);
  expect(await sample('banks_served_total{state="fresh"}')).toBe(2);
  expect(await sample('banks_http_requests_total{answered_by="hot_path"}')).toBe(3);
  expect(await sample('banks_http_requests_total{answered_by="node_http"}')).toBe(1);
  expect(await sample(`${requests}{route="/banks",method="GET",status="2xx"}`)).toBe(2);
  expect(await sample(`${requests}{route="/banks",method="HEAD",status="2xx"}`)).toBe(1);
});

test.each(['on', 'off'])('an answer 304 counts as served, with HOT_PATH=%s', async (hotPath) => {
  await start({ env: { HOT_PATH: hotPath } });
  await supertest(rig.url).get('/banks').set('If-None-Match', '*').expect(304);
  await settles('banks_http_request_duration_seconds_count{route="/banks",method="GET",status="3xx"}', 1);
  expect(await sample('banks_served_total{state="fresh"}')).toBe(1);
});

test('nothing that a client sends makes a new series but one for all of its kind', async () => {
  await start();
  await Promise.all(
    Array.from({ length: 40 }, (_, index) => supertest(rig.url).get(`/${'x'.repeat(index + 1)}`)),
  );
  for (const method of ['PROPFIND', 'REPORT', 'SEARCH']) {
    await fetch(`${rig.url}/banks`, { method });
  }
  const other = 'banks_http_request_duration_seconds_count{route="other",method="GET",status="4xx"}';
  await settles(other, 40);
  const routes = [...(await scrape()).matchAll(/route="([^"]*)",method="([^"]*)"/g)].map(([text]) => text);
  expect(new Set(routes)).toEqual(new Set(['route="other",method="GET"', 'route="/banks",method="other"']));
});

test('token renewals and failures are counted', async () => {
  await start({ envFor: clientCredentialsEnv });
  expect(await sample('banks_token_renewals_total{outcome="renewed"}')).toBe(1);
  rig.emulator.behaveToken('server-error');
  rig.clock.skip(2 * HOUR_MS);
  rig.clock.next();
  await eventually(() => rig.service.list.status().failure !== undefined);
  expect(await sample('banks_token_renewals_total{outcome="failed"}')).toBe(1);
});

test('a failing store is exposed, and one that is not configured is not', async () => {
  await start({ env: { CACHE_SNAPSHOT_FILE: '/nowhere/list' } });
  await settles('banks_store_up{store="snapshot"}', 0);
  expect(await sample('banks_store_failures_total{store="snapshot"}')).toBe(1);
  expect(await scrape()).not.toContain('store="redis"');
});

test('the build and the process are exposed, but no address and no token', async () => {
  await start();
  const text = await scrape();
  expect(text).toContain('banks_build_info{version="0.0.0-test",environment="sandbox"} 1');
  expect(text).toContain('process_resident_memory_bytes ');
  expect(text).not.toContain('emulator-access-token');
  expect(text).not.toContain(new URL(rig.emulator.baseUrl).host);
});

test('docs/metrics.md has every metric of the service, with its type, its labels and its help', async () => {
  await start({ env: { CACHE_SNAPSHOT_FILE: join(mkdtempSync(join(tmpdir(), 'banks-bff-')), 'list') } });
  await supertest(rig.url).get('/banks').expect(200);
  await settles('banks_served_total{state="fresh"}', 1);
  const text = await scrape();
  const labelsOf = (name: string): string[] => {
    const [, labels = ''] = new RegExp(`^${name}(?:_count)?{(.*)} `, 'm').exec(text) ?? [];
    return [...labels.matchAll(/(\w+)=/g)].map(([, label]) => `\`${label}\``);
  };
  const scraped = [...text.matchAll(/^# HELP (banks_\w+) (.*)\n# TYPE \S+ (\w+)$/gm)].map(
    ([, name = '', help, type]) => [`\`${name}\``, type, labelsOf(name).join(', '), help],
  );
  const rows = [...readFileSync('docs/metrics.md', 'utf8').matchAll(/^\| (`banks_.*) \|$/gm)].map(
    ([, row = '']) => row.split('|').map((cell) => cell.trim()),
  );
  expect(rows.length).toBeGreaterThan(20);
  expect(rows).toEqual(scraped);
});

describe('the rules and the dashboard', () => {
  const names = (text: string): Set<string> =>
    new Set(text.match(/\b(?:banks|process|nodejs)_[a-z0-9_]+\b(?!\()/g) ?? []);

  test.each([
    'prometheus/banks-bff.rules.yml',
    'prometheus/banks-bff.rules.test.yml',
    'grafana/banks-bff.json',
  ])('name nothing that is not scraped: %s', async (path) => {
    await start({ env: { CACHE_SNAPSHOT_FILE: join(mkdtempSync(join(tmpdir(), 'banks-bff-')), 'list') } });
    await supertest(rig.url).get('/banks').expect(200);
    await settles('banks_served_total{state="fresh"}', 1);
    const scraped = names(await scrape());
    const used = [...names(readFileSync(join(DEPLOY, path), 'utf8'))];
    expect(used.length).toBeGreaterThan(5);
    expect(used.filter((name) => !scraped.has(name))).toEqual([]);
  });
});

describeWithPromtool('promtool', () => {
  test('finds nothing against the names and helps', async () => {
    await start();
    await supertest(rig.url).get('/banks').expect(200);
    expect(promtool(['check', 'metrics'], await scrape())).toEqual({ status: 0, said: '' });
  });

  test('accepts the rules, each of which fires and clears as its case says', () => {
    expect(promtool(['check', 'rules', RULES]).said).toContain('SUCCESS');
    const cases = promtool(['test', 'rules', RULES.replace('.yml', '.test.yml')]);
    expect(cases).toEqual({ status: 0, said: expect.stringContaining('SUCCESS') });
    const tested = readFileSync(RULES.replace('.yml', '.test.yml'), 'utf8');
    for (const [, alert] of readFileSync(RULES, 'utf8').matchAll(/alert: (\w+)/g)) {
      expect(tested).toContain(`name: ${alert}\n`);
    }
  });

  test('can read every expression of the dashboard', () => {
    const dashboard: unknown = JSON.parse(readFileSync(join(DEPLOY, 'grafana/banks-bff.json'), 'utf8'));
    const expressions: string[] = [];
    JSON.stringify(dashboard, (key, value: unknown) => {
      if (key === 'expr' && typeof value === 'string') expressions.push(value);
      return value;
    });
    const rules = expressions.map((expr, index) => ({
      record: `a:b${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }));
    const path = join(mkdtempSync(join(tmpdir(), 'banks-bff-')), 'rules.yml');
    writeFileSync(path, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    expect(rules.length).toBeGreaterThan(15);
    expect(promtool(['check', 'rules', path])).toMatchObject({ status: 0 });
  });
});
