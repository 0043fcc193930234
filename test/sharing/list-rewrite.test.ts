import { expect, test } from '@jest/globals';
import { createListRewrite } from '../../src/sharing/list-rewrite.ts';
import { createManualClock } from '../helpers/manual-clock.ts';

// How long a replica with nothing to serve waits for the others to write the list again.

test('a list that can be used ends the wait, and the next wait has its whole time', async () => {
  const clock = createManualClock();
  const rewrite = createListRewrite({ setAside: () => Promise.resolve(true) }, clock);
  const first = rewrite.request(Buffer.from('one'));
  expect(clock.waits()).toEqual([1_000]);
  clock.advance(600);
  // Only now does the first request wait for a message.
  await clock.turn();
  rewrite.onNews();
  expect(await first).toBe(true);
  rewrite.end();
  expect(clock.waits()).toEqual([]);
  void rewrite.request(Buffer.from('two'));
  expect(clock.waits()).toEqual([1_000]);
});
