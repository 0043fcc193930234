import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { setTimeout } from 'node:timers/promises';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import { findFreePort } from '../kit/free-port.ts';
import { describeWithHaproxy, startHaproxy, type Haproxy } from '../kit/haproxy.ts';
import { startProcess, type ServiceProcess } from '../kit/process.ts';

// Outages behind the shipped load balancer, seen by a client: three processes of the built service, HAProxy with the shipped
// configuration, and a provider that is killed and restarted. What pages of other origins can read: deploy/haproxy.test.ts.

const ADDRESSES = ['127.0.0.2', '127.0.0.3', '127.0.0.4'];

/** Longer than HAProxy's checks need to notice a change. */
const SETTLED_MS = 1_500;

const LIST = '200 513 banks';
const OLD_LIST = '200 513 banks, unreachable';
const NO_LIST = '503 provider_unavailable';
const NO_REPLICA = '503 no_replica';

describeWithHaproxy('behind the load balancer', () => {
  let provider: Emulator;
  let replicas: ServiceProcess[];
  let haproxy: Haproxy;
  let port: number;
  beforeEach(async () => {
    provider = await startEmulator();
    port = await findFreePort();
    // HAProxy comes after them: its first checks could find none.
    replicas = await Promise.all(ADDRESSES.map(startReplica));
    haproxy = await startHaproxy(ADDRESSES, port);
    await expectToSettleOn(LIST, NO_REPLICA);
  });
  afterEach(async () => {
    await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
    await provider.close();
    await haproxy.close();
  });

  const startReplica = (address: string): Promise<ServiceProcess> =>
    startProcess({
      HOST: address,
      PORT: String(port),
      PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
      TRUST_PROXY: '1',
      CACHE_TTL: '1s',
      CACHE_MAX_STALE: '8s',
    });

  const look = async (): Promise<string> => {
    const response = await fetch(`${haproxy.url}/banks`);
    const body: unknown = await response.json();
    if (!Array.isArray(body)) return `${response.status} ${Object(body).code}`;
    // A renewal that is late on a busy machine is not an outage.
    const [, why] = /detail=(?!renewing)(\w+)/.exec(response.headers.get('cache-status') ?? '') ?? [];
    return `${response.status} ${body.length} banks${why ? `, ${why}` : ''}`;
  };
  /** Clients see `wanted` for some time, and before that only `others`. */
  const expectToSettleOn = async (wanted: string, ...others: string[]): Promise<void> => {
    for (let sinceMs = performance.now(); performance.now() - sinceMs < SETTLED_MS; await setTimeout(20)) {
      const saw = await look();
      expect([wanted, ...others]).toContain(saw);
      if (saw !== wanted) sinceMs = performance.now();
    }
  };

  test('clients keep getting the list in an outage, a 503 once it has expired, and then the list again', async () => {
    await provider.close();
    await expectToSettleOn(OLD_LIST, LIST);
    await expectToSettleOn(NO_LIST, OLD_LIST);

    provider = await startEmulator({ port: Number(new URL(provider.baseUrl).port) });
    // Both, as long as HAProxy has not noticed which replica is ready first.
    await expectToSettleOn(LIST, NO_LIST);
  });

  test('clients notice no replica that is killed or stopped, and get the 503 of HAProxy when none is left', async () => {
    const [killed, stopped, last] = replicas;
    await killed?.end('SIGKILL');
    await expectToSettleOn(LIST);
    const end = stopped?.end('SIGTERM');
    await expectToSettleOn(LIST);
    expect(await end).toBe(0);

    await last?.end('SIGKILL');
    await expectToSettleOn(NO_REPLICA);

    replicas.push(await startReplica('127.0.0.2'));
    await expectToSettleOn(LIST, NO_REPLICA);
  });
});
