import { afterEach, expect, test } from '@jest/globals';
import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Limits } from '../../../src/http/server/limits.ts';
import { startServer, type ServerRig } from '../../kit/bounded-server.ts';
import { openRaw, sendRaw } from '../../kit/raw-http.ts';
import { eventually } from '../../kit/rig.ts';
import { connectionsOf } from '../../kit/server-sockets.ts';
import { expectNoTimersOf } from '../../kit/timers.ts';

// The listener by itself, with limits that pass while a test looks on.

let rig: ServerRig;
const welcome: RequestListener = (_req, res) => res.end('welcome');
const start = async (limits: Partial<Limits>, app = welcome): Promise<string> => {
  rig = await startServer(app, { limits });
  return rig.url;
};
afterEach(() => rig.server.close());

const open = async (url: string): Promise<Socket> => (await openRaw(url)).socket;

test('requests that come before the application is loaded wait for it', async () => {
  let finishLoading: (() => void) | undefined;
  let loads = 0;
  const loadApp = async (): Promise<RequestListener> => {
    loads += 1;
    await new Promise<void>((resolve) => (finishLoading = resolve));
    return welcome;
  };
  rig = await startServer(welcome, { loadApp });
  const requests = ['GET /a', 'GET /b'].map((line) =>
    sendRaw(rig.url, `${line} HTTP/1.1\r\nHost: a\r\n\r\n`),
  );
  await eventually(() => finishLoading !== undefined);
  const [hot] = await sendRaw(rig.url, 'GET /hot HTTP/1.1\r\nHost: a\r\n\r\n');
  expect(hot?.body).toBe('[GET /hot]');
  finishLoading?.();
  const answers = await Promise.all(requests);
  expect(answers.map(([answer]) => answer?.body)).toEqual(['welcome', 'welcome']);
  expect(loads).toBe(1);
});

test('a head that does not arrive in time gets a 408 and a log line', async () => {
  const url = await start({ headersTimeoutMs: 50 });
  const [answer] = await sendRaw(url, 'GET /banks HTTP/1.1\r\nHost: a', { keepOpen: true });
  expect(answer?.status).toBe(408);
  expect(answer?.headers.get('content-type')).toBe('application/problem+json');
  expect(rig.refusals).toEqual([
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
  const url = await start({ slowReaderMs: 6_000 }, (_req, res) => res.end(body));
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
  await expectNoTimersOf(async () => {
    const url = await start({});
    await sendRaw(url, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    const drain = rig.server.drain({ noticeMs: 0, graceMs: 10_000 });
    rig.clock.advance(0);
    await drain;
    expect(rig.clock.waits()).toEqual([]);
  });
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
  const drain = rig.server.drain({ noticeMs: 3_000, graceMs: 10_000 }).then(() => (drained = true));
  rig.clock.advance(2_999);
  await eventually(() => connectionsOf(url) === 3);
  rig.clock.advance(1);
  await eventually(() => connectionsOf(url) === 2);
  rig.clock.advance(1_000);
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
  const drain = rig.server.drain({ noticeMs: 0, graceMs: 10_000 });
  rig.clock.advance(0);
  rig.clock.advance(10_000);
  await drain;
  await eventually(() => connectionsOf(url) === 0);
  expect(rig.clock.waits()).toEqual([]);
});
