import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ENCODINGS } from '../../src/banks/representation.ts';
import { MAX_HEADER_BYTES } from '../../src/http-front/limits.ts';
import { startBothPaths, type BothPaths } from '../helpers/both-paths.ts';
import { metricsOf } from '../helpers/management-port.ts';
import { sendRaw } from '../helpers/raw-http.ts';
import { type Rig } from '../helpers/rig.ts';
import { eventually } from '../helpers/wait-until.ts';

// Which requests the hot path answers, and that nobody can tell: with HOT_PATH=on and off the
// answers have the same bytes, and the lines of the log the same text. What it must leave to
// node:http is also in raw-requests.test.ts, for both paths.

const FRONTEND = 'https://app.example.com';
const SECRET = '5up3rS3cr3t-0123456789abcdef';
const ENV = {
  CORS_ORIGINS: `${FRONTEND},https://other.example.com`,
  TRUST_PROXY: '1',
  MANAGEMENT_TOKEN: SECRET,
};

let paths: BothPaths;
beforeAll(async () => {
  paths = await startBothPaths(ENV);
});
afterAll(() => paths.close());

/** How many requests each path has answered. */
const answeredBy = async ({ managementUrl }: Rig) => {
  const metrics = await metricsOf(managementUrl);
  const count = (label: string): number =>
    metrics[`banks_http_requests_total{answered_by="${label}"}`] ?? NaN;
  return { hot: count('hot_path'), node: count('express') };
};

/** The log's lines about requests, without what differs from one to the next. */
const linesOf = (rig: Rig): string[] =>
  rig
    .log()
    .split('\n')
    .filter((line) => line.includes('"msg":"request"'))
    .map((line) =>
      line
        .replace(/"time":"[^"]+"/, '"time":""')
        .replace(/"durationMs":[\d.]+/, '"durationMs":0')
        .replace(/"requestId":"[\da-f-]{36}"/, '"requestId":"new"'),
    );

const get = (...fields: string[]): string =>
  ['GET /banks HTTP/1.1', 'Host: a', ...fields].join('\r\n');

const CHROME = [
  'Connection: keep-alive',
  'sec-ch-ua: "Chromium";v="131", "Not_A Brand";v="24"',
  'sec-ch-ua-platform: "Linux"',
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
  'Cache-Control: no-cache',
  'Cookie: session=1',
  'Accept-Encoding: gzip, deflate, br, zstd',
];

type Case = readonly [what: string, takes: 'hot' | 'node', request: string];

const CASES: readonly Case[] = [
  ['no field but Host', 'hot', get()],
  ['a browser', 'hot', get(...CHROME)],
  ['a browser of an allowed origin', 'hot', get(...CHROME, `Origin: ${FRONTEND}`)],
  ['a browser of another origin', 'hot', get(...CHROME, 'Origin: https://evil.example.com')],
  [
    'a browser that holds the list',
    'hot',
    get(...CHROME, `Origin: ${FRONTEND}`, 'If-None-Match: *'),
  ],
  ['HEAD', 'node', get(...CHROME).replace('GET', 'HEAD')],
  ...ENCODINGS.map((encoding): Case => [encoding, 'hot', get(`Accept-Encoding: ${encoding}`)]),
  ['two fields of one name', 'node', get('Accept-Encoding: gzip;q=0.5', 'Accept-Encoding: br')],
  ['a cookie beyond ASCII', 'hot', get('Cookie: cidade=S\u00e3o\tPaulo', 'Accept-Encoding: br')],
  ['an empty value', 'hot', get('X-Empty:')],
  [
    'no space after the colons',
    'hot',
    get('Accept-Encoding:br', 'If-None-Match:*', 'X-Request-Id:a-1'),
  ],
  ['a tab in a header that matters', 'node', get('Accept-Encoding: br,\tgzip')],
  ['If-Match: does not fit', 'node', get('If-Match: "a"')],
  ['a query', 'hot', get().replace('/banks', '/banks?a=1&b=%zz')],
  ['a fragment', 'node', get().replace('/banks', '/banks?a#b')],
  ['a request id of its own', 'hot', get('X-Request-Id: a.b:c+d/e=f-1')],
  ['the longest request id', 'hot', get(`X-Request-Id: ${'x'.repeat(128)}`)],
  ['a malformed request id', 'hot', get('X-Request-Id: a b')],
  ['a trace', 'hot', get('traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01')],
  ['a trace of no parent', 'hot', get(`traceparent: 00-${'a'.repeat(32)}-${'0'.repeat(16)}-01`)],
  ['a trace without an id', 'hot', get(`traceparent: 00-${'0'.repeat(32)}-00f067aa0ba902b7-01`)],
  ['a secret as the request id', 'hot', get(`X-Request-Id: ${SECRET}`)],
  ['a secret as the trace id', 'hot', get(`traceparent: 00-${SECRET}-00f067aa0ba902b7-01`)],
  ['a secret as the address', 'hot', get(`X-Forwarded-For: ${SECRET}`)],
  ['an address from the proxy', 'hot', get('X-Forwarded-For: 198.51.100.7, 203.0.113.9')],
  ['HTTP/1.0', 'hot', get().replace('HTTP/1.1', 'HTTP/1.0')],
  ['HTTP/1.0 that is kept', 'node', get('Connection: keep-alive').replace('HTTP/1.1', 'HTTP/1.0')],
  ['the end of the connection asked for', 'hot', get('Connection: close')],
  ['no body, and a header that says so', 'hot', get('Content-Length: 0', 'Accept-Encoding: br')],
  ['half of what a head may have', 'node', get(`X: ${'a'.repeat(MAX_HEADER_BYTES / 2)}`)],
];

const expectSame = async (
  request: string,
  takes: Case[1],
  { hot, express, ask }: BothPaths = paths,
): Promise<void> => {
  const before = await answeredBy(hot);
  const lines = [hot, express].map((rig) => linesOf(rig).length);
  await ask(`${request}\r\n\r\n`);
  await eventually(() =>
    [hot, express].every((rig, index) => linesOf(rig).length > (lines[index] ?? 0)),
  );
  expect(linesOf(hot).at(-1)).toBe(linesOf(express).at(-1));
  expect(await answeredBy(hot)).toEqual({ ...before, [takes]: before[takes] + 1 });
};

test.each(CASES)(
  'HOT_PATH=on answers as HOT_PATH=off does, byte for byte: %s (%s)',
  async (_what, takes, request) => {
    await expectSame(request, takes);
  },
);

test('both answer alike a second later, with a stale list, and with a changed one', async () => {
  const { clock, emulator, hot, express } = paths;
  const lists = [hot.service.list, express.service.list];
  clock.skip(2_000);
  await expectSame(get(...CHROME), 'hot');
  await emulator.behave('unavailable');
  clock.advance(3_600_000);
  await eventually(() => lists.every((list) => list.status().failing !== undefined));
  await expectSame(get(...CHROME), 'hot');
  await emulator.behave('healthy');
  emulator.setBanks([{ code: '001', ispb: '1', name: 'One' }]);
  for (const list of lists) await list.refresh(['shrunk']);
  const [answer] = await paths.ask(`${get()}\r\n\r\n`);
  expect(JSON.parse(answer?.body ?? '')).toEqual([{ code: '001', ispb: '1', name: 'One' }]);
});

test('the Date is that of the response, also while nothing else changes, and so is the time in the log', async () => {
  const { hot } = paths;
  const dateOfAnswer = async (): Promise<number> => {
    const [answer] = await sendRaw(hot.url, `${get()}\r\n\r\n`);
    return Date.parse(answer?.headers.get('date') ?? '');
  };
  const first = await dateOfAnswer();
  await eventually(() => Date.now() >= first + 1_000);
  const second = await dateOfAnswer();
  expect(second).toBeGreaterThan(first);
  expect(second).toBeLessThanOrEqual(Date.now());
  await eventually(() => Date.parse(/.*"time":"([^"]+)"/s.exec(hot.log())?.[1] ?? '') >= second);
});
