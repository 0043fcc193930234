import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../error-code.ts';
import { describeReadError, readStart, targetOf } from '../regular-file.ts';

// What the snapshot may replace: only what this service wrote.

/** With this every saved list begins, whatever version of the service wrote it. */
const SAVED_LIST_START = Buffer.from('{"format":"banks-bff/list"');

/**
 * What is at `path`, links followed: `nothing` (also an empty file), a `snapshot`, or why it may
 * not be replaced.
 */
export const inspectSnapshot = async (
  path: string,
): Promise<'nothing' | 'snapshot' | { readonly problem: string }> => {
  if (path.endsWith('/')) return { problem: 'names a directory' };
  try {
    const start = await readStart(path, SAVED_LIST_START.length);
    if (start.length === 0) return 'nothing';
    return start.equals(SAVED_LIST_START)
      ? 'snapshot'
      : { problem: 'is not a list that this service saved' };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 'nothing';
    return { problem: `cannot be read (${describeReadError(error)})` };
  }
};

/** Why no snapshot can be kept at `path`, and what to do; undefined where one can. */
export const whyNoSnapshot = async (path: string): Promise<string | undefined> => {
  const found = await inspectSnapshot(path);
  if (typeof found === 'object') return `${found.problem}; name a file that does not exist yet`;
  // A list that can be served is of use also where the next one cannot be saved.
  if (found === 'snapshot') return undefined;
  const directory = dirname(await targetOf(path));
  return access(directory, constants.W_OK).then(
    () => undefined,
    (error: unknown) =>
      `its directory cannot be written (${codeOf(error)}); create it, or let this user write there`,
  );
};
