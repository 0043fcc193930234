import { expect, test } from '@jest/globals';
import { get } from 'node:http';
import { describeWithHaproxy, startHaproxy } from '../helpers/haproxy.ts';
import { startRig } from '../helpers/rig.ts';
import { waitUntil } from '../helpers/wait-until.ts';

// The shipped load balancer in front of one replica. What clients get in an outage:
// soak/load-balancer.test.ts.

describeWithHaproxy('the load balancer', () => {
  /**
   * In front of one replica, which it has found. `lastRequest` is the replica's last log line about
   * the list.
   */
  const start = async () => {
    const rig = await startRig({ env: { TRUST_PROXY: '1' } });
    const haproxy = await startHaproxy(['127.0.0.1'], Number(new URL(rig.url).port));
    const status = async (): Promise<number> => (await fetch(`${haproxy.url}/banks`)).status;
    await waitUntil('a replica that is ready', status, (seen) => seen === 200);
    return { ...haproxy, lastRequest: () => rig.requests('/banks').at(-1) };
  };

  test('gives each request an id, keeps a well-formed one from the client, and replaces a bad one', async () => {
    const { url, lastRequest } = await start();
    const logged = async (headers: Record<string, string>): Promise<unknown> => {
      await fetch(`${url}/banks`, { headers });
      return lastRequest();
    };
    const made = { clientRequestId: expect.stringMatching(/^[\da-f]{8}-[\da-f-]{27}$/) };
    expect(await logged({})).toMatchObject(made);
    const own = await logged({ 'X-Request-Id': 'from:a/client' });
    expect(own).toMatchObject({ clientRequestId: 'from:a/client' });
    expect(await logged({ 'X-Request-Id': 'bad id' })).toMatchObject(made);
  });

  test("passes on the client's address, whatever the client sends", async () => {
    const { port, lastRequest } = await start();
    const headers = { 'X-Forwarded-For': '203.0.113.9' };
    const request = { port, path: '/banks', localAddress: '127.0.0.5', headers };
    await new Promise((resolve) => get(request, (res) => res.resume().on('end', resolve)));
    expect(lastRequest()).toMatchObject({ ip: '127.0.0.5' });
  });

  test('answers by itself only when no replica is left: 503 with a problem document for every page', async () => {
    const haproxy = await startHaproxy([], 1);
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
