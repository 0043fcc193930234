import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';

// Jest runs it after the last test.

/** Programs that the tests start, such as npm, have Node keep compiled code there, for all runs. */
const NODES_OWN = 'node-compile-cache';

/**
 * @param {{ readonly testNamePattern?: string }} config without tests, a file removes nothing that it
 *   has made
 * @throws {Error} where the tests have left files behind; they are removed all the same
 */
// oxlint-disable-next-line import/no-default-export -- as Jest wants it
export default ({ testNamePattern }) => {
  const left = readdirSync(tmpdir()).filter((name) => name !== NODES_OWN);
  if (left.length === 0 || testNamePattern) return;
  throw new Error(
    `The tests left ${left.length} files or folders in the temporary folder of this run. Make them ` +
      'with temporaryFolder() of test/helpers/temporary-folder.ts, or remove them after the test: ' +
      left.join(', '),
  );
};
