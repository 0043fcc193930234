import { codeOf } from '../errors.ts';
import { describeReadError, readStart } from '../regular-file.ts';

// What the snapshot may replace: only what this service wrote, also if it is damaged.

/** With this every saved list begins, whatever version of the service wrote it. */
const SAVED_LIST_START = Buffer.from('banks-bff/');
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/**
 * Why no snapshot can be kept at `path`, and what to do; undefined where one can: there is nothing,
 * an empty file, or a snapshot, whole or damaged.
 */
export const whyNoSnapshot = async (path: string): Promise<string | undefined> => {
  try {
    const start = await readStart(path, SAVED_LIST_START.length + BYTE_ORDER_MARK.length);
    return start.length === 0 || isOurs(start)
      ? undefined
      : 'is not a list that this service saved; name a file that does not exist yet';
  } catch (error) {
    return codeOf(error) === 'ENOENT'
      ? undefined
      : `cannot be read (${describeReadError(error)}); name a file that does not exist yet`;
  }
};

/** Disks leave zeros where a write did not end, or flip a bit; editors add a byte order mark. */
const isOurs = (start: Buffer): boolean => {
  const isMarked = start.indexOf(BYTE_ORDER_MARK) === 0;
  const found = isMarked ? start.subarray(BYTE_ORDER_MARK.length) : start;
  const compared = Math.min(found.length, SAVED_LIST_START.length);
  const different = SAVED_LIST_START.subarray(0, compared).filter((byte, at) => byte !== found[at]);
  return different.length <= compared / 8 || found.every((byte) => byte === 0);
};
