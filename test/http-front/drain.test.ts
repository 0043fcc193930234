import { expect, test } from '@jest/globals';
import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { startServer, type ServerRig } from '../helpers/http-front.ts';
import { openRaw, type RawClient } from '../helpers/raw-http.ts';
import { connectionsOf } from '../helpers/server-sockets.ts';
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
const start = async (): Promise<string> => {
  pending = undefined;
  rig = await startServer(app);
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

test('during its notice each response ends its connection; then it closes idle ones, and waits for the one under way', async () => {
  const url = await start();
  const [hot, used] = [await openAfter(url, HOT), await openAfter(url, HOT)];
  const cold = await openAfter(url, HOT, COLD);
  const silent = await openAfter(url);
  const half = await openRaw(url);
  half.socket.write('GET / HTTP/1.1\r\nHost:');
  const slow = await openRaw(url);
  slow.socket.write(SLOW);
  await eventually(() => pending !== undefined && connectionsOf(url) === 6);

  let isDrained = false;
  const drained = rig.server
    .drain({ noticeMs: 3_000, graceMs: 10_000 })
    .then(() => (isDrained = true));
  rig.clock.advance(2_999);
  hot.socket.write(HOT);
  used.socket.write(COLD);
  await Promise.all([hot, used].map(({ socket }) => once(socket, 'close')));
  for (const client of [hot, used]) {
    expect(answersIn(client)).toBe(2);
    expect(client.received()).toContain('\r\nConnection: close\r\n');
  }
  expect(hot.received().match(/\[GET \/hot\]/g)).toHaveLength(2);
  await eventually(() => connectionsOf(url) === 4);
  const isClosed = Promise.all([cold, silent, half].map(({ socket }) => once(socket, 'close')));
  rig.clock.advance(1);
  // A request of one that has sent nothing, or half of it, may be on its way for a second.
  await isClosed;
  expect([half.received(), isDrained]).toEqual(['', false]);
  pending?.end('late');
  await drained;
  await eventually(() => answersIn(slow) === 1);
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
