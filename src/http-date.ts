// HTTP-dates (RFC 9110 section 5.6.7), read strictly: `Date.parse` takes far more.

/**
 * Milliseconds since 1970; undefined for anything but one of the three forms, for a date that does not exist, and for a wrong
 * day of the week.
 */
export const parseHttpDate = (value: string): number | undefined => {
  // What is before or after a date stays, so that the comparison fails.
  const fixdate = value.trim().replace(RFC_850, fromRfc850).replace(ASCTIME, fromAsctime);
  const ms = Date.parse(fixdate);
  return !Number.isNaN(ms) && new Date(ms).toUTCString() === fixdate ? ms : undefined;
};

const RFC_850 = /(\w{3})\w{3,6}, (\d\d)-(\w{3})-(\d\d) (\d\d:\d\d:\d\d) GMT/;
const fromRfc850 = (
  _text: string,
  day: string,
  date: string,
  month: string,
  year: string,
  time: string,
): string => `${day}, ${date} ${month} ${fullYear(year)} ${time} GMT`;

const ASCTIME = /(\w{3}) (\w{3}) ([ \d]\d) (\d\d:\d\d:\d\d) (\d{4})/;
const fromAsctime = (
  _text: string,
  day: string,
  month: string,
  date: string,
  time: string,
  year: string,
): string => `${day}, ${date.replace(' ', '0')} ${month} ${year} ${time} GMT`;

/** A two-digit year that seems more than 50 years ahead lies in the past (section 5.6.7). */
const fullYear = (twoDigits: string): number => {
  const thisYear = new Date().getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(twoDigits);
  return year > thisYear + 50 ? year - 100 : year;
};
