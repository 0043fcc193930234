import { expect, test } from '@jest/globals';
import { setTimeout } from 'node:timers/promises';
import { expectServed, print, startFleet } from '../helpers/fleet.ts';
import { describeWithRedis } from '../helpers/redis-server.ts';

// How often eight replicas call the provider, and what requests get, while one of them stands still,
// Redis does not answer, and the provider fails.

describeWithRedis('eight replicas', () => {
  test('outlive a replica that stops and a Redis that sleeps or stalls, and fail as one client', async () => {
    const { redis, emulator, replicas, watch } = await startFleet();
    // The owner is the replica whose call the provider holds back.
    await emulator.behave('slow');
    const slow = await watch(4_000);
    expectServed(slow);
    const [owner] = replicas;
    owner?.child.kill('SIGSTOP');
    await emulator.behave('healthy');
    await setTimeout(7_000);
    owner?.child.kill('SIGCONT');
    const after = await watch(6_000);
    print('after a replica was stopped for 7 s', after);
    expectServed(after);
    expect(after.calls).toBeLessThanOrEqual(Math.ceil(after.ttls) + 1);
    void redis.command('DEBUG SLEEP 2');
    const asleep = await watch(6_000);
    print('DEBUG SLEEP 2', asleep);
    expectServed(asleep);
    redis.stall();
    const stalled = watch(4_000);
    await setTimeout(3_000);
    redis.resume();
    print('Redis stalled for 3 s', await stalled);
    expectServed(await stalled);
    await watch(4_000);

    await emulator.behave('unavailable');
    const failing = await watch(10_000);
    print('503', failing);
    expectServed(failing);
    // The back-off is capped by the TTL: 2 s.
    expect(failing.calls).toBeLessThanOrEqual(failing.ttls + 2);
    await emulator.behave('unavailable', { retryAfter: '60' });
    await watch(3_000);
    const waiting = await watch(10_000);
    print('503 with Retry-After: 60', waiting);
    expectServed(waiting);
    expect(waiting.calls).toBe(0);
  });
});
