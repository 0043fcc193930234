import { needProgram } from './needs.ts';
export { startRedis, type RedisServer } from './redis-process.ts';

// A real redis-server for one test.

/** `describe` for tests that need redis-server. */
export const { describeWithIt: describeWithRedis } = needProgram(
  ['redis-server', 'valkey-server'],
  'On Debian and Ubuntu: apt-get install redis-server (or valkey-server); with Homebrew: brew install redis.',
);
