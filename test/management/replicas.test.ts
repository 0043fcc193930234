import { expect, test } from '@jest/globals';
import { emulate } from '../helpers/emulate.ts';
import { startProcess } from '../helpers/process.ts';
import { describeWithRedis, redisOfTest } from '../helpers/redis-server.ts';
import { waitUntil } from '../helpers/wait-until.ts';

describeWithRedis('with replicas', () => {
  test('the page of each says what failed, whichever of them made the load', async () => {
    const [provider, redis] = await Promise.all([emulate(), redisOfTest()]);
    const env = {
      PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
      CACHE_REDIS_URL: redis.url,
      CACHE_TTL: '1s',
    };
    const replicas = [await startProcess(env), await startProcess(env)];
    await provider.behave('shrunk');
    const pages = async (): Promise<string> => {
      const texts = replicas.map(async ({ managementUrl }) => (await fetch(managementUrl)).text());
      return (await Promise.all(texts)).join('');
    };
    const details = 'Details: the list shrank from 120 to 60 entries';
    await waitUntil(
      'two pages with the figures of one load',
      pages,
      (shown) => shown.split(details).length === 3 && shown.includes('(on another replica)'),
    );
    expect(await pages()).toContain('The provider’s list lost more banks than GUARD_MAX_SHRINK');
  });
});
