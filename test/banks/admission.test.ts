import { expect, test } from '@jest/globals';
import assert from 'node:assert/strict';
import { changedAt, createAdmission, type Proposal } from '../../src/banks/admission.ts';
import { createCachedList, type LoadedList } from '../../src/banks/cached-list.ts';
import { LoadError } from '../../src/banks/load-error.ts';
import type { Compressors } from '../../src/banks/representation.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { readBanks } from '../kit/read-banks.ts';

const GUARD = { minBanks: 2, maxShrink: 0.2, maxDrift: 0.2, fields: undefined };
const VALIDATORS = { etag: '"1"', lastModified: undefined };

const loaded = async (...codes: readonly string[]): Promise<LoadedList> => ({
  ...(await readBanks(codes.map((code) => ({ code })))),
  validators: VALIDATORS,
});

const start = (compressors?: Compressors) => {
  const clock = createManualClock();
  const cached = createCachedList({ ttlMs: 1_000, maxStaleMs: 1_000 }, clock);
  let taken = 0;
  const admission = createAdmission({ cached, guard: GUARD, compressors, onTaken: () => void (taken += 1) });
  const proposal = (waive: Proposal['waive'] = () => []): Proposal => ({
    sent: { sentAtMs: clock.monotonicMs(), countedFromMs: clock.monotonicMs() },
    waive,
    asSuccessor: (previous, isUnchanged) => ({
      receivedAtMs: clock.wallMs(),
      changedAtMs: changedAt(previous, isUnchanged, clock.wallMs()),
    }),
  });
  return { clock, cached, admission, proposal, taken: () => taken };
};

test('a list with the same content keeps its bytes and the time of its change, another one does not', async () => {
  const { clock, cached, admission, proposal, taken } = start();
  const first = await admission.take(await loaded('1', '2'), proposal());
  expect(first?.list.json).toBe(first?.list.representations.identity.body);
  clock.advance(1_000);
  const same = await admission.take(await loaded('1', '2'), proposal());
  expect(same?.list.representations).toBe(first?.list.representations);
  expect(same?.list).toMatchObject({ receivedAtMs: clock.wallMs(), changedAtMs: clock.wallMs() - 1_000 });
  clock.advance(1_000);
  const other = await admission.take(await loaded('1', '3'), proposal());
  expect(other?.list).toMatchObject({ receivedAtMs: clock.wallMs(), changedAtMs: clock.wallMs() });
  expect([cached.get(), other?.previous, taken()]).toEqual([other?.list, same?.list, 3]);
});

test('a list that the guard refuses is not taken, unless that is waived', async () => {
  const { admission, proposal } = start();
  await admission.take(await loaded('1', '2', '3', '4'), proposal());
  const short = await loaded('1', '2');
  await expect(
    admission.take(
      short,
      proposal(() => ['drifted']),
    ),
  ).rejects.toMatchObject({ kind: 'shrunk' });
  expect(
    (
      await admission.take(
        short,
        proposal(() => ['shrunk']),
      )
    )?.list.count,
  ).toBe(2);
});

test('a list is judged again beside the one that is cached once it has been encoded', async () => {
  const encodings: (() => void)[] = [];
  const slowly = (bytes: Buffer): Promise<Buffer> =>
    new Promise((resolve) => void encodings.push(() => resolve(bytes)));
  const atOnce = (bytes: Buffer): Promise<Buffer> => Promise.resolve(bytes);
  const { cached, admission, proposal } = start({ gzip: slowly, br: atOnce });
  const small = admission.take(await loaded('1', '2', '3'), proposal());
  const late = admission.take(
    await loaded('5', '6', '7', '8'),
    proposal((current) => (current ? 'overtaken' : [])),
  );
  const large = admission.take(await loaded('1', '2', '3', '4'), proposal());
  encodings[2]?.();
  expect((await large)?.list).toBe(cached.get());
  for (const end of encodings) end();
  await expect(small).rejects.toMatchObject({ kind: 'shrunk' });
  expect(await late).toBeUndefined();
});

test('a confirmation is for the list that was asked about only', async () => {
  const { clock, admission, proposal } = start();
  const first = await admission.take(await loaded('1', '2'), proposal());
  clock.advance(500);
  const nowMs = clock.monotonicMs();
  const received = { sentAtMs: nowMs, countedFromMs: nowMs, receivedAtMs: clock.wallMs() };
  assert(first);
  const confirmed = admission.confirm(first.list, received);
  expect(confirmed?.list).toEqual({ ...first.list, ...received });
  expect(admission.confirm(first.list, received)).toBeUndefined();
});

test('the time of the change goes on with each change, also after the clock was set back', () => {
  const before = { changedAtMs: 10_000 };
  expect(changedAt(undefined, false, 5_000)).toBe(5_000);
  expect(changedAt(before, true, 20_000)).toBe(10_000);
  expect(changedAt(before, false, 20_000)).toBe(20_000);
  expect(changedAt(before, false, 5_000)).toBe(11_000);
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
