import type { IncomingHttpHeaders } from 'node:http';
import { parseHttpDate } from '../../http-date.ts';

// RFC 9110 section 13 for a GET or HEAD whose response without conditions would be a 200: pure, and
// the only place where validators are compared. The package `fresh` does not fit: it lacks If-Match
// and strict dates, and it lets a client's `no-cache` cancel a condition.

/** What a client's conditions are compared with. */
export interface Validators {
  /** A strong entity tag, quotes included, without commas and spaces. */
  readonly etag: string;
  readonly lastModifiedMs: number;
}

/** Gives the status of the response, by the conditions in the order of section 13.2.2. */
export const evaluatePreconditions = (
  headers: IncomingHttpHeaders,
  validators: Validators,
): 200 | 304 | 412 => {
  const { etag, lastModifiedMs } = validators;
  const ifMatch = headers['if-match'];
  if (ifMatch !== undefined) {
    if (!matches(ifMatch, etag, { acceptsWeak: false })) return 412;
  } else if (isModifiedSince(headers['if-unmodified-since'], lastModifiedMs) === true) {
    return 412;
  }
  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch !== undefined)
    return matches(ifNoneMatch, etag, { acceptsWeak: true }) ? 304 : 200;
  return isModifiedSince(headers['if-modified-since'], lastModifiedMs) === false ? 304 : 200;
};

/**
 * A list of entity tags (sections 5.6.1 and 8.8.3). White space can be read in one way only, after
 * a tag or a comma: with a second way the time would be quadratic in the length of the header.
 */
const TAG_LIST =
  /^[\t ]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*)?(?:,[\t ]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*)?)*$/;

/**
 * Section 8.8.3.2. A malformed header matches nothing: the client gets the whole response. Nothing
 * is done per tag: a client can send thousands. `etag` has no comma or space, so if a well-formed
 * list contains it, it is one of its tags.
 */
const matches = (
  header: string,
  etag: string,
  { acceptsWeak }: { acceptsWeak: boolean },
): boolean => {
  if (header === '*') return true;
  const contains = acceptsWeak ? header.includes(etag) : containsStrong(header, etag);
  return contains && TAG_LIST.test(header);
};

const containsStrong = (header: string, etag: string): boolean => {
  let at = header.indexOf(etag);
  while (at >= 2 && header.startsWith('W/', at - 2)) at = header.indexOf(etag, at + etag.length);
  return at >= 0;
};

/**
 * Undefined if the header is missing or not an HTTP-date: it must then be ignored (sections 13.1.3
 * and 13.1.4).
 */
const isModifiedSince = (
  header: string | undefined,
  lastModifiedMs: number,
): boolean | undefined => {
  if (header === undefined) return undefined;
  const sinceMs = parseHttpDate(header);
  // HTTP-dates have whole seconds.
  return sinceMs === undefined ? undefined : Math.floor(lastModifiedMs / 1_000) * 1_000 > sinceMs;
};
