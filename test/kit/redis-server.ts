import { describe, expect } from '@jest/globals';
import { REDIS_PROGRAM } from './redis-process.ts';

export { startRedis, type RedisServer } from './redis-process.ts';

// A real redis-server for one test. If it is not installed, these tests are skipped with a message; with CI=true that is a
// failure.

const HOW_TO_GET_IT =
  'no redis-server is installed. On Debian and Ubuntu: apt-get install redis-server (or valkey-server); with Homebrew: ' +
  'brew install redis.';

if (!REDIS_PROGRAM) {
  // oxlint-disable-next-line node/no-process-env -- whether this is CI, where nothing may be skipped
  if (process.env['CI'] === 'true') throw new Error(HOW_TO_GET_IT);
  process.stderr.write(`Tests of ${expect.getState().testPath} are skipped: ${HOW_TO_GET_IT}\n`);
}

/** `describe` for tests that need redis-server. */
export const describeWithRedis = REDIS_PROGRAM ? describe : describe.skip;
