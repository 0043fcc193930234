import { expect, test } from '@jest/globals';
import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { closeLater } from '../helpers/close-later.ts';
import { createHotPath, hotPath, startServer, type ServerRig } from '../helpers/http-front.ts';
import { openRaw, sendRaw } from '../helpers/raw-http.ts';
import { connectionsOf } from '../helpers/server-sockets.ts';
import { eventually } from '../helpers/wait-until.ts';

// The listener by itself: whose request is whose, its limits, with time-outs that pass while a test
// looks on, and errors.

let rig: ServerRig;
const start = async (
  app: RequestListener = (_req, res) => res.end('cold'),
  options: Parameters<typeof startServer>[1] = {},
): Promise<string> => {
  rig = await startServer(app, options);
  return rig.url;
};

const HOT = 'GET /hot HTTP/1.1\r\nHost: a\r\n\r\n';
const COLD = 'GET /cold HTTP/1.1\r\nHost: a\r\n\r\n';
const LARGE = Buffer.alloc(32 * 1024 * 1024);
const large = createHotPath(() => LARGE);

test('gives each ordinary request to the hot path, whatever came before it on its connection', async () => {
  const { socket, received } = await openRaw(await start());
  const none = COLD.replace('GET', 'POST').replace('\r\n\r\n', '\r\nContent-Length: 0\r\n\r\n');
  const asked = [HOT, COLD, `\r\n${HOT}`, COLD, `\r\n${COLD}`, HOT, none, HOT, HOT];
  const bodies = (): string[] => received().match(/hot|cold/g) ?? [];
  for (const [index, request] of asked.entries()) {
    socket.write(request);
    await eventually(() => bodies().length === index + 1);
  }
  socket.destroy();
  expect(bodies().join(' ')).toBe('hot cold hot cold cold hot cold hot hot');
});

test('a request that comes while another one waits is discarded, and ends the connection with the response', async () => {
  let pending: ServerResponse | undefined;
  const url = await start((_req, res) => (pending = res));
  const { socket, received } = await openRaw(url);
  socket.write(COLD);
  await eventually(() => pending !== undefined);
  socket.write(HOT);
  await sendRaw(url, HOT);
  expect(received()).toBe('');
  pending?.end('late');
  await once(socket, 'close');
  expect(received()).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*late$/);
});

test.each([
  ['nothing', ''],
  ['half a head', 'GET /banks HTTP/1.1\r\nHost: a'],
  ['a preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
])('a client that sends no request in time gets a 408: %s', async (_what, bytes) => {
  const url = await start(undefined, { limits: { headersTimeoutMs: 50 } });
  const [answer] = await sendRaw(url, bytes, { keepOpen: true });
  expect([answer?.status, answer?.body, rig.refusals]).toEqual([
    408,
    'refused',
    ['request_timeout'],
  ]);
});

test('a head that arrives byte by byte has no more time, which counts from its own first byte', async () => {
  const url = await start(undefined, { limits: { headersTimeoutMs: 200 } });
  const { socket, received } = await openRaw(url);
  socket.write(HOT);
  await eventually(() => received().includes('hot'));
  // Takes as long as the limit.
  await sendRaw(url, '', { keepOpen: true });
  const beganMs = performance.now();
  socket.write('GET /cold HTTP/1.1\r\nX: ');
  const sending = setInterval(() => socket.write('x'), 10);
  closeLater(() => clearInterval(sending));
  await once(socket, 'close');
  expect(performance.now() - beganMs).toBeGreaterThanOrEqual(200);
  expect(received()).toContain(' 408 ');
});

test('the time for which a connection stays open counts from when the client has its last response', async () => {
  const url = await start(undefined, { hotPath: large, limits: { keepAliveTimeoutMs: 100 } });
  const [slow, quick] = [await openRaw(url), await openRaw(url)];
  slow.socket.pause().write(HOT);
  quick.socket.write(HOT);
  // Takes as long as the limit.
  await once(quick.socket, 'close');
  const readsFromMs = performance.now();
  slow.socket.resume();
  await once(slow.socket, 'close');
  expect(slow.received().length).toBeGreaterThan(LARGE.length);
  // The limit, and one second of margin.
  expect(performance.now() - readsFromMs).toBeGreaterThan(1_000);
});

test.each([
  ['the hot path', HOT, large],
  ['node:http', COLD, hotPath],
])('a reader of %s that takes nothing is cut off', async (_what, request, path) => {
  const url = await start((_req, res) => res.end(LARGE), {
    hotPath: path,
    limits: { slowReaderMs: 200 },
  });
  const { socket } = await openRaw(url);
  socket.pause().write(request);
  await eventually(() => connectionsOf(url) === 0);
  expect(socket.bytesRead).toBeLessThan(LARGE.length);
  socket.destroy();
});

test('a client that takes its last response slowly gets all of it', async () => {
  const url = await start(undefined, { hotPath: large });
  const slow = await openRaw(url);
  slow.socket.pause().write(HOT.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
  // One that has its last response, and does not close, is closed a second later.
  await sendRaw(url, COLD.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
  slow.socket.resume();
  await once(slow.socket, 'close');
  expect(slow.received().length).toBeGreaterThan(LARGE.length);
});

test('a client that has closed its side gets its response, however long that takes', async () => {
  let pending: ServerResponse | undefined;
  const url = await start((_req, res) => (pending = res));
  const answers = sendRaw(url, COLD);
  await eventually(() => pending !== undefined);
  await sendRaw(url, HOT);
  pending?.end('late');
  expect((await answers).map(({ body }) => body)).toEqual(['late']);
});
