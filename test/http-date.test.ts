import { expect, test } from '@jest/globals';
import { parseHttpDate } from '../src/http-date.ts';

test.each([
  'Sun, 06 Nov 1994 08:49:37 GMT',
  'Sunday, 06-Nov-94 08:49:37 GMT',
  'Sun Nov  6 08:49:37 1994',
  ' Sun, 06 Nov 1994 08:49:37 GMT ',
])('%p is the moment of RFC 9110 section 5.6.7', (text) => {
  expect(parseHttpDate(text)).toBe(784_111_777_000);
});

test.each([
  ['Wed Nov 16 08:49:37 1994', Date.UTC(1994, 10, 16, 8, 49, 37)],
  ['Mon, 29 Feb 2016 23:59:59 GMT', Date.UTC(2016, 1, 29, 23, 59, 59)],
])('%p is a date', (text, ms) => {
  expect(parseHttpDate(text)).toBe(ms);
});

test.each([
  '',
  'Mon, 06 Nov 1994 08:49:37 GMT',
  'Wed, 30 Feb 1994 08:49:37 GMT',
  'Sun, 6 Nov 1994 08:49:37 GMT',
  'Sun, 06 Nov 1994 08:49:37 +0000',
  '1994-11-06T08:49:37Z',
  'Sun, 06-Nov-94 08:49:37 GMT',
  'Sunday, 06-Nov-94 08:49:37',
  'on Sunday, 06-Nov-94 08:49:37 GMT',
  'Sunday, 06-Nov-94 08:49:37 GMT0',
  'on Sun Nov  6 08:49:37 1994',
  'Sun Nov  6 08:49:37 19941',
  'Sun Nov 6 08:49:37 1994',
])('%p is not a date', (text) => {
  expect(parseHttpDate(text)).toBeUndefined();
});

test('a two-digit year lies at most 50 years ahead', () => {
  const thisYear = new Date().getUTCFullYear();
  const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
  const readYear = (year: number): number => {
    const ms = Date.UTC(year, 0, 1);
    const text = `${DAYS[new Date(ms).getUTCDay()]}, 01-Jan-${String(year % 100).padStart(2, '0')} 00:00:00 GMT`;
    return new Date(parseHttpDate(text) ?? NaN).getUTCFullYear();
  };
  for (const year of [thisYear - 49, thisYear - 1, thisYear, thisYear + 1, thisYear + 50])
    expect(readYear(year)).toBe(year);
});
