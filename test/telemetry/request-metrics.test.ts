import { expect, test } from '@jest/globals';
import type { ListStatus } from '../../src/banks/bank-list.ts';
import type { RequestEvent } from '../../src/telemetry/events.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

const REQUEST: RequestEvent = {
  type: 'request-finished',
  route: '/banks',
  method: 'GET',
  status: 200,
  durationMs: 1,
  bytes: 1,
  aborted: false,
  answeredBy: 'hot_path',
  listState: 'fresh',
  waited: false,
  isRefusedOrigin: false,
};

const NO_LIST: ListStatus = {
  state: 'empty',
  held: undefined,
  ageMs: undefined,
  nextLoadInMs: 0,
  failure: undefined,
  failing: undefined,
  lastFailure: undefined,
};

const start = () => {
  const metrics = createMetrics({
    status: () => NO_LIST,
    policy: { ttlMs: 1, maxStaleMs: 1 },
    fields: [],
    stores: [],
    environment: 'sandbox',
    version: '0.0.0-test',
  });
  const value = async (series: string): Promise<number> =>
    Number(
      (await metrics.exposition())
        .split('\n')
        .find((line) => line.startsWith(`${series} `))
        ?.split(' ')[1],
    );
  return {
    onRequest: (event: RequestEvent) => metrics.onEvent(event),
    served: (state: string) => value(`banks_served_total{state="${state}"}`),
    upTo: (bound: string, status = '2xx') =>
      value(
        `banks_http_request_duration_seconds_bucket{le="${bound}",route="/banks",method="GET",status="${status}"}`,
      ),
  };
};

test('a request whose client went away is one of its own kind, and was not served', async () => {
  const { onRequest, served, upTo } = start();
  onRequest(REQUEST);
  onRequest({ ...REQUEST, aborted: true });
  onRequest({ ...REQUEST, status: 503, listState: 'expired' });
  expect([await served('fresh'), await served('stale'), await served('expired')]).toEqual([1, 0, 1]);
  expect([await upTo('+Inf'), await upTo('+Inf', 'aborted'), await upTo('+Inf', '5xx')]).toEqual([1, 1, 1]);
});

test('a duration of exactly a bound is in its bucket, and a longer one in the next', async () => {
  const { onRequest, upTo } = start();
  for (const durationMs of [0, 5, 5.001, 10, 5_000, 5_001]) onRequest({ ...REQUEST, durationMs });
  const bounds = ['0.0005', '0.0025', '0.005', '0.01', '1', '5', '+Inf'];
  expect(await Promise.all(bounds.map((bound) => upTo(bound)))).toEqual([1, 1, 2, 4, 4, 5, 6]);
});
