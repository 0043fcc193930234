import { afterEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { eventually, startRig, type Rig } from '../kit/rig.ts';

// What stays in memory after many renewals and requests: nothing.

let rig: Rig;
afterEach(() => rig.close());

setFlagsFromString('--expose-gc');
const collectGarbage: unknown = runInNewContext('gc');

const heapBytes = (): number => {
  if (typeof collectGarbage === 'function') for (let turn = 0; turn < 3; turn += 1) collectGarbage();
  return process.memoryUsage().heapUsed;
};

/**
 * Sends `count` requests over some connections, each when the one before it is answered, and resolves when all were
 * answered with a 304. `field` decides who answers: without a space after the colon it is not for the hot path.
 */
const revalidate = async (count: number, etag: string, field: 'X: a' | 'X:a'): Promise<void> => {
  const { hostname, port } = new URL(rig.url);
  const request = `GET /banks HTTP/1.1\r\nHost: test\r\nIf-None-Match: ${etag}\r\n${field}\r\n\r\n`;
  let left = count;
  const client = async (): Promise<void> => {
    const socket = connect(Number(port), hostname);
    let head = '';
    while (left > 0 && !head.includes('Connection: close')) {
      left -= 1;
      socket.write(request);
      head = '';
      while (!head.endsWith('\r\n\r\n')) {
        const [chunk]: unknown[] = await once(socket, 'data');
        head += String(chunk);
      }
      if (!head.startsWith('HTTP/1.1 304')) throw new Error(head);
    }
    socket.destroy();
    if (left > 0) await client();
  };
  await Promise.all(Array.from({ length: 16 }, client));
};

test('after 200 renewals and 100,000 requests the heap has grown by less than 5 MB', async () => {
  rig = await startRig({ env: { LOG_LEVEL: 'silent' } });
  const { list } = rig.service;
  const settled = () => list.status().nextLoadInMs > 0;
  const renew = async (count: number): Promise<void> => {
    for (let renewal = 0; renewal < count; renewal += 1) {
      rig.emulator.setBanks(
        Array.from({ length: 513 }, (_, index) => ({
          code: String(index),
          ispb: String(index),
          name: `bank ${renewal}`,
        })),
      );
      rig.clock.next();
      await eventually(settled);
    }
  };
  await eventually(settled);
  const etag = () => list.served()?.list.representations.identity.etag ?? '';
  await renew(20);
  await revalidate(5_000, etag(), 'X: a');
  await revalidate(5_000, etag(), 'X:a');

  const before = heapBytes();
  await renew(200);
  await revalidate(80_000, etag(), 'X: a');
  await revalidate(20_000, etag(), 'X:a');
  const grownBytes = heapBytes() - before;
  process.stdout.write(`the heap grew by ${(grownBytes / 2 ** 20).toFixed(2)} MiB\n`);
  expect(grownBytes).toBeLessThan(5 * 2 ** 20);
  expect(list.status().failure).toBeUndefined();
}, 120_000);
