import { expect, test } from '@jest/globals';
import type { ListStatus } from '../../src/banks/bank-list.ts';
import { wall } from '../../src/clock.ts';
import { parseConfig } from '../../src/config/config.ts';
import type { RequestEvent } from '../../src/telemetry/events.ts';
import { createHistory } from '../../src/telemetry/history.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { makeBanks } from '../helpers/banks.ts';
import { cachedListOf } from '../helpers/cached-list.ts';
import { listStatusOf } from '../helpers/list-status.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { SANDBOX } from '../helpers/sandbox.ts';

// What a request counts as, in the metrics and in the history, and which times are exposed.

const startMetrics = (status: ListStatus = listStatusOf()) => {
  const clock = createManualClock();
  const config = parseConfig({ ...SANDBOX, PROVIDER_SANDBOX_BASE_URL: 'http://127.0.0.1:1' });
  const metrics = createMetrics(config, {
    list: { status: () => status },
    clock,
    stores: () => [],
    secretFiles: () => [],
    version: '0.0.0-test',
    lostLogLines: () => 0,
  });
  /** The series of the service, each with its value. */
  const samples = async (): Promise<ReadonlyMap<string, string>> => {
    const lines = (await metrics.exposition()).matchAll(/^banks_(\w+(?:\{.*\})?) (\S+)$/gm);
    return new Map([...lines].map(([, series = '', value = '']) => [series, value]));
  };
  return { clock, metrics, samples };
};

const REQUEST: RequestEvent = {
  type: 'request-finished',
  route: '/banks',
  answeredBy: 'node_http',
  method: 'GET',
  status: 200,
  durationMs: 1,
  bytes: 1,
  aborted: false,
  listState: 'fresh',
  waited: false,
  refusal: undefined,
  isRefusedOrigin: false,
};
const served = 'served_total{state="fresh"}';
const aborted = 'http_request_duration_seconds_count{route="/banks",method="GET",status="aborted"}';
const waits = (outcome: string): string => `list_waits_total{outcome="${outcome}"}`;
const refusals = (kind: string): string => `cors_refusals_total{kind="${kind}"}`;

const REQUESTS: readonly [what: string, Partial<RequestEvent>, counts: readonly string[]][] = [
  ['for the list', {}, [served]],
  ['for something else', { listState: undefined }, []],
  ['for the list whose client went away', { aborted: true }, [aborted]],
  ['that waited for the list', { waited: true }, [served, waits('served')]],
  [
    'that waited for the list in vain',
    { waited: true, status: 503, listState: 'empty' },
    ['served_total{state="empty"}', waits('failed')],
  ],
  [
    'that waited for the list until its client went away',
    { waited: true, status: 503, listState: 'empty', aborted: true },
    [aborted, waits('aborted')],
  ],
  ['of a refused origin', { isRefusedOrigin: true }, [served, refusals('request')]],
  [
    'of a refused origin that asks first',
    { isRefusedOrigin: true, method: 'OPTIONS', listState: undefined, status: 204 },
    [refusals('preflight')],
  ],
];

test.each(REQUESTS)('a request %s counts as that', async (_what, request, counts) => {
  const { metrics, samples } = startMetrics();
  metrics.onEvent({ ...REQUEST, ...request });
  const counted = [...(await samples())]
    .filter(([, value]) => value === '1')
    .map(([series]) => series)
    .filter((series) => /^(?:served|list_waits|cors_ref)|"aborted"\}$/.test(series))
    .filter((series) => !series.includes('le='));
  expect(counted.toSorted()).toEqual([...counts].toSorted());
});

test('calls to the provider have a series for each outcome before the first one', async () => {
  const { samples } = startMetrics();
  const names = [...(await samples()).keys()];
  const calls = names.filter((name) => name.startsWith('upstream_call_duration_seconds_count'));
  expect(calls.map((name) => /"(\w+)"/.exec(name)?.[1])).toEqual([
    '2xx',
    '3xx',
    '4xx',
    '5xx',
    'none',
  ]);
});

test('each time of the list is its own, and none is later than now', async () => {
  const nowMs = createManualClock().wallMs();
  const largeChange = { added: 1, removed: 1, atMs: nowMs - 3_000, changedValues: new Map() };
  const cached = await cachedListOf(makeBanks(1), {
    loadedAtWallMs: wall(nowMs + 60_000),
    changedAtMs: wall(nowMs - 2_000),
    largeChange,
  });
  const { samples } = startMetrics(listStatusOf({ state: 'fresh', ageMs: 0, cached }));
  const all = await samples();
  const agoMs = ['success', 'change', 'large_change'].map(
    (what) => nowMs - 1_000 * Number(all.get(`list_last_${what}_timestamp_seconds`)),
  );
  expect(agoMs).toEqual([0, 2_000, 3_000]);
});

test('the history has a request in the minute in which it ended, failed from status 500 on', () => {
  const clock = createManualClock();
  const history = createHistory(clock, () => undefined);
  const request = (status: number): void => history.onEvent({ ...REQUEST, status });
  clock.skip(59_999);
  request(499);
  clock.skip(1);
  request(500);
  request(503);
  const minutes = history
    .minutes()
    .map(({ requests, failedRequests }) => [requests, failedRequests]);
  expect(minutes).toEqual([
    [1, 0],
    [2, 2],
  ]);
});
