import type { IncomingHttpHeaders } from 'node:http';

// RFC 9110 section 13 for a GET or HEAD whose answer without conditions would be a 200: pure, and the only place
// where validators are compared. `fresh` was no choice: it knows neither If-Match nor strict dates, and it lets a
// client's `no-cache` undo a condition.

export interface Validators {
  /** A strong entity tag, quotes included. */
  readonly etag: string;
  readonly lastModifiedMs: number;
}

export type Verdict = 'proceed' | 'not_modified' | 'precondition_failed';

/** Evaluates the conditions in the order of section 13.2.2. */
export const evaluatePreconditions = (headers: IncomingHttpHeaders, validators: Validators): Verdict => {
  const { etag, lastModifiedMs } = validators;
  const ifMatch = headers['if-match'];
  if (ifMatch !== undefined) {
    if (!matches(ifMatch, etag, 'strong')) return 'precondition_failed';
  } else if (isModifiedSince(headers['if-unmodified-since'], lastModifiedMs) === true) {
    return 'precondition_failed';
  }
  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch !== undefined) return matches(ifNoneMatch, etag, 'weak') ? 'not_modified' : 'proceed';
  return isModifiedSince(headers['if-modified-since'], lastModifiedMs) === false ? 'not_modified' : 'proceed';
};

/** One member of an entity-tag list (sections 5.6.1 and 8.8.3) with the comma or the end after it. */
const MEMBER = /[\t ]*(?:(?<weak>W\/)?(?<tag>"[\x21\x23-\x7e\x80-\xff]*"))?[\t ]*(?<end>,|$)/y;

/** Section 8.8.3.2. A field that breaks the grammar matches nothing: the client gets the whole answer. */
const matches = (field: string, etag: string, comparison: 'weak' | 'strong'): boolean => {
  if (field === etag || field.trim() === '*') return true;
  let found = false;
  for (let at = 0; at < field.length;) {
    MEMBER.lastIndex = at;
    const member = MEMBER.exec(field);
    if (!member) return false;
    const { weak, tag } = member.groups ?? {};
    found ||= tag === etag && (comparison === 'weak' || weak === undefined);
    at = MEMBER.lastIndex;
  }
  return found;
};

/** Undefined where the field is missing or no HTTP-date: it is then to be ignored (sections 13.1.3 and 13.1.4). */
const isModifiedSince = (field: string | undefined, lastModifiedMs: number): boolean | undefined => {
  if (field === undefined) return undefined;
  const sinceMs = parseHttpDate(field);
  // Fields tell whole seconds, and so must the comparison.
  return sinceMs === undefined ? undefined : Math.floor(lastModifiedMs / 1_000) * 1_000 > sinceMs;
};

const RFC_850 = /^(\w{3})\w{3,6}, (\d\d)-(\w{3})-(\d\d) (\d\d:\d\d:\d\d) GMT$/;
const ASCTIME = /^(\w{3}) (\w{3}) ([ \d]\d) (\d\d:\d\d:\d\d) (\d{4})$/;

/** The three forms of section 5.6.7, strictly: a date that does not exist, or on another weekday, is none. */
const parseHttpDate = (field: string): number | undefined => {
  const text = field.trim();
  const [, day850, date850 = '', month850 = '', year850 = '', time850 = ''] = RFC_850.exec(text) ?? [];
  const [, dayAsc, monthAsc = '', dateAsc = '', timeAsc = '', yearAsc = ''] = ASCTIME.exec(text) ?? [];
  let fixdate = text;
  if (day850) fixdate = `${day850}, ${date850} ${month850} ${fullYear(year850)} ${time850} GMT`;
  if (dayAsc) fixdate = `${dayAsc}, ${dateAsc.replace(' ', '0')} ${monthAsc} ${yearAsc} ${timeAsc} GMT`;
  const ms = Date.parse(fixdate);
  return !Number.isNaN(ms) && new Date(ms).toUTCString() === fixdate ? ms : undefined;
};

/** A two-digit year that seems more than 50 years ahead lies in the past (section 5.6.7). */
const fullYear = (twoDigits: string): number => {
  const thisYear = new Date().getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(twoDigits);
  return year > thisYear + 50 ? year - 100 : year;
};
