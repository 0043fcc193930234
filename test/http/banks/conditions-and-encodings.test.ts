import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startEmulator, type Emulator } from '../../../emulator/emulator.ts';
import { ENCODINGS, type Encoding } from '../../../src/banks/representation.ts';
import { createManualClock } from '../../kit/manual-clock.ts';
import { sendRaw, type RawAnswer } from '../../kit/raw-http.ts';
import { eventually, startRig, type Rig } from '../../kit/rig.ts';

// What RFC 9110 decides about a request for /banks, which the hot path and Express answer alike. Each case names the section. In a
// header's value, {identity}, {gzip} and {br} stand for the entity tag of that encoding, and {modified±N} for the date of the
// list's last change, N seconds off.

const fill = (value: string, etags: ReadonlyMap<string, string>, modifiedMs: number): string =>
  value
    .replaceAll(/\{(identity|gzip|br)\}/g, (_, encoding: string) => etags.get(encoding) ?? '')
    .replaceAll(/\{modified([+-]\d+)\}/g, (_, seconds: string) =>
      new Date(modifiedMs + Number(seconds) * 1_000).toUTCString(),
    );

const BEST = ENCODINGS.find((encoding) => encoding !== 'br') ?? 'identity';

type EncodingCase = readonly [section: string, acceptEncoding: string, expected: Encoding];

const ENCODING_CASES: readonly EncodingCase[] = [
  ['12.5.3 one encoding', 'br', 'br'],
  ['12.5.3 one encoding', 'gzip', 'gzip'],
  ['12.5.3 an empty field means no encoding', '', 'identity'],
  ['12.5.3 as Chromium sends it over TLS', 'gzip, deflate, br', 'br'],
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
  ['12.4.2 three digits', 'identity;q=1, br;q=0.999', 'identity'],
  ['12.4.2 three digits', 'gzip;q=0.001, br;q=0.002', 'br'],
  ['12.4.2 without a weight it is 1', 'gzip, br;q=0.9', 'gzip'],
  ['12.4.2 a weight of 0 is a refusal', 'br;q=0.000, gzip;q=0, zstd;q=0', 'identity'],
  ['12.4.2 blanks around the semicolon', 'br ; q=0 , gzip ; q=0.5', 'gzip'],
  ['12.4.2 q in upper case', 'gzip;Q=0.1, br;Q=0.2', 'br'],
  ['8.4.1 names are case-insensitive', 'GZIP', 'gzip'],
  ['8.4.1.3 x-gzip is gzip', 'x-gzip', 'gzip'],
  ['8.4.1.3 x-gzip is gzip', 'X-GZip;q=0.5', 'gzip'],
  ['5.6.1 empty members are passed over', ',,gzip,,', 'gzip'],
  ['5.6.1 no blank after the comma', 'gzip,br', 'br'],
  ['2.4 a malformed weight is no acceptance', 'br;q=x, gzip', 'gzip'],
  ['2.4 text without a meaning', ';;;===', 'identity'],
  ['12.5.3 a very long field', `${'x-unknown;q=0.1, '.repeat(300)}gzip`, 'gzip'],
];

type ConditionCase = readonly [section: string, fields: Readonly<Record<string, string>>, status: number];

const CONDITION_CASES: readonly ConditionCase[] = [
  ['13.1.2 the current tag', { 'If-None-Match': '{identity}' }, 304],
  ['13.1.2 another tag', { 'If-None-Match': '"another"' }, 200],
  ['13.1.2 *', { 'If-None-Match': '*' }, 304],
  ['13.1.2 a list that has it', { 'If-None-Match': '"a", {identity}, "b"' }, 304],
  ['13.1.2 a list that has it not', { 'If-None-Match': '"a", "b", W/"c"' }, 200],
  ['13.1.2 weak comparison', { 'If-None-Match': 'W/{identity}' }, 304],
  ['8.8.3 w/ in lower case is no weak tag', { 'If-None-Match': 'w/{identity}' }, 200],
  ['8.8.3 a tag needs its quotes', { 'If-None-Match': 'unquoted' }, 200],
  ['8.8.3 a comma inside a tag', { 'If-None-Match': '"a,b", {identity}' }, 304],
  ['8.8.3 a tag inside another tag', { 'If-None-Match': '"x{identity}y"' }, 200],
  ['8.8.3 an empty tag', { 'If-None-Match': '""' }, 200],
  ['8.8.3 obs-text in a tag', { 'If-None-Match': '"\u00e9", {identity}' }, 304],
  ['5.6.1 empty members', { 'If-None-Match': ', ,{identity},' }, 304],
  ['5.6.1 * is no member', { 'If-None-Match': '"a", *' }, 200],
  ['5.6.1 tags without a comma', { 'If-None-Match': '"a" {identity}' }, 200],
  ['5.6.3 tabs around the comma', { 'If-None-Match': '"a"\t,\t{identity}' }, 304],
  ['8.8.3 any visible character in a tag', { 'If-None-Match': '"!","#","~","\x80","\xff",{identity}' }, 304],
  ['5.6.1 a malformed list', { 'If-None-Match': '"a b", {identity}' }, 200],
  ['5.6.1 a malformed list', { 'If-None-Match': 'W/ {identity}' }, 200],
  ['5.6.1 a malformed list', { 'If-None-Match': '"a"x, {identity}' }, 200],
  ['5.6.1 a malformed list', { 'If-None-Match': '{identity}, x' }, 200],
  ['5.6.1 a malformed list', { 'If-None-Match': '{identity}x' }, 200],
  ['5.6.1 a malformed list', { 'If-None-Match': 'x{identity}' }, 200],
  ['5.6.1 a malformed list', { 'If-None-Match': '*, {identity}' }, 200],
  ['5.6.1 an empty field', { 'If-None-Match': '' }, 200],
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
  ['5.6.7 rfc850-date', { 'If-Modified-Since': 'Tuesday, 01-Jan-30 00:00:00 GMT' }, 304],
  ['5.6.7 asctime-date', { 'If-Modified-Since': 'Tue Jan  1 00:00:00 2030' }, 304],
  ['13.1.3 not beside If-None-Match', { 'If-None-Match': '"a"', 'If-Modified-Since': '{modified+9}' }, 200],
  ['13.1.3 not beside If-None-Match', { 'If-None-Match': '*', 'If-Modified-Since': '{modified-9}' }, 304],
  ['13.1.1 the current tag', { 'If-Match': '{identity}' }, 200],
  ['13.1.1 another tag', { 'If-Match': '"another"' }, 412],
  ['13.1.1 *', { 'If-Match': '*' }, 200],
  ['13.1.1 a list', { 'If-Match': '"a", {identity}' }, 200],
  ['13.1.1 strong comparison', { 'If-Match': 'W/{identity}' }, 412],
  ['13.1.1 strong comparison in a list', { 'If-Match': 'W/{identity}, {identity}' }, 200],
  ['13.1.1 strong comparison in a list', { 'If-Match': '{identity}, W/{identity}' }, 200],
  ['13.1.1 strong comparison in a list', { 'If-Match': 'W/{identity}, W/"a"' }, 412],
  ['5.6.1 a malformed list', { 'If-Match': '{identity}, x' }, 412],
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

let emulator: Emulator;
let hot: Rig;
let express: Rig;
const etags = new Map<string, string>();
let modifiedMs = 0;

beforeAll(async () => {
  const clock = createManualClock();
  emulator = await startEmulator({ now: () => clock.wallMs() });
  hot = await startRig({ provider: emulator, clock });
  express = await startRig({ provider: emulator, clock, env: { HOT_PATH: 'off' } });
  await eventually(() => [hot, express].every(({ service }) => service.list.served() !== undefined));
  for (const encoding of ENCODINGS) {
    const { headers } = await ask('GET', { 'Accept-Encoding': encoding });
    etags.set(encoding, headers.get('etag') ?? '');
    modifiedMs = Date.parse(headers.get('last-modified') ?? '');
  }
});
afterAll(async () => {
  for (const rig of [hot, express]) await rig.close();
  await emulator.close();
});

/** The answer, which must be the same on both paths. */
const ask = async (method: string, fields: Readonly<Record<string, string>>, path = '/banks') => {
  const lines = Object.entries(fields).map(
    ([name, value]) => `${name}: ${fill(value, etags, modifiedMs)}\r\n`,
  );
  const head = `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines.join('')}\r\n`;
  const [[answer], other] = await Promise.all([
    sendRaw(hot.url, head, { methods: [method] }),
    sendRaw(express.url, head, { methods: [method] }),
  ]);
  if (!answer) throw new Error('no answer');
  expect(other.map(comparable)).toEqual([comparable(answer)]);
  return answer;
};

/** Of one answer to the next, only these may differ. */
const withoutIds = (headers: ReadonlyMap<string, string>) =>
  [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date');
const comparable = ({ status, headers, body }: RawAnswer) => [status, withoutIds(headers), body];

describe('the content encoding of GET /banks', () => {
  test.each(ENCODING_CASES)('%s: "%s" gives %s', async (_section, acceptEncoding, expected) => {
    const { status, headers } = await ask('GET', { 'Accept-Encoding': acceptEncoding });
    expect(status).toBe(200);
    // Again, when it is remembered.
    const again = await ask('HEAD', { 'Accept-Encoding': acceptEncoding });
    expect(again.headers.get('etag')).toBe(headers.get('etag'));
    expect(headers.get('content-encoding') ?? 'identity').toBe(expected);
    expect(headers.get('etag')).toBe(etags.get(expected));
    expect(headers.get('vary')).toBe('Accept-Encoding');
  });

  test('12.5.3 without the field it is identity', async () => {
    expect((await ask('GET', {})).headers.has('content-encoding')).toBe(false);
  });

  test('5.3 two lines of the field are one list', async () => {
    const { headers } = await ask('GET', { 'Accept-Encoding': 'gzip;q=0.5', 'accept-encoding': 'br' });
    expect(headers.get('content-encoding')).toBe('br');
  });
});

describe('a conditional request for /banks', () => {
  test.each(CONDITION_CASES)('%s: %j gives %i, for GET and for HEAD', async (_section, fields, status) => {
    const get = await ask('GET', fields);
    expect(get.status).toBe(status);
    const head = await ask('HEAD', fields);
    expect(head.status).toBe(status);
    expect(withoutIds(head.headers)).toEqual(withoutIds(get.headers));
    expect(get.headers.has('date')).toBe(true);
    expect(get.headers.get('cache-control')).toMatch(status === 412 ? /^no-store$/ : /^public, /);
  });

  test('15.4.5 a 304 repeats ETag, Cache-Control and Vary of the 200 and describes no content', async () => {
    const ok = await ask('GET', { 'Accept-Encoding': 'br' });
    const unchanged = await ask('GET', { 'Accept-Encoding': 'br', 'If-None-Match': '{br}' });
    for (const name of ['etag', 'cache-control', 'vary', 'cache-status']) {
      expect(unchanged.headers.get(name)).toBe(ok.headers.get(name));
    }
    for (const name of ['content-type', 'content-length', 'content-encoding', 'last-modified']) {
      expect(ok.headers.has(name)).toBe(true);
      expect(unchanged.headers.has(name)).toBe(false);
    }
  });

  test('13.2.1 conditions have no effect on an answer that would be no 2xx', async () => {
    expect((await ask('GET', { 'If-None-Match': '*' }, '/nothing')).status).toBe(404);
  });

  test('14.3 and nothing invites to ask for ranges', async () => {
    const { headers } = await ask('GET', {});
    expect(headers.has('accept-ranges')).toBe(false);
    expect(headers.has('age')).toBe(false);
  });
});
