import { spawnSync } from 'node:child_process';
import { describe, expect } from '@jest/globals';

// Prometheus's own checker. If it is not installed, its tests are skipped with a message; with CI=true that is a failure.

const isInstalled = spawnSync('promtool', ['--version']).status === 0;
const HOW_TO_GET_IT = 'promtool is not installed. On Debian: apt-get install prometheus';

if (!isInstalled) {
  // CI is not configuration of the service: it says that no test may be skipped.
  // oxlint-disable-next-line node/no-process-env
  if (process.env['CI'] === 'true') throw new Error(HOW_TO_GET_IT);
  process.stderr.write(`Tests of ${expect.getState().testPath} are skipped: ${HOW_TO_GET_IT}\n`);
}

/** `describe` for tests that need promtool. */
export const describeWithPromtool = isInstalled ? describe : describe.skip;

/** Runs `promtool` and returns its output and exit status. */
export const promtool = (args: readonly string[], input = ''): { status: number | null; said: string } => {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { status, said: stdout + stderr };
};
