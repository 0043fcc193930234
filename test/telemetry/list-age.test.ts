import { expect, test } from '@jest/globals';
import { freshness, type Freshness } from '../../src/banks/freshness.ts';
import { watchAge } from '../../src/telemetry/list-age.ts';
import { listStatusOf } from '../helpers/list-status.ts';
import { createManualClock } from '../helpers/manual-clock.ts';

// When the log hears that the list has aged.

test('each change of state by age is told once, after the newest restart only', () => {
  const clock = createManualClock();
  const policy = { ttlMs: 100, maxStaleMs: 1_000 };
  let loadedAtMs = clock.monotonicMs();
  const heard: [Freshness, ageMs: number][] = [];
  const ageMs = (): number => clock.monotonicMs() - loadedAtMs;
  const status = () => listStatusOf({ ageMs: ageMs(), state: freshness(ageMs(), policy) });
  const watch = watchAge({
    list: { status },
    clock,
    policy,
    onAged: (state) => heard.push([state, ageMs()]),
  });
  watch.restart();
  clock.advance(60);
  loadedAtMs = clock.monotonicMs();
  watch.restart();
  expect(clock.waits()).toEqual([101]);
  clock.advance(5_000);
  expect(heard).toEqual([
    ['stale', 101],
    ['expired', 1_101],
  ]);
  expect(clock.waits()).toEqual([]);
});

test('nothing is told before a change, though a timer be early', () => {
  const clock = createManualClock();
  const policy = { ttlMs: 100, maxStaleMs: 1_000 };
  // Its clock is behind that of the timers.
  let ageMs = 0;
  const heard: Freshness[] = [];
  const watch = watchAge({
    list: { status: () => listStatusOf({ ageMs, state: freshness(ageMs, policy) }) },
    clock,
    policy,
    onAged: (state) => heard.push(state),
  });
  watch.restart();
  ageMs = 99.5;
  clock.next();
  expect([heard, clock.waits()]).toEqual([[], [1]]);
  ageMs = 100.5;
  clock.next();
  expect(heard).toEqual(['stale']);
  watch.end();
  expect(clock.waits()).toEqual([]);
});
