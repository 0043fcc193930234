import { expect, test } from '@jest/globals';
import { createAdmission } from '../../../src/banks/admission.ts';
import { createCachedList } from '../../../src/banks/cached-list.ts';
import { createFailureRecord, createLoad, type OneLoadOptions } from '../../../src/banks/loading/load.ts';
import { createManualClock } from '../../kit/manual-clock.ts';
import { readBanks } from '../../kit/read-banks.ts';

const DAY_MS = 86_400_000;
const POLICY = { ttlMs: DAY_MS, maxStaleMs: DAY_MS / 2 };

const start = ({ ask, clock }: Pick<OneLoadOptions, 'ask' | 'clock'>) => {
  const cached = createCachedList(POLICY, clock);
  const guard = { minBanks: 1, maxShrink: 0.2, maxDrift: 0.2, fields: undefined };
  const admit = createAdmission({ cached, guard, policy: POLICY, clock, onTaken: () => undefined });
  const load = createLoad({
    ask,
    loadTimeoutMs: 5_000,
    cached,
    admit,
    failures: createFailureRecord(clock),
    clock,
    onEvent: () => undefined,
  });
  return { cached, admit, loadOnce: () => load(undefined, new AbortController().signal) };
};

test.each([
  ['as good as one that was accepted meanwhile', 1_000, 1],
  ['asked for again if that one is too old to be served', 2 * DAY_MS, 2],
])('an answer is %s', async (_what, ageMs, questions) => {
  const clock = createManualClock();
  const banks = await readBanks([{ code: '001' }]);
  const sentAtMs = clock.monotonicMs() - ageMs;
  const receivedAtMs = clock.wallMs() - ageMs;
  const times = { sentAtMs, countedFromMs: sentAtMs, receivedAtMs, changedAtMs: receivedAtMs };
  const accepted = { ...banks, ...times, acceptedAtMs: clock.wallMs() };
  let asked = 0;
  const { cached, admit, loadOnce } = start({
    clock,
    ask: async () => {
      asked += 1;
      if (asked === 1) await admit(accepted, () => []);
      return banks;
    },
  });
  await loadOnce();
  expect([asked, cached.served()?.list.count]).toEqual([questions, 1]);
});

test('the first question has the whole time, the next what is left of it, told in whole milliseconds', async () => {
  const clock = createManualClock();
  // Time goes on between two looks at the clock.
  const moving = {
    ...clock,
    monotonicMs: () => {
      clock.skip(0.004);
      return clock.monotonicMs();
    },
  };
  const banks = await readBanks([{ code: '001' }]);
  const questions: AbortSignal[] = [];
  const { admit, loadOnce } = start({
    clock: moving,
    ask: async (signal) => {
      questions.push(signal);
      if (questions.length !== 2) return new Promise(() => undefined);
      clock.skip(1_000);
      // Too old to be served, and received after the question.
      const countedFromMs = clock.monotonicMs() - 2 * DAY_MS;
      const times = { receivedAtMs: clock.wallMs(), changedAtMs: clock.wallMs() };
      await admit({ ...banks, ...times, sentAtMs: clock.monotonicMs(), countedFromMs }, () => []);
      return banks;
    },
  });
  const silent = loadOnce();
  clock.next();
  expect(await silent).toMatchObject({ message: 'no complete answer within 5000 ms' });
  const overtaken = loadOnce();
  while (questions.length < 3) await clock.turn();
  clock.next();
  expect(await overtaken).toMatchObject({ message: 'no complete answer within 4000 ms' });
});
