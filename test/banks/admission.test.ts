import { expect, test } from '@jest/globals';
import { admit } from '../../src/banks/admission.ts';
import type { LoadedList } from '../../src/banks/cached-list.ts';
import { LoadError } from '../../src/banks/load-error.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { readBanks } from '../kit/read-banks.ts';

const GUARD = { minBanks: 2, maxShrink: 0.2, maxDrift: 0.2, fields: undefined };
const VALIDATORS = { etag: '"1"', lastModified: undefined };

const loaded = async (...codes: readonly string[]): Promise<LoadedList> => ({
  ...(await readBanks(codes.map((code) => ({ code })))),
  validators: VALIDATORS,
});

test('the first list was received and changed now', async () => {
  const clock = createManualClock();
  const list = await admit(await loaded('1', '2'), undefined, [], { guard: GUARD, clock });
  expect(list).toMatchObject({
    count: 2,
    validators: VALIDATORS,
    receivedAtMs: clock.wallMs(),
    changedAtMs: clock.wallMs(),
    acceptedAtMs: undefined,
  });
  expect(list.json).toBe(list.representations.identity.body);
  expect(list.json.toString()).toBe('[{"code":"1"},{"code":"2"}]');
});

test('a list with the same content keeps its bytes and the time of its change, another one does not', async () => {
  const clock = createManualClock();
  const options = { guard: GUARD, clock };
  const first = { ...(await admit(await loaded('1', '2'), undefined, [], options)), acceptedAtMs: 7 };
  clock.advance(1_000);
  const same = await admit(await loaded('1', '2'), first, [], options);
  expect(same.representations).toBe(first.representations);
  expect(same.json).toBe(first.json);
  expect(same).toMatchObject({
    receivedAtMs: clock.wallMs(),
    changedAtMs: clock.wallMs() - 1_000,
    acceptedAtMs: 7,
  });
  const other = await admit(await loaded('1', '3'), same, [], options);
  expect(other).toMatchObject({
    receivedAtMs: clock.wallMs(),
    changedAtMs: clock.wallMs(),
    acceptedAtMs: 7,
  });
});

test('a list that the guard refuses is not admitted, unless it is accepted', async () => {
  const options = { guard: GUARD, clock: createManualClock() };
  const first = await admit(await loaded('1', '2', '3', '4'), undefined, [], options);
  const short = await loaded('1', '2');
  await expect(admit(short, first, ['drifted'], options)).rejects.toMatchObject({ kind: 'shrunk' });
  expect((await admit(short, first, ['shrunk'], options)).count).toBe(2);
});

test('a failure that is not a LoadError is a defect, and keeps its cause', () => {
  const known = new LoadError('timeout', 'no answer', {
    retryAfterMs: 5,
    upstreamStatus: 503,
    fields: ['a'],
  });
  expect(LoadError.from(known)).toBe(known);
  expect(known).toMatchObject({ retryAfterMs: 5, upstreamStatus: 503, fields: ['a'], name: 'LoadError' });
  const cause = new TypeError('defect');
  expect(LoadError.from(cause)).toMatchObject({
    kind: 'internal',
    message: 'unexpected error while loading',
    cause,
    retryAfterMs: undefined,
    upstreamStatus: undefined,
    fields: [],
  });
});
