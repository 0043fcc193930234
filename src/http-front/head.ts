import { MAX_HEADER_BYTES, MAX_TARGET_LENGTH } from './limits.ts';
import type { RefusalCode } from './refusals.ts';

// Finds the end of a request's head in the bytes that a client has sent.

/** RFC 9112 section 2.2: empty lines before a request are ignored. */
export const skipEmptyLines = (received: Buffer): Buffer => {
  let start = 0;
  while (isLineEnd(received[start])) start += 1;
  return start > 0 ? received.subarray(start) : received;
};

/**
 * Gives the length of the head that `received` begins with; undefined if its end is still to come;
 * or why its end is not worth waiting for. Its first `searchedBytes` contain no end.
 */
export const readHeadLength = (
  received: Buffer,
  searchedBytes: number,
): number | RefusalCode | undefined => {
  const end = received.indexOf(END_OF_HEAD, Math.max(0, searchedBytes + 1 - END_OF_HEAD.length));
  const length = end < 0 ? received.length : end + END_OF_HEAD.length;
  if (length > MAX_HEADER_BYTES)
    return isLongTarget(received) ? 'uri_too_long' : 'headers_too_large';
  if (end >= 0) return isPrefaceOfHttp2(received) ? 'bad_request' : length;
  // TLS, and lines that end with LF alone.
  const isHttp = isUpperCase(received[0]) && !received.includes('\n\n');
  return isHttp ? undefined : 'bad_request';
};

/**
 * Whether it is the target that makes a head too long: its first line does not end within the limit
 * for that.
 */
const isLongTarget = (head: Buffer): boolean => !head.subarray(0, MAX_TARGET_LENGTH).includes('\n');

/** RFC 9113 section 3.4. Node's parser takes it neither for a request nor for an error. */
const isPrefaceOfHttp2 = (head: Buffer): boolean =>
  head[1] === 0x52 && head.toString('latin1', 0, 4) === 'PRI ';

const isLineEnd = (byte = 0): boolean => byte === 0x0d || byte === 0x0a;
const isUpperCase = (byte = 0): boolean => byte >= 0x41 && byte <= 0x5a;

const END_OF_HEAD = Buffer.from('\r\n\r\n');
