import { afterEach, describe, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { Emulator } from '../../../emulator/emulator.ts';
import { createManualClock } from '../../kit/manual-clock.ts';
import { sendRaw } from '../../kit/raw-http.ts';
import { eventually, startRig, type Rig } from '../../kit/rig.ts';

describe('over the life of a list', () => {
  let rig: Rig;
  afterEach(() => rig.close());
  const head = async () => {
    const [answer] = await sendRaw(rig.url, 'HEAD /banks HTTP/1.1\r\nHost: a\r\n\r\n', { methods: ['HEAD'] });
    return answer?.headers;
  };
  const hasList = () => rig.service.list.served() !== undefined;
  const hasFailed = () => rig.service.list.status().failure !== undefined;

  test('the headers follow it from fresh to stale, and Cache-Status says why it is stale', async () => {
    rig = await startRig({ env: { BROWSER_MAX_AGE: '5m', CACHE_TTL: '1h' } });
    await eventually(hasList);
    const changed = (await head())?.get('last-modified');
    expect((await head())?.get('cache-status')).toBe('banks-bff; hit; ttl=3600');

    rig.clock.advance(3_400_500);
    expect((await head())?.get('cache-status')).toBe('banks-bff; hit; ttl=199');
    expect((await head())?.get('cache-control')).toMatch(/^public, max-age=199, /);

    await rig.emulator.behave('unavailable');
    rig.clock.next();
    await eventually(hasFailed);
    rig.clock.advance(200_000);
    const stale = await head();
    expect(stale?.get('cache-status')).toMatch(/^banks-bff; hit; ttl=-\d+; detail=(unavailable|timeout)$/);
    expect(stale?.get('cache-control')).toMatch(/^public, max-age=0, /);
    expect(stale?.get('last-modified')).toBe(changed);
  });

  test('a list that comes back unchanged keeps its ETag and its date', async () => {
    rig = await startRig();
    await eventually(hasList);
    const before = await head();
    rig.clock.next();
    await eventually(() => rig.emulator.listCalls() === 2 && rig.service.list.status().ageMs === 0);
    const after = await head();
    expect(after?.get('last-modified')).toBe(before?.get('last-modified'));
    expect(after?.get('etag')).toBe(before?.get('etag'));
  });

  /** Requests of which the provider answers the call only once they wait. */
  const waitFor = async (count: number, answerCall: (res: ServerResponse) => void) => {
    const waiting = Array.from({ length: count }, () => fetch(`${rig.url}/banks`));
    // They wait once later requests have been answered.
    for (let others = 0; others < 3; others += 1) await fetch(`${rig.url}/healthz`);
    await eventually(() => calls.length > 0);
    for (const res of calls.splice(0)) answerCall(res);
    return Promise.all(waiting);
  };
  const calls: ServerResponse[] = [];
  const holdCalls = (emulator: Emulator) => emulator.respondWith((_req, res) => void calls.push(res));
  const sendList = (res: ServerResponse) =>
    res.setHeader('content-type', 'application/json').end('[{"code":"1","ispb":"2","name":"A"}]');
  const waits = async (outcome: string): Promise<number> => {
    const text = await (await fetch(`${rig.operatorsUrl}/metrics`)).text();
    return Number(new RegExp(`banks_list_waits_total{outcome="${outcome}"} (\\d+)`).exec(text)?.[1]);
  };

  test('requests that wait for a list say so and whether they share a load, and are counted', async () => {
    rig = await startRig({ before: holdCalls });
    const first = await waitFor(2, sendList);
    for (const { headers } of first)
      expect(headers.get('cache-status')).toBe('banks-bff; fwd=miss; collapsed; ttl=3600');
    while ((await waits('served')) < 2);
    const later = await fetch(`${rig.url}/banks`);
    expect(later.headers.get('cache-status')).toBe('banks-bff; hit; ttl=3600');

    // The machine slept until the list had expired: the first request causes the load.
    rig.clock.skip(30 * 86_400_000);
    const second = await waitFor(2, sendList);
    expect(second.map(({ headers }) => String(headers.get('cache-status'))).toSorted()).toEqual([
      'banks-bff; fwd=miss; collapsed; ttl=3600',
      'banks-bff; fwd=miss; ttl=3600',
    ]);
    while ((await waits('served')) < 4);
    expect(await waits('failed')).toBe(0);
  });

  test('Last-Modified goes on with each change after the wall clock was set back, and conditions follow it', async () => {
    const clock = createManualClock();
    let setBackMs = 0;
    const wallMs = () => Date.UTC(2026, 0, 2) + clock.monotonicMs() - setBackMs;
    rig = await startRig({ clock: { ...clock, wallMs }, env: { GUARD_MAX_SHRINK: '100%' } });
    await eventually(hasList);
    const getSince = (date: string) => fetch(`${rig.url}/banks`, { headers: { 'If-Modified-Since': date } });
    const dateOf = ({ headers }: Response) => headers.get('last-modified') ?? '';
    const first = dateOf(await getSince(''));
    expect((await getSince(first)).status).toBe(304);

    setBackMs = 3_600_000;
    rig.emulator.respondWith((_req, res) => void sendList(res));
    rig.clock.next();
    await eventually(() => rig.service.list.status().held?.count === 1);
    const changed = await getSince(first);
    expect(changed.status).toBe(200);
    expect(Date.parse(dateOf(changed)) - Date.parse(first)).toBe(1_000);
    expect((await getSince(dateOf(changed))).status).toBe(304);
  });

  test('requests that wait in vain are counted, and those that are told at once are not', async () => {
    rig = await startRig({ before: holdCalls });
    const answers = await waitFor(2, (res) => res.writeHead(503).end());
    expect(answers.map(({ status }) => status)).toEqual([503, 503]);
    expect((await fetch(`${rig.url}/banks`)).status).toBe(503);
    while ((await waits('failed')) < 2);
    expect(await waits('failed')).toBe(2);
  });

  test('an error is never stored', async () => {
    rig = await startRig({ before: (emulator) => emulator.behave('unavailable') });
    const bytes = 'GET /banks HTTP/1.1\r\nHost: a\r\nConnection: close\r\nIf-None-Match: *\r\n\r\n';
    const [answer] = await sendRaw(rig.url, bytes, { keepOpen: true });
    expect(answer?.status).toBe(503);
    expect(answer?.headers.get('cache-control')).toBe('no-store');
    expect(answer?.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(answer?.headers.has('etag')).toBe(false);
  });
});
