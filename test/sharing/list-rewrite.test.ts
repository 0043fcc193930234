import { expect, test } from '@jest/globals';
import { createListRewrite } from '../../src/sharing/list-rewrite.ts';
import { createManualClock } from '../helpers/manual-clock.ts';

// How long a replica with nothing to serve waits for the others to write the list again.

test('a list that can be used ends the wait, and the next wait has its whole time', async () => {
  const clock = createManualClock();
  const rewrite = createListRewrite({ setAside: () => Promise.resolve(true) }, clock);
  const first = rewrite.ask(Buffer.from('one'));
  expect(clock.waits()).toEqual([1_000]);
  clock.advance(600);
  // Only now does the first request wait for a message.
  await clock.turn();
  rewrite.onNews();
  expect(await first).toBe(true);
  rewrite.end();
  expect(clock.waits()).toEqual([]);
  void rewrite.ask(Buffer.from('two'));
  expect(clock.waits()).toEqual([1_000]);
});

test('nothing is waited for where another replica has written meanwhile', async () => {
  const clock = createManualClock();
  const rewrite = createListRewrite({ setAside: () => Promise.resolve(false) }, clock);
  expect(await rewrite.ask(Buffer.from('one'))).toBe(true);
});

test('a head that is set aside slowly takes no longer than the wait, and a message meanwhile is heard', async () => {
  for (const happens of ['the time', 'a message']) {
    const clock = createManualClock();
    const setAside = async (): Promise<boolean> => {
      await clock.turn();
      if (happens === 'the time') clock.advance(1_000);
      else rewrite.onNews();
      return true;
    };
    const rewrite = createListRewrite({ setAside }, clock);
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    expect(await rewrite.ask(Buffer.from('one'))).toBe(true);
  }
});

test('where nobody has written a list, the others are asked again some looks later', async () => {
  const clock = createManualClock();
  let asked = 0;
  const setAside = (): Promise<boolean> => Promise.resolve((asked += 1) > 0);
  const rewrite = createListRewrite({ setAside }, clock);
  const ask = async (): Promise<boolean> => {
    const looksAgain = rewrite.ask(Buffer.from('one'));
    await clock.turn();
    clock.advance(1_000);
    return looksAgain;
  };
  expect(await ask()).toBe(true);
  for (let look = 1; look < 6; look += 1) expect(await ask()).toBe(false);
  expect(asked).toBe(1);
  expect(await ask()).toBe(true);
  expect(asked).toBe(2);
});
