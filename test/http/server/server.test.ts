import { afterEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { LIMITS, type Limits } from '../../../src/http/server/limits.ts';
import type { ParserRefusal } from '../../../src/http/server/refusals.ts';
import { createBoundedServer, type BoundedServer } from '../../../src/http/server/server.ts';
import { sendRaw } from '../../kit/raw-http.ts';
import { createManualClock } from '../../kit/manual-clock.ts';
import { eventually } from '../../kit/rig.ts';
import { connectionsOf } from '../../kit/server-sockets.ts';
import { watchTimers } from '../../kit/timers.ts';

// The listener by itself, with limits that pass while a test looks on.

let running: BoundedServer | undefined;
let refusals: ParserRefusal[] = [];
const clock = createManualClock();

const start = async (limits: Partial<Limits>, app?: RequestListener): Promise<string> => {
  refusals = [];
  running = createBoundedServer({
    hotPath: () => 'other',
    clock,
    commonHeaders: [],
    onRefusal: (refusal) => refusals.push(refusal),
    limits: { ...LIMITS, checkIntervalMs: 20, ...limits },
  });
  const server = running;
  server.serve(app ?? ((_req, res) => res.end('welcome')));
  return running.listen({ port: 0, host: '127.0.0.1' });
};
afterEach(async () => {
  await running?.close();
});

const open = async (url: string): Promise<Socket> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
};
test('a head that does not arrive in time gets a 408 and a log line', async () => {
  const url = await start({ headersTimeoutMs: 50 });
  const [answer] = await sendRaw(url, 'GET /banks HTTP/1.1\r\nHost: a', { keepOpen: true });
  expect(answer?.status).toBe(408);
  expect(answer?.headers.get('content-type')).toBe('application/problem+json');
  expect(refusals).toEqual([
    { status: 408, code: 'request_timeout', requestId: answer?.headers.get('x-request-id') },
  ]);
});

test('a body that dribbles in is cut off with its connection, without a second answer', async () => {
  const url = await start({ requestTimeoutMs: 100 });
  const head = 'POST /banks HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n';
  const answers = await sendRaw(url, `${head}half`, { keepOpen: true });
  expect(answers.map(({ status }) => status)).toEqual([200]);
});

test('a reader that takes nothing is cut off, and one that reads on is not', async () => {
  const body = Buffer.alloc(32 * 1024 * 1024);
  const url = await start({ slowReaderMs: 2_000 }, (_req, res) => res.end(body));
  const stalled = await open(url);
  stalled.pause();
  stalled.write('GET /banks HTTP/1.1\r\nHost: a\r\n\r\n');
  const response = await fetch(url);
  let bytes = 0;
  for await (const chunk of response.body ?? []) bytes += chunk.length;
  expect(bytes).toBe(body.length);
  await eventually(() => connectionsOf(url) <= 1);
  expect(stalled.bytesRead).toBeLessThan(body.length);
});

test('the refusal of what follows a request comes after the answer to that', async () => {
  let pending: ServerResponse | undefined;
  const url = await start({}, (_req, res) => (pending = res));
  const answers = sendRaw(url, 'GET / HTTP/1.1\r\nHost: a\r\n\r\ngarbage\r\n\r\n');
  await eventually(() => pending !== undefined);
  pending?.end('late');
  expect((await answers).map(({ status }) => status)).toEqual([200, 400]);
});

test('a drain leaves no timer behind', async () => {
  const timers = watchTimers();
  const url = await start({});
  await sendRaw(url, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  const drain = running?.drain({ noticeMs: 0, graceMs: 10_000 });
  clock.advance(0);
  await drain;
  expect(clock.waits()).toEqual([]);
  await timers.end();
});

test('a drain waits for the request under way, and not for connections that never sent one', async () => {
  let pending: ServerResponse | undefined;
  const url = await start({}, (_req, res) => (pending = res));
  await open(url);
  const halfSent = await open(url);
  halfSent.write('GET / HTTP/1.1\r\nHost:');
  const answer = fetch(url);
  await eventually(() => connectionsOf(url) >= 3);
  await eventually(() => pending !== undefined);

  let drained = false;
  const drain = running?.drain({ noticeMs: 3_000, graceMs: 10_000 }).then(() => (drained = true));
  clock.advance(2_999);
  await eventually(() => connectionsOf(url) === 3);
  clock.advance(1);
  await eventually(() => connectionsOf(url) === 2);
  clock.advance(1_000);
  await eventually(() => connectionsOf(url) === 1);
  expect(drained).toBe(false);
  pending?.end('late');
  expect(await (await answer).text()).toBe('late');
  await drain;
});

test('a drain ends with SHUTDOWN_GRACE, whatever a client does', async () => {
  const url = await start({}, () => undefined);
  const hanging = await open(url);
  hanging.resume().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await eventually(() => hanging.bytesWritten > 0);
  await eventually(() => connectionsOf(url) >= 1);
  const drain = running?.drain({ noticeMs: 0, graceMs: 10_000 });
  clock.advance(0);
  clock.advance(10_000);
  await drain;
  await eventually(() => connectionsOf(url) === 0);
  expect(clock.waits()).toEqual([]);
});
