import { afterEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Environment } from '../../../src/config/reader.ts';
import type { HotPath } from '../../../src/http/server/hot-path.ts';
import type { Limits } from '../../../src/http/server/limits.ts';
import { hotPath, startServer, type ServerRig } from '../../kit/bounded-server.ts';
import { openRaw, sendRaw } from '../../kit/raw-http.ts';
import { eventually, startRig, type Rig } from '../../kit/rig.ts';
import { connectionsOf } from '../../kit/server-sockets.ts';

// Connections between the hot path and Node: who reads, when a connection changes hands, and how it ends.

const BANKS = 'GET /banks HTTP/1.1\r\nHost: a\r\n\r\n';
const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n';

const answersIn = (received: string): number => received.split('HTTP/1.1 200 OK\r\n').length - 1;

describe('the whole service', () => {
  let rig: Rig;
  afterEach(() => rig.close());
  const start = async (env: Environment = {}): Promise<void> => {
    rig = await startRig({ env });
    await eventually(() => rig.service.list.served() !== undefined);
  };

  test.each(['on', 'off'])('with HOT_PATH=%s KEEP_ALIVE_TIMEOUT is advertised and kept', async (onOrOff) => {
    await start({ KEEP_ALIVE_TIMEOUT: '1s', HOT_PATH: onOrOff });
    const clients = await Promise.all([openRaw(rig.url), openRaw(rig.url)]);
    const askedAtMs = performance.now();
    clients[0]?.socket.write(BANKS);
    clients[1]?.socket.write(HEALTH);
    await Promise.all(clients.map(({ socket }) => once(socket, 'close')));
    // One second of margin, which node:http grants too.
    expect(performance.now() - askedAtMs).toBeGreaterThan(2_000);
    for (const { received } of clients)
      expect(received()).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*\r\nKeep-Alive: timeout=1\r\n/);
  });

  test('logs a client that went away before it had the whole answer, and does not count it as served', async () => {
    await start({ PROVIDER_MAX_BODY: '100mb' });
    // No system takes so much at once for a client that does not read.
    const name = 'x'.repeat(1_000);
    const many = Array.from({ length: 20_000 }, (_, index) => ({ code: String(index), ispb: '0', name }));
    rig.emulator.setBanks(many);
    expect(await rig.service.list.refresh()).toBeUndefined();
    const { socket } = await openRaw(rig.url);
    socket.pause();
    socket.write(BANKS);
    await eventually(() => socket.bytesWritten > 0);
    // The answer has begun.
    const other = await openRaw(rig.url);
    other.socket.write(HEALTH);
    await eventually(() => answersIn(other.received()) === 1);
    expect(rig.log()).not.toContain('"path":"/banks"');
    socket.resetAndDestroy();
    other.socket.destroy();
    const line = /"path":"\/banks".*"aborted":true/;
    await eventually(() => line.test(rig.log()));
    const metrics = await (await fetch(`${rig.operatorsUrl}/metrics`)).text();
    expect(metrics).toContain('\nbanks_served_total{state="fresh"} 0\n');
    expect(metrics).toContain('_count{route="/banks",method="GET",status="aborted"} 1\n');
  });
});

describe('the listener', () => {
  let running: ServerRig;
  afterEach(() => running.server.close());

  const start = async (
    limits: Partial<Limits> = {},
    options: { readonly hotPath: HotPath | undefined } = { hotPath },
  ): Promise<string> => {
    running = await startServer((_req, res) => res.end('cold'), { ...options, limits });
    return running.url;
  };
  const HOT = 'GET /hot HTTP/1.1\r\nHost: a\r\n\r\n';
  const COLD = 'GET /cold HTTP/1.1\r\nHost: a\r\n\r\n';

  test.each([
    ['with the hot path', { hotPath }],
    ['without it', { hotPath: undefined }],
  ])('answers a connection that sends nothing in time, %s', async (_what, options) => {
    const url = await start({ headersTimeoutMs: 50 }, options);
    const [answer] = await sendRaw(url, '', { keepOpen: true });
    expect(answer?.status).toBe(408);
  });

  test('gives each ordinary request to the hot path, whatever came before it on its connection', async () => {
    const url = await start();
    const { socket, received } = await openRaw(url);
    const content = 'POST /cold HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab';
    // Where content ends is only node:http's to know: the request after it is still node:http's.
    const asked = [HOT, COLD, HOT, COLD, COLD, HOT, content, HOT, HOT];
    for (const [index, request] of asked.entries()) {
      socket.write(request);
      await eventually(() => answersIn(received()) === index + 1);
    }
    socket.destroy();
    expect(
      received()
        .match(/hot|cold/g)
        ?.join(' '),
    ).toBe('hot cold hot cold cold hot cold cold hot');
  });

  test('a client that takes its last answer slowly gets all of it', async () => {
    const body = Buffer.alloc(32 * 1024 * 1024);
    const last: HotPath = (bytes, socket) => {
      const content = bytes.includes('/large') ? body : 'small';
      socket.write(`HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${content.length}\r\n\r\n`);
      socket.write(content);
      return 'answered_last';
    };
    const url = await start({}, { hotPath: last });
    const slow = await openRaw(url);
    slow.socket.pause().write(HOT.replace('/hot', '/large'));
    // Another, which keeps its side open after its last answer, is closed when it has had the time for that.
    const lingering = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true });
    lingering.resume().write(HOT);
    await once(lingering, 'end');
    await eventually(() => connectionsOf(url) === 1);
    slow.socket.resume();
    await once(slow.socket, 'close');
    expect(slow.received().length).toBeGreaterThan(body.length);
    lingering.destroy();
  });

  test('a drain answers those who connected just before its notice ended', async () => {
    const url = await start();
    const drained = running.server.drain({ noticeMs: 3_000, graceMs: 10_000 });
    const clients = await Promise.all(Array.from({ length: 20 }, () => openRaw(url)));
    // Their connections are established. The server has accepted one or two of them, and read nothing.
    for (const { socket } of clients) socket.write(HOT);
    running.clock.advance(3_000);
    await Promise.all(clients.map(({ socket }) => once(socket, 'close')));
    expect(clients.map(({ received }) => answersIn(received()))).toEqual(clients.map(() => 1));
    await drained;
  });

  test('a drain spares connections that have not had the time for a request', async () => {
    const url = await start({ arrivalMs: 5_000 });
    const [silent, used] = [await openRaw(url), await openRaw(url)];
    used.socket.write(HOT);
    await eventually(() => answersIn(used.received()) === 1);
    const drained = running.server.drain({ noticeMs: 3_000, graceMs: 10_000 });
    running.clock.advance(3_000);
    await once(used.socket, 'close');
    silent.socket.write(COLD);
    await eventually(() => answersIn(silent.received()) === 1);
    expect(used.socket.destroyed).toBe(true);
    await drained;
  });

  test('a drain closes idle connections after its notice, on both paths', async () => {
    const url = await start();
    const [hot, cold, silent] = [await openRaw(url), await openRaw(url), await openRaw(url)];
    hot.socket.write(HOT);
    cold.socket.write(HOT);
    await eventually(() => answersIn(hot.received()) === 1 && answersIn(cold.received()) === 1);
    cold.socket.write(COLD);
    await eventually(() => answersIn(cold.received()) === 2);
    const drained = running.server.drain({ noticeMs: 3_000, graceMs: 10_000 });
    running.clock.advance(2_999);
    hot.socket.write(HOT);
    await eventually(() => answersIn(hot.received()) === 2);
    running.clock.advance(1);
    await Promise.all([hot, cold, silent].map(({ socket }) => once(socket, 'close')));
    await drained;
    expect(answersIn(cold.received())).toBe(2);
  });
});
