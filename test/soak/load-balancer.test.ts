import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { emulate } from '../helpers/emulate.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { describeWithHaproxy, startHaproxy } from '../helpers/haproxy.ts';
import { startProcess } from '../helpers/process.ts';

// Processes of the built service behind HAProxy with the shipped configuration: what a client sees
// when replicas end. What pages of other origins can read: deploy/haproxy.test.ts.

const ADDRESSES = ['127.0.0.2', '127.0.0.3', '127.0.0.4'];
/** Longer than HAProxy's checks need to notice a change. */
const SETTLED_MS = 1_500;

describeWithHaproxy('behind the load balancer', () => {
  test('clients notice no replica that is killed or stopped, and get the 503 of HAProxy when none is left', async () => {
    const provider = await emulate();
    const port = await findFreePort();
    const startReplica = (address: string) =>
      startProcess({
        HOST: address,
        PORT: String(port),
        PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
        TRUST_PROXY: '1',
      });
    // HAProxy comes after them: its first checks could find none.
    const [killed, stopped, last] = await Promise.all(ADDRESSES.map(startReplica));
    const haproxy = await startHaproxy(ADDRESSES, port);

    const look = async (): Promise<string> => {
      const response = await fetch(`${haproxy.url}/banks`);
      const body: unknown = await response.json();
      return Array.isArray(body) ? '200' : `${response.status} ${Object(body).code}`;
    };
    /** Clients see `wanted` for some time, and before that only `others`. */
    const expectToSettleOn = async (wanted: string, ...others: string[]): Promise<void> => {
      for (
        let sinceMs = performance.now();
        performance.now() - sinceMs < SETTLED_MS;
        await wait(20)
      ) {
        const saw = await look();
        expect([wanted, ...others]).toContain(saw);
        if (saw !== wanted) sinceMs = performance.now();
      }
    };
    await expectToSettleOn('200', '503 no_replica');

    await killed?.end('SIGKILL');
    await expectToSettleOn('200');
    const end = stopped?.end('SIGTERM');
    await expectToSettleOn('200');
    expect(await end).toBe(0);
    await last?.end('SIGKILL');
    await expectToSettleOn('503 no_replica');
    await startReplica('127.0.0.2');
    await expectToSettleOn('200', '503 no_replica');
  });
});
