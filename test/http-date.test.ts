import { expect, test } from '@jest/globals';
import { parseHttpDate } from '../src/http-date.ts';

/** The moment of RFC 9110 section 5.6.7. */
const EXAMPLE = Date.UTC(1994, 10, 6, 8, 49, 37);

test.each([
  ['Sun, 06 Nov 1994 08:49:37 GMT', EXAMPLE],
  ['Sunday, 06-Nov-94 08:49:37 GMT', EXAMPLE],
  ['Sun Nov  6 08:49:37 1994', EXAMPLE],
  [' Sun, 06 Nov 1994 08:49:37 GMT ', EXAMPLE],
  ['Wed Nov 16 08:49:37 1994', Date.UTC(1994, 10, 16, 8, 49, 37)],
  ['Mon, 29 Feb 2016 23:59:59 GMT', Date.UTC(2016, 1, 29, 23, 59, 59)],
  ['', undefined],
  [`Sun, 06 Nov 1994 08:49:37 GMT${' '.repeat(40)}`, undefined],
  ['Mon, 06 Nov 1994 08:49:37 GMT', undefined],
  ['Wed, 30 Feb 1994 08:49:37 GMT', undefined],
  ['Sun, 6 Nov 1994 08:49:37 GMT', undefined],
  ['Sun, 06 Nov 1994 08:49:37 +0000', undefined],
  ['1994-11-06T08:49:37Z', undefined],
  ['Sun, 06-Nov-94 08:49:37 GMT', undefined],
  ['Sunday, 06-Nov-94 08:49:37', undefined],
  ['on Sunday, 06-Nov-94 08:49:37 GMT', undefined],
  ['Sunday, 06-Nov-94 08:49:37 GMT0', undefined],
  ['on Sun Nov  6 08:49:37 1994', undefined],
  ['Sun Nov  6 08:49:37 19941', undefined],
  ['Sun Nov 6 08:49:37 1994', undefined],
])('%p is the moment %p', (text, ms) => {
  expect(parseHttpDate(text)).toBe(ms);
});

test('a two-digit year lies at most 50 years ahead', () => {
  const thisYear = new Date().getUTCFullYear();
  const readYear = (year: number): number => {
    const ms = Date.UTC(year, 0, 1);
    const day = new Date(ms).toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' });
    const text = `${day}, 01-Jan-${String(year % 100).padStart(2, '0')} 00:00:00 GMT`;
    return new Date(parseHttpDate(text) ?? NaN).getUTCFullYear();
  };
  for (const year of [thisYear - 49, thisYear - 1, thisYear, thisYear + 1, thisYear + 50])
    expect(readYear(year)).toBe(year);
});
