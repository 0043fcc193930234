import { afterEach, expect, test } from '@jest/globals';
import { connect, type Socket } from 'node:net';
import { eventually, startRig, type Rig } from '../../kit/rig.ts';

let rig: Rig;
const slow: Socket[] = [];
afterEach(async () => {
  for (const socket of slow) socket.destroy();
  await rig.close();
});

/** The p99 of 300 requests one after the other, in milliseconds: the best of three times, so that a pause of the machine counts as none. */
const measureP99 = async (): Promise<number> => {
  const figures: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const durations: number[] = [];
    for (let count = 0; count < 300; count += 1) {
      const startedMs = performance.now();
      const response = await fetch(`${rig.url}/banks`);
      await response.arrayBuffer();
      expect(response.status).toBe(200);
      durations.push(performance.now() - startedMs);
    }
    figures.push(durations.toSorted((a, b) => a - b)[296] ?? NaN);
  }
  return Math.min(...figures);
};

test('500 clients that send their heads byte by byte slow nobody down', async () => {
  rig = await startRig();
  await eventually(() => rig.service.list.served() !== undefined);
  await measureP99();
  const alone = await measureP99();
  const { port } = new URL(rig.url);
  for (let count = 0; count < 500; count += 1) {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
    socket.write('GET /banks HTTP/1.1\r\nHost: a\r\nX-Slow: ');
    slow.push(socket);
  }
  await eventually(() => slow.every((socket) => socket.bytesWritten > 0 && !socket.connecting));
  // 1,000 bytes a second in all, as slowhttptest does it.
  let turn = 0;
  const dribble = setInterval(() => {
    for (let count = 0; count < 50; count += 1) slow[(turn += 1) % slow.length]?.write('a');
  }, 50);
  const beside = await measureP99();
  clearInterval(dribble);
  process.stdout.write(`p99 ${alone.toFixed(2)} ms alone, ${beside.toFixed(2)} ms beside 500 slow clients\n`);
  // Both ends share one process, and writing 50 pieces takes it a few milliseconds as well.
  expect(beside).toBeLessThan(2 * alone + 10);
  expect(slow.every((socket) => !socket.destroyed)).toBe(true);
}, 30_000);
