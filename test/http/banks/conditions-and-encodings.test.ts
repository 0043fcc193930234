import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ENCODINGS } from '../../../src/banks/representation.ts';
import { sendRaw } from '../../kit/raw-http.ts';
import { eventually, startRig, type Rig } from '../../kit/rig.ts';
import { CONDITION_CASES, ENCODING_CASES, fill } from './cases.ts';

let rig: Rig;
const etags = new Map<string, string>();
let modifiedMs = 0;

beforeAll(async () => {
  rig = await startRig();
  await eventually(() => rig.service.list.served() !== undefined);
  for (const encoding of ENCODINGS) {
    const { headers } = await ask('GET', { 'Accept-Encoding': encoding });
    etags.set(encoding, headers.get('etag') ?? '');
    modifiedMs = Date.parse(headers.get('last-modified') ?? '');
  }
});
afterAll(() => rig.close());

const ask = async (method: string, fields: Readonly<Record<string, string>>) => {
  const lines = Object.entries(fields).map(
    ([name, value]) => `${name}: ${fill(value, etags, modifiedMs)}\r\n`,
  );
  const head = `${method} /banks HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines.join('')}\r\n`;
  const [answer, ...more] = await sendRaw(rig.url, head, { methods: [method] });
  if (!answer || more.length > 0) throw new Error('not one answer');
  return answer;
};

describe('the content encoding of GET /banks', () => {
  test.each(ENCODING_CASES)('%s: "%s" gives %s', async (_section, acceptEncoding, expected) => {
    const { status, headers } = await ask('GET', { 'Accept-Encoding': acceptEncoding });
    expect(status).toBe(200);
    expect(headers.get('content-encoding') ?? 'identity').toBe(expected);
    expect(headers.get('etag')).toBe(etags.get(expected));
    expect(headers.get('vary')).toBe('Accept-Encoding');
  });

  test('12.5.3 without the field it is identity', async () => {
    const { headers } = await ask('GET', {});
    expect(headers.has('content-encoding')).toBe(false);
  });

  test('5.3 two lines of the field are one list', async () => {
    const [answer] = await sendRaw(
      rig.url,
      'GET /banks HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip;q=0.5\r\nAccept-Encoding: br\r\n\r\n',
    );
    expect(answer?.headers.get('content-encoding')).toBe('br');
  });
});

/** Of one answer to the next, only these may differ. */
const withoutIds = (headers: ReadonlyMap<string, string>) =>
  [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date');

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
    const [missing] = await sendRaw(
      rig.url,
      'GET /nothing HTTP/1.1\r\nHost: a\r\nIf-None-Match: *\r\n\r\nGET /banks HTTP/1.1\r\n',
    );
    expect(missing?.status).toBe(404);
  });

  test('14.3 and nothing invites to ask for ranges', async () => {
    const { headers } = await ask('GET', {});
    expect(headers.has('accept-ranges')).toBe(false);
    expect(headers.has('age')).toBe(false);
  });
});
