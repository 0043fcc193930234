import { AWKWARD_BYTES } from './random.ts';

// Requests as bytes that a client could send by mistake or on purpose, with the expected statuses.

const HOST = 'Host: a\r\n';
/** Further header fields, and the empty line, follow. */
const GET = `GET /banks HTTP/1.1\r\n${HOST}`;
const HEALTH = `GET /healthz HTTP/1.1\r\n${HOST}\r\n`;
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const long = (bytes: number): string => 'a'.repeat(bytes);
const fields = (count: number): string => 'a: b\r\n'.repeat(count);

type Shape = readonly [name: string, bytes: string, statuses: readonly number[]];

export const REFUSED: readonly Shape[] = [
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

export const ANSWERED: readonly Shape[] = [
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
  ['two pipelined requests', `${GET}\r\nGET /readyz HTTP/1.1\r\n${HOST}\r\n`, [200]],
  ['content, and a request', `${GET}Content-Length: 5\r\n\r\nhello${HEALTH}`, [200]],
  ['a body of 1 MB, at the end', `${GET}Content-Length: 1000000\r\n\r\n${long(1_000_000)}`, [200]],
  ['a body of unknown length, at the end', `${GET}${CHUNKED}\r\n5\r\nhello\r\n0\r\n\r\n`, [200]],
  ['garbage instead of chunks, and no second response', `${GET}${CHUNKED}\r\nzz\r\n`, [200]],
  [
    'Expect, without inviting the body',
    `${GET}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n`,
    [200],
  ],
  ['Expect in other letters', `${GET}Expect: 100-Continue\r\n\r\n`, [200]],
  ['an expectation that nobody knows, as RFC 9110 allows', `${GET}Expect: cake\r\n\r\n`, [200]],
  ['Expect, as the last request', `${GET}Expect: 100-continue\r\n\r\n${HEALTH}`, [200]],
  ['nothing at all', '', []],
];

/** Pieces that change the meaning of a request, for mutations. */
export const PIECES_OF_REQUESTS = [
  ...AWKWARD_BYTES,
  ...', " * % 0 / -1 chunked HTTP/1.1'.split(' '),
  'Host: b\r\n',
  'Content-Length: 3\r\n',
  CHUNKED,
  'Expect: 100-continue\r\n',
];
