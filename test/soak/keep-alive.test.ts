import { Agent, get } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import { describeWithNginx, startNginx } from '../kit/caching-proxy.ts';
import { findFreePort } from '../kit/free-port.ts';
import { describeWithHaproxy, startHaproxy } from '../kit/haproxy.ts';
import { startProcess, type ServiceProcess } from '../kit/process.ts';

// Idle connections between a load balancer and the service. Whoever closes one may meet a request that is on its way: a 502,
// unless the load balancer sends it again. So KEEP_ALIVE_TIMEOUT must be the longer one; and where it is not, the shipped
// configuration repeats the request. Minutes are scaled down to tenths of a second: requests come in waves, and the pause
// between two is shifted through the moment at which connections are closed.

const CONNECTIONS = 500;
const WAVES = 20;
const ALL_200 = { 200: CONNECTIONS * WAVES };
/** What node:http and the service wait beyond the timeout that they announce. */
const MARGIN_MS = 1_000;

let emulator: Emulator;
let service: ServiceProcess;
let front: { readonly url: string; close(): Promise<void> };
let port: number;
beforeEach(async () => {
  emulator = await startEmulator();
  port = await findFreePort();
});
afterEach(async () => {
  await front.close();
  await service.end('SIGKILL');
  await emulator.close();
});

const startService = async (keepAliveTimeout: string): Promise<void> => {
  service = await startProcess({
    PORT: String(port),
    KEEP_ALIVE_TIMEOUT: keepAliveTimeout,
    TRUST_PROXY: '1',
    PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
  });
};

/** 10,000 requests, by which each connection behind the front is idle for about `idleMs`. @returns how often each status came */
const statusesAfterPausesOf = async (idleMs: number): Promise<Record<string, number>> => {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, maxFreeSockets: CONNECTIONS });
  const ask = (): Promise<string> =>
    new Promise((resolve) => {
      get(`${front.url}/banks`, { agent, headers: { 'Accept-Encoding': 'br' } }, (res) =>
        res.resume().on('end', () => resolve(String(res.statusCode))),
      ).on('error', (error) => resolve(error.message));
    });
  // Until there is a list, and the load balancer knows it.
  while ((await ask()) !== '200') await wait(50);
  const counts: Record<string, number> = {};
  for (let wave = 0; wave < WAVES; wave += 1) {
    for (const status of await Promise.all(Array.from({ length: CONNECTIONS }, ask)))
      counts[status] = (counts[status] ?? 0) + 1;
    // From a tenth before the moment to a tenth after it.
    await wait(idleMs * (0.9 + (0.2 * wave) / WAVES));
  }
  agent.destroy();
  return counts;
};

describeWithNginx('behind nginx', () => {
  test('that keeps connections for a shorter time than the service and never repeats a request: no 502', async () => {
    await startService('620s');
    front = await startNginx(`http://127.0.0.1:${port}`, {
      location: 'proxy_next_upstream off;',
      keepAlive: `keepalive ${CONNECTIONS}; keepalive_timeout 300ms;`,
    });
    expect(await statusesAfterPausesOf(300)).toEqual(ALL_200);
  });
});

describeWithHaproxy('behind HAProxy', () => {
  test('that keeps them for longer, as shipped: no 502', async () => {
    await startService('100ms');
    front = await startHaproxy(['127.0.0.1'], port);
    expect(await statusesAfterPausesOf(100 + MARGIN_MS)).toEqual(ALL_200);
  });
});
