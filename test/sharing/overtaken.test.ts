import { expect, test } from '@jest/globals';
import { makeBanks } from '../helpers/banks.ts';
import { holdBack } from '../helpers/hold-back.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { describeWithRedis } from '../helpers/redis-server.ts';
import { beginAnew, clock, countIn, optionsOf, provider, start } from '../helpers/replicas.ts';
import { advanceToLoad, startRig, type Rig, type RigOptions } from '../helpers/rig.ts';
import { eventually } from '../helpers/wait-until.ts';

// A load takes so long that another replica has asked and answered meanwhile.

const HOUR = 3_600_000;

/** A replica that has loaded 100 banks, which Redis has too. */
const startFirst = async (options?: RigOptions): Promise<Rig> => {
  provider.setBanks(makeBanks(100));
  const first = await start(options);
  await eventually(() => first.service.list.status().isShared === true);
  return first;
};

describeWithRedis('with a real Redis', () => {
  beginAnew();

  test.each([
    ['hears of', false],
    ['does not hear of', true],
  ])(
    'a refresh that %s a later list keeps no earlier one, and asks again',
    async (_how, isDeaf) => {
      const other = await startFirst();
      const slow = await start({ isDeaf });
      const earlier = holdBack(provider, { body: makeBanks(101) });
      const refreshed = slow.service.list.refresh();
      await eventually(earlier.isAsked);
      provider.setBanks(makeBanks(102));
      expect(await other.service.list.refresh()).toBeUndefined();
      if (!isDeaf) await eventually(() => countIn(slow) === 102);
      provider.setBanks(makeBanks(103));
      earlier.send();
      expect(await refreshed).toBeUndefined();
      expect(countIn(slow)).toBe(103);
      await eventually(() => countIn(other) === 103);
    },
  );

  test('a list that was small beside the one before is no failure once an operator has accepted it elsewhere', async () => {
    const other = await startFirst();
    const slow = await start();
    const earlier = holdBack(provider, { body: makeBanks(50) });
    const refreshed = slow.service.list.refresh();
    await eventually(earlier.isAsked);
    provider.setBanks(makeBanks(50));
    expect(await other.service.list.refresh(['shrunk'])).toBeUndefined();
    await eventually(() => countIn(slow) === 50);
    earlier.send();
    expect(await refreshed).toBeUndefined();
    expect(slow.messages().join()).not.toContain('load failed');
    expect(slow.service.list.status().lastFailure).toBeUndefined();
  });

  test('a refresh whose first list yields to a decision elsewhere asks again', async () => {
    await provider.behave('unavailable');
    const slow = await startRig(optionsOf({ isDeaf: true }));
    await eventually(() => slow.service.list.status().failure !== undefined);
    await provider.behave('healthy');
    const earlier = holdBack(provider, { body: makeBanks(101) });
    const refreshed = slow.service.list.refresh();
    await eventually(earlier.isAsked);
    const { list } = (await startRig(optionsOf())).service;
    provider.setBanks(makeBanks(100));
    expect(await list.refresh()).toBeUndefined();
    provider.setBanks(makeBanks(50));
    expect(await list.refresh(['shrunk'])).toBeUndefined();
    provider.setBanks(makeBanks(52));
    earlier.send();
    expect(await refreshed).toBeUndefined();
    expect(countIn(slow)).toBe(52);
    await eventually(() => list.status().cached?.count === 52);
  });

  test.each([
    ['load', false],
    ['refresh', true],
  ])(
    'a replica that sleeps when a later list has overtaken its %s asks again at once',
    async (_what, isForOperator) => {
      const other = await startFirst({ env: { CACHE_MAX_STALE: '1m' } });
      // The later list is taken, and then saved: in between all of its time goes by.
      const disk: RigOptions['files'] = {
        read: () => Promise.resolve(Buffer.alloc(0)),
        removeAbandoned: () => Promise.resolve(),
        replace: () => {
          if (countIn(slow) === 102) slow.clock.skip(2 * HOUR);
          return Promise.resolve();
        },
      };
      const slow: Rig = await start({
        isDeaf: true,
        clock: createManualClock(),
        files: disk,
        env: { CACHE_MAX_STALE: '1m', CACHE_SNAPSHOT_FILE: '/nowhere/list' },
      });
      const earlier = holdBack(provider, { body: makeBanks(101) });
      if (isForOperator) void slow.service.list.refresh();
      else await advanceToLoad(slow);
      await eventually(earlier.isAsked);
      provider.setBanks(makeBanks(102));
      expect(await other.service.list.refresh()).toBeUndefined();
      provider.setBanks(makeBanks(103));
      earlier.send();
      await eventually(() => countIn(slow) === 103);
      expect(slow.service.list.status().lastFailure).toBeUndefined();
    },
  );

  test('a refresh that later lists overtake until its time is over fails for nobody else', async () => {
    const other = await startFirst();
    const slow = await start();
    const earlier = holdBack(provider, { body: makeBanks(101) });
    const refreshed = slow.service.list.refresh();
    await eventually(earlier.isAsked);
    provider.setBanks(makeBanks(102));
    expect(await other.service.list.refresh()).toBeUndefined();
    await eventually(() => countIn(slow) === 102);
    clock.advance(4_990);
    const later = holdBack(provider, { body: makeBanks(103) });
    earlier.send();
    await eventually(later.isAsked);
    clock.advance(10);
    expect(await refreshed).toMatchObject({ kind: 'timeout' });
    for (const { service } of [slow, other])
      expect(service.list.status()).toMatchObject({ failure: undefined, state: 'fresh' });
  });
});
