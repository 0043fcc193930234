import { Agent, get } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { startNginx, type CachingProxy } from '../helpers/caching-proxy.ts';
import { closeLater } from '../helpers/close-later.ts';
import { emulate } from '../helpers/emulate.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { startHaproxy } from '../helpers/haproxy.ts';
import { startProcess } from '../helpers/process.ts';
import { waitUntil } from '../helpers/wait-until.ts';

// Idle connections between a load balancer and the service. Whoever closes one may meet a request
// that is on its way: a 502, unless the load balancer sends it again. So KEEP_ALIVE_TIMEOUT must be
// the longer one; and where it is not, the shipped configuration repeats the request. Minutes are
// scaled down to tenths of a second: requests come in waves, and the pause between two is shifted
// through the moment at which connections are closed.

const CONNECTIONS = 500;
const WAVES = 20;
/** What node:http and the service wait beyond the timeout that they announce. */
const MARGIN_MS = 1_000;

/** nginx keeps connections for 300 ms and never repeats a request. */
const startNginxInFront = (port: number): Promise<CachingProxy> =>
  startNginx(
    `http://127.0.0.1:${port}`,
    `keepalive ${CONNECTIONS}; keepalive_timeout 300ms;`,
    'proxy_next_upstream off;',
  );

test.each([
  ['nginx, which keeps them for less time than KEEP_ALIVE_TIMEOUT', '620s', 300, startNginxInFront],
  [
    'HAProxy as shipped, which keeps them for longer',
    '100ms',
    100 + MARGIN_MS,
    (port: number) => startHaproxy(['127.0.0.1'], port),
  ],
])(
  'none of 10,000 requests on connections of %s is lost',
  async (_what, keepAlive, idleMs, startFront) => {
    const emulator = await emulate();
    const port = await findFreePort();
    await startProcess({
      PORT: String(port),
      KEEP_ALIVE_TIMEOUT: keepAlive,
      TRUST_PROXY: '1',
      PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
    });
    const front = await startFront(port);
    const agent = new Agent({
      keepAlive: true,
      maxSockets: CONNECTIONS,
      maxFreeSockets: CONNECTIONS,
    });
    const ask = (): Promise<unknown> =>
      new Promise((resolve) => {
        get(`${front.url}/banks`, { agent, headers: { 'Accept-Encoding': 'br' } }, (res) =>
          res.resume().on('end', () => resolve(res.statusCode)),
        ).on('error', resolve);
      });
    closeLater(() => agent.destroy());
    // Until there is a list, and the load balancer knows it.
    await waitUntil('the first list through the load balancer', ask, (status) => status === 200);
    const answers: unknown[] = [];
    for (let wave = 0; wave < WAVES; wave += 1) {
      answers.push(...(await Promise.all(Array.from({ length: CONNECTIONS }, ask))));
      // From a tenth before the moment to a tenth after it.
      await wait(idleMs * (0.9 + (0.2 * wave) / WAVES));
    }
    expect(answers.filter((answer) => answer !== 200)).toEqual([]);
  },
);
