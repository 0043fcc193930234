import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startBothPaths, type BothPaths } from '../helpers/both-paths.ts';
import { sendRaw, type RawAnswer } from '../helpers/raw-http.ts';
import type { Rig } from '../helpers/rig.ts';
import { eventually } from '../helpers/wait-until.ts';

// Requests as bytes, odd and hostile. What mutations of them do: npm run soak.

const HOST = 'Host: a\r\n';
/** Further header fields, and the empty line, follow. */
const GET = `GET /banks HTTP/1.1\r\n${HOST}`;
const HEALTH = `GET /healthz HTTP/1.1\r\n${HOST}\r\n`;
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const long = (bytes: number): string => 'a'.repeat(bytes);
const fields = (count: number): string => 'a: b\r\n'.repeat(count);

type Shape = readonly [name: string, bytes: string, statuses: readonly number[]];

const REFUSED: readonly Shape[] = [
  ['Content-Length beside chunked', `${GET}Content-Length: 5\r\n${CHUNKED}\r\n0\r\n\r\n`, [400]],
  [
    'two Content-Lengths that differ',
    `${GET}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`,
    [400],
  ],
  ['a signed Content-Length', `${GET}Content-Length: +5\r\n\r\nhello`, [400]],
  ['obs-fold', `${GET}X-A: a\r\n b\r\n\r\n`, [400]],
  ['bare LF after the request line', 'GET /banks HTTP/1.1\nHost: a\n\n', [400]],
  ['bare CR in a field', `${GET}X: a\rb\r\n\r\n`, [400]],
  ['a null byte in the target', `GET /banks\0 HTTP/1.1\r\n${HOST}\r\n`, [400]],
  ['no Host', 'GET /banks HTTP/1.1\r\n\r\n', [400]],
  ['two Hosts', `${GET}Host: b\r\n\r\n`, [400]],
  ['two Hosts in HTTP/1.0', 'GET /banks HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n', [400]],
  ['a Host with a path', 'GET /banks HTTP/1.1\r\nHost: a/b\r\n\r\n', [400]],
  ['a Host with user info', 'GET /banks HTTP/1.1\r\nHost: me@a\r\n\r\n', [400]],
  ['an asterisk for GET', `GET * HTTP/1.1\r\n${HOST}\r\n`, [400]],
  ['a target of another scheme', `GET file:///etc/passwd HTTP/1.1\r\n${HOST}\r\n`, [400]],
  [
    'an absolute target with a malformed port',
    `GET http://a:b/banks HTTP/1.1\r\n${HOST}\r\n`,
    [400],
  ],
  ['an unknown method', `FOO /banks HTTP/1.1\r\n${HOST}\r\n`, [400]],
  ['HTTP/2 with prior knowledge', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400]],
  ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', [400]],
  ['a header section of 100 kB', `${GET}X: ${long(100_000)}\r\n\r\n`, [431]],
  ['101 fields', `${GET}${fields(100)}\r\n`, [431]],
  ['a target of 100 kB', `GET /banks?${long(100_000)} HTTP/1.1\r\n${HOST}\r\n`, [431]],
  ['CONNECT', `CONNECT a:443 HTTP/1.1\r\n${HOST}\r\n`, [400]],
  ['TRACE', `TRACE /banks HTTP/1.1\r\n${HOST}Cookie: secret=1\r\n\r\n`, [405]],
  ['a method that others know', `PROPFIND /banks HTTP/1.1\r\n${HOST}\r\n`, [405]],
  ['OPTIONS for the server', `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, [404]],
  ['an encoded slash', `GET /%2fbanks HTTP/1.1\r\n${HOST}\r\n`, [404]],
  ['a slash at the end', `GET /banks/ HTTP/1.1\r\n${HOST}\r\n`, [404]],
  ['a malformed percent-encoding', `GET /banks%zz HTTP/1.1\r\n${HOST}\r\n`, [404]],
];

const ANSWERED: readonly Shape[] = [
  ['100 fields', `${GET}${fields(99)}\r\n`, [200]],
  ['a target of 15,000 bytes', `GET /banks?${long(14_993)} HTTP/1.1\r\n${HOST}\r\n`, [200]],
  ['the absolute form', `GET http://elsewhere/banks?x HTTP/1.1\r\n${HOST}\r\n`, [200]],
  // Node's old URL parser, which Express would ask, takes no such host.
  ['the absolute form of an odd host', `GET http://a%41,b/banks HTTP/1.1\r\n${HOST}\r\n`, [200]],
  ['HTTP/1.0 without Host', 'GET /banks HTTP/1.0\r\n\r\n', [200]],
  ['an empty Host', 'GET /banks HTTP/1.1\r\nHost:\r\n\r\n', [200]],
  ['an IPv6 Host', 'GET /banks HTTP/1.1\r\nHost: [::1]:3000\r\n\r\n', [200]],
  [
    'an Upgrade, which is not taken',
    `${GET}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    [200],
  ],
  ['a query of any kind', `GET /banks?a[]=1&a[]=2&__proto__=3&%zz HTTP/1.1\r\n${HOST}\r\n`, [200]],
  ['an expectation that nobody knows, as RFC 9110 allows', `${GET}Expect: cake\r\n\r\n`, [200]],
  ['a HEAD without Host', 'HEAD /banks HTTP/1.1\r\n\r\n', [400]],
  ['nothing at all', '', []],
];

/** With what follows the request, which nobody reads. */
const ENDED: readonly (readonly [name: string, bytes: string])[] = [
  ['two pipelined requests', `${GET}\r\nGET /readyz HTTP/1.1\r\n${HOST}\r\n`],
  ['2,000 requests', `${GET}\r\n${`${GET}\r\n`.repeat(2_000)}`],
  ['garbage', `${GET}\r\ngarbage\r\n\r\n${long(2_000_000)}`],
  ['content that has not come yet', `${GET}Content-Length: 5\r\n\r\n`],
  ['chunks that have not come yet', `${GET}${CHUNKED}\r\n`],
  ['content, and a request', `${GET}Content-Length: 5\r\n\r\nhello${HEALTH}`],
  ['a body of 1 MB, at the end', `${GET}Content-Length: 1000000\r\n\r\n${long(1_000_000)}`],
  ['a body of unknown length, at the end', `${GET}${CHUNKED}\r\n5\r\nhello\r\n0\r\n\r\n`],
  ['garbage instead of chunks, and no second response', `${GET}${CHUNKED}\r\nzz\r\n`],
  ['Expect, without inviting the body', `${GET}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n`],
  ['Expect in other letters', `${GET}Expect: 100-Continue\r\n\r\n`],
  ['Expect, as the last request', `${GET}Expect: 100-continue\r\n\r\n${HEALTH}`],
];

let paths: BothPaths;
beforeAll(async () => {
  paths = await startBothPaths();
});
afterAll(() => paths.close());

/**
 * What helmet sets on every answer. That the host name has HTTPS is not this service's to promise.
 */
const expectSecured = ({ headers }: RawAnswer): void => {
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-security-policy': "default-src 'none';frame-ancestors 'none'",
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  });
  expect(headers.has('strict-transport-security')).toBe(false);
};
/** The log has a line of it, by which it can be found. */
const expectLogged = async (rig: Rig, { status, headers }: RawAnswer): Promise<void> => {
  const id = headers.get('x-request-id');
  const find = () => rig.requests().find(({ requestId }) => requestId === id);
  await eventually(() => find() !== undefined);
  expect(find()).toMatchObject({ statusCode: status });
};
/** What every error answer has, whoever gave it: the application or the parser. */
const expectProblem = (answer: RawAnswer): void => {
  const { status, headers, body } = answer;
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'x-request-id': expect.stringMatching(/^[\w-]{14,}$/),
    date: expect.any(String),
  });
  expectSecured(answer);
  expect(headers.get('allow')).toBe(status === 405 ? 'GET, HEAD, OPTIONS' : undefined);
  expect(JSON.parse(body)).toEqual({
    type: expect.stringMatching(/^urn:problem-type:banks-bff:[a-z-]+$/),
    title: expect.any(String),
    status,
    detail: expect.not.stringContaining('secret'),
    code: expect.stringMatching(/^[a-z_]+$/),
  });
};
const statusesOf = (answers: readonly RawAnswer[]): number[] => answers.map(({ status }) => status);

test.each(REFUSED)('both ports refuse with problem+json: %s', async (_name, bytes, statuses) => {
  const answers = await paths.ask(bytes);
  expect(statusesOf(answers)).toEqual(statuses);
  // The management port refuses as the public one, and has no /banks.
  const others = await sendRaw(paths.hot.managementUrl, bytes.replaceAll('/banks', '/healthz'));
  expect(statusesOf(others)).toEqual(statuses);
  for (const answer of [...answers, ...others]) {
    if (answer.status < 400) continue;
    expectProblem(answer);
    await expectLogged(paths.hot, answer);
  }
});

test.each(ANSWERED)(
  'with HOT_PATH on and off, the response is the same to: %s',
  async (_name, bytes, statuses) => {
    const answers = await paths.ask(bytes);
    expect(statusesOf(answers)).toEqual(statuses);
    answers.forEach(expectSecured);
    for (const { headers } of answers) expect(headers.has('content-length')).toBe(true);
  },
);

test.each(ENDED)(
  'what a client sends with a request is discarded, and ends the connection with the response: %s',
  async (_name, bytes) => {
    const answers = await paths.ask(bytes, { keepOpen: true });
    expect(statusesOf(answers)).toEqual([200]);
    expect(answers[0]?.headers.get('connection')).toBe('close');
    answers.forEach(expectSecured);
  },
);
