// HTTP-dates (RFC 9110 section 5.6.7), read strictly: `Date.parse` takes far more.

/**
 * Milliseconds since 1970; undefined for anything but one of the three forms, for a date that does
 * not exist, and for a wrong day of the week.
 */
export const parseHttpDate = (value: string): number | undefined => {
  // Date.parse and the patterns would read all of it.
  if (value.length > MAX_DATE_CHARS) return undefined;
  const text = value.trim();
  const old = (RFC_850.exec(text) ?? ASCTIME.exec(text))?.groups;
  const fixdate = old
    ? `${old['day']}, ${old['date']?.replace(' ', '0')} ${old['month']} ${fullYear(old['year'])} ${old['time']} GMT`
    : text;
  const ms = Date.parse(fixdate);
  return !Number.isNaN(ms) && new Date(ms).toUTCString() === fixdate ? ms : undefined;
};

/** The longest form has 33 characters. */
const MAX_DATE_CHARS = 64;

/** The two old forms that section 5.6.7 lets nobody send any more and everybody must read. */
const RFC_850 =
  /^(?<day>\w{3})\w{3,6}, (?<date>\d\d)-(?<month>\w{3})-(?<year>\d\d) (?<time>[\d:]{8}) GMT$/;
const ASCTIME = /^(?<day>\w{3}) (?<month>\w{3}) (?<date>[ \d]\d) (?<time>[\d:]{8}) (?<year>\d{4})$/;

/** A two-digit year that seems more than 50 years ahead lies in the past. */
const fullYear = (year = ''): string | number => {
  if (year.length === 4) return year;
  const thisYear = new Date().getUTCFullYear();
  const sameCentury = thisYear - (thisYear % 100) + Number(year);
  return sameCentury > thisYear + 50 ? sameCentury - 100 : sameCentury;
};
