import { spawnSync } from 'node:child_process';
import { describe, expect } from '@jest/globals';

// Prometheus's own checker. Where it is not installed its tests are left out, and say so; where CI=true that is a
// failure.

const isInstalled = spawnSync('promtool', ['--version']).status === 0;
const HOW_TO_GET_IT = 'promtool is not installed. On Debian: apt-get install prometheus';

if (!isInstalled) {
  // CI is no configuration of the service: it is how a runner says that nothing may be left out.
  // oxlint-disable-next-line node/no-process-env
  if (process.env['CI'] === 'true') throw new Error(HOW_TO_GET_IT);
  process.stderr.write(`Tests of ${expect.getState().testPath} are left out: ${HOW_TO_GET_IT}\n`);
}

/** `describe` for tests that need promtool. */
export const describeWithPromtool = isInstalled ? describe : describe.skip;

/** Runs `promtool` and gives all that it said, and its exit status. */
export const promtool = (args: readonly string[], input = ''): { status: number | null; said: string } => {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { status, said: stdout + stderr };
};
