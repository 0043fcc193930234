import { afterAll } from '@jest/globals';
import { closeLater } from './close-later.ts';
import { needProgram } from './needs.ts';
import { startRedis, type RedisServer } from './redis-process.ts';
export type { RedisServer } from './redis-process.ts';

// A real redis-server for one test.

/** `describe` for tests that need redis-server. */
export const { describeWithIt: describeWithRedis } = needProgram(
  ['redis-server', 'valkey-server'],
  'On Debian and Ubuntu: apt-get install redis-server (or valkey-server); with Homebrew: brew install redis.',
);

/** What tests of this file have left: as new ones, for the next tests. */
const reset: RedisServer[] = [];
afterAll(() => Promise.all(reset.splice(0).map((server) => server.kill())));

/**
 * One with these options, for one test. Starting one takes longer than resetting that of an earlier
 * test.
 */
export const redisOfTest = async (...options: readonly string[]): Promise<RedisServer> => {
  const hasDefaults = options.length === 0;
  const server = (hasDefaults ? reset.pop() : undefined) ?? (await startRedis(options));
  closeLater(async () => {
    if (hasDefaults && (await server.reset())) reset.push(server);
    else await server.kill();
  });
  return server;
};
