import { afterEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { ServerResponse } from 'node:http';
import { clientOf, createIsProxy } from '../../../src/http/client-address.ts';
import { LIMITS, type Limits } from '../../../src/http/server/limits.ts';
import { createBoundedServer, type BoundedServer } from '../../../src/http/server/server.ts';
import { createManualClock } from '../../kit/manual-clock.ts';
import { eventually } from '../../kit/rig.ts';
import { connectionsOf } from '../../kit/server-sockets.ts';

// Who has a connection when there are more than places. All of 127.0.0.0/8 is this machine, so clients can have addresses
// of their own.

let running: BoundedServer | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const response of pending.splice(0)) response.end();
  await running?.close();
});

const pending: ServerResponse[] = [];

/** `/slow` is answered when the test says so. */
const start = async (limits: Partial<Limits>, isProxy?: (address: string) => boolean): Promise<number> => {
  const publicServer = createBoundedServer({
    hotPath: (bytes, socket) => {
      if (!bytes.toString().startsWith('GET /hot ')) return 'other';
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhot');
      return 'answered';
    },
    ...(isProxy && { isProxy }),
    clock: createManualClock(),
    commonHeaders: [],
    onRefusal: () => undefined,
    limits: { ...LIMITS, ...limits },
  });
  publicServer.serve((req, res) => {
    if (req.url === '/slow') pending.push(res);
    else res.end(publicServer.isOverCapacity(req) ? 'over capacity' : 'cold');
  });
  running = publicServer;
  return Number(new URL(await publicServer.listen({ port: 0, host: '127.0.0.1' })).port);
};

interface Client {
  readonly socket: Socket;
  ask(path: string): Promise<string>;
  isOpen(): boolean;
}

const open = async (port: number, localAddress = '127.0.0.1'): Promise<Client> => {
  const socket = connect({ host: '127.0.0.1', port, localAddress }).on('error', () => undefined);
  sockets.push(socket);
  let received = '';
  socket.on('data', (chunk) => (received += chunk.toString()));
  await once(socket, 'connect');
  return {
    socket,
    isOpen: () => !socket.destroyed,
    /** The answer, or what came before the connection was closed. */
    ask: async (path) => {
      received = '';
      socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
      await eventually(() => /hot|cold|capacity/.test(received) || socket.destroyed);
      return received.split('\r\n\r\n')[1] ?? '';
    },
  };
};

test('at the limit, the connection that has been idle for longest is closed', async () => {
  const port = await start({ connections: 3 });
  const [first, second, third] = [await open(port), await open(port), await open(port)];
  expect([await second.ask('/hot'), await first.ask('/hot'), await third.ask('/cold')]).toEqual([
    'hot',
    'hot',
    'cold',
  ]);
  const fourth = await open(port);
  expect(await fourth.ask('/hot')).toBe('hot');
  await eventually(() => !second.isOpen());
  expect(await first.ask('/cold')).toBe('cold');
  expect(await (await open(port)).ask('/hot')).toBe('hot');
  await eventually(() => !third.isOpen());
  expect([first, fourth].map((client) => client.isOpen())).toEqual([true, true]);
});

test('a request under way keeps its place; newcomers get short answers in the spare ones, the newest first', async () => {
  const port = await start({ connections: 2, spareConnections: 2 });
  const [waiting, sending] = [await open(port), await open(port)];
  sending.socket.write('GET /cold HT');
  waiting.socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
  await eventually(() => pending.length === 1);
  const silent = [await open(port), await open(port)];
  const probe = await open(port);
  expect(await probe.ask('/hot')).toBe('over capacity');
  await eventually(() => silent[0]?.isOpen() === false);
  expect([silent[1], waiting, sending].map((client) => client?.isOpen())).toEqual([true, true, true]);
});

test('connections that have ended count no more, neither the spare ones nor those of an address', async () => {
  const port = await start({ connections: 2, connectionsPerAddress: 2, spareConnections: 5 });
  /** Until the server knows it too. */
  const leave = async ({ socket }: Client, left: number): Promise<void> => {
    socket.resetAndDestroy();
    await eventually(() => connectionsOf(`http://127.0.0.1:${port}`) === left);
  };
  for (let visit = 0; visit < 5; visit += 1) {
    const visitor = await open(port);
    expect(await visitor.ask('/hot')).toBe('hot');
    await leave(visitor, 0);
  }
  const busy = await open(port);
  busy.socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
  await eventually(() => pending.length === 1);
  const other = await open(port, '127.0.0.2');
  other.socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
  await eventually(() => pending.length === 2);
  for (let visit = 0; visit < 5; visit += 1) {
    const visitor = await open(port, '127.0.0.3');
    expect(await visitor.ask('/hot')).toBe('over capacity');
    await leave(visitor, 2);
  }
  await leave(busy, 1);
  expect(await (await open(port)).ask('/hot')).toBe('hot');
});

test('a connection just opened keeps its place until its request has had time to arrive', async () => {
  const port = await start({ connections: 2, arrivalMs: 500 });
  const busy = await open(port);
  busy.socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
  await eventually(() => pending.length === 1);
  const arriving = await open(port);
  expect(await (await open(port)).ask('/hot')).toBe('over capacity');
  expect(arriving.isOpen()).toBe(true);
  let answer = '';
  while (answer !== 'hot') answer = await (await open(port)).ask('/hot');
  await eventually(() => !arriving.isOpen());
});

test('one address has its share, and the others have their places', async () => {
  const port = await start({ connections: 10, connectionsPerAddress: 1 });
  const other = await open(port, '127.0.0.2');
  expect(await other.ask('/hot')).toBe('hot');
  const first = await open(port);
  expect(await first.ask('/hot')).toBe('hot');
  const second = await open(port);
  expect(await second.ask('/hot')).toBe('hot');
  await eventually(() => !first.isOpen());
  second.socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
  await eventually(() => pending.length === 1);
  // None of its connections is idle: the newcomer is closed unread.
  expect(await (await open(port)).ask('/hot')).toBe('');
  expect(await other.ask('/cold')).toBe('cold');
  expect(second.isOpen()).toBe(true);
});

test("a trusted proxy's connections are many clients', and are not counted for one", async () => {
  const port = await start({ connections: 10, connectionsPerAddress: 1 }, () => true);
  const clients = [await open(port), await open(port), await open(port)];
  for (const client of clients) expect(await client.ask('/hot')).toBe('hot');
  for (const client of clients) expect(await client.ask('/cold')).toBe('cold');
});

test.each([
  [undefined, '10.0.0.1', false],
  [1, '10.0.0.1', true],
  [['10.0.0.0/8'], '10.0.0.1', true],
  [['10.0.0.0/8'], '11.0.0.1', false],
  [['loopback'], '::1', true],
])('with TRUST_PROXY %j, %s is a proxy: %s', (trustProxy, address, isProxy) => {
  expect(createIsProxy(trustProxy)(address)).toBe(isProxy);
});

test.each([
  ['198.51.100.7', '198.51.100.7'],
  ['::ffff:198.51.100.7', '198.51.100.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::7', '2001:db8:0:0'],
  ['2001:db8:1:2::7', '2001:db8:1:2'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
])('connections from %s count for %s', (address, client) => {
  expect(clientOf(address)).toBe(client);
});
