import { once } from 'node:events';
import { connect } from 'node:net';
import { resolve } from 'node:path';
import { createBrotliDecompress, createGunzip, gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Agent, request } from 'undici';
import { isBehaviour, listBehaviours } from '../emulator/behaviours.ts';
import type { Behaviour } from '../emulator/behaviours.ts';
import { DEFAULT_ACCESS_TOKEN, startEmulator } from '../emulator/emulator.ts';
import type { Emulator, EmulatorOptions } from '../emulator/emulator.ts';
import { runNode } from './kit/program.ts';
import { eventually } from './kit/rig.ts';

// The emulator over real HTTP: the service's tests rely on it, so it is tested itself.

const AUTHORIZED = { authorization: `Bearer ${DEFAULT_ACCESS_TOKEN}` };
const MEBIBYTE = 1024 * 1024;

let clock = 0;
let emulator: Emulator;
let agent: Agent;

async function restart(options: EmulatorOptions): Promise<void> {
  await emulator.close();
  emulator = await startEmulator({ now: () => clock, ...options });
}

beforeEach(async () => {
  clock = Date.parse('2026-09-01T12:00:00Z');
  agent = new Agent();
  emulator = await startEmulator({ now: () => clock });
});

afterEach(async () => {
  await Promise.all([emulator.close(), agent.destroy()]);
});

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly bytes: Buffer;
  readonly text: string;
}

async function ask(url: string, options: Parameters<typeof request>[1] = {}): Promise<Answer> {
  const { statusCode, headers, body } = await request(url, { dispatcher: agent, ...options });
  const bytes = Buffer.from(await body.arrayBuffer());
  return { status: statusCode, headers, bytes, text: bytes.toString() };
}

function askList(headers: Record<string, string> = AUTHORIZED, timeoutMs = 5000): Promise<Answer> {
  const timeouts = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs };
  return ask(`${emulator.baseUrl}/api/v1/banks`, { headers, ...timeouts });
}

function basic(id: string, secret: string): string {
  return `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`;
}

function askToken(
  body = 'grant_type=client_credentials',
  authorization = basic('emulator-client', 'emulator-secret'),
): Promise<Answer> {
  const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
  return ask(emulator.tokenUrl, { method: 'POST', headers, body });
}

function control(path: string, method: 'GET' | 'PUT' = 'PUT'): Promise<Answer> {
  return ask(`${emulator.controlUrl}${path}`, { method });
}

/** Starts a request that will get no response; resolves when the emulator has received it. */
async function hang(start: () => Promise<Answer>): Promise<{ outcome: Promise<string> }> {
  const before = emulator.calls.length;
  const outcome = start().then(
    () => 'answered',
    () => 'failed',
  );
  await eventually(() => emulator.calls.length > before);
  return { outcome };
}

function isObject(entry: unknown): boolean {
  return typeof entry === 'object' && entry !== null && !Array.isArray(entry);
}

function parse(text: string): unknown {
  return JSON.parse(text);
}

function entries(text: string): readonly unknown[] {
  const list: unknown = JSON.parse(text);
  if (!Array.isArray(list)) throw new TypeError('not a list');
  return list;
}

function field(text: string, name: string): unknown {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) throw new TypeError('not an object');
  return new Map<string, unknown>(Object.entries(value)).get(name);
}

function bearer(answer: Answer): { authorization: string } {
  return { authorization: `Bearer ${String(field(answer.text, 'access_token'))}` };
}

describe('the list', () => {
  test('is sent for a valid token', async () => {
    const answer = await askList();
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(entries(answer.text)).toHaveLength(513);
    expect(entries(answer.text)[0]).toMatchObject({ code: '001', ispb: '00000000' });
    expect(answer.headers).not.toHaveProperty('etag');
  });

  test('accepts the Bearer scheme in any case', async () => {
    expect(await askList({ authorization: `bEARER ${DEFAULT_ACCESS_TOKEN}` })).toMatchObject({ status: 200 });
  });

  test.each([
    ['no token', {}],
    ['a wrong token', { authorization: 'Bearer wrong' }],
    ['another scheme', { authorization: `Basic ${DEFAULT_ACCESS_TOKEN}` }],
  ])('is refused for %s', async (_, headers: Record<string, string>) => {
    const answer = await askList(headers);
    expect(answer.status).toBe(401);
    expect(parse(answer.text)).toMatchObject({ error: 'unauthorized' });
  });

  test('is served on one path, to GET only', async () => {
    const posted = await ask(`${emulator.baseUrl}/api/v1/banks`, { method: 'POST', headers: AUTHORIZED });
    expect(posted).toMatchObject({ status: 405, headers: { allow: 'GET' } });
    expect(await ask(`${emulator.baseUrl}/api/v1/bank`, { headers: AUTHORIZED })).toMatchObject({
      status: 404,
    });
  });

  test('can be replaced, and so can the fixed tokens', async () => {
    emulator.setBanks([{ ispb: '1' }]);
    emulator.acceptTokens(['other']);
    expect(await askList()).toMatchObject({ status: 401 });
    expect(await askList({ authorization: 'Bearer other' })).toMatchObject({ text: '[{"ispb":"1"}]' });
  });

  test('is compressed for a client that accepts it', async () => {
    await restart({ compress: 'gzip' });
    const packed = await askList({ ...AUTHORIZED, 'accept-encoding': 'br, gzip' });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(entries(gunzipSync(packed.bytes).toString())).toHaveLength(513);
    const plain = await askList({ ...AUTHORIZED, 'accept-encoding': 'gzip;q=0' });
    expect(plain.headers).not.toHaveProperty('content-encoding');
  });

  test('answers conditional requests when validators are on', async () => {
    emulator.setValidators(true);
    const first = await askList();
    const etag = String(first.headers['etag']);
    const modified = String(first.headers['last-modified']);
    expect(await askList({ ...AUTHORIZED, 'if-none-match': `"other", ${etag}` })).toMatchObject({
      status: 304,
      text: '',
      headers: { etag },
    });
    expect(await askList({ ...AUTHORIZED, 'if-modified-since': modified })).toMatchObject({ status: 304 });
    const both = { 'if-none-match': '"other"', 'if-modified-since': modified };
    expect(await askList({ ...AUTHORIZED, ...both })).toMatchObject({ status: 200 });

    emulator.setBanks([]);
    expect(await askList({ ...AUTHORIZED, 'if-modified-since': modified })).toMatchObject({ status: 200 });
    expect(await askList({ ...AUTHORIZED, 'if-none-match': etag })).toMatchObject({ status: 200 });
    expect(await askList({ 'if-none-match': etag })).toMatchObject({ status: 401 });
  });

  test('can be answered by a script, once the token has been checked', async () => {
    emulator.respondWith((_, res) => res.writeHead(418).end('scripted'));
    expect(await askList()).toMatchObject({ status: 418, text: 'scripted' });
    expect(await askList({})).toMatchObject({ status: 401 });
    emulator.respondWith(undefined);
    expect(await askList()).toMatchObject({ status: 200 });
  });
});

describe('list behaviours', () => {
  test.each<[Behaviour, number]>([
    ['bad-request', 400],
    ['unauthorized', 401],
    ['forbidden', 403],
    ['not-found', 404],
    ['rate-limited', 429],
    ['server-error', 500],
    ['unavailable', 503],
    ['html', 200],
    ['html-as-json', 200],
  ])('%s fails with any token or none, and leaks internals and credentials', async (name, status) => {
    await emulator.behave(name);
    const answer = await askList();
    expect(answer.status).toBe(status);
    expect(answer.text).toContain('emulator-internal-detail');
    expect(answer.text).toContain(`Bearer ${DEFAULT_ACCESS_TOKEN}`);
    expect(await askList({})).toMatchObject({ status });
  });

  test.each<Behaviour>(['rate-limited', 'unavailable'])(
    '%s sends Retry-After only if it is set',
    async (name) => {
      await emulator.behave(name, { retryAfter: '30' });
      expect((await askList()).headers['retry-after']).toBe('30');
      await emulator.behave(name);
      expect((await askList()).headers).not.toHaveProperty('retry-after');
    },
  );

  test('the Content-Type is the one in the name', async () => {
    const types = {
      html: 'text/html; charset=utf-8',
      'html-as-json': 'application/json',
      'wrong-type': 'text/plain',
    };
    for (const [name, type] of Object.entries(types)) {
      if (!isBehaviour(name)) throw new TypeError(name);
      // oxlint-disable-next-line no-await-in-loop
      await emulator.behave(name);
      // oxlint-disable-next-line no-await-in-loop
      expect((await askList()).headers['content-type']).toBe(type);
    }
  });

  test('redirect points to another origin; no-content has no body', async () => {
    await emulator.behave('redirect');
    expect(await askList()).toMatchObject({ status: 302, headers: { location: 'http://127.0.0.1:9/' } });
    await emulator.behave('no-content');
    expect(await askList()).toMatchObject({ status: 204, text: '' });
  });

  test('refuse closes the listener and all connections; the next behaviour reopens the same port', async () => {
    await emulator.behave('hang');
    const { outcome } = await hang(askList);
    await emulator.behave('refuse');
    expect(await outcome).toBe('failed');
    await expect(askList()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(await control('/', 'GET')).toMatchObject({ status: 200 });
    await emulator.behave('healthy');
    expect(await askList()).toMatchObject({ status: 200 });
  });

  test('after several quick changes the last one applies', async () => {
    await Promise.all([emulator.behave('refuse'), emulator.behave('healthy'), emulator.behave('refuse')]);
    await expect(askList()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await Promise.all([emulator.behave('healthy'), emulator.behave('refuse'), emulator.behave('healthy')]);
    expect(await askList()).toMatchObject({ status: 200 });
  });

  test('reset closes the connection before a response', async () => {
    await emulator.behave('reset');
    await expect(askList()).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  test('hang never answers, and close() ends it', async () => {
    await emulator.behave('hang');
    await expect(askList(AUTHORIZED, 50)).rejects.toThrow('Headers Timeout');
    const { outcome } = await hang(askList);
    await emulator.behave('healthy');
    expect(await askList()).toMatchObject({ status: 200 });
    await emulator.close();
    expect(await outcome).toBe('failed');
  });

  test('stall sends half of the list, then nothing', async () => {
    await emulator.behave('stall');
    await expect(askList(AUTHORIZED, 50)).rejects.toThrow('Body Timeout');
    expect(emulator.calls[0]?.status).toBe(200);
  });

  test('cut-short closes the connection before Content-Length is reached', async () => {
    await emulator.behave('cut-short');
    await expect(askList()).rejects.toThrow('other side closed');
    expect(emulator.calls[0]?.status).toBe(200);
  });

  test('drip sends space after space', async () => {
    await emulator.behave('drip');
    const { body } = await request(`${emulator.baseUrl}/api/v1/banks`, {
      headers: AUTHORIZED,
      dispatcher: agent,
    });
    let received = '';
    for await (const chunk of body) {
      received += String(chunk);
      if (received.length >= 5) break;
    }
    expect(received).toMatch(/^ {5,}$/);
  });

  test('slow waits for delayMs', async () => {
    await emulator.behave('slow', { delayMs: 80 });
    const start = performance.now();
    expect(entries((await askList()).text)).toHaveLength(513);
    expect(performance.now() - start).toBeGreaterThan(75);
    await expect(emulator.behave('slow', { delayMs: -1 })).rejects.toThrow(RangeError);
  });

  test.each<[Behaviour, number, number]>([
    ['empty', 0, 0],
    ['few', 3, 0],
    ['shrunk', 256, 0],
    ['some-unusable', 513, 26],
    ['most-unusable', 513, 309],
  ])('%s: %i entries, %i of them unusable', async (name, length, unusable) => {
    await emulator.behave(name);
    const list = entries((await askList()).text);
    expect(list).toHaveLength(length);
    expect(list.filter((entry) => !isObject(entry))).toHaveLength(unusable);
    expect(await askList({})).toMatchObject({ status: 401 });
  });

  describe('a list whose entries changed', () => {
    const listOf = async (name: Behaviour): Promise<readonly Record<string, unknown>[]> => {
      await emulator.behave(name);
      return entries((await askList()).text).map((entry) => ({ ...Object(entry) }));
    };
    const countWhere = (
      list: readonly Record<string, unknown>[],
      has: (entry: Record<string, unknown>) => boolean,
    ) => list.filter(has).length;

    test('renamed-field: every entry has bankName instead of name, with the same value', async () => {
      const [before, after] = [await listOf('healthy'), await listOf('renamed-field')];
      expect(after.map(({ bankName, ...rest }) => ({ ...rest, name: bankName }))).toEqual(before);
      expect(countWhere(after, (entry) => 'name' in entry)).toBe(0);
    });

    test('retyped-field: code is a number where it was text', async () => {
      const [before, after] = [await listOf('healthy'), await listOf('retyped-field')];
      expect(after[0]).toEqual({ ...before[0], code: 1 });
      expect(after.map(({ code }) => code)).toEqual(
        before.map(({ code }) => (code === null ? null : Number(code))),
      );
    });

    test('thinned-field: name is null in 30 % of the entries and missing in 20 %', async () => {
      const list = await listOf('thinned-field');
      expect(list).toHaveLength(513);
      expect(countWhere(list, ({ name }) => name === null)).toBe(156);
      expect(countWhere(list, (entry) => !('name' in entry))).toBe(102);
      expect(countWhere(list, ({ ispb }) => typeof ispb === 'string')).toBe(513);
    });

    test('duplicates: the same entry 200 times', async () => {
      const [before, after] = [await listOf('healthy'), await listOf('duplicates')];
      expect(after).toEqual(Array.from({ length: 200 }, () => before[0]));
    });

    test('paginated: the first 50 entries and a link to the next page', async () => {
      const [before, after] = [await listOf('healthy'), await listOf('paginated')];
      expect(after).toEqual(before.slice(0, 50));
      expect((await askList()).headers['link']).toBe('</api/v1/banks?page=2>; rel="next"');
    });
  });

  test('bodies other than the list', async () => {
    await emulator.behave('envelope');
    expect(field((await askList()).text, 'data')).toHaveLength(513);
    await emulator.behave('null');
    expect((await askList()).text).toBe('null');
    await emulator.behave('not-json');
    expect((await askList()).text).toBe('{"banks": [');
    await emulator.behave('too-deep');
    expect((await askList()).text).toMatch(/^\[{100001}\]{100001}$/);
    await emulator.behave('not-utf8');
    const { bytes } = await askList();
    expect(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes)).toThrow('not valid');
    expect(entries(bytes.toString('latin1'))).toHaveLength(514);
    await emulator.behave('too-large');
    const large = await askList();
    expect(large.bytes.length).toBeGreaterThan(6 * MEBIBYTE);
    expect(entries(large.text)).toHaveLength(70_000);
  });

  test.each([
    ['gzip-bomb', 'gzip', createGunzip],
    ['brotli-bomb', 'br', createBrotliDecompress],
  ] as const)(
    '%s is small on the wire and 1 GiB when decompressed',
    async (name, coding, createUnpacker) => {
      await emulator.behave(name);
      const { bytes, headers } = await askList();
      expect(headers['content-encoding']).toBe(coding);
      expect(bytes.length).toBeLessThan(2 * MEBIBYTE);
      let unpacked = 0;
      const unpacker = createUnpacker({ chunkSize: MEBIBYTE });
      unpacker.on('data', (chunk: Buffer) => {
        unpacked += chunk.length;
      });
      unpacker.end(bytes);
      await once(unpacker, 'end');
      expect(unpacked).toBe(1024 * MEBIBYTE + 2);
    },
    30_000,
  );
});

describe('the token endpoint', () => {
  test('issues a new token each time, which the list accepts until it expires', async () => {
    await restart({ tokenLifetimeSeconds: 60 });
    const [one, two] = [await askToken(), await askToken('grant_type=client_credentials&scope=banks')];
    expect(parse(one.text)).toMatchObject({ token_type: 'Bearer', expires_in: 60 });
    expect(one.headers['cache-control']).toBe('no-store');
    expect(one.text).not.toBe(two.text);
    clock += 59_999;
    expect(await askList(bearer(one))).toMatchObject({ status: 200 });
    clock += 1;
    expect(await askList(bearer(one))).toMatchObject({ status: 401 });
  });

  test('a token with a lifetime of null has no expires_in and is valid until revoked', async () => {
    await restart({ tokenLifetimeSeconds: null });
    const answer = await askToken();
    expect(field(answer.text, 'expires_in')).toBeUndefined();
    clock += 1e12;
    expect(await askList(bearer(answer))).toMatchObject({ status: 200 });
    emulator.revokeIssued();
    expect(await askList(bearer(answer))).toMatchObject({ status: 401 });
    expect(await askList()).toMatchObject({ status: 200 });
  });

  test('decodes id and secret as RFC 6749 encodes them', async () => {
    await restart({ clientId: 'a:b', clientSecret: 'c d+é%&:' });
    expect(await askToken(undefined, basic('a:b', 'c d+é%&:'))).toMatchObject({ status: 200 });
    const plus = `Basic ${Buffer.from('a%3Ab:c+d%2B%C3%A9%25%26%3A').toString('base64')}`;
    expect(await askToken(undefined, plus)).toMatchObject({ status: 200 });
    const raw = `Basic ${Buffer.from('a:b:c d+é%&:').toString('base64')}`;
    expect(await askToken(undefined, raw)).toMatchObject({ status: 401 });
  });

  test.each([
    ['another grant type', 'grant_type=password', 'unsupported_grant_type'],
    ['no grant type', 'scope=banks', 'invalid_request'],
    ['two grant types', 'grant_type=client_credentials&grant_type=client_credentials', 'invalid_request'],
    ['more than 16 KiB', `grant_type=client_credentials&filler=${'x'.repeat(20_000)}`, 'invalid_request'],
  ])('refuses a form with %s', async (_, form, error) => {
    const answer = await askToken(form);
    expect(answer.status).toBe(400);
    expect(field(answer.text, 'error')).toBe(error);
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  test('refuses a body that is not a form, a wrong client and another method', async () => {
    const authorization = basic('emulator-client', 'emulator-secret');
    const headers = { authorization, 'content-type': 'application/json' };
    const json = await ask(emulator.tokenUrl, { method: 'POST', headers, body: '{}' });
    expect(field(json.text, 'error')).toBe('invalid_request');
    const wrong = await askToken(undefined, basic('emulator-client', 'wrong'));
    expect(wrong).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Basic realm="emulator"' } });
    expect(field(wrong.text, 'error')).toBe('invalid_client');
    expect(await ask(emulator.tokenUrl)).toMatchObject({ status: 405, headers: { allow: 'POST' } });
  });

  test('behaves as each of its behaviours says', async () => {
    emulator.behaveToken('no-expires-in');
    expect(field((await askToken()).text, 'expires_in')).toBeUndefined();
    emulator.behaveToken('string-expires-in');
    expect(field((await askToken()).text, 'expires_in')).toBe('3600');
    emulator.behaveToken('lowercase-type');
    expect(field((await askToken()).text, 'token_type')).toBe('bearer');
    emulator.behaveToken('rejected-token');
    expect(await askList(bearer(await askToken()))).toMatchObject({ status: 401 });
    emulator.behaveToken('server-error');
    expect(await askToken()).toMatchObject({ status: 500 });
    emulator.behaveToken('invalid-client');
    expect(await askToken()).toMatchObject({ status: 401 });
    emulator.behaveToken('html');
    expect((await askToken()).text).toContain('maintenance');
    emulator.behaveToken('reset');
    await expect(askToken()).rejects.toMatchObject({ code: 'ECONNRESET' });
    emulator.behaveToken('hang');
    const { outcome } = await hang(askToken);
    expect(await askList()).toMatchObject({ status: 200 });
    await emulator.close();
    expect(await outcome).toBe('failed');
  });
});

describe('the call record', () => {
  test('contains each request with its headers and status', async () => {
    await askList({ ...AUTHORIZED, 'x-request-id': 'abc' });
    await askToken();
    await ask(`${emulator.baseUrl}/elsewhere?query=1`);
    expect(emulator.calls).toMatchObject([
      {
        method: 'GET',
        path: '/api/v1/banks',
        headers: { ...AUTHORIZED, 'x-request-id': 'abc' },
        status: 200,
      },
      { method: 'POST', path: '/oauth/token', status: 200 },
      { method: 'GET', path: '/elsewhere', status: 404 },
    ]);
    expect([emulator.listCalls(), emulator.tokenCalls()]).toEqual([1, 1]);
  });

  test('is bounded, but counts every call', async () => {
    const { hostname, port } = new URL(emulator.baseUrl);
    const socket = connect(Number(port), hostname).resume();
    const pipelined = 'GET /elsewhere HTTP/1.1\r\nHost: emulator\r\n\r\n'.repeat(10_100);
    socket.write(pipelined);
    await eventually(() => emulator.allCalls() === 10_100);
    socket.destroy();
    expect(emulator.calls).toHaveLength(10_000);
    expect(emulator.listCalls()).toBe(0);
  });

  test('reports each call once its response is sent or cut off', async () => {
    const ended: (number | undefined)[] = [];
    await restart({ onCallEnd: ({ status }) => void ended.push(status) });
    await askList();
    await emulator.behave('reset');
    await expect(askList()).rejects.toMatchObject({ code: 'ECONNRESET' });
    await eventually(() => ended.length === 2);
    expect(ended).toEqual([200, undefined]);
  });

  test('knows how many requests for the list were open at the same time', async () => {
    await emulator.behave('slow', { delayMs: 100 });
    await Promise.all([askList(), askList(), askList()]);
    await askList();
    expect(emulator.maxConcurrentListCalls).toBe(3);
  });
});

describe('the control API', () => {
  test('lists the behaviours and counts the calls', async () => {
    await askList();
    const { text } = await control('/', 'GET');
    expect(parse(text)).toMatchObject({
      behaviour: 'healthy',
      tokenBehaviour: 'healthy',
      calls: { list: 1 },
    });
    expect(Object.keys(Object(field(text, 'behaviours')))).toEqual(Object.keys(listBehaviours));
    expect(text).not.toContain(DEFAULT_ACCESS_TOKEN);
  });

  test('switches behaviours', async () => {
    expect(await control('/behaviour/unavailable?retryAfter=7')).toMatchObject({ status: 200 });
    expect(await askList()).toMatchObject({ status: 503, headers: { 'retry-after': '7' } });
    expect(await control('/token-behaviour/server-error')).toMatchObject({ status: 200 });
    expect(await askToken()).toMatchObject({ status: 500 });
    expect(emulator).toMatchObject({ behaviour: 'unavailable', tokenBehaviour: 'server-error' });
  });

  test.each([
    ['/behaviour/toString', 404],
    ['/token-behaviour/refuse', 404],
    ['/behaviour/healthy/more', 404],
    ['/elsewhere', 404],
    ['/', 405],
    ['/behaviour/slow?delayMs=soon', 400],
    ['/behaviour/slow?delayMs=', 400],
    ['/behaviour/unavailable?retryAfter=%0d%0aset-cookie:x', 400],
  ])('PUT %s gets %i and changes nothing', async (path, status) => {
    expect(await control(path)).toMatchObject({ status });
    expect(emulator).toMatchObject({ behaviour: 'healthy', tokenBehaviour: 'healthy' });
  });

  test('lists the known names in the response to an unknown one', async () => {
    expect(field((await control('/behaviour/broken')).text, 'known')).toEqual(Object.keys(listBehaviours));
    expect(await control('/behaviour/healthy', 'GET')).toMatchObject({ status: 405 });
  });
});

describe('close()', () => {
  test('destroys idle connections and may be called twice', async () => {
    const { hostname, port } = new URL(emulator.baseUrl);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    await askList();
    const ended = once(socket, 'close');
    socket.resume().on('error', () => undefined);
    await Promise.all([emulator.close(), emulator.close()]);
    await ended;
    await emulator.behave('healthy');
    await expect(askList()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('a control port that is in use makes the start fail and closes the other listener', async () => {
    const other = await startEmulator();
    await other.close();
    const port = Number(new URL(other.baseUrl).port);
    const controlPort = Number(new URL(emulator.controlUrl).port);
    await expect(startEmulator({ port, controlPort })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await restart({ port });
    expect(await askList()).toMatchObject({ status: 200 });
  });
});

describe('the program', () => {
  /** Runs the built program until it ends. */
  const run = async (env: Record<string, string>): Promise<{ status: unknown; message: string }> => {
    const main = resolve('dist/emulator/main.js');
    const { exit, output } = runNode(main, {
      env: { EMULATOR_PORT: '0', EMULATOR_CONTROL_PORT: '0', ...env },
    });
    return { status: await exit, message: output() };
  };

  test('does not start in a production environment', async () => {
    const { status, message } = await run({ PROVIDER_ENVIRONMENT: 'Production' });
    expect(status).toBe(1);
    expect(message).toMatch(/^The emulator cannot start: PROVIDER_ENVIRONMENT is production;/);
  });

  test('names the variable of a port that is wrong or in use', async () => {
    const wrong = await run({ EMULATOR_PORT: '70000' });
    expect(wrong).toEqual({
      status: 1,
      message: 'The emulator cannot start: EMULATOR_PORT must be a port from 0 to 65535, not "70000"\n',
    });
    const { port } = new URL(emulator.baseUrl);
    const inUse = await run({ EMULATOR_CONTROL_PORT: port });
    expect(inUse.status).toBe(1);
    expect(inUse.message).toContain(`port ${port} is in use; set EMULATOR_PORT or EMULATOR_CONTROL_PORT`);
  });
});
