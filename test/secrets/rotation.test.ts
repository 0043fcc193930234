import { expect, test } from '@jest/globals';
import { describeWithRedis } from '../helpers/redis-server.ts';
import {
  ANY_SECRET,
  observe,
  openStage,
  SPOILED,
  spoilAll,
  WAYS,
  type Age,
  type Way,
} from '../helpers/secrets-stage.ts';
import { waitUntil } from '../helpers/wait-until.ts';

// The runbook of docs/operations.md on the built service, in production and with every secret in a
// file: all of them spoiled, a restart without and with a saved list, then a rotation, after which
// the old ones are revoked. What one file does by itself: secret-files.test.ts.

/** Rotates all secrets of a service, and revokes the old ones. @returns all that it has written */
const rotateAll = async (way: Way): Promise<string> => {
  const stage = await openStage(way);
  const { variables, mount, accept } = stage;
  await accept('old');
  let mountedAtMs = Date.now();
  mount('old', variables);
  const service = stage.start();
  const running = await observe(service, stage);
  const verified = async (age: Age): Promise<void> => {
    const { secretFiles, ...rest } = await running.refresh(age);
    expect(rest).toMatchObject({ status: 200, shared: true });
    expect(Object.keys(secretFiles).toSorted()).toEqual(variables.toSorted());
    const since = Object.values(secretFiles).map(({ contentSince }) => Date.parse(contentSince));
    expect(Math.min(...since)).toBeGreaterThanOrEqual(mountedAtMs);
  };
  await verified('old');
  await accept('old', 'new');
  mountedAtMs = Date.now();
  mount('new', variables);
  await verified('new');
  await accept('new');
  expect(await running.refresh('old')).toMatchObject({ status: 401 });
  await running.renewal();
  await verified('new');
  expect(await running.renewal()).toMatchObject({ failingSince: null, client: 'new client' });
  // With so short a TTL, a busy machine may look while a list is being replaced.
  await waitUntil('good health', running.health, ({ status }) => status === 'pass');
  return service.output();
};

describeWithRedis('the runbook for secrets', () => {
  test.each([
    ['PROVIDER_ACCESS_TOKEN_FILE', 'without permission'],
    ['PROVIDER_CLIENT_SECRET_FILE', 'of two lines'],
  ] as const)('with %s holds for files that are %s', async (way, how) => {
    expect(await spoilAll(way, SPOILED[how])).not.toMatch(ANY_SECRET);
  });

  test.each(WAYS)('with %s rotates every secret; the old ones can then be revoked', async (way) => {
    expect(await rotateAll(way)).not.toMatch(ANY_SECRET);
  });
});
