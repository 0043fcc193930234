import { expect, test } from '@jest/globals';
import { postRefresh } from '../../helpers/management-port.ts';
import { startLoadedRig, startRig, type LogLine, type Rig } from '../../helpers/rig.ts';
import { MANAGEMENT_TOKEN } from '../../helpers/sandbox.ts';
import { eventually } from '../../helpers/wait-until.ts';

// What operators see of requests in the log, by the hot path and by Express. That both write the same:
// hot-path.test.ts.

let rig: Rig;

/**
 * The level of the line for each of `paths`: that of pino, and that which log platforms read, in the
 * words of Cloud Logging and Datadog.
 */
const levelsOf = async (...paths: string[]): Promise<string[]> => {
  await eventually(() => paths.every((path) => rig.requests(path).length > 0));
  return paths
    .flatMap((path) => rig.requests(path).slice(0, 1))
    .map(({ level, severity }) => `${level} ${severity}`);
};

/** The lines of the first `count` requests, once they are there. */
const linesOf = async (count: number): Promise<LogLine[]> => {
  await eventually(() => rig.requests().length === count);
  return rig.requests();
};
const anyUuid = expect.stringMatching(/^[\da-f-]{36}$/);
/** All that the line of a plain request has. */
const anyLine = {
  level: 30,
  severity: 'INFO',
  time: expect.any(String),
  requestId: expect.any(String),
  method: 'GET',
  path: expect.any(String),
  statusCode: expect.any(Number),
  durationMs: expect.any(Number),
  bytes: expect.any(Number),
  ip: '127.0.0.1',
  msg: 'request',
};
const NOT_FOUND = { statusCode: 404, code: 'not_found' };

test('an ordinary request is logged at info, a successful probe at debug, another 5xx at warn', async () => {
  rig = await startLoadedRig({ env: { LOG_LEVEL: 'debug', MANAGEMENT_TOKEN } });
  const paths = ['/banks', '/nowhere', '/healthz', '/readyz'];
  for (const path of paths) await fetch(`${rig.url}${path}`);
  expect(await levelsOf(...paths)).toEqual(['30 INFO', '30 INFO', '20 DEBUG', '20 DEBUG']);
  await rig.emulator.behave('unavailable');
  await postRefresh(rig.managementUrl).expect(502);
  expect(await levelsOf('/refresh')).toEqual(['40 WARNING']);
});

test('a request that finds no list is logged at error, a probe that finds none at warn', async () => {
  rig = await startRig({ before: (emulator) => emulator.behave('unavailable') });
  for (const path of ['/banks', '/readyz'])
    expect((await fetch(`${rig.url}${path}`)).status).toBe(503);
  expect((await fetch(`${rig.url}/healthz`, { method: 'POST' })).status).toBe(405);
  expect(await levelsOf('/banks', '/readyz', '/healthz')).toEqual([
    '50 ERROR',
    '40 WARNING',
    '30 INFO',
  ]);
});

test('nothing of a query, and of headers only what identifies a request, is logged', async () => {
  rig = await startLoadedRig();
  for (const path of ['/banks', '/nowhere'])
    await fetch(`${rig.url}${path}?from=a-client`, { headers: { Cookie: 'of=a-client' } });
  await linesOf(2);
  expect(rig.log()).not.toContain('a-client');
});

test('a secret that a client sends in what is logged of a request is redacted', async () => {
  // As a trace id it must be hexadecimal.
  const secret = '5ec2e7c0ffee5ec2e7c0ffee5ec2e7c0';
  const env = { PROVIDER_ACCESS_TOKEN: secret };
  rig = await startLoadedRig({ env, emulator: { accessTokens: [secret] } });
  const headers = {
    'X-Request-Id': secret,
    traceparent: `00-${secret}-0123456789abcdef-01`,
  };
  for (const path of ['/banks', `/${secret}`]) await fetch(`${rig.url}${path}`, { headers });
  const redacted = { clientRequestId: '[redacted]', traceId: '[redacted]' };
  expect(await linesOf(2)).toEqual([
    { ...anyLine, path: '/banks', ...redacted },
    {
      ...anyLine,
      ...NOT_FOUND,
      path: '/[redacted]',
      requestId: '[redacted]',
      traceId: '[redacted]',
    },
  ]);
});

test('a list, which caches keep for others, has a new id, and another response that of its client', async () => {
  rig = await startLoadedRig();
  const wellFormed = ['a.b:c+d/e=f-1', 'a'.repeat(128)];
  const malformed = ['a'.repeat(129), 'a b', 'a","statusCode":"200', 'a,b', '"a'];
  const requests = [
    ['/banks', '""', 200],
    ['/banks', '*', 304],
    ['/nowhere', '*', 404],
  ] as const;
  const seen: unknown[] = [];
  const lines: unknown[] = [];
  const expected: unknown[] = [];
  for (const id of [...wellFormed, ...malformed])
    for (const [path, ifNoneMatch, status] of requests) {
      const fields = { 'X-Request-Id': id, 'If-None-Match': ifNoneMatch };
      const response = await fetch(`${rig.url}${path}`, { headers: fields });
      const requestId = response.headers.get('X-Request-Id');
      seen.push({ status: response.status, requestId });
      const isKnown = wellFormed.includes(id);
      const isKept = isKnown && status === 404;
      expected.push({ status, requestId: isKept ? id : anyUuid });
      const shownId = isKnown && !isKept && { clientRequestId: id };
      lines.push({ ...anyLine, requestId, ...shownId, ...(status === 404 && NOT_FOUND) });
    }
  expect(seen).toEqual(expected);
  expect(await linesOf(seen.length)).toEqual(lines);
});

test('a traceparent gives the trace id, unless its version is the one that is forbidden', async () => {
  rig = await startLoadedRig();
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  for (const version of ['00', 'ff', 'fe'])
    await fetch(`${rig.url}/banks`, {
      headers: { traceparent: `${version}-${traceId}-00f067aa0ba902b7-01` },
    });
  expect(await linesOf(3)).toEqual([{ ...anyLine, traceId }, anyLine, { ...anyLine, traceId }]);
});

test('the line of a request has the bytes of the content that was sent', async () => {
  rig = await startLoadedRig();
  const ask = async (method: string, path: string, status: number, ifNoneMatch = '""') => {
    const headers = { 'Accept-Encoding': 'identity', 'If-None-Match': ifNoneMatch };
    const response = await fetch(`${rig.url}${path}`, { method, headers });
    expect(response.status).toBe(status);
    return Buffer.byteLength(await response.text());
  };
  const list = await ask('GET', '/banks', 200);
  const problem = await ask('GET', '/nowhere', 404);
  expect(Math.min(list, problem)).toBeGreaterThan(0);
  expect(await ask('HEAD', '/banks', 200)).toBe(0);
  expect(await ask('HEAD', '/nowhere', 404)).toBe(0);
  expect(await ask('GET', '/banks', 304, '*')).toBe(0);
  expect((await linesOf(5)).map(({ method, bytes }) => `${method} ${bytes}`)).toEqual([
    `GET ${list}`,
    `GET ${problem}`,
    'HEAD 0',
    'HEAD 0',
    'GET 0',
  ]);
});
