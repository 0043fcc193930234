import { expect, test } from '@jest/globals';
import type { Clock } from '../../src/clock.ts';
import { createStoreReport } from '../../src/sharing/store-report.ts';
import { CONNECT_MS, createRedisConnection } from '../../src/sharing/redis-connection.ts';
import { closeLater } from '../helpers/close-later.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { describeWithRedis, redisOfTest } from '../helpers/redis-server.ts';
import { eventually } from '../helpers/wait-until.ts';

// When a connection to Redis is tried again, on a clock that the test moves.

/** The delays before each attempt to connect to `url` are in `delays`; `next` lets one pass. */
const connecting = (url: string) => {
  const manual = createManualClock();
  const delays: number[] = [];
  const after: Clock['after'] = (delayMs, task) => {
    if (delayMs !== CONNECT_MS) delays.push(delayMs);
    return manual.after(delayMs, task);
  };
  const connection = createRedisConnection({
    url: () => Promise.resolve(url),
    handshake: () => Promise.resolve(),
    ioClock: { ...manual, after },
    random: () => 0.5,
    report: createStoreReport('CACHE_REDIS_URL', () => undefined),
  });
  closeLater(connection.close);
  return { connection, delays, next: (): void => manual.advance(delays.at(-1) ?? 0) };
};

test('a Redis that is away is asked less and less often, at last every 1 to 2 s', async () => {
  const url = `redis://127.0.0.1:${await findFreePort()}`;
  const { connection, delays, next } = connecting(url);
  connection.open(() => undefined);
  const expected = [75, 150, 300, 600, 1_200, 1_500, 1_500];
  for (const index of expected.keys()) {
    await eventually(() => delays.length > index);
    next();
  }
  expect(delays.slice(0, expected.length)).toEqual(expected);
});

describeWithRedis('with a real Redis', () => {
  test('an IPv6 address is connected to', async () => {
    const { url } = await redisOfTest('--bind', '127.0.0.1', '::1');
    const { connection } = connecting(url.replace('127.0.0.1', '[::1]'));
    connection.open(() => undefined);
    await eventually(() => connection.isOpen());
    expect(connection.isOpen()).toBe(true);
  });

  test('a connection that is accepted and closed again and again is made less and less often, until one lasts', async () => {
    const redis = await redisOfTest();
    const { connection, delays, next } = connecting(redis.url);
    let opened = 0;
    connection.open(() => (opened += 1));
    const close = async (closed: number): Promise<void> => {
      await eventually(() => opened === closed);
      await redis.command('CLIENT KILL TYPE normal');
      await eventually(() => delays.length === closed);
      next();
    };
    for (let closed = 1; closed <= 4; closed += 1) await close(closed);
    await eventually(() => opened === 5);
    connection.endBackOff();
    await close(5);
    expect(delays).toEqual([75, 150, 300, 600, 75]);
  });
});
