import { expect, test } from '@jest/globals';
import { createAdmission } from '../../../src/banks/admission.ts';
import { createCachedList } from '../../../src/banks/cached-list.ts';
import { createFailureRecord, createLoad } from '../../../src/banks/loading/load.ts';
import { createManualClock } from '../../kit/manual-clock.ts';
import { readBanks } from '../../kit/read-banks.ts';

const DAY_MS = 86_400_000;

test.each([
  ['as good as one that was accepted meanwhile', 1_000, 1],
  ['asked for again if that one is too old to be served', 2 * DAY_MS, 2],
])('an answer is %s', async (_what, ageMs, questions) => {
  const clock = createManualClock();
  const policy = { ttlMs: DAY_MS, maxStaleMs: DAY_MS / 2 };
  const cached = createCachedList(policy, clock);
  const guard = { minBanks: 1, maxShrink: 0.2, maxDrift: 0.2, fields: undefined };
  const admit = createAdmission({ cached, guard, policy, clock, onTaken: () => undefined });
  const banks = await readBanks([{ code: '001' }]);
  const sentAtMs = clock.monotonicMs() - ageMs;
  const receivedAtMs = clock.wallMs() - ageMs;
  const times = { sentAtMs, countedFromMs: sentAtMs, receivedAtMs, changedAtMs: receivedAtMs };
  const accepted = { ...banks, ...times, acceptedAtMs: clock.wallMs() };
  let asked = 0;
  const load = createLoad({
    load: async () => {
      asked += 1;
      if (asked === 1) await admit(accepted, () => []);
      return banks;
    },
    loadTimeoutMs: 5_000,
    cached,
    admit,
    failures: createFailureRecord(clock),
    clock,
    onEvent: () => undefined,
  });
  await load(undefined, new AbortController().signal);
  expect([asked, cached.served()?.list.count]).toEqual([questions, 1]);
});
