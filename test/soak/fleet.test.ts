import { expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import type { EnvironmentVariables } from '../../src/config/reader.ts';
import { expectServed, print, REPLICAS, startFleet, type Fleet } from '../helpers/fleet.ts';
import { needProgram } from '../helpers/needs.ts';
import { describeWithRedis } from '../helpers/redis-server.ts';

// How often eight replicas call the provider, and what requests get, in health and while Redis is
// away, also with clocks that are wrong by minutes and years.

/** Loaded into a process, it makes its wall clock wrong. */
const LIBRARY = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1';
const { describeWithIt: describeWithFaketime } = needProgram(
  ['faketime'],
  'On Debian: apt-get install faketime',
);
/** What makes the clocks of the first three replicas wrong. */
const wrongClock = (index: number): EnvironmentVariables => {
  const offset = ['+10m', '-10m', '+10y'][index];
  return offset === undefined
    ? {}
    : {
        LD_PRELOAD: LIBRARY,
        FAKETIME: offset,
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
        DONT_FAKE_MONOTONIC: '1',
      };
};

/** In health, after Redis was killed, and after it came back empty. */
const expectOneCallPerTtl = async ({ redis, watch }: Fleet): Promise<void> => {
  const health = await watch(10_000);
  print('in health', health);
  expectServed(health);
  expect(health.calls).toBeGreaterThan(health.ttls / 2);
  expect(health.calls).toBeLessThanOrEqual(Math.ceil(health.ttls));

  await redis.kill();
  const killed = await watch(4_000);
  print('Redis killed', killed);
  expectServed(killed);
  // At most one call per replica and TTL.
  expect(killed.calls).toBeLessThanOrEqual(REPLICAS * (killed.ttls + 1));
  await redis.revive();
  // Sharing resumes within the longest pause between two attempts to connect.
  print('Redis empty', await watch(4_000));
  const again = await watch(6_000);
  print('sharing again', again);
  expectServed(again);
  expect(again.calls).toBeLessThanOrEqual(Math.ceil(again.ttls));
};

describeWithRedis('eight replicas', () => {
  test('make one call for each TTL, and go on by themselves while Redis is away', async () => {
    await expectOneCallPerTtl(await startFleet());
  });

  describeWithFaketime('of which three have wrong clocks', () =>
    test('do the same', async () => {
      expect(existsSync(LIBRARY)).toBe(true);
      await expectOneCallPerTtl(await startFleet(wrongClock));
    }),
  );
});
