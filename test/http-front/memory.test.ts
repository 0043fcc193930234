import { expect, test } from '@jest/globals';
import type { RequestListener, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { heldBy } from '../../src/http-front/memory.ts';
import { startServer } from '../helpers/http-front.ts';
import { openRaw, type RawClient } from '../helpers/raw-http.ts';
import { eventually } from '../helpers/wait-until.ts';

// What all connections hold together is bounded: test/load/memory.test.ts fills the built service.

const statusOf = ({ received }: RawClient): string =>
  /^HTTP\/1\.1 (\d+)/.exec(received())?.[1] ?? '';
const LONG = `X: ${'x'.repeat(15_000)}\r\n`;

/** `/slow` is answered when the test says so. */
const start = async (heldBytes: number) => {
  const pending: ServerResponse[] = [];
  const app: RequestListener = (req, res) => {
    if (req.url === '/slow') pending.push(res);
    else res.end('cold');
  };
  const rig = await startServer(app, { limits: { heldBytes } });
  /** A client that has sent `bytes`, which the server has read. */
  const open = async (bytes: string): Promise<RawClient> => {
    const client = await openRaw(rig.url);
    client.socket.write(bytes);
    const other = await openRaw(rig.url);
    other.socket.end('GET /other HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    await eventually(() => other.received().includes('cold'));
    return client;
  };
  return { ...rig, pending, open };
};

test.each([
  ['requests that wait for their response', `GET /slow HTTP/1.1\r\nHost: a\r\n${LONG}\r\n`],
  ['heads that do not end', `GET /slow HTTP/1.1\r\nHost: a\r\n${LONG}`],
])('beyond the bound, those without progress for longest get a 503: %s', async (_what, bytes) => {
  const { open, pending, refusals } = await start(100_000);
  const clients: RawClient[] = [];
  while (refusals.length === 0 && clients.length < 20) clients.push(await open(bytes));
  const [first] = clients;
  await eventually(() => first?.socket.destroyed === true);
  expect(first && statusOf(first)).toBe('503');
  expect(refusals).toEqual(['overloaded']);
  const newest = clients.at(-1);
  if (!bytes.endsWith('\r\n\r\n')) newest?.socket.write('\r\n');
  await eventually(() => pending.length > 0);
  for (const res of pending) res.end('late');
  await eventually(() => newest?.received().endsWith('late') === true);
});

test('beyond the bound a connection that sends stays, and one that has stopped gets the 503', async () => {
  const { open, refusals } = await start(400_000);
  const bytes = `GET /slow HTTP/1.1\r\nHost: a\r\n${LONG}`;
  const [sending, stopped] = [await open(bytes), await open(bytes)];
  sending.socket.write('X: y\r\n');
  while (refusals.length === 0) await open(bytes);
  await eventually(() => statusOf(stopped) === '503');
  expect(statusOf(sending)).toBe('');
});

test.each([
  ['short', ''],
  ['of many headers', 'X: x\r\n'.repeat(98)],
  ['long', LONG],
])(
  'a request that waits counts as docs/limits.md says, where its head is %s',
  async (_what, lines) => {
    const head = `GET /slow HTTP/1.1\r\nHost: a\r\n${lines}\r\n`;
    const headers = head.split('\r\n').length - 3;
    const { url, pending, refusals } = await start(
      3 * (18 * 1_024 + 128 * headers + 3 * head.length),
    );
    const wait = async (): Promise<void> => void (await openRaw(url)).socket.write(head);
    for (let count = 1; count <= 3; count += 1) {
      await wait();
      await eventually(() => pending.length === count);
    }
    expect(refusals).toEqual([]);
    await wait();
    await eventually(() => pending.length === 4);
    expect(refusals).toEqual(['overloaded']);
  },
);

test('the beginning of a head counts as all that was read with it, which stays in memory', () => {
  const received = Buffer.allocUnsafeSlow(60_000).subarray(59_990);
  const contents = { socket: new Socket(), stream: undefined, nodeRequest: undefined };
  expect(heldBy({ ...contents, received })).toBe(60_000);
  expect(heldBy({ ...contents, received: Buffer.alloc(0) })).toBe(0);
});

test('content that nobody reads is counted as the largest read', async () => {
  const { open, refusals } = await start(1_000_000);
  const request = 'POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf';
  for (let clients = 0; clients < 20; clients += 1) await open(request);
  expect(refusals).toContain('overloaded');
});

test('a connection holds nothing of a request that has been answered, or of a client that went away', async () => {
  const { open, pending, refusals } = await start(100_000);
  const request = `GET /fast HTTP/1.1\r\nHost: a\r\n${LONG}\r\n`;
  const idle = await Promise.all(Array.from({ length: 20 }, () => open(request)));
  await eventually(() => idle.every((client) => statusOf(client) === '200'));
  for (let count = 0; count < 20; count += 1) {
    const client = await open(request.replace('/fast', '/slow'));
    await eventually(() => pending.length > count);
    client.socket.resetAndDestroy();
    await eventually(() => pending[count]?.destroyed === true);
  }
  expect(refusals).toEqual([]);
});
