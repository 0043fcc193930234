import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { createSend } from '../../../src/http/server/hot-path.ts';
import { eventually } from '../../kit/rig.ts';

// One prepared response on real connections, also on one whose client does not read.

const BODY = 'the list';
const make = () => {
  const send = createSend(
    'HTTP/1.1 200 OK\r\nX-Request-Id: ',
    '\r\nConnection: keep-alive\r\n\r\n',
    '\r\nConnection: close\r\n\r\n',
    Buffer.from(BODY),
  );
  return (socket: Socket, requestId: string): void => send(socket, requestId, false, false);
};
const ids = (received: string): string[] =>
  [
    ...received.matchAll(
      /HTTP\/1\.1 200 OK\r\nX-Request-Id: (\S+)\r\nConnection: keep-alive\r\n\r\nthe list/g,
    ),
  ].map(([, id = '']) => id);

let server: Server;
beforeEach(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => void server.close());

/** Both ends of a connection; `client` is paused. */
const open = async (): Promise<{ socket: Socket; client: Socket; received: () => string }> => {
  const accepted = new Promise<Socket>((resolve) => void server.once('connection', resolve));
  const address = server.address();
  const client = connect(typeof address === 'object' && address ? address.port : 0, '127.0.0.1');
  const chunks: Buffer[] = [];
  client.on('data', (chunk) => chunks.push(chunk)).pause();
  return { socket: await accepted, client, received: () => Buffer.concat(chunks).toString('latin1') };
};

test('each response has its own id, whatever the system has not taken of those before', async () => {
  const [unread, other] = [await open(), await open()];
  const send = make();
  const sent: string[] = [];
  const sendNext = (): void => {
    // As long as those of the other client: only such ids share a buffer.
    const requestId = `unread-${String(sent.length).padStart(9, '0')}`;
    send(unread.socket, requestId);
    sent.push(requestId);
  };
  while (unread.socket.writableLength === 0) sendNext();
  for (let count = 0; count < 3; count += 1) {
    send(other.socket, `another-client-${count}`);
    sendNext();
  }
  unread.client.resume();
  other.client.resume();
  await eventually(() => ids(unread.received()).length === sent.length && ids(other.received()).length === 3);
  expect(ids(unread.received())).toEqual(sent);
  expect(ids(other.received())).toEqual(['another-client-0', 'another-client-1', 'another-client-2']);
  for (const { socket, client } of [unread, other]) {
    socket.destroy();
    client.destroy();
  }
});

test('a short id leaves nothing of a long one', async () => {
  const { socket, client, received } = await open();
  const send = make();
  const sent = ['x'.repeat(128), 'y', 'z'.repeat(128), 'y'];
  for (const requestId of sent) send(socket, requestId);
  client.resume();
  await eventually(() => ids(received()).length === 4);
  expect(ids(received())).toEqual(sent);
  expect(received()).not.toContain('\0');
  socket.destroy();
  client.destroy();
});
