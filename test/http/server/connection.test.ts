import { afterEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Environment } from '../../../src/config/reader.ts';
import { LIMITS, type Limits } from '../../../src/http/server/limits.ts';
import {
  createBoundedServer,
  type BoundedServer,
  type BoundedServerOptions,
} from '../../../src/http/server/server.ts';
import type { HotPath } from '../../../src/http/server/hot-path.ts';
import { createManualClock } from '../../kit/manual-clock.ts';
import { sendRaw } from '../../kit/raw-http.ts';
import { eventually, startRig, type Rig } from '../../kit/rig.ts';
import { connectionsOf } from '../../kit/server-sockets.ts';

// Connections between the hot path and Node: who reads, when a connection changes hands, and how it ends.

const BANKS = 'GET /banks HTTP/1.1\r\nHost: a\r\n\r\n';
const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n';

const open = async (url: string): Promise<{ socket: Socket; received: () => string }> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => (received += chunk.toString('latin1'))).on('error', () => undefined);
  await once(socket, 'connect');
  return { socket, received: () => received };
};
const answersIn = (received: string): number => received.split('HTTP/1.1 200 OK\r\n').length - 1;

describe('the whole service', () => {
  let rig: Rig;
  afterEach(() => rig.close());
  const start = async (env: Environment = {}): Promise<void> => {
    rig = await startRig({ env });
    await eventually(() => rig.service.list.served() !== undefined);
  };

  test('answers in order on one connection, on both paths', async () => {
    // A probe's line is at debug.
    await start({ LOG_LEVEL: 'debug' });
    const { socket, received } = await open(rig.url);
    const paths = ['/banks', '/banks', '/healthz', '/banks', '/nowhere', '/banks'];
    for (const [index, path] of paths.entries()) {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${index}\r\n\r\n`);
      await eventually(() => received().includes(`X-Request-Id: ${index}\r\n`));
    }
    socket.end();
    await once(socket, 'close');
    const lines = rig.log().matchAll(/"requestId":"(\d)","method":"GET","path":"([^"]+)"/g);
    expect([...lines].map(([, id, path]) => [id, path])).toEqual(
      paths.map((path, index) => [String(index), path]),
    );
  });

  test.each([
    ['two at once', [BANKS + BANKS]],
    ['one in pieces', [BANKS.slice(0, 9), BANKS.slice(9)]],
    ['one and a half', [BANKS + BANKS.slice(0, 9), BANKS.slice(9)]],
    ['a blank line before it', [`\r\n${BANKS}`]],
    ['a hot one, then pieces', [BANKS, BANKS.slice(0, 30), BANKS.slice(30)]],
  ])('reads requests however they are cut: %s', async (_what, pieces) => {
    await start();
    const { socket, received } = await open(rig.url);
    socket.setNoDelay();
    for (const piece of pieces) {
      const before = socket.bytesWritten;
      socket.write(piece);
      await eventually(() => socket.bytesWritten > before);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const wanted = pieces.join('').split('GET ').length - 1;
    await eventually(() => answersIn(received()) === wanted);
    socket.destroy();
    expect(received()).not.toContain('HTTP/1.1 4');
  });

  test.each([
    ['on', '/banks'],
    ['on', '/healthz'],
    ['off', '/banks'],
  ])('with HOT_PATH=%s, %s advertises KEEP_ALIVE_TIMEOUT and keeps it', async (hotPath, path) => {
    await start({ KEEP_ALIVE_TIMEOUT: '620s', HOT_PATH: hotPath });
    const [answer] = await sendRaw(rig.url, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(answer?.headers.get('keep-alive')).toBe('timeout=620');
    await rig.close();
    await start({ KEEP_ALIVE_TIMEOUT: '10ms', HOT_PATH: hotPath });
    const { socket, received } = await open(rig.url);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await once(socket, 'close');
    expect(answersIn(received())).toBe(1);
  });

  test('answers a client that has closed its side', async () => {
    await start();
    expect((await sendRaw(rig.url, BANKS)).map(({ status }) => status)).toEqual([200]);
  });

  test('keeps the order and loses nothing when a client sends requests without reading', async () => {
    await start();
    const { socket, received } = await open(rig.url);
    socket.pause();
    const asked = 400;
    for (let count = 0; count < asked; count += 1) {
      socket.write(BANKS);
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.resume();
    await eventually(() => answersIn(received()) === asked);
    expect(received().match(/Content-Length: (\d+)/g)).toHaveLength(asked);
    socket.destroy();
  });

  test('logs a client that went away before it had the whole answer', async () => {
    await start({ PROVIDER_MAX_BODY: '100mb' });
    // No system takes so much at once for a client that does not read.
    const name = 'x'.repeat(1_000);
    const many = Array.from({ length: 20_000 }, (_, index) => ({ code: String(index), ispb: '0', name }));
    rig.emulator.setBanks(many);
    expect(await rig.service.list.refresh()).toBeUndefined();
    const { socket } = await open(rig.url);
    socket.pause();
    socket.write(BANKS);
    await eventually(() => socket.bytesWritten > 0);
    // The answer has begun.
    const other = await open(rig.url);
    other.socket.write(HEALTH);
    await eventually(() => answersIn(other.received()) === 1);
    expect(rig.log()).not.toContain('"path":"/banks"');
    socket.resetAndDestroy();
    other.socket.destroy();
    const line = /"path":"\/banks".*"aborted":true/;
    await eventually(() => line.test(rig.log()));
    expect(rig.log()).toMatch(line);
  });
});

describe('the listener', () => {
  let running: BoundedServer | undefined;
  const clock = createManualClock();
  afterEach(async () => {
    await running?.close();
  });

  /** The hot path takes requests for /hot; Node's application answers the others. */
  const hotPath: HotPath = (bytes, socket) => {
    if (!bytes.toString().startsWith('GET /hot ')) return 'other';
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhot');
    return 'answered';
  };
  const start = async (
    limits: Partial<Limits> = {},
    options: Pick<BoundedServerOptions, 'hotPath'> = { hotPath },
  ): Promise<string> => {
    running = createBoundedServer({
      ...options,
      clock,
      commonHeaders: [],
      onRefusal: () => undefined,
      limits: { ...LIMITS, checkIntervalMs: 20, ...limits },
    });
    running.serve((_req, res) => res.end('cold'));
    return running.listen({ port: 0, host: '127.0.0.1' });
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
    const { socket, received } = await open(url);
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

  test('closes an idle connection, a second after the time that it advertises', async () => {
    const url = await start({ keepAliveTimeoutMs: 50 });
    const { socket, received } = await open(url);
    socket.write(HOT);
    await eventually(() => answersIn(received()) === 1);
    const answeredAtMs = performance.now();
    await once(socket, 'close');
    // One second of margin, which node:http grants too.
    expect(performance.now() - answeredAtMs).toBeGreaterThan(1_000);
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
    const slow = await open(url);
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
    const drained = running?.drain({ noticeMs: 3_000, graceMs: 10_000 });
    const clients = await Promise.all(Array.from({ length: 20 }, () => open(url)));
    // Their connections are established. The server has accepted one or two of them, and read nothing.
    for (const { socket } of clients) socket.write(HOT);
    clock.advance(3_000);
    await Promise.all(clients.map(({ socket }) => once(socket, 'close')));
    expect(clients.map(({ received }) => answersIn(received()))).toEqual(clients.map(() => 1));
    await drained;
  });

  test('a drain spares connections that have not had the time for a request', async () => {
    const url = await start({ arrivalMs: 5_000 });
    const [silent, used] = [await open(url), await open(url)];
    used.socket.write(HOT);
    await eventually(() => answersIn(used.received()) === 1);
    const drained = running?.drain({ noticeMs: 3_000, graceMs: 10_000 });
    clock.advance(3_000);
    await once(used.socket, 'close');
    silent.socket.write(COLD);
    await eventually(() => answersIn(silent.received()) === 1);
    expect(used.socket.destroyed).toBe(true);
    await drained;
  });

  test('a drain closes idle connections after its notice, on both paths', async () => {
    const url = await start();
    const [hot, cold, silent] = [await open(url), await open(url), await open(url)];
    hot.socket.write(HOT);
    cold.socket.write(HOT);
    await eventually(() => answersIn(hot.received()) === 1 && answersIn(cold.received()) === 1);
    cold.socket.write(COLD);
    await eventually(() => answersIn(cold.received()) === 2);
    const drained = running?.drain({ noticeMs: 3_000, graceMs: 10_000 });
    clock.advance(2_999);
    hot.socket.write(HOT);
    await eventually(() => answersIn(hot.received()) === 2);
    clock.advance(1);
    await Promise.all([hot, cold, silent].map(({ socket }) => once(socket, 'close')));
    await drained;
    expect(answersIn(cold.received())).toBe(2);
  });
});
