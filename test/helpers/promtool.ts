import { spawnSync } from 'node:child_process';
import { needProgram } from './needs.ts';

// Prometheus's own checker.

/** `describe` for tests that need promtool. */
export const { describeWithIt: describeWithPromtool } = needProgram(
  ['promtool'],
  'On Debian: apt-get install prometheus',
);

/** Runs `promtool` and returns its output and exit status. */
export const promtool = (
  args: readonly string[],
  input = '',
): { status: number | null; said: string } => {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { status, said: stdout + stderr };
};
