import { expect, test } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { createBankList, type BankList } from '../../src/banks/bank-list.ts';
import { createFleet } from '../../src/sharing/fleet.ts';
import { createLastGoodList } from '../../src/sharing/last-good-list.ts';
import { createFleetStore, type Fault } from '../kit/fleet-store.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { createRandom } from '../kit/random.ts';
import { readBanks } from '../kit/read-banks.ts';

// Fifty replicas on one simulated clock for 500 lifetimes of the list: everything but HTTP, the provider and
// Redis is the real thing. Faults come from a seed that is printed; FLEET_SEED repeats a run.

const REPLICAS = 50;
/** The fleet's calls may differ from those of one replica alone by this share. */
const TOLERANCE = 0.01;
const LIFETIMES = 500;
const TTL_MS = 3_600_000;
const LOAD_MS = 200;
const LOAD_TIMEOUT_MS = 5_000;
const ANSWER = await readBanks([{ code: '001' }]);

const simulate = async (seed: number, { faults = false, count = REPLICAS }) => {
  const random = createRandom(seed);
  const clock = createManualClock();
  const shared = createFleetStore(clock);
  const callsOf = Array.from({ length: count }, () => 0);
  let oldestMs = 0;

  const startReplica = (replica: number): BankList => {
    const store = shared.seenBy(replica);
    const list: BankList = createBankList({
      load: () =>
        new Promise((resolve) => {
          callsOf[replica] = (callsOf[replica] ?? 0) + 1;
          // Always the same: encoding another one is real work in other threads, which a simulated clock outruns.
          const answer = { ...ANSWER, validators: undefined };
          clock.after(LOAD_MS, () => resolve(answer));
        }),
      takeTurn: (wanted) => fleet.takeTurn(wanted),
      policy: { ttlMs: TTL_MS, maxStaleMs: TTL_MS },
      guard: { minBanks: 1, maxShrink: 0.2, maxDrift: 0.2, fields: undefined },
      loadTimeoutMs: LOAD_TIMEOUT_MS,
      clock,
      random,
      onEvent: (event) => {
        if (event.type === 'list-renewed') lastGoodList.save();
        // A list is oldest when it is replaced.
        if (event.type !== 'list-load-failed' && event.previous)
          oldestMs = Math.max(oldestMs, clock.wallMs() - event.previous.receivedAtMs);
      },
    });
    const lastGoodList = createLastGoodList({
      stores: [store],
      list,
      clock,
      onEvent: () => undefined,
    });
    const fleet = createFleet({ store, lastGoodList, loadTimeoutMs: LOAD_TIMEOUT_MS, clock });
    fleet.start();
    list.start();
    return list;
  };
  const replicas = callsOf.map((_calls, replica) => startReplica(replica));

  /** Lets everything happen that happens without time passing. */
  const settle = (): Promise<void> => setImmediate();
  const run = async (lifetimes: number): Promise<void> => {
    const untilMs = clock.monotonicMs() + lifetimes * TTL_MS;
    while (clock.monotonicMs() < untilMs) {
      clock.next();
      await settle();
    }
  };
  const KINDS = [undefined, 'refuses', 'stalls', 'deaf'] as const satisfies readonly (Fault | undefined)[];
  const breakSomething = (): void => {
    const share = random();
    const kind = KINDS[Math.floor(random() * KINDS.length)];
    if (random() < 0.2) shared.clear();
    for (const replica of replicas.keys()) if (random() < share) shared.setFault(replica, kind);
  };

  // The first list: one call, and real time until each replica has encoded it.
  await settle();
  clock.advance(LOAD_MS);
  while (!replicas.every((list) => list.served())) await settle();
  const startedAtMs = clock.monotonicMs();
  while (clock.monotonicMs() < startedAtMs + LIFETIMES * TTL_MS) {
    if (faults) breakSomething();
    await run(10);
  }
  for (const list of replicas) oldestMs = Math.max(oldestMs, list.status().ageMs ?? Infinity);
  return {
    lifetimes: (clock.monotonicMs() - startedAtMs) / TTL_MS,
    calls: callsOf.reduce((sum, calls) => sum + calls),
    mostOfOne: Math.max(...callsOf),
    oldestMs,
  };
};

// oxlint-disable-next-line node/no-process-env -- to repeat a run
const seed = Number(process.env['FLEET_SEED'] ?? Math.floor(Math.random() * 2 ** 32));

/** The calls of one replica alone: each renewal is ahead of the expiry by at most 1 %, and the first list is one more. */
const ideal = (lifetimes: number): number => lifetimes / 0.99 + 1;

test('while the store is well, fifty replicas make the calls of one, give or take 1 %', async () => {
  const alone = await simulate(seed, { count: 1 });
  const { lifetimes, calls, oldestMs } = await simulate(seed, {});
  print(
    'no faults',
    `${calls} calls in ${lifetimes.toFixed(1)} lifetimes, of one alone ${alone.calls}; the oldest list ${oldestMs} ms`,
  );
  expect(calls).toBeLessThanOrEqual(alone.calls * (1 + TOLERANCE));
  expect(calls).toBeGreaterThanOrEqual(alone.calls * (1 - TOLERANCE));
  expect(calls).toBeLessThanOrEqual(ideal(lifetimes));
  expect(oldestMs).toBeLessThanOrEqual(TTL_MS + LOAD_TIMEOUT_MS);
}, 60_000);

test('whatever the store does, no replica calls more than once per CACHE_TTL, and no list gets too old', async () => {
  const { lifetimes, calls, mostOfOne, oldestMs } = await simulate(seed, { faults: true });
  print('with faults', `${calls} calls, at most ${mostOfOne} of one replica, the oldest list ${oldestMs} ms`);
  expect(mostOfOne).toBeLessThanOrEqual(ideal(lifetimes));
  expect(oldestMs).toBeLessThanOrEqual(TTL_MS + LOAD_TIMEOUT_MS);
}, 60_000);

const print = (what: string, figures: string): void =>
  void process.stdout.write(`FLEET_SEED=${seed}, ${what}: ${figures}\n`);
