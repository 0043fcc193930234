import { expect, test } from '@jest/globals';
import { createServer, type Socket } from 'node:net';
import { createWriteResponse } from '../../src/http-front/prepared-response.ts';
import { listenOn } from '../helpers/free-port.ts';
import { openRaw } from '../helpers/raw-http.ts';
import { eventually } from '../helpers/wait-until.ts';

// One prepared response on real connections, also on one whose client does not read.

test('each response has its own id, whatever the system has not taken of those before', async () => {
  const server = createServer();
  const url = `http://127.0.0.1:${await listenOn(server)}`;
  const write = createWriteResponse(1_000);
  const headers = ['Content-Length', '8'];
  const prepared = { status: 200, common: [], headers, body: Buffer.from('the list') };
  /** Both ends of a connection; the client does not read yet. */
  const open = async () => {
    const accepted = new Promise<Socket>((resolve) => void server.once('connection', resolve));
    const client = await openRaw(url);
    client.socket.pause();
    const sent: string[] = [];
    const socket = await accepted;
    // All ids have the same length: only such ids share a buffer.
    const sendNext = (): void => {
      sent.push(`${socket.remotePort}-${String(sent.length).padStart(9, '0')}`);
      write(socket, { ...prepared, requestId: sent.at(-1) ?? '' }, false);
    };
    return { client, socket, sent, sendNext };
  };
  const [unread, other] = [await open(), await open()];
  while (unread.socket.writableLength === 0) unread.sendNext();
  for (let count = 0; count < 3; count += 1) {
    other.sendNext();
    unread.sendNext();
  }
  for (const { client, socket, sent } of [unread, other]) {
    client.socket.resume();
    socket.end();
    await eventually(() => client.socket.destroyed);
    const ids = [...client.received().matchAll(/X-Request-Id: (\S+)\r\n[^]*?\r\n\r\nthe list/g)];
    expect(ids.map(([, id]) => id)).toEqual(sent);
  }
  server.close();
});
