import { expect, test } from '@jest/globals';
import { once } from 'node:events';
import { metricsOf } from '../helpers/management-port.ts';
import { openRaw } from '../helpers/raw-http.ts';
import { startLoadedRig } from '../helpers/rig.ts';
import { eventually } from '../helpers/wait-until.ts';

// Connections of the whole service: how long an idle one stays open, and one whose client goes
// away.

const BANKS = 'GET /banks HTTP/1.1\r\nHost: a\r\n\r\n';
const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n';

test('KEEP_ALIVE_TIMEOUT is advertised and kept on both ports, by the hot path and by node:http', async () => {
  const rig = await startLoadedRig({ env: { KEEP_ALIVE_TIMEOUT: '1100ms' } });
  const clients = await Promise.all(
    [rig.url, rig.url, rig.managementUrl].map((url) => openRaw(url)),
  );
  const askedAtMs = performance.now();
  clients[0]?.socket.write(BANKS);
  for (const { socket } of clients.slice(1)) socket.write(HEALTH);
  await Promise.all(clients.map(({ socket }) => once(socket, 'close')));
  // One second of margin, which node:http grants too.
  expect(performance.now() - askedAtMs).toBeGreaterThan(2_100);
  for (const { received } of clients)
    expect(received()).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*\r\nKeep-Alive: timeout=1\r\n/);
});

test.each(['on', 'off'])(
  'with HOT_PATH=%s a client that went away before it had the whole response is logged, and not counted as served',
  async (onOrOff) => {
    // No system takes so much at once for a client that does not read.
    const name = 'x'.repeat(700);
    const many = Array.from({ length: 20_000 }, (_, index) => ({
      code: String(index),
      ispb: '0',
      name,
    }));
    const rig = await startLoadedRig({
      env: { PROVIDER_MAX_BODY: '16mb', HOT_PATH: onOrOff },
      emulator: { banks: many },
    });
    const { socket } = await openRaw(rig.url);
    socket.pause().write(BANKS);
    await eventually(() => socket.bytesWritten > 0);
    // The answer has begun once a later request has its own.
    await (await fetch(`${rig.url}/healthz`)).text();
    expect(rig.requests('/banks')).toEqual([]);
    socket.resetAndDestroy();
    await eventually(() => rig.requests('/banks').some(({ aborted }) => aborted === true));
    const labels = 'route="/banks",method="GET",status="aborted"';
    expect(await metricsOf(rig.managementUrl)).toMatchObject({
      'banks_served_total{state="fresh"}': 0,
      [`banks_http_request_duration_seconds_count{${labels}}`]: 1,
    });
  },
);
