import { expect, test } from '@jest/globals';
import {
  createWatchedFiles,
  type Reading,
  type SecretFileEvent,
} from '../../src/secrets/watched-files.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { eventually } from '../helpers/rig.ts';

// What files do that a test cannot make them do: change between two reads, and never be read to the
// end.

const EMPTY: Reading<string> = { problems: [{ variable: 'SECRET_FILE', text: 'is empty' }] };

const watch = (withdrawal?: string) => {
  const clock = createManualClock();
  const events: SecretFileEvent[] = [];
  const files = createWatchedFiles({
    clock,
    ioClock: clock,
    onEvent: (event) => void events.push(event),
  });
  let next: () => Promise<Reading<string>> = () => Promise.resolve({ value: 'old', problems: [] });
  let reads = 0;
  const current = files.add({
    variables: ['SECRET_FILE'],
    withdrawal,
    read: () => {
      reads += 1;
      return next();
    },
  });
  return {
    clock,
    events,
    files,
    current,
    reads: () => reads,
    reading: (reading: Reading<string>) => (next = () => Promise.resolve(reading)),
    hanging: (hang: Promise<Reading<string>>) => (next = () => hang),
  };
};

test.each([undefined, 'it is refused'])(
  'a file that is empty between two reads is no event (while it is not usable: %s)',
  async (withdrawal) => {
    const { clock, events, current, reading } = watch(withdrawal);
    await current();
    reading(EMPTY);
    const next = current();
    await eventually(() => clock.waits().includes(100));
    reading({ value: 'new', problems: [] });
    clock.advance(100);
    expect(await next).toBe('new');
    expect(events).toEqual([]);

    reading(EMPTY);
    const last = current().catch(() => 'none');
    await eventually(() => clock.waits().includes(100));
    clock.advance(100);
    expect(await last).toBe(withdrawal === undefined ? 'new' : 'none');
    expect(events).toHaveLength(1);
  },
);

test('a file that is not read to the end is reported, read once, and used when it is', async () => {
  const { clock, events, files, current, hanging, reading, reads } = watch();
  await current();
  let end = (_reading: Reading<string>): void => {};
  hanging(new Promise((resolve) => (end = resolve)));
  const next = current();
  await eventually(() => clock.waits().includes(2_000));
  clock.advance(2_000);
  await eventually(() => clock.waits().includes(100));
  clock.advance(100);
  expect(await next).toBe('old');
  expect(events).toEqual([
    {
      type: 'secret-file-unusable',
      variable: 'SECRET_FILE',
      problem: 'cannot be read within 2000 ms; check the file system that it is on',
      consequence: 'the last usable one stays in use',
    },
  ]);
  // Each further read would hold another thread.
  await files.check();
  expect(reads()).toBe(2);
  reading({ value: 'new', problems: [] });
  end(EMPTY);
  await clock.turn();
  expect(await current()).toBe('new');
  expect(events.at(-1)?.type).toBe('secret-file-usable');
});
