import { describe, expect, test } from '@jest/globals';
import { join } from 'node:path';
import { createSystemClock } from '../src/clock.ts';
import { emulate } from './helpers/emulate.ts';
import { startProcess } from './helpers/process.ts';
import { temporaryFolder } from './helpers/temporary-folder.ts';

// The built process on a machine whose clock is set to anything.

test.each([
  ['beyond the year 275760, the last of dates,', 9e15, '+275760-09-13T00:00:00.000Z'],
  ['as far before 1970', -9e15, '-271821-04-20T00:00:00.000Z'],
])('a clock %s ends nothing', async (_where, aheadMs, time) => {
  const emulator = await emulate();
  const env = {
    PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
    CACHE_SNAPSHOT_FILE: join(temporaryFolder(), 'list'),
    // Longer than Node's timers can be.
    CACHE_TTL: '30d',
  };
  const preload = `const { now } = Date; Date.now = () => now() + ${aheadMs};`;
  // The second time with a saved list.
  for (let start = 0; start < 2; start += 1) {
    const { url, managementUrl, end, written } = await startProcess(env, preload);
    for (const address of [
      `${url}/banks`,
      `${url}/openapi.json`,
      managementUrl,
      `${managementUrl}/metrics`,
    ])
      expect((await fetch(address)).status).toBe(200);
    expect(await end('SIGINT')).toBe(0);
    expect(written()).not.toContain('TimeoutOverflowWarning');
    expect(written()).toContain(`"time":"${time}"`);
  }
});

describe('the system clock', () => {
  /** A machine whose clocks a test moves, with one timer at a time. */
  const machine = ({ uptimeStepMs = 1 } = {}) => {
    const ms = { running: 5_000, wall: Date.UTC(2026, 0, 1), uptime: 900_000 };
    let timer: { readonly atMs: number; readonly task: () => void } | undefined;
    const clock = createSystemClock({
      running: () => ms.running,
      wall: () => ms.wall,
      uptime: () => (ms.uptime - (ms.uptime % uptimeStepMs)) / 1_000,
      setTimer: (delayMs, task) => {
        timer = { atMs: ms.running + delayMs, task };
        return () => (timer = undefined);
      },
    });
    const run = (durationMs: number): void => {
      const untilMs = ms.running + durationMs;
      const step = (stepMs: number): void => {
        for (const name of ['running', 'wall', 'uptime'] as const) ms[name] += stepMs;
      };
      while (timer && timer.atMs <= untilMs) {
        const { atMs, task } = timer;
        timer = undefined;
        step(Math.max(0, atMs - ms.running));
        task();
      }
      step(untilMs - ms.running);
    };
    return {
      clock,
      run,
      sleep: (durationMs: number): void => {
        ms.wall += durationMs;
        ms.uptime += durationMs;
      },
      correct: (byMs: number): void => void (ms.wall += byMs),
    };
  };

  test('counts the time in which the machine sleeps', () => {
    const { clock, run, sleep } = machine();
    const beganMs = clock.monotonicMs();
    sleep(172_800_000);
    expect(clock.monotonicMs() - beganMs).toBe(172_800_000);
    run(500);
    sleep(3_600_000);
    expect(clock.monotonicMs() - beganMs).toBe(172_800_500 + 3_600_000);
  });

  test.each([600_000, -600_000, 10 * 365 * 86_400_000])(
    'does not follow a wall clock corrected by %i ms',
    (byMs) => {
      const { clock, run, correct, sleep } = machine();
      const beganMs = clock.monotonicMs();
      correct(byMs);
      run(100);
      expect(clock.monotonicMs() - beganMs).toBe(100);
      sleep(60_000);
      expect(clock.monotonicMs() - beganMs).toBe(60_100);
    },
  );

  test('does not go back where the uptime is in whole seconds, as on macOS and Windows', () => {
    const { clock, run, sleep, correct } = machine({ uptimeStepMs: 1_000 });
    sleep(60_000);
    const beganMs = clock.monotonicMs();
    run(900);
    correct(5_000);
    expect(clock.monotonicMs() - beganMs).toBe(900);
  });

  test('ends a long wait within a second after a sleep, and not before', () => {
    const { clock, run, sleep } = machine();
    let ended = 0;
    clock.after(3_600_000, () => (ended += 1));
    run(1_800_000);
    expect(ended).toBe(0);
    sleep(1_790_000);
    run(5_000);
    expect(ended).toBe(0);
    sleep(60_000);
    run(1_000);
    expect(ended).toBe(1);
    const cancel = clock.after(10_000, () => (ended += 1));
    run(5_000);
    cancel();
    run(10_000);
    expect(ended).toBe(1);
  });
});
