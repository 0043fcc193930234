import { expect, test } from '@jest/globals';
import { BANKS, emulate } from '../helpers/emulate.ts';
import { describeWithRedis, redisOfTest } from '../helpers/redis-server.ts';
import { advanceOnceIdle, startLoadedRig } from '../helpers/rig.ts';
import { waitUntil } from '../helpers/wait-until.ts';

// A user of Redis who may not do all that the service needs: a real redis-server, and a user of its
// access control list.

const PASSWORD = 'password-of-the-user';
/** The service looks at what is in Redis so often. */
const POLL_MS = 5_000;

const startWith = async (rules: string) => {
  const redis = await redisOfTest();
  const allow = (more: string): Promise<string> =>
    redis.command(`ACL SETUSER app on >${PASSWORD} ~banks-bff:* &banks-bff:* ${more}`);
  await allow(rules);
  const rig = await startLoadedRig({
    provider: await emulate(),
    env: { CACHE_REDIS_URL: redis.url.replace('//', `//app:${PASSWORD}@`) },
  });
  const logins = async (): Promise<number> =>
    Number(/cmdstat_hello:calls=(\d+)/.exec(await redis.command('INFO commandstats'))?.[1] ?? 0);
  return {
    rig,
    allow,
    connections: async (): Promise<number> =>
      ((await redis.command('CLIENT LIST')).match(/ user=app /g) ?? []).length,
    lines: () => rig.messages().filter((text) => text.startsWith('CACHE_REDIS')),
    /** Lets the service connect three times more, and poll as often. */
    tryAgain: async (): Promise<void> => {
      for (let poll = 0; poll < 3; poll += 1) {
        const before = await logins();
        await advanceOnceIdle(POLL_MS, rig);
        await waitUntil('another connection', logins, (count) => count > before);
      }
    },
  };
};

const deniedTo = (command: string): string =>
  `CACHE_REDIS_URL: denies this user the command ${command} (NOPERM); the service continues without it`;

describeWithRedis('a user of Redis without a permission', () => {
  test.each(['PUBLISH', 'EVAL', 'SUBSCRIBE', 'GETRANGE', 'SET', 'TIME'])(
    'to use %s is reported in one line, however often the service connects and polls',
    async (command) => {
      const { lines, tryAgain, connections, rig } = await startWith(
        `+@all -${command.toLowerCase()}`,
      );
      await waitUntil('a line about Redis', lines, ({ length }) => length > 0);
      await tryAgain();
      expect(lines()).toEqual([deniedTo(command)]);
      expect(await connections()).toBeLessThan(2);
      expect(rig.service.list.status().cached?.count).toBe(BANKS.length);
      expect(rig.log()).not.toContain(PASSWORD);
    },
  );

  test('is reported in one line when it is withdrawn, and in one when it is granted again', async () => {
    const { lines, tryAgain, allow, rig } = await startWith('+@all');
    await waitUntil('a line about Redis', lines, ({ length }) => length > 0);
    await allow('-eval');
    await advanceOnceIdle(POLL_MS, rig);
    await waitUntil('a second line', lines, ({ length }) => length > 1);
    await tryAgain();
    await allow('+eval');
    await waitUntil('a third line', lines, ({ length }) => length > 2);
    rig.clock.advance(3 * POLL_MS);
    expect(lines()).toEqual([
      'CACHE_REDIS_URL: no saved list yet',
      deniedTo('EVAL'),
      'CACHE_REDIS_URL: works again',
    ]);
  });
});
