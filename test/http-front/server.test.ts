import { expect, test } from '@jest/globals';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { closeLater } from '../helpers/close-later.ts';
import { createHotPath, hotPath, startServer, type ServerRig } from '../helpers/http-front.ts';
import { openRaw, sendRaw } from '../helpers/raw-http.ts';
import { connectionsOf } from '../helpers/server-sockets.ts';
import { eventually } from '../helpers/wait-until.ts';

// The listener by itself: whose request is whose, and its time-outs, with limits that pass while a
// test looks on.

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

test('gives each ordinary request to the hot path, whatever came before it on its connection', async () => {
  const { socket, received } = await openRaw(await start());
  const none = COLD.replace('GET', 'POST').replace('\r\n\r\n', '\r\nContent-Length: 0\r\n\r\n');
  const asked = [HOT, COLD, HOT, COLD, COLD, HOT, none, HOT, HOT];
  const bodies = (): string[] => received().match(/hot|cold/g) ?? [];
  for (const [index, request] of asked.entries()) {
    socket.write(request);
    await eventually(() => bodies().length === index + 1);
  }
  socket.destroy();
  expect(bodies().join(' ')).toBe('hot cold hot cold cold hot cold hot hot');
});

test.each([
  ['with the hot path, nothing', '', { hotPath }],
  ['without it, nothing', '', { hotPath: undefined }],
  ['half a head', 'GET /banks HTTP/1.1\r\nHost: a', { hotPath }],
])('a client that sends no head in time gets a 408: %s', async (_what, bytes, options) => {
  // As in the service, a first request may be on its way for a shorter time only.
  const limits = { arrivalMs: 10, headersTimeoutMs: 50 };
  const url = await start(undefined, { ...options, limits });
  const [answer] = await sendRaw(url, bytes, { keepOpen: true });
  expect([answer?.status, answer?.headers.get('x-refused'), answer?.body]).toEqual([
    408,
    'yes',
    'too late',
  ]);
  expect(rig.refusals).toEqual(['request_timeout']);
});

test('a head that arrives byte by byte has no more time than one that stops', async () => {
  const url = await start(undefined, { limits: { headersTimeoutMs: 400 } });
  const [trickling, stopped] = [await openRaw(url), await openRaw(url)];
  trickling.socket.write('GET /cold HTTP/1.1\r\nX: ');
  const sending = setInterval(() => trickling.socket.write('x'), 10);
  closeLater(() => clearInterval(sending));
  // It has been read once a later request has been answered.
  await sendRaw(url, COLD);
  stopped.socket.write('GET /cold HTTP/1.1\r\nX: ');
  await once(stopped.socket, 'close');
  expect(rig.refusals).toEqual(['request_timeout', 'request_timeout']);
});

test('while the service is busy, the system holds the connections of as many clients as it takes', async () => {
  const port = Number(new URL(await start()).port);
  const clients = Array.from({ length: 1_000 }, () => connect(port, '127.0.0.1'));
  closeLater(() => clients.forEach((client) => client.destroy()));
  // After that they have all asked the system for a connection, and the server has accepted none.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  // The line of the listening socket, whose queue for reading is that of connections.
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  const line = new RegExp(`:${hexPort} 00000000:0000 0A \\w+:(\\w+)`);
  const [, waiting = ''] = line.exec(readFileSync('/proc/net/tcp', 'utf8')) ?? [];
  expect(Number.parseInt(waiting, 16)).toBe(clients.length);
});

test('the time for a head counts from its own first byte, however long its connection was idle', async () => {
  const url = await start(undefined, { limits: { headersTimeoutMs: 100 } });
  const { socket, received } = await openRaw(url);
  socket.write(HOT);
  await eventually(() => received().includes('hot'));
  // Takes as long as the limit.
  await sendRaw(url, '', { keepOpen: true });
  const beganMs = performance.now();
  socket.write('GET /cold HT');
  await once(socket, 'close');
  expect(performance.now() - beganMs).toBeGreaterThanOrEqual(100);
});

test('the time for which a connection stays open counts from its last answer, however late that came', async () => {
  let pending: ServerResponse | undefined;
  const url = await start((_req, res) => (pending = res), { limits: { keepAliveTimeoutMs: 100 } });
  const [slow, quick] = [await openRaw(url), await openRaw(url)];
  slow.socket.write(COLD);
  await eventually(() => pending !== undefined);
  quick.socket.write(HOT);
  // Takes as long as the limit.
  await once(quick.socket, 'close');
  const answeredMs = performance.now();
  pending?.end('late');
  await once(slow.socket, 'close');
  expect(slow.received()).toContain('late');
  // The limit, and one second of margin.
  expect(performance.now() - answeredMs).toBeGreaterThan(1_000);
});

test('the time for which a connection stays open counts from when the client has its answer', async () => {
  const large = createHotPath(() => LARGE);
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
  ['half of it has arrived', 'Content-Length: 9\r\n\r\nhalf'],
  ['all of it has, and another request', `Content-Length: 4\r\n\r\nhalf${COLD}`],
  [
    'it is in chunks, and another request looks like one',
    `Transfer-Encoding: chunked\r\n\r\n${HOT}`,
  ],
  ['it waits for an invitation', 'Content-Length: 9\r\nExpect: 100-continue\r\n\r\n'],
])(
  'a request with content is answered, and its connection ends with that: %s',
  async (_what, rest) => {
    const url = await start();
    const bytes = `POST /cold HTTP/1.1\r\nHost: a\r\n${rest}`;
    const answers = await sendRaw(url, bytes, { keepOpen: true });
    expect(answers.map(({ status, body }) => [status, body])).toEqual([[200, 'cold']]);
    expect(answers[0]?.headers.get('connection')).toBe('close');
  },
);

test('a reader that takes nothing is cut off, and one that reads on is not', async () => {
  const url = await start((_req, res) => res.end(LARGE), { limits: { slowReaderMs: 6_000 } });
  const stalled = (await openRaw(url)).socket.pause();
  stalled.write(COLD);
  expect((await (await fetch(url)).arrayBuffer()).byteLength).toBe(LARGE.length);
  await eventually(() => connectionsOf(url) <= 1);
  expect(stalled.bytesRead).toBeLessThan(LARGE.length);
});

test('a client that takes its last response slowly gets all of it, and is closed when it has had the time to close', async () => {
  const large = createHotPath(({ url }) => (url === '/hot' ? Buffer.from('small') : LARGE));
  const last = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
  const url = await start(undefined, { hotPath: large });
  const slow = await openRaw(url);
  slow.socket.pause().write(last('/hot?large'));
  const lingering = connect({
    port: Number(new URL(url).port),
    host: '127.0.0.1',
    allowHalfOpen: true,
  });
  lingering.resume().write(last('/hot'));
  await once(lingering, 'end');
  await eventually(() => connectionsOf(url) === 1);
  slow.socket.resume();
  await once(slow.socket, 'close');
  expect(slow.received().length).toBeGreaterThan(LARGE.length);
  lingering.destroy();
});

test('the refusal of what follows a request comes after the response to that, and is the last', async () => {
  let pending: ServerResponse | undefined;
  const url = await start((_req, res) => (pending = res));
  const answers = sendRaw(url, `${COLD}garbage\r\n\r\n${COLD}garbage\r\n\r\n`);
  await eventually(() => pending !== undefined);
  pending?.end('late');
  expect((await answers).map(({ status }) => status)).toEqual([200, 400]);
});
