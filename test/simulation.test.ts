import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';

// The simulation of the core (docs/testing.md).

const simulate = (...args: readonly string[]) =>
  spawnSync(process.execPath, ['dist/tools/simulation/main.js', ...args], {
    encoding: 'utf8',
    maxBuffer: 1e8,
  });

test('whatever happens in whatever order, no promise is broken', () => {
  // The same runs each time: with new seeds a change could fail for what it has no part in.
  const args = ['--mode', 'quick', '--runs', '4', '--seed', '3'];
  const { status, signal, stdout, stderr } = simulate(...args);
  // Its lines tell the seed, the events and how to repeat them.
  const told = status === 0 ? '' : stdout + stderr;
  expect({ status, signal, told }).toEqual({ status: 0, signal: null, told: '' });
}, 200_000);

test('a run is repeated exactly by its seed', () => {
  const steps = (): string[] =>
    simulate('--mode', 'rush', '--only', '7', '--trace')
      .stdout.split('\n')
      .filter((line) => /^\d\d:\d\d/.test(line));
  const first = steps();
  expect(first.length).toBeGreaterThan(100);
  expect(steps()).toEqual(first);
}, 60_000);
