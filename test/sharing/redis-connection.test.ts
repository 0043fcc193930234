import { expect, test } from '@jest/globals';
import type { Clock } from '../../src/clock.ts';
import { createStoreReport } from '../../src/sharing/list-store.ts';
import { CONNECT_MS, createRedisConnection } from '../../src/sharing/redis-connection.ts';
import { closeLater } from '../helpers/close-later.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { eventually } from '../helpers/wait-until.ts';

// When a connection to Redis is tried again, on a clock that the test moves.

test('a Redis that is away is asked less and less often, at last every 1 to 2 s', async () => {
  const url = `redis://127.0.0.1:${await findFreePort()}`;
  const manual = createManualClock();
  const delays: number[] = [];
  const after: Clock['after'] = (delayMs, task) => {
    if (delayMs !== CONNECT_MS) delays.push(delayMs);
    return manual.after(delayMs, task);
  };
  const connection = createRedisConnection({
    url: () => Promise.resolve(url),
    handshake: () => Promise.resolve(),
    clock: { ...manual, after },
    random: () => 0.5,
    report: createStoreReport('CACHE_REDIS_URL', () => undefined),
  });
  closeLater(connection.close);
  connection.open(() => undefined);
  const expected = [75, 150, 300, 600, 1_200, 1_500, 1_500];
  for (const [index, delayMs] of expected.entries()) {
    await eventually(() => delays.length > index);
    manual.advance(delayMs);
  }
  expect(delays.slice(0, expected.length)).toEqual(expected);
});
