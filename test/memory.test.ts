import { afterEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { eventually, startRig, type Rig } from './kit/rig.ts';

// What stays in memory after many renewals and requests: nothing.

let rig: Rig;
afterEach(() => rig.close());

setFlagsFromString('--expose-gc');
const collectGarbage: unknown = runInNewContext('gc');

const heapBytes = (): number => {
  if (typeof collectGarbage === 'function') for (let turn = 0; turn < 3; turn += 1) collectGarbage();
  return process.memoryUsage().heapUsed;
};

/** Sends `count` requests over one connection, pipelined, and resolves when all are answered with a 304. */
const revalidate = async (count: number, etag: string): Promise<void> => {
  const { hostname, port } = new URL(rig.url);
  const socket = connect(Number(port), hostname);
  const request = `GET /banks HTTP/1.1\r\nHost: test\r\nIf-None-Match: ${etag}\r\n\r\n`;
  let answered = 0;
  let rest = '';
  for (let sent = 0; sent < count; sent += 100) {
    socket.write(request.repeat(100));
    while (answered < sent + 100) {
      const [chunk]: unknown[] = await once(socket, 'data');
      const text = rest + String(chunk);
      const lines = text.split('\r\n');
      rest = lines.pop() ?? '';
      answered += lines.filter((line) => line.startsWith('HTTP/1.1 304')).length;
    }
  }
  socket.destroy();
};

test('after 200 renewals and 100,000 requests the heap has grown by less than 5 MB', async () => {
  rig = await startRig({ env: { LOG_LEVEL: 'silent' } });
  const { list } = rig.service;
  const settled = () => list.status().nextLoadInMs > 0;
  const renew = async (count: number): Promise<void> => {
    for (let renewal = 0; renewal < count; renewal += 1) {
      rig.emulator.setBanks(Array.from({ length: 513 }, (_, code) => ({ code, name: `bank ${renewal}` })));
      rig.clock.next();
      await eventually(settled);
    }
  };
  await eventually(settled);
  const etag = () => list.served()?.list.representations.identity.etag ?? '';
  await renew(20);
  await revalidate(5_000, etag());

  const before = heapBytes();
  await renew(200);
  await revalidate(100_000, etag());
  const grownBytes = heapBytes() - before;
  process.stdout.write(`the heap grew by ${(grownBytes / 2 ** 20).toFixed(2)} MiB\n`);
  expect(grownBytes).toBeLessThan(5 * 2 ** 20);
  expect(list.status().failure).toBeUndefined();
}, 120_000);
