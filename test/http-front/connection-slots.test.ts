import { expect, test } from '@jest/globals';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Limits } from '../../src/http-front/limits.ts';
import { startServer, type ServerRig } from '../helpers/http-front.ts';
import { openRaw } from '../helpers/raw-http.ts';
import { connectionsOf } from '../helpers/server-sockets.ts';
import { eventually, waitUntil } from '../helpers/wait-until.ts';

// Who has a connection when there are more clients than slots. All of 127.0.0.0/8 is this machine, so
// clients can have addresses of their own.

let running: ServerRig | undefined;
const pending: ServerResponse[] = [];

/** `/slow` is answered when the test says so. */
const start = async (
  limits: Partial<Limits>,
  clientOf?: (address: string) => string | undefined,
): Promise<string> => {
  const options = { limits, ...(clientOf && { clientOf }) };
  running = await startServer((req, res, isOverCapacity) => {
    if (req.url === '/slow') pending.push(res);
    else res.end(isOverCapacity(req) ? 'over capacity' : 'cold');
  }, options);
  return running.url;
};

type Client = Awaited<ReturnType<typeof open>>;

const open = async (url: string, localAddress?: string) => {
  const { socket, received } = await openRaw(url, localAddress);
  return {
    socket,
    isOpen: (): boolean => !socket.destroyed,
    /** The answer, or what came before the connection was closed. */
    ask: async (path: string): Promise<string> => {
      const before = received().length;
      const answer = () => /hot|cold|over capacity/.exec(received().slice(before))?.[0];
      socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
      await eventually(() => answer() !== undefined || socket.destroyed);
      return answer() ?? '';
    },
  };
};

/** Sends a request that is not answered. */
const keepBusy = async ({ socket }: Client): Promise<void> => {
  const before = pending.length;
  socket.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
  await eventually(() => pending.length > before);
};

test('at the limit, the connection that has been idle for longest is closed', async () => {
  const url = await start({ connections: 3 });
  const [first, second, third] = [await open(url), await open(url), await open(url)];
  expect(await second.ask('/hot')).toBe('hot');
  expect(await first.ask('/hot')).toBe('hot');
  expect(await third.ask('/cold')).toBe('cold');
  const fourth = await open(url);
  expect(await fourth.ask('/hot')).toBe('hot');
  await eventually(() => !second.isOpen());
  expect(await first.ask('/cold')).toBe('cold');
  expect(await (await open(url)).ask('/hot')).toBe('hot');
  await eventually(() => !third.isOpen());
  expect([first, fourth].map((client) => client.isOpen())).toEqual([true, true]);
});

test('a connection that only waits to be closed by its client gives its place to a newcomer', async () => {
  const url = await start({ connections: 1 });
  const closing = connect({ port: Number(new URL(url).port), allowHalfOpen: true });
  closing.on('error', () => undefined);
  closing.write('GET /cold HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await once(closing.resume(), 'end');
  expect(await (await open(url)).ask('/hot')).toBe('hot');
  closing.destroy();
});

test('a request under way keeps its place; newcomers over capacity get short answers, the newest first', async () => {
  const url = await start({ connections: 2, connectionsOverCapacity: 2 });
  const [waiting, sending] = [await open(url), await open(url)];
  sending.socket.write('GET /cold HT');
  await keepBusy(waiting);
  const silent = [await open(url), await open(url)];
  const probe = await open(url);
  expect(await probe.ask('/hot')).toBe('over capacity');
  await eventually(() => silent[0]?.isOpen() === false);
  expect(running?.closed).toEqual(['over_capacity']);
  expect([silent[1], waiting, sending].map((client) => client?.isOpen())).toEqual([
    true,
    true,
    true,
  ]);
});

test('connections that have ended count no more, neither those over capacity nor those of an address', async () => {
  const url = await start({ connections: 2, connectionsPerAddress: 2, connectionsOverCapacity: 5 });
  /** Until the server knows it too. */
  const leave = async ({ socket }: Client, left: number): Promise<void> => {
    socket.resetAndDestroy();
    await eventually(() => connectionsOf(url) === left);
  };
  for (let visit = 0; visit < 5; visit += 1) {
    const visitor = await open(url);
    expect(await visitor.ask('/hot')).toBe('hot');
    await leave(visitor, 0);
  }
  const busy = await open(url);
  await keepBusy(busy);
  const other = await open(url, '127.0.0.2');
  await keepBusy(other);
  for (let visit = 0; visit < 5; visit += 1) {
    const visitor = await open(url, '127.0.0.3');
    expect(await visitor.ask('/hot')).toBe('over capacity');
    await leave(visitor, 2);
  }
  await leave(busy, 1);
  expect(await (await open(url)).ask('/hot')).toBe('hot');
});

test('a connection just opened keeps its place until its request has had time to arrive', async () => {
  const url = await start({ connections: 2, arrivalMs: 500 });
  const busy = await open(url);
  await keepBusy(busy);
  const arriving = await open(url);
  expect(await (await open(url)).ask('/hot')).toBe('over capacity');
  expect(arriving.isOpen()).toBe(true);
  const newcomer = async (): Promise<string> => (await open(url)).ask('/hot');
  await waitUntil('a place for a newcomer', newcomer, (answer) => answer === 'hot');
  await eventually(() => !arriving.isOpen());
});

test('one address has its share, and the others have their places', async () => {
  const url = await start({ connections: 10, connectionsPerAddress: 1 });
  const other = await open(url, '127.0.0.2');
  expect(await other.ask('/hot')).toBe('hot');
  const first = await open(url);
  expect(await first.ask('/hot')).toBe('hot');
  const second = await open(url);
  expect(await second.ask('/hot')).toBe('hot');
  await eventually(() => !first.isOpen());
  await keepBusy(second);
  // None of its connections is idle: the newcomer is closed unread.
  expect(await (await open(url)).ask('/hot')).toBe('');
  expect(await other.ask('/cold')).toBe('cold');
  expect(second.isOpen()).toBe(true);
  expect(running?.closed).toEqual(['idle', 'address_limit']);
});

test("a trusted proxy's connections are many clients', and are not counted for one", async () => {
  const url = await start({ connections: 10, connectionsPerAddress: 1 }, () => undefined);
  const clients = [await open(url), await open(url), await open(url)];
  for (const client of clients) expect(await client.ask('/hot')).toBe('hot');
  for (const client of clients) expect(await client.ask('/cold')).toBe('cold');
});
