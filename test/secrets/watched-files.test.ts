import { expect, test } from '@jest/globals';
import type { SecretFileEvent } from '../../src/secrets/file-states.ts';
import { createWatchedFiles, type Reading } from '../../src/secrets/watched-files.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { eventually } from '../helpers/wait-until.ts';

// What files do that a test cannot make them do: change between two reads.

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
  const current = files.add({
    variables: ['SECRET_FILE'],
    withdrawal,
    read: () => next(),
  });
  return {
    clock,
    events,
    current,
    files,
    reading: (reading: Reading<string>) => (next = () => Promise.resolve(reading)),
    /** Reads the file, which is empty, and then as `second` when it is read again. */
    findEmptyThen: async (second: Reading<string>): Promise<string> => {
      next = () => Promise.resolve(EMPTY);
      const found = current();
      await eventually(() => clock.waits().includes(100));
      next = () => Promise.resolve(second);
      clock.advance(100);
      return found;
    },
  };
};

test.each([undefined, 'it is refused'])(
  'a file that is empty between two reads is no event (while it is not usable: %s)',
  async (withdrawal) => {
    const { events, current, findEmptyThen } = watch(withdrawal);
    await current();
    expect(await findEmptyThen({ value: 'new', problems: [] })).toBe('new');
    expect(events).toEqual([]);

    const last = await findEmptyThen(EMPTY).catch(() => 'none');
    expect(last).toBe(withdrawal === undefined ? 'new' : 'none');
    expect(events).toHaveLength(1);
  },
);

test('a file whose content does not work may be empty between two reads while it is corrected', async () => {
  const { events, current, files, findEmptyThen } = watch();
  await current();
  files.noteUse('SECRET_FILE', { problem: 'does not work', consequence: 'it is refused' });
  expect(await findEmptyThen({ value: 'corrected', problems: [] })).toBe('corrected');
  expect(events.map(({ type }) => type)).toEqual(['secret-file-unusable', 'secret-file-usable']);
});

test('a refusal of what a file has outlasts a time in which the file cannot be read', async () => {
  const { current, files, findEmptyThen, reading } = watch();
  await current();
  const refusal = { problem: 'does not work', consequence: 'it is refused' };
  files.noteUse('SECRET_FILE', refusal);
  await findEmptyThen(EMPTY);
  reading({ value: 'old', problems: [] });
  await current();
  expect(files.unusable()).toMatchObject([refusal]);
  reading({ value: 'new', problems: [] });
  await current();
  expect(files.unusable()).toEqual([]);
});

test('a file that cannot be read is usable again once it can be, whatever its last content does meanwhile', async () => {
  const { clock, events, current, files, findEmptyThen, reading } = watch();
  await current();
  const refusal = { problem: 'does not work', consequence: 'it is refused' };
  files.noteUse('SECRET_FILE', refusal);
  await findEmptyThen(EMPTY);
  for (const use of [undefined, refusal, undefined]) files.noteUse('SECRET_FILE', use);
  expect(files.unusable()).toMatchObject([{ problem: 'is empty' }]);
  clock.advance(1_000);
  reading({ value: 'old', problems: [] });
  await current();
  expect(events.map((event) => ('problem' in event ? event.problem : event.type))).toEqual([
    'does not work',
    'is empty',
    'secret-file-usable',
  ]);
});

test('a look at the files that ends after the stop is the last one', async () => {
  const { clock, current, files, reading } = watch();
  await current();
  files.start();
  reading(EMPTY);
  clock.advance(500);
  await eventually(() => clock.waits().includes(100));
  files.stop();
  clock.advance(100);
  await eventually(() => files.unusable().length === 1);
  await clock.turn();
  expect(clock.waits()).toEqual([]);
});
