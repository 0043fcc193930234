import { afterEach, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { sendRaw } from '../kit/raw-http.ts';
import { eventually, startRig, type Rig } from '../kit/rig.ts';

const FRONTEND = 'https://app.example.com';
const STRANGER = 'https://evil.example.com';

let rig: Rig;
afterEach(() => rig.close());
const start = async (origins?: string): Promise<void> => {
  rig = await startRig(origins ? { env: { CORS_ORIGINS: origins } } : {});
  await eventually(() => rig.service.list.served() !== undefined);
};
const ask = async (line: string, ...fields: string[]) => {
  const bytes = [`${line} HTTP/1.1`, 'Host: a', 'Connection: close', ...fields, '', ''].join('\r\n');
  const [answer] = await sendRaw(rig.url, bytes);
  if (!answer) throw new Error('no answer');
  return answer;
};
const PREFLIGHT = 'Access-Control-Request-Method: GET';
const corsHeaders = (headers: ReadonlyMap<string, string>) =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'));

test('without CORS_ORIGINS no answer depends on the origin or lets another one read it', async () => {
  await start();
  const { headers } = await ask('GET /banks', `Origin: ${FRONTEND}`);
  expect(corsHeaders(headers)).toEqual([]);
  expect(headers.get('vary')).toBe('Accept-Encoding');
  expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
  const preflight = await ask('OPTIONS /banks', `Origin: ${FRONTEND}`, PREFLIGHT);
  expect(preflight.status).toBe(204);
  expect(corsHeaders(preflight.headers)).toEqual([]);
  expect(preflight.headers.has('vary')).toBe(false);
});

test('with *, everybody may read and still no answer depends on the origin', async () => {
  await start('*');
  for (const fields of [[`Origin: ${STRANGER}`], []]) {
    const { headers } = await ask('GET /banks', ...fields);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('vary')).toBe('Accept-Encoding');
    expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin');
  }
  const { headers } = await ask('GET /nothing', `Origin: ${STRANGER}`);
  expect(headers.get('access-control-allow-origin')).toBe('*');
  expect(headers.has('vary')).toBe(false);
});

test('with exact origins each answer names the allowed one, and every answer varies by origin', async () => {
  await start(`${FRONTEND},http://localhost:5173`);
  for (const origin of [FRONTEND, 'http://localhost:5173']) {
    const { headers } = await ask('GET /banks', `Origin: ${origin}`);
    expect(headers.get('access-control-allow-origin')).toBe(origin);
    expect(headers.get('access-control-expose-headers')).toBe(
      'ETag, Cache-Status, Retry-After, X-Request-Id',
    );
    expect(headers.has('access-control-allow-credentials')).toBe(false);
    expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin');
  }
  // What comes close to an allowed origin is another one.
  const others = [
    STRANGER,
    'null',
    `${FRONTEND}/`,
    `${FRONTEND}:443`,
    'http://app.example.com',
    'HTTPS://APP.EXAMPLE.COM',
  ];
  for (const origin of others) {
    const { headers } = await ask('GET /banks', `Origin: ${origin}`);
    expect(corsHeaders(headers)).toEqual([]);
    expect(headers.get('vary')).toBe('Accept-Encoding, Origin');
  }
  expect((await ask('GET /banks')).headers.get('vary')).toBe('Accept-Encoding, Origin');
  const unchanged = await ask('GET /banks', `Origin: ${FRONTEND}`, 'If-None-Match: *');
  expect(unchanged.status).toBe(304);
  expect(unchanged.headers.get('vary')).toBe('Accept-Encoding, Origin');
  expect(unchanged.headers.get('access-control-allow-origin')).toBe(FRONTEND);
});

test('an allowed frontend can read errors too', async () => {
  await start(FRONTEND);
  for (const [line, status] of [
    ['GET /nothing', 404],
    ['DELETE /banks', 405],
  ] as const) {
    const { status: seen, headers } = await ask(line, `Origin: ${FRONTEND}`);
    expect(seen).toBe(status);
    expect(headers.get('access-control-allow-origin')).toBe(FRONTEND);
    expect(headers.get('vary')).toBe('Origin');
  }
});

test('an allowed frontend can read when to ask again', async () => {
  rig = await startRig({
    env: { CORS_ORIGINS: FRONTEND },
    before: (emulator) => emulator.behave('unavailable'),
  });
  await eventually(() => rig.service.list.status().failure !== undefined);
  const { status, headers } = await ask('GET /banks', `Origin: ${FRONTEND}`);
  expect(status).toBe(503);
  expect(headers.get('retry-after')).toMatch(/^\d+$/);
  expect(headers.get('access-control-allow-origin')).toBe(FRONTEND);
  expect(headers.get('access-control-expose-headers')?.split(', ')).toContain('Retry-After');
});

test('a preflight is answered for the allowed origin and for no other', async () => {
  await start(FRONTEND);
  const allowed = await ask('OPTIONS /banks', `Origin: ${FRONTEND}`, PREFLIGHT);
  expect(allowed.status).toBe(204);
  expect(allowed.headers.get('access-control-allow-origin')).toBe(FRONTEND);
  expect(allowed.headers.get('access-control-allow-methods')).toBe('GET, HEAD');
  expect(allowed.headers.get('access-control-allow-headers')).toMatch(/If-None-Match.*traceparent/);
  expect(allowed.headers.get('access-control-max-age')).toBe('7200');
  expect(allowed.headers.get('vary')).toBe('Origin');
  expect(allowed.headers.get('cache-control')).toBe('no-store');
  expect(allowed.headers.has('content-length')).toBe(false);

  const refused = await ask('OPTIONS /banks', `Origin: ${STRANGER}`, PREFLIGHT);
  expect(refused.status).toBe(204);
  expect(corsHeaders(refused.headers)).toEqual([]);
  expect(refused.headers.get('vary')).toBe('Origin');

  const plain = await ask('OPTIONS /banks', `Origin: ${FRONTEND}`);
  expect(plain.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  expect(plain.headers.has('access-control-allow-methods')).toBe(false);
});

test.each(['on', 'off'])('pages of other origins are counted, with HOT_PATH=%s', async (hotPath) => {
  rig = await startRig({ env: { CORS_ORIGINS: FRONTEND, HOT_PATH: hotPath } });
  await eventually(() => rig.service.list.served() !== undefined);
  await ask('GET /banks', `Origin: ${FRONTEND}`);
  await ask('GET /banks');
  await ask('GET /banks', `Origin: ${STRANGER}`);
  await ask('GET /banks', 'Origin: null');
  await ask('OPTIONS /banks', `Origin: ${FRONTEND}`, PREFLIGHT);
  await ask('OPTIONS /banks', `Origin: ${STRANGER}`, PREFLIGHT);
  const refusals = async (kind: string): Promise<number> => {
    const text = await (await fetch(`${rig.operatorsUrl}/metrics`)).text();
    return Number(new RegExp(`banks_cors_refusals_total{kind="${kind}"} (\\d+)`).exec(text)?.[1]);
  };
  while ((await refusals('preflight')) < 1);
  expect([await refusals('preflight'), await refusals('request')]).toEqual([1, 2]);
});

test('docs/api.md names the headers that a preflight allows', async () => {
  await start(FRONTEND);
  const { headers } = await ask('OPTIONS /banks', `Origin: ${FRONTEND}`, PREFLIGHT);
  const [, sentence = ''] = /a preflight allows: ([^.]*)\./.exec(readFileSync('docs/api.md', 'utf8')) ?? [];
  const named = [...sentence.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
  expect(named).toEqual(headers.get('access-control-allow-headers')?.split(', '));
});
