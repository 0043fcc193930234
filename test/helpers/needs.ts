import { describe, expect } from '@jest/globals';
import { findProgram } from './find-program.ts';

// Programs that tests run. If one is not installed, its tests are skipped with a message; with
// CI=true that is a failure, so that nothing is skipped unnoticed.

/** The first of `names` that is installed, and `describe` for the tests that run it. */
export const needProgram = (
  names: readonly [string, ...string[]],
  howToGetIt: string,
): {
  readonly program: string;
  readonly describeWithIt: typeof describe | typeof describe.skip;
} => {
  const installed = findProgram(names);
  if (installed) return { program: installed, describeWithIt: describe };
  const problem = `${names.join(' or ')} is not installed. ${howToGetIt}`;
  // CI is not configuration of the service: it says that no test may be skipped.
  // oxlint-disable-next-line node/no-process-env
  if (process.env['CI'] === 'true') throw new Error(problem);
  process.stderr.write(`Tests of ${expect.getState().testPath} are skipped: ${problem}\n`);
  return { program: names[0], describeWithIt: describe.skip };
};
