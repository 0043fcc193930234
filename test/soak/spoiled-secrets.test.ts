import { describe, expect, test } from '@jest/globals';
import { describeWithRedis } from '../helpers/redis-server.ts';
import { ANY_SECRET, SPOILED, spoilAll, WAYS } from '../helpers/secrets-stage.ts';

// Every secret of a service in production in a file, and all of them spoiled in one way after the
// other. Two of these are in npm test: test/secrets/rotation.test.ts.

describeWithRedis('the runbook for secrets', () => {
  describe.each(WAYS)('with %s', (way) => {
    test.each(Object.entries(SPOILED))('holds for files that are %s', async (_how, spoiled) => {
      expect(await spoilAll(way, spoiled)).not.toMatch(ANY_SECRET);
    });
  });
});
