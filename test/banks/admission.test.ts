import { expect, test } from '@jest/globals';
import { createAdmission, type Candidate, type Judge } from '../../src/banks/admission.ts';
import { createCachedList, type ListTimes, type Sent } from '../../src/banks/cached-list.ts';
import { LoadError } from '../../src/banks/load-error.ts';
import type { Compressors } from '../../src/banks/representation.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { readBanks } from '../kit/read-banks.ts';

const GUARD = { minBanks: 2, maxShrink: 0.2, maxDrift: 0.2, fields: undefined };

const loaded = (...codes: readonly string[]) => readBanks(codes.map((code) => ({ code })));

const start = (compressors?: Compressors) => {
  const clock = createManualClock();
  const policy = { ttlMs: 1_000, maxStaleMs: 1_000 };
  const cached = createCachedList(policy, clock);
  let taken = 0;
  const onTaken = (): void => void (taken += 1);
  const admit = createAdmission({ cached, guard: GUARD, policy, clock, compressors, onTaken });
  /** Offers a list that the provider has just sent. */
  const take = (
    list: Omit<Candidate, keyof Sent | keyof ListTimes>,
    judge: Judge = () => [],
    acceptedAtMs?: number,
  ) => {
    const [nowMs, wallMs] = [clock.monotonicMs(), clock.wallMs()];
    const sent = { sentAtMs: nowMs, countedFromMs: nowMs, receivedAtMs: wallMs, changedAtMs: wallMs };
    return admit({ ...list, ...sent, acceptedAtMs }, judge);
  };
  return { clock, cached, take, taken: () => taken };
};

test('a list with the same content keeps its bytes and the time of its change, another one does not', async () => {
  const { clock, cached, take, taken } = start();
  const first = await take(await loaded('1', '2'));
  expect(first?.list.json).toBe(first?.list.representations.identity.body);
  clock.advance(200);
  const same = await take(await loaded('1', '2'));
  expect(same?.list.representations).toBe(first?.list.representations);
  expect(same?.list).toMatchObject({ receivedAtMs: clock.wallMs(), changedAtMs: clock.wallMs() - 200 });
  clock.advance(200);
  const other = await take(await loaded('1', '3'));
  // A second after the change before, at least.
  expect(other?.list).toMatchObject({ receivedAtMs: clock.wallMs(), changedAtMs: clock.wallMs() + 600 });
  expect([cached.get(), other?.previous, taken()]).toEqual([other?.list, same?.list, 3]);
});

test('a list that the guard refuses is not encoded, and not taken unless that is waived', async () => {
  let encodings = 0;
  const encode = async (bytes: Buffer): Promise<Buffer> => {
    encodings += 1;
    return bytes;
  };
  const { take } = start({ gzip: encode, br: encode });
  await take(await loaded('1', '2', '3', '4'));
  const short = await loaded('1', '2');
  await expect(take(short, () => ['drifted'])).rejects.toMatchObject({ kind: 'shrunk' });
  expect(encodings).toBe(2);
  expect((await take(short, () => ['shrunk']))?.list.count).toBe(2);
});

test('a list is judged again beside the one that is cached once it has been encoded', async () => {
  const encodings: (() => void)[] = [];
  const slowly = (bytes: Buffer): Promise<Buffer> =>
    new Promise((resolve) => void encodings.push(() => resolve(bytes)));
  const atOnce = (bytes: Buffer): Promise<Buffer> => Promise.resolve(bytes);
  const { cached, take } = start({ gzip: slowly, br: atOnce });
  const small = take(await loaded('1', '2', '3'));
  const late = take(await loaded('5', '6', '7', '8'), (current) => (current ? 'overtaken' : []));
  const large = take(await loaded('1', '2', '3', '4'));
  encodings[2]?.();
  expect((await large)?.list).toBe(cached.get());
  for (const end of encodings) end();
  await expect(small).rejects.toMatchObject({ kind: 'shrunk' });
  expect(await late).toBeUndefined();
});

test('a large change is told once, also where the list comes from two sides at the same time', async () => {
  const { clock, take } = start();
  await take(await loaded('1', '2'));
  const grown = await loaded('1', '2', '3', '4');
  const [one, other] = await Promise.all([take(grown), take(grown)]);
  expect(one?.list.largeChange).toMatchObject({ added: 2, atMs: clock.wallMs() });
  expect(other?.list.largeChange).toBe(one?.list.largeChange);
});

test('a saved list changes nothing of what only the answer of the provider tells', async () => {
  const { take } = start();
  await take(await readBanks([...['1', '2', '3', '4'].map((code) => ({ code })), 5]));
  const { json, count, profile, entryDigests } = await loaded('1', '2', '3', '5');
  const saved = { json, count, profile, entryDigests, earlier: [] };
  expect((await start().take(saved))?.list).toMatchObject({ upstreamFields: [], absentFields: [] });
  expect((await take(saved))?.list).toMatchObject({
    count: 4,
    rejected: { not_an_object: 1 },
    upstreamFields: ['code'],
  });
});

test('a list may come back, large changes are told, and an operator who accepts one ends what was before', async () => {
  const { take } = start();
  const of = (count: number, name = 'first') =>
    readBanks(Array.from({ length: count }, (_, code) => ({ code, name })));
  const result = async (...wanted: Parameters<typeof take>) => {
    const list = (await take(...wanted))?.list;
    const { added, removed } = list?.largeChange ?? {};
    return [list?.earlier.map(({ count }) => count), added, removed];
  };
  expect(await result(await of(10))).toEqual([[], undefined, undefined]);
  expect(await result(await of(9))).toEqual([[10], undefined, undefined]);
  expect(await result(await of(20))).toEqual([[10, 9], 11, 0]);
  expect(await result(await of(9))).toEqual([[10], 0, 11]);
  expect(await result(await of(10, 'renamed'))).toEqual([[10, 9], 10, 9]);
  expect(await result(await of(11, 'renamed'))).toEqual([[10, 9, 10], 10, 9]);
  expect(await result(await of(5), () => ['shrunk'], 1)).toEqual([[], 5, 11]);
  expect(await result(await of(6), () => [], 1)).toEqual([[5], 5, 11]);
});

test('a failure that is not a LoadError is a defect, and keeps its cause', () => {
  const details = { retryAfterMs: 5, upstreamStatus: 503, fields: ['a'] };
  const known = new LoadError('timeout', 'no answer', details);
  expect(LoadError.from(known)).toBe(known);
  expect(known).toMatchObject({ ...details, name: 'LoadError' });
  const cause = new TypeError('defect');
  const defect = { kind: 'internal', message: 'unexpected error while loading', cause, fields: [] };
  expect(LoadError.from(cause)).toMatchObject({
    ...defect,
    retryAfterMs: undefined,
    upstreamStatus: undefined,
  });
});
