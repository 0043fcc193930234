import { codeOf } from '../error-code.ts';
import { describeReadError, readStart } from '../regular-file.ts';

// What the snapshot may replace: only what this service wrote, also if it is damaged.

/** With this every saved list begins, whatever version of the service wrote it. */
const SAVED_LIST_START = Buffer.from('banks-bff/');
const BYTE_ORDER_MARK = '\uFEFF';

/**
 * What is at `path`, links followed: `nothing` (also an empty file), a `snapshot`, whole or damaged,
 * or why it may not be replaced.
 */
export const inspectSnapshot = async (
  path: string,
): Promise<'nothing' | 'snapshot' | { readonly problem: string }> => {
  if (path.endsWith('/')) return { problem: 'names a directory' };
  try {
    const start = await readStart(path, SAVED_LIST_START.length + BYTE_ORDER_MARK.length * 3);
    if (start.length === 0) return 'nothing';
    return isOurs(start) ? 'snapshot' : { problem: 'is not a list that this service saved' };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 'nothing';
    return { problem: `cannot be read (${describeReadError(error)})` };
  }
};

/** Disks leave zeros where a write did not end, or flip a bit; editors add a byte order mark. */
const isOurs = (start: Buffer): boolean => {
  const found = Buffer.from(start.toString('latin1').replace(/^\u00EF\u00BB\u00BF/, ''), 'latin1');
  const compared = Math.min(found.length, SAVED_LIST_START.length);
  const different = SAVED_LIST_START.subarray(0, compared).filter((byte, at) => byte !== found[at]);
  return different.length <= compared / 8 || found.every((byte) => byte === 0);
};

/** Why no snapshot can be kept at `path`, and what to do; undefined where one can. */
export const whyNoSnapshot = async (path: string): Promise<string | undefined> => {
  const found = await inspectSnapshot(path);
  return typeof found === 'object'
    ? `${found.problem}; name a file that does not exist yet`
    : undefined;
};
