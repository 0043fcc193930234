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

interface Front {
  readonly url: string;
  close(): Promise<void>;
}

let emulator: Emulator;
let service: ServiceProcess;
let front: Front | undefined;
let port: number;
beforeEach(async () => {
  emulator = await startEmulator();
  port = await findFreePort();
});
afterEach(async () => {
  await front?.close();
  await service.end('SIGKILL');
  await emulator.close();
});

const startService = async (keepAliveTimeout: string): Promise<string> => {
  service = await startProcess({
    PORT: String(port),
    KEEP_ALIVE_TIMEOUT: keepAliveTimeout,
    TRUST_PROXY: '1',
    PROVIDER_ENVIRONMENT: 'sandbox',
    PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
    PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
    BANK_FIELDS: 'code,ispb,name',
  });
  return `http://127.0.0.1:${port}`;
};

/** 10,000 requests, by which each connection behind `url` is idle for about `idleMs`. @returns how often each status came */
const statusesAfterPausesOf = async (idleMs: number, url: string): Promise<Record<string, number>> => {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, maxFreeSockets: CONNECTIONS });
  const ask = (): Promise<string> =>
    new Promise((resolve) => {
      get(`${url}/banks`, { agent, headers: { 'Accept-Encoding': 'br' } }, (res) =>
        res.resume().on('end', () => resolve(String(res.statusCode))),
      ).on('error', (error) => resolve(error.message));
    });
  const counts: Record<string, number> = {};
  for (let wave = 0; wave < WAVES; wave += 1) {
    for (const status of await Promise.all(Array.from({ length: CONNECTIONS }, ask)))
      counts[status] = (counts[status] ?? 0) + 1;
    // From a tenth before the moment to a tenth after it.
    await wait(idleMs * (0.9 + (0.2 * wave) / WAVES));
  }
  agent.destroy();
  process.stdout.write(`${expect.getState().currentTestName}: ${JSON.stringify(counts)}\n`);
  return counts;
};

const ALL_200 = { 200: CONNECTIONS * WAVES };
/** What node:http and the service wait beyond the timeout that they announce. */
const MARGIN_MS = 1_000;

describeWithNginx('behind nginx', () => {
  const location = (retries: string): string => `proxy_next_upstream ${retries};`;

  test('that keeps connections for a shorter time than the service and never repeats a request: no 502', async () => {
    front = await startNginx(await startService('5s'), {
      location: location('off'),
      keepAlive: `keepalive ${CONNECTIONS}; keepalive_timeout 300ms;`,
    });
    expect(await statusesAfterPausesOf(300, front.url)).toEqual(ALL_200);
  });

  test('that keeps them for longer, and repeats a request as it does by default: no 502', async () => {
    front = await startNginx(await startService('100ms'), {
      location: location('error timeout'),
      keepAlive: `keepalive ${CONNECTIONS}; keepalive_timeout 60s;`,
    });
    expect(await statusesAfterPausesOf(100 + MARGIN_MS, front.url)).toEqual(ALL_200);
  });
});

describeWithHaproxy('behind HAProxy', () => {
  test('that keeps connections for a shorter time than the service and never repeats a request: no 502', async () => {
    await startService('5s');
    front = await startHaproxy(['127.0.0.1'], port, [
      ['retries 2', 'retries 0'],
      ['retry-on conn-failure empty-response', 'retry-on none'],
      [`banks-bff:${port} check`, `banks-bff:${port} pool-purge-delay 300ms check`],
    ]);
    expect(await statusesAfterPausesOf(300, front.url)).toEqual(ALL_200);
  });

  test('that keeps them for longer, as shipped: no 502', async () => {
    await startService('100ms');
    front = await startHaproxy(['127.0.0.1'], port);
    expect(await statusesAfterPausesOf(100 + MARGIN_MS, front.url)).toEqual(ALL_200);
  });
});
