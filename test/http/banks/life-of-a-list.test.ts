import { expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { Emulator } from '../../../emulator/emulator.ts';
import { metricsOf } from '../../helpers/management-port.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { openRaw } from '../../helpers/raw-http.ts';
import { startRig, type Rig } from '../../helpers/rig.ts';
import { eventually, waitUntil } from '../../helpers/wait-until.ts';

// Requests that find no list wait for the load; and what tells of a changed list.

let rig: Rig;
const calls: ServerResponse[] = [];
const holdCalls = (emulator: Emulator) => emulator.respondWith((_req, res) => void calls.push(res));

/** For so long at least. */
const WAIT_MS = 20;
/** Two requests of which the provider answers the one call only once they wait. */
const waitForTwo = async (answerCall: (res: ServerResponse) => void): Promise<Response[]> => {
  const waiting = [fetch(`${rig.url}/banks`), fetch(`${rig.url}/banks`)];
  // They wait once later requests have been answered.
  await waitUntil('a call to the provider', () => calls.length, Boolean);
  for (let others = 0; others < 3; others += 1) await fetch(`${rig.url}/healthz`);
  expect(calls).toHaveLength(1);
  const waitingMs = performance.now();
  await eventually(() => performance.now() - waitingMs > WAIT_MS);
  for (const res of calls.splice(0)) answerCall(res);
  return Promise.all(waiting);
};
const sendList = (res: ServerResponse, name = 'A') =>
  res
    .setHeader('content-type', 'application/json')
    .end(JSON.stringify([{ code: '1', ispb: '2', name }]));

test('requests that wait for a list share a load', async () => {
  rig = await startRig({ before: holdCalls });
  const cacheStatuses = async (): Promise<string[]> =>
    (await waitForTwo(sendList))
      .map(({ headers }) => String(headers.get('cache-status')))
      .toSorted();
  const hit = 'banks-bff; hit; ttl=3600';
  const beganMs = performance.now();
  expect(await cacheStatuses()).toEqual([hit, hit]);
  // In milliseconds in the log, and in seconds in the metric.
  const [first = 0, second = 0] = rig
    .requests('/banks')
    .map(({ durationMs }) => Number(durationMs));
  expect(Math.min(first, second)).toBeGreaterThan(WAIT_MS);
  expect(first + second).toBeLessThan(2 * (performance.now() - beganMs));
  const metrics = await metricsOf(rig.managementUrl);
  const labels = 'route="/banks",method="GET",status="2xx"';
  expect(metrics[`banks_http_request_duration_seconds_sum{${labels}}`]).toBeCloseTo(
    (first + second) / 1_000,
  );
  // The machine slept until the list had expired.
  rig.clock.advance(30 * 86_400_000);
  expect(await cacheStatuses()).toEqual([hit, hit]);
});

test('requests that wait in vain get the failure, and later ones get it at once', async () => {
  rig = await startRig({ before: holdCalls });
  const answers = await waitForTwo((res) => res.writeHead(503).end());
  expect(answers.map(({ status }) => status)).toEqual([503, 503]);
  expect((await fetch(`${rig.url}/banks`)).status).toBe(503);
});

test('a client that goes away while it waits was not served', async () => {
  rig = await startRig({ before: holdCalls });
  const { socket } = await openRaw(rig.url);
  socket.write('GET /banks HTTP/1.1\r\nHost: a\r\n\r\n');
  // It waits once later requests have been answered.
  for (let others = 0; others < 3; others += 1) await fetch(`${rig.url}/healthz`);
  socket.resetAndDestroy();
  await eventually(() => rig.requests('/banks').length > 0);
  const [line] = rig.requests('/banks');
  expect(line).toMatchObject({ bytes: 0, aborted: true });
  // It got none.
  expect(line).not.toHaveProperty('statusCode');
  for (const res of calls.splice(0)) sendList(res);
});

test('a response follows the clock to the second, and names the last failure once it is stale', async () => {
  rig = await startRig({ env: { CORS_ORIGINS: 'https://a.example' } });
  const told = async (): Promise<unknown> => {
    const { headers } = await fetch(`${rig.url}/banks`);
    expect(headers.get('vary')).toBe('Accept-Encoding, Origin');
    return headers.get('cache-status')?.replace('banks-bff; hit; ', '');
  };
  await waitUntil('a fresh list', told, (seen) => seen === 'ttl=3600');
  rig.clock.skip(1_250);
  expect(await told()).toBe('ttl=3598');
  rig.clock.skip(5_398_750);
  expect(await told()).toBe('ttl=-1800; detail=renewing');
  for (const [behaviour, kind] of [
    ['unavailable', 'unavailable'],
    ['forbidden', 'unexpected_status'],
    ['unavailable', 'unavailable'],
  ] as const) {
    await rig.emulator.behave(behaviour);
    await rig.service.list.refresh();
    expect(await told()).toBe(`ttl=-1800; detail=${kind}`);
  }
  const metrics = await metricsOf(rig.managementUrl);
  expect([2, 3]).toContain(metrics['banks_served_total{state="fresh"}']);
  expect(metrics['banks_served_total{state="stale"}']).toBe(4);
});

test('Last-Modified is never later than now, also after changes in one second or a clock that was set back', async () => {
  const clock = createManualClock();
  let setBackMs = 0;
  const wallMs = () => Date.UTC(2026, 0, 2) + clock.monotonicMs() - setBackMs;
  rig = await startRig({ clock: { ...clock, wallMs }, env: { GUARD_MAX_SHRINK: '100%' } });
  const getSince = async (date: string) => {
    const { status, headers } = await fetch(`${rig.url}/banks`, {
      headers: { 'If-Modified-Since': date },
    });
    return { status, date: headers.get('last-modified') ?? '' };
  };
  const first = (await getSince('')).date;
  expect((await getSince(first)).status).toBe(304);
  // The same list again is no change.
  rig.clock.skip(2_000);
  await rig.service.list.refresh();
  expect((await getSince(first)).status).toBe(304);

  setBackMs = 3_600_000;
  rig.emulator.respondWith((_req, res) => void sendList(res));
  await rig.service.list.refresh();
  const inWholeSeconds = () => Math.floor(wallMs() / 1_000) * 1_000;
  const expectNow = async (date: string) => {
    expect(Date.parse(date)).toBe(inWholeSeconds());
  };
  const changed = await getSince(first);
  expect(changed.status).toBe(200);
  await expectNow(changed.date);
  // The date was clamped: a client that has only this date gets the list again, never a 304 for
  // other content.
  expect((await getSince(changed.date)).status).toBe(200);

  setBackMs = 0;
  rig.clock.skip(10_000);
  const dates: string[] = [];
  for (const name of ['B', 'C', 'D']) {
    rig.emulator.respondWith((_req, res) => void sendList(res, name));
    await rig.service.list.refresh();
    const answer = await getSince(dates.at(-1) ?? first);
    expect(answer.status).toBe(200);
    await expectNow(answer.date);
    dates.push(answer.date);
  }
  rig.clock.skip(5_000);
  const last = await getSince(dates.at(-1) ?? '');
  expect(Date.parse(last.date)).toBeLessThanOrEqual(wallMs());
  expect((await getSince(last.date)).status).toBe(304);
});
