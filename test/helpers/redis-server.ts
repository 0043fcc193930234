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

/** Starts one with these options, and kills it after the test. */
export const redisOfTest = async (...options: readonly string[]): Promise<RedisServer> => {
  const server = await startRedis(options);
  closeLater(() => server.kill());
  return server;
};
