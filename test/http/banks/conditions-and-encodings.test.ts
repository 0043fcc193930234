import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ENCODINGS } from '../../../src/banks/representation.ts';
import { startBothPaths, type BothPaths } from '../../helpers/both-paths.ts';

// What RFC 9110 decides about a request for /banks, on both paths. Each case names the section. In
// a header's value, {identity}, {gzip} and {br} stand for the entity tag of that encoding, and
// {modified±N} for the date of the list's last change, N seconds off.

const fill = (value: string): string =>
  value
    .replaceAll(/\{(identity|gzip|br)\}/g, (_, encoding: string) => etags.get(encoding) ?? '')
    .replaceAll(/\{modified([+-]\d+)\}/g, (_, seconds: string) =>
      new Date(modifiedMs + Number(seconds) * 1_000).toUTCString(),
    );

let paths: BothPaths;
const etags = new Map<string, string>();
let modifiedMs = 0;

beforeAll(async () => {
  paths = await startBothPaths();
  for (const encoding of ENCODINGS) {
    const { headers } = await ask('GET', { 'Accept-Encoding': encoding });
    etags.set(encoding, headers.get('etag') ?? '');
    modifiedMs = Date.parse(headers.get('last-modified') ?? '');
  }
});
afterAll(() => paths.close());

const ask = async (method: string, fields: Readonly<Record<string, string>>, path = '/banks') => {
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${fill(value)}\r\n`);
  const [answer] = await paths.ask(
    `${method} ${path} HTTP/1.1\r\nHost: a\r\n${lines.join('')}\r\n`,
  );
  if (!answer) throw new Error('no response');
  return answer;
};

// The package negotiator reads the field.
test.each([
  ['12.5.3 one encoding', 'gzip', 'gzip'],
  ['12.5.3 an empty field means no encoding', '', 'identity'],
  [
    '12.5.3 of several the smallest, and unknown ones are passed over',
    'compress, gzip, deflate, br',
    'br',
  ],
  ['12.5.3 * stands for those not listed', 'br;q=0, *', 'gzip'],
  ['12.5.3 zstd alone is not offered', 'zstd', 'identity'],
  ['12.5.3 nothing is acceptable: the field is disregarded (12.4.1)', '*;q=0', 'identity'],
  ['12.5.3 identity is excluded, another is listed', 'identity;q=0, gzip', 'gzip'],
  ['12.4.2 the higher weight wins', 'gzip;q=1.0, br;q=0.9', 'gzip'],
  ['8.4.1 names are case-insensitive', 'GZIP', 'gzip'],
  ['2.4 text without a meaning', ';;;===', 'identity'],
  ['12.5.3 as much as is read', `gzip, ${'a'.repeat(94)}`, 'gzip'],
  ['15.5 more than any client sends is not read', `gzip, ${'a'.repeat(95)}`, 'identity'],
])('%s: Accept-Encoding "%s" gives %s', async (_section, acceptEncoding, expected) => {
  const { status, headers } = await ask('GET', { 'Accept-Encoding': acceptEncoding });
  expect(status).toBe(200);
  expect(headers.get('content-encoding') ?? 'identity').toBe(expected);
  expect(headers.get('etag')).toBe(etags.get(expected));
  // Again, when it is remembered.
  const again = await ask('HEAD', { 'Accept-Encoding': acceptEncoding });
  expect(again.headers.get('etag')).toBe(etags.get(expected));
});

test('12.5.3 without the field it is identity', async () => {
  expect((await ask('GET', {})).headers.has('content-encoding')).toBe(false);
});

test.each<[section: string, fields: Readonly<Record<string, string>>, status: number]>([
  ['13.1.2 the current tag', { 'If-None-Match': '{identity}' }, 304],
  ['13.1.2 another tag', { 'If-None-Match': '"another"' }, 200],
  ['13.1.2 *', { 'If-None-Match': ' * ' }, 304],
  ['13.1.2 a list that has it', { 'If-None-Match': '"a", {identity}, W/"b"' }, 304],
  ['13.1.2 weak comparison', { 'If-None-Match': 'W/{identity}' }, 304],
  ['8.8.3 w/ in lower case is no weak tag', { 'If-None-Match': 'w/{identity}' }, 200],
  [
    '8.8.3 an empty tag, and a comma inside a tag',
    { 'If-None-Match': '"", "a,b", {identity}' },
    304,
  ],
  [
    '8.8.3 any visible character in a tag',
    { 'If-None-Match': '"!","#","~","\x80","\xff",{identity}' },
    304,
  ],
  ['5.6.1 empty members', { 'If-None-Match': ', ,{identity},' }, 304],
  ['5.6.1 * is no member', { 'If-None-Match': '"a", *' }, 200],
  ['5.6.1 tags without a comma', { 'If-None-Match': '"a" {identity}' }, 200],
  ['5.6.3 tabs around the comma', { 'If-None-Match': '"a"\t,\t{identity}' }, 304],
  ['13.1.1 weak and strong, twice', { 'If-Match': 'W/{identity}, {identity}' }, 200],
  ['13.1.1 weak only, twice', { 'If-Match': 'W/{identity}, W/{identity}' }, 412],
  [
    '5.6.1 commas and spaces without end',
    { 'If-None-Match': `,${' '.repeat(6_000)}{identity}` },
    304,
  ],
  ['5.6.1 a malformed list', { 'If-None-Match': '"a b", {identity}' }, 200],
  ['5.6.1 a malformed list', { 'If-None-Match': 'W/ {identity}' }, 200],
  ['5.6.1 a malformed list', { 'If-None-Match': '{identity}, x' }, 200],
  ['5.6.1 a malformed list', { 'If-None-Match': '{identity}x' }, 200],
  ['5.6.1 a malformed list', { 'If-None-Match': 'x{identity}' }, 200],
  ['5.6.1 an empty field', { 'If-None-Match': '' }, 200],
  [
    '8.8.3.3 tags of several encodings',
    { 'Accept-Encoding': 'br', 'If-None-Match': '{gzip}, {br}' },
    304,
  ],
  [
    '8.8.3.3 the tag of another encoding',
    { 'Accept-Encoding': 'br', 'If-None-Match': '{gzip}' },
    200,
  ],
  ['13.1.3 the date of the change', { 'If-Modified-Since': '{modified+0}' }, 304],
  ['13.1.3 a later date', { 'If-Modified-Since': '{modified+1}' }, 304],
  ['13.1.3 an earlier date', { 'If-Modified-Since': '{modified-1}' }, 200],
  ['13.1.3 no HTTP-date', { 'If-Modified-Since': '2100-01-01T00:00:00Z' }, 200],
  [
    '13.1.3 not beside If-None-Match',
    { 'If-None-Match': '"a"', 'If-Modified-Since': '{modified+9}' },
    200,
  ],
  [
    '13.1.3 not beside If-None-Match',
    { 'If-None-Match': '*', 'If-Modified-Since': '{modified-9}' },
    304,
  ],
  ['13.1.1 the current tag', { 'If-Match': '{identity}' }, 200],
  ['13.1.1 another tag', { 'If-Match': '"another"' }, 412],
  ['13.1.1 *', { 'If-Match': '*' }, 200],
  ['13.1.1 strong comparison', { 'If-Match': 'W/{identity}' }, 412],
  ['13.1.1 strong comparison in a list', { 'If-Match': '{identity}, W/{identity}' }, 200],
  ['13.1.1 strong comparison in a list', { 'If-Match': 'W/{identity}, "a"' }, 412],
  ['5.6.1 a malformed list', { 'If-Match': '{identity}, x' }, 412],
  ['13.1.4 the date of the change', { 'If-Unmodified-Since': '{modified+0}' }, 200],
  ['13.1.4 an earlier date', { 'If-Unmodified-Since': '{modified-1}' }, 412],
  ['13.1.4 no date', { 'If-Unmodified-Since': 'never' }, 200],
  [
    '13.1.4 no effect beside If-Match',
    { 'If-Match': '*', 'If-Unmodified-Since': '{modified-9}' },
    200,
  ],
  ['13.2.2 If-Match comes first', { 'If-Match': '"a"', 'If-None-Match': '*' }, 412],
  ['13.2.2 then If-None-Match', { 'If-Match': '*', 'If-None-Match': '{identity}' }, 304],
  ['13.2.2 then If-Modified-Since', { 'If-Match': '*', 'If-Modified-Since': '{modified+0}' }, 304],
  [
    '14.2 Range may be ignored, and If-Range with it',
    { Range: 'bytes=0-9', 'If-Range': '{identity}' },
    200,
  ],
  ['13.1.2 before a Range', { Range: 'bytes=0-9', 'If-None-Match': '{identity}' }, 304],
])('%s: %j gives %i, for GET and for HEAD', async (_section, fields, status) => {
  const get = await ask('GET', fields);
  expect(get.status).toBe(status);
  expect(get.headers.get('cache-control')).toMatch(status === 412 ? /^no-store$/ : /^public, /);
  const head = await ask('HEAD', fields);
  expect(withoutIds(head.headers)).toEqual(withoutIds(get.headers));
});

const withoutIds = (headers: ReadonlyMap<string, string>) =>
  [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date');

test('15.4.5 a 304 repeats ETag, Cache-Control and Vary of the 200 and describes no content', async () => {
  const ok = await ask('GET', { 'Accept-Encoding': 'br' });
  const unchanged = await ask('GET', { 'Accept-Encoding': 'br', 'If-None-Match': '{br}' });
  for (const name of ['etag', 'cache-control', 'vary', 'cache-status'])
    expect(unchanged.headers.get(name)).toBe(ok.headers.get(name));
  for (const name of ['content-type', 'content-length', 'content-encoding', 'last-modified'])
    expect([name, ok.headers.has(name), unchanged.headers.has(name)]).toEqual([name, true, false]);
});

test('13.2.1 conditions have no effect on a response that would be no 2xx', async () => {
  expect((await ask('GET', { 'If-None-Match': '*' }, '/nothing')).status).toBe(404);
});
