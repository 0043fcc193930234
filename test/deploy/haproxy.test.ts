import { afterEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { get } from 'node:http';
import { Readable } from 'node:stream';
import { describeWithHaproxy, startHaproxy, type Haproxy } from '../kit/haproxy.ts';
import { startRig, type Rig } from '../kit/rig.ts';

// The shipped load balancer in front of one replica. What clients get in an outage: soak/load-balancer.test.ts.

describeWithHaproxy('the load balancer', () => {
  let rig: Rig;
  let haproxy: Haproxy | undefined;
  afterEach(async () => {
    await haproxy?.close();
    haproxy = undefined;
    await rig.close();
  });

  /** Starts both, and waits until HAProxy has found the replica. */
  const start = async (): Promise<Haproxy> => {
    rig = await startRig({ env: { TRUST_PROXY: '1' } });
    haproxy = await startHaproxy(['127.0.0.1'], Number(new URL(rig.url).port));
    while ((await fetch(`${haproxy.url}/banks`)).status !== 200);
    return haproxy;
  };
  const lastRequest = (): Record<string, unknown> =>
    Object(
      JSON.parse(
        rig
          .log()
          .split('\n')
          .findLast((line) => line.includes('"/banks"')) ?? '',
      ),
    );

  test('gives each request an id, keeps a well-formed one from the client, and replaces a bad one', async () => {
    const { url } = await start();
    const idFor = async (headers: Record<string, string>): Promise<string | null> => {
      const id = (await fetch(`${url}/banks`, { headers })).headers.get('x-request-id');
      expect(lastRequest()).toMatchObject({ requestId: id });
      return id;
    };
    expect(await idFor({})).toMatch(/^[\da-f]{8}-[\da-f-]{27}$/);
    expect(await idFor({ 'X-Request-Id': 'from:a/client' })).toBe('from:a/client');
    expect(await idFor({ 'X-Request-Id': 'bad id' })).toMatch(/^[\da-f]{8}-[\da-f-]{27}$/);
  });

  test("passes on the client's address, whatever the client sends", async () => {
    const { port } = await start();
    const headers = { 'X-Forwarded-For': '203.0.113.9' };
    const [response]: unknown[] = await once(
      get({ port, path: '/banks', localAddress: '127.0.0.5', headers }),
      'response',
    );
    if (response instanceof Readable) await response.toArray();
    expect(lastRequest()).toMatchObject({ ip: '127.0.0.5' });
  });

  test('answers by itself only when no replica is left: 503 with a problem document for every page', async () => {
    rig = await startRig();
    haproxy = await startHaproxy([], 1);
    const response = await fetch(`${haproxy.url}/banks`, { headers: { 'X-Request-Id': 'abc' } });
    expect(response.status).toBe(503);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
      'retry-after': '5',
      'x-request-id': 'abc',
    });
    expect(await response.json()).toEqual({
      type: 'urn:problem-type:banks-bff:no-replica',
      status: 503,
      title: 'The service is down',
      detail: expect.any(String),
      code: 'no_replica',
    });
  });
});
