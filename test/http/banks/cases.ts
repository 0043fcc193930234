import { ENCODINGS, type Encoding } from '../../../src/banks/representation.ts';

// What RFC 9110 decides about a request for /banks, for the whole service and for the functions that decide it. Each case names
// the section. In a header's value, {identity}, {gzip} and {br} stand for the entity tag of that encoding, and {modified±N}
// for the date of the list's last change, N seconds off.

export const fill = (value: string, etags: ReadonlyMap<string, string>, modifiedMs: number): string =>
  value
    .replaceAll(/\{(identity|gzip|br)\}/g, (_, encoding: string) => etags.get(encoding) ?? '')
    .replaceAll(/\{modified([+-]\d+)\}/g, (_, seconds: string) =>
      new Date(modifiedMs + Number(seconds) * 1_000).toUTCString(),
    );

const BEST = ENCODINGS.find((encoding) => encoding !== 'br') ?? 'identity';

type EncodingCase = readonly [section: string, acceptEncoding: string, expected: Encoding];

export const ENCODING_CASES: readonly EncodingCase[] = [
  ['12.5.3 one encoding', 'br', 'br'],
  ['12.5.3 one encoding', 'gzip', 'gzip'],
  ['12.5.3 one encoding', 'identity', 'identity'],
  ['12.5.3 an empty field means no encoding', '', 'identity'],
  ['12.5.3 as Chromium sends it over TLS', 'gzip, deflate, br', 'br'],
  ['12.5.3 as an older browser sends it', 'gzip, deflate', 'gzip'],
  ['12.5.3 unknown encodings are passed over', 'compress, deflate, exi', 'identity'],
  ['12.5.3 * stands for any encoding', '*', 'br'],
  ['12.5.3 * stands for those not listed', 'br;q=0, *', BEST],
  ['12.5.3 * stands for those not listed', 'gzip;q=0.5, *;q=0.1', 'gzip'],
  ['12.5.3 nothing is acceptable: the field is disregarded (12.4.1)', '*;q=0', 'identity'],
  ['12.5.3 nothing is acceptable: the field is disregarded (12.4.1)', 'identity;q=0', 'identity'],
  ['12.5.3 identity is excluded, another is listed', 'identity;q=0, gzip', 'gzip'],
  ['12.5.3 identity is excluded through *', 'gzip;q=0.1, *;q=0', 'gzip'],
  ['12.5.3 identity stays acceptable unless excluded', 'gzip;q=0', 'identity'],
  ['12.4.2 the higher weight wins', 'gzip;q=1.0, br;q=0.9', 'gzip'],
  ['12.4.2 the higher weight wins', 'gzip;q=0.2, br;q=0.3', 'br'],
  ['12.4.2 the higher weight wins', 'identity;q=1, br;q=0.999', 'identity'],
  ['12.4.2 three digits', 'gzip;q=0.001, br;q=0.002', 'br'],
  ['12.4.2 without a weight it is 1', 'gzip, br;q=0.9', 'gzip'],
  ['12.4.2 a weight of 0 is a refusal', 'br;q=0, gzip', 'gzip'],
  ['12.4.2 a weight of 0 is a refusal', 'br;q=0.000, gzip;q=0, zstd;q=0', 'identity'],
  ['12.4.2 blanks around the semicolon', 'br ; q=0 , gzip ; q=0.5', 'gzip'],
  ['12.4.2 q in upper case', 'gzip;Q=0.1, br;Q=0.2', 'br'],
  ['8.4.1 names are case-insensitive', 'GZIP', 'gzip'],
  ['8.4.1 names are case-insensitive', 'Br', 'br'],
  ['8.4.1.3 x-gzip is gzip', 'x-gzip', 'gzip'],
  ['8.4.1.3 x-gzip is gzip', 'X-GZip;q=0.5', 'gzip'],
  ['5.6.1 empty members are passed over', ',,gzip,,', 'gzip'],
  ['5.6.1 no blank after the comma', 'gzip,br', 'br'],
  ['2.4 a malformed weight is no acceptance', 'br;q=x, gzip', 'gzip'],
  ['2.4 text without a meaning', ';;;===', 'identity'],
  ['12.5.3 a very long field', `${'x-unknown;q=0.1, '.repeat(300)}gzip`, 'gzip'],
];

type ConditionCase = readonly [section: string, fields: Readonly<Record<string, string>>, status: number];

export const CONDITION_CASES: readonly ConditionCase[] = [
  ['13.1.2 the current tag', { 'If-None-Match': '{identity}' }, 304],
  ['13.1.2 another tag', { 'If-None-Match': '"another"' }, 200],
  ['13.1.2 *', { 'If-None-Match': '*' }, 304],
  ['13.1.2 * with blanks', { 'If-None-Match': ' * ' }, 304],
  ['13.1.2 a list that has it', { 'If-None-Match': '"a", {identity}, "b"' }, 304],
  ['13.1.2 a list that has it, without blanks', { 'If-None-Match': '"a",{identity}' }, 304],
  ['13.1.2 a list that has it not', { 'If-None-Match': '"a", "b", W/"c"' }, 200],
  ['13.1.2 weak comparison', { 'If-None-Match': 'W/{identity}' }, 304],
  ['13.1.2 weak comparison in a list', { 'If-None-Match': '"a", W/{identity}' }, 304],
  ['8.8.3 w/ in lower case is no weak tag', { 'If-None-Match': 'w/{identity}' }, 200],
  ['8.8.3 a tag needs its quotes', { 'If-None-Match': 'unquoted' }, 200],
  ['8.8.3 a comma inside a tag', { 'If-None-Match': '"a,b", {identity}' }, 304],
  ['8.8.3 a tag inside another tag', { 'If-None-Match': '"x{identity}y"' }, 200],
  ['8.8.3 an empty tag', { 'If-None-Match': '""' }, 200],
  ['8.8.3 obs-text in a tag', { 'If-None-Match': '"\u00e9", {identity}' }, 304],
  ['5.6.1 empty members', { 'If-None-Match': ', ,{identity},' }, 304],
  ['5.6.1 * is no member', { 'If-None-Match': '"a", *' }, 200],
  ['5.6.1 tags without a comma', { 'If-None-Match': '"a" {identity}' }, 200],
  ['5.6.1 an empty field', { 'If-None-Match': '' }, 200],
  ['8.8.3.3 the tag of the encoding', { 'Accept-Encoding': 'gzip', 'If-None-Match': '{gzip}' }, 304],
  ['8.8.3.3 the tag of the encoding', { 'Accept-Encoding': 'br', 'If-None-Match': '{br}' }, 304],
  ['8.8.3.3 the tag of another encoding', { 'Accept-Encoding': 'br', 'If-None-Match': '{gzip}' }, 200],
  ['8.8.3.3 the tag of another encoding', { 'If-None-Match': '{br}' }, 200],
  ['8.8.3.3 tags of several', { 'Accept-Encoding': 'br', 'If-None-Match': '{gzip}, {br}' }, 304],
  ['13.1.3 the date of the change', { 'If-Modified-Since': '{modified+0}' }, 304],
  ['13.1.3 a later date', { 'If-Modified-Since': '{modified+1}' }, 304],
  ['13.1.3 an earlier date', { 'If-Modified-Since': '{modified-1}' }, 200],
  ['13.1.3 a date far ahead', { 'If-Modified-Since': 'Fri, 01 Jan 2100 00:00:00 GMT' }, 304],
  ['13.1.3 no date', { 'If-Modified-Since': 'yesterday' }, 200],
  ['13.1.3 no HTTP-date', { 'If-Modified-Since': '2100-01-01T00:00:00Z' }, 200],
  ['13.1.3 a number', { 'If-Modified-Since': '4102444800' }, 200],
  ['13.1.3 a day that does not exist', { 'If-Modified-Since': 'Sat, 30 Feb 2030 00:00:00 GMT' }, 200],
  ['5.6.7 rfc850-date', { 'If-Modified-Since': 'Tuesday, 01-Jan-30 00:00:00 GMT' }, 304],
  ['5.6.7 rfc850-date of the past century', { 'If-Modified-Since': 'Sunday, 06-Nov-94 08:49:37 GMT' }, 200],
  ['5.6.7 asctime-date', { 'If-Modified-Since': 'Tue Jan  1 00:00:00 2030' }, 304],
  ['5.6.7 asctime-date of the past', { 'If-Modified-Since': 'Sun Nov  6 08:49:37 1994' }, 200],
  ['5.6.7 another zone', { 'If-Modified-Since': 'Tue, 01 Jan 2030 00:00:00 +0100' }, 200],
  [
    '13.1.3 no effect beside If-None-Match',
    { 'If-None-Match': '"a"', 'If-Modified-Since': '{modified+9}' },
    200,
  ],
  [
    '13.1.3 no effect beside If-None-Match',
    { 'If-None-Match': '*', 'If-Modified-Since': '{modified-9}' },
    304,
  ],
  ['13.1.1 the current tag', { 'If-Match': '{identity}' }, 200],
  ['13.1.1 another tag', { 'If-Match': '"another"' }, 412],
  ['13.1.1 *', { 'If-Match': '*' }, 200],
  ['13.1.1 a list', { 'If-Match': '"a", {identity}' }, 200],
  ['13.1.1 strong comparison', { 'If-Match': 'W/{identity}' }, 412],
  ['13.1.1 the tag of another encoding', { 'If-Match': '{br}' }, 412],
  ['13.1.4 the date of the change', { 'If-Unmodified-Since': '{modified+0}' }, 200],
  ['13.1.4 an earlier date', { 'If-Unmodified-Since': '{modified-1}' }, 412],
  ['13.1.4 no date', { 'If-Unmodified-Since': 'never' }, 200],
  ['13.1.4 no effect beside If-Match', { 'If-Match': '*', 'If-Unmodified-Since': '{modified-9}' }, 200],
  ['13.2.2 If-Match comes first', { 'If-Match': '"a"', 'If-None-Match': '*' }, 412],
  ['13.2.2 then If-None-Match', { 'If-Match': '*', 'If-None-Match': '{identity}' }, 304],
  ['13.2.2 then If-Modified-Since', { 'If-Match': '*', 'If-Modified-Since': '{modified+0}' }, 304],
  ['14.2 Range may be ignored', { Range: 'bytes=0-9' }, 200],
  ['13.1.5 and If-Range with it', { Range: 'bytes=0-9', 'If-Range': '{identity}' }, 200],
  ['13.1.2 before a Range', { Range: 'bytes=0-9', 'If-None-Match': '{identity}' }, 304],
];
