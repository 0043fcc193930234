import { expect, test } from '@jest/globals';
import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import type { Limits } from '../../src/http-front/limits.ts';
import { startServer, type ServerRig } from '../helpers/http-front.ts';
import { openRaw, sendRaw, type RawClient } from '../helpers/raw-http.ts';
import { connectionsOf } from '../helpers/server-sockets.ts';
import { expectNoTimersOf } from '../helpers/timers.ts';
import { eventually } from '../helpers/wait-until.ts';

// A drain answers every request that a client has sent, and waits for nothing else.

let rig: ServerRig;

const HOT = 'GET /hot HTTP/1.1\r\nHost: a\r\n\r\n';
const COLD = 'GET /cold HTTP/1.1\r\nHost: a\r\n\r\n';
const SLOW = 'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n';
const answersIn = ({ received }: RawClient): number =>
  received().split('HTTP/1.1 200 OK\r\n').length - 1;

/** `/slow` is answered when the test says so. */
let pending: ServerResponse | undefined;
const app: RequestListener = (req, res) => {
  if (req.url === '/slow') pending = res;
  else res.end('cold');
};
const start = async (limits: Partial<Limits> = {}): Promise<string> => {
  pending = undefined;
  rig = await startServer(app, { limits });
  return rig.url;
};
/** A client that has had an answer to each of `requests`. */
const openAfter = async (url: string, ...requests: string[]): Promise<RawClient> => {
  const client = await openRaw(url);
  for (const [index, request] of requests.entries()) {
    client.socket.write(request);
    await eventually(() => answersIn(client) > index);
  }
  return client;
};

test('after its notice it closes idle connections, a second later half requests, and waits for the one under way', async () => {
  const url = await start();
  const hot = await openAfter(url, HOT);
  const cold = await openAfter(url, HOT, COLD);
  const silent = await openAfter(url);
  const half = await openRaw(url);
  half.socket.write('GET / HTTP/1.1\r\nHost:');
  const slow = await openRaw(url);
  slow.socket.write(SLOW);
  await eventually(() => pending !== undefined && connectionsOf(url) === 5);

  let isDrained = false;
  const drained = rig.server
    .drain({ noticeMs: 3_000, graceMs: 10_000 })
    .then(() => (isDrained = true));
  rig.clock.advance(2_999);
  hot.socket.write(HOT);
  await eventually(() => answersIn(hot) === 2);
  expect(connectionsOf(url)).toBe(5);
  rig.clock.advance(1);
  await Promise.all([hot, cold, silent].map(({ socket }) => once(socket, 'close')));
  expect(connectionsOf(url)).toBe(2);
  rig.clock.advance(1_000);
  await once(half.socket, 'close');
  // Not with the 408 that it would get at last.
  expect([half.received(), isDrained]).toEqual(['', false]);
  pending?.end('late');
  await drained;
  await eventually(() => answersIn(slow) === 1);
});

test('it answers those who connected just before its notice ended', async () => {
  const url = await start();
  const drained = rig.server.drain({ noticeMs: 3_000, graceMs: 10_000 });
  const clients = await Promise.all(Array.from({ length: 20 }, () => openRaw(url)));
  // Their connections are established. The server has accepted one or two of them, and read
  // nothing.
  for (const { socket } of clients) socket.write(HOT);
  rig.clock.advance(3_000);
  await Promise.all(clients.map(({ socket }) => once(socket, 'close')));
  expect(clients.map(answersIn)).toEqual(clients.map(() => 1));
  await drained;
});

test('a head that never ends is read no further than its limit while no request is taken', async () => {
  const url = await start({ heldBytes: 300_000 });
  const client = await openRaw(url);
  client.socket.write('GET / HTTP/1.1\r\nX: ');
  await eventually(() => connectionsOf(url) === 1);
  // Taken after the beginning of the first head has been read.
  await openAfter(url, HOT);
  const drained = rig.server.drain({ noticeMs: 0, graceMs: 10_000 });
  rig.clock.advance(0);
  client.socket.write('x'.repeat(4_000_000));
  await drained;
  expect(rig.refusals).toEqual(['headers_too_large']);
});

test('it spares connections that have not had the time for a request', async () => {
  const url = await start({ arrivalMs: 0 });
  const [silent, used] = [await openRaw(url), await openAfter(url, HOT)];
  const drained = rig.server.drain({ noticeMs: 3_000, graceMs: 10_000 });
  rig.clock.advance(3_000);
  await once(used.socket, 'close');
  silent.socket.write(COLD);
  await eventually(() => answersIn(silent) === 1);
  await drained;
  expect(answersIn(used)).toBe(1);
});

test('it ends with SHUTDOWN_GRACE, whatever a client does', async () => {
  const url = await start();
  const hanging = await openRaw(url);
  hanging.socket.write(SLOW);
  await eventually(() => pending !== undefined);
  const drained = rig.server.drain({ noticeMs: 0, graceMs: 10_000 });
  rig.clock.advance(0);
  rig.clock.advance(10_000);
  await drained;
  await eventually(() => connectionsOf(url) === 0);
  expect(hanging.received()).toBe('');
});

test('it closes those who connect once SHUTDOWN_GRACE has passed, however short that is', async () => {
  const url = await start();
  const drained = rig.server.drain({ noticeMs: 0, graceMs: 10 });
  rig.clock.advance(0);
  // The server still accepts who may have connected before.
  rig.clock.advance(10);
  const late = await openRaw(url);
  late.socket.write(SLOW);
  await drained;
  await eventually(() => connectionsOf(url) === 0);
  expect(late.received()).toBe('');
});

test('it leaves no timer behind', async () => {
  await expectNoTimersOf(async () => {
    const url = await start();
    await sendRaw(url, COLD.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    const drained = rig.server.drain({ noticeMs: 0, graceMs: 10_000 });
    rig.clock.advance(0);
    await drained;
    expect(rig.clock.waits()).toEqual([]);
  });
});
