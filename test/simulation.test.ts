import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';

// The simulation of the core (docs/testing.md).

const simulate = (...args: readonly string[]) =>
  spawnSync(process.execPath, ['dist/tools/simulation/main.js', ...args], {
    encoding: 'utf8',
    maxBuffer: 1e8,
  });

test.each([
  ['with the same seeds each time', ['--runs', '14', '--seed', '3']],
  ['with new seeds', ['--runs', '30']],
])(
  'whatever happens in whatever order, no promise is broken, %s',
  (_which, args) => {
    const { status, stdout, stderr } = simulate('--mode', 'quick', ...args);
    // Its lines tell the seed, the events and how to repeat them.
    expect(status === 0 ? '' : stdout + stderr).toBe('');
  },
  200_000,
);

test('a run is repeated exactly by its seed', () => {
  const steps = (): string[] =>
    simulate('--mode', 'rush', '--only', '7', '--trace')
      .stdout.split('\n')
      .filter((line) => /^\d\d:\d\d/.test(line));
  const first = steps();
  expect(first.length).toBeGreaterThan(100);
  expect(steps()).toEqual(first);
}, 60_000);
