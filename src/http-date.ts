// HTTP-dates (RFC 9110 section 5.6.7), read strictly: `Date.parse` takes far more.

/**
 * Milliseconds since 1970; undefined for anything but one of the three forms, for a date that does not exist, and for a wrong
 * day of the week.
 */
export const parseHttpDate = (value: string): number | undefined => {
  const text = value.trim();
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

const RFC_850 = /^(\w{3})\w{3,6}, (\d\d)-(\w{3})-(\d\d) (\d\d:\d\d:\d\d) GMT$/;
const ASCTIME = /^(\w{3}) (\w{3}) ([ \d]\d) (\d\d:\d\d:\d\d) (\d{4})$/;
