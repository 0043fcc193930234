// HTTP-dates (RFC 9110 section 5.6.7), read strictly: `Date.parse` takes far more.

/**
 * Milliseconds since 1970; undefined for anything but one of the three forms, for a date that does
 * not exist, and for a wrong day of the week.
 */
export const parseHttpDate = (value: string): number | undefined => {
  // Date.parse and the patterns would read all of it.
  if (value.length > MAX_DATE_CHARS) return undefined;
  const text = value.trim();
  const old = RFC_850.exec(text) ?? ASCTIME.exec(text);
  const fixdate = old?.groups ? toFixdate(old.groups) : text;
  const ms = Date.parse(fixdate);
  if (Number.isNaN(ms)) return undefined;
  // What is written otherwise does not exist, such as the 31st of June, or is another form.
  return new Date(ms).toUTCString() === fixdate ? ms : undefined;
};

/** The parts of an old form in the present one: `Sun, 06 Nov 1994 08:49:37 GMT`. */
const toFixdate = (parts: Readonly<Record<string, string>>): string => {
  const date = parts['date']?.replace(' ', '0');
  return `${parts['day']}, ${date} ${parts['month']} ${fullYear(parts['year'])} ${parts['time']} GMT`;
};

/** The longest form has 33 characters. */
const MAX_DATE_CHARS = 64;

/** The two obsolete forms of section 5.6.7, which nobody may send and everybody must accept. */
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
