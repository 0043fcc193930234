import { expect, test } from '@jest/globals';
import { createServer, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { MAX_HEADER_BYTES, MAX_HEADERS } from '../../../src/http/server/limits.ts';
import { readOrdinaryRequest } from '../../../src/http/server/ordinary-request.ts';
import { AWKWARD_BYTES, createRandom, mutate } from '../../kit/random.ts';

// What the hot path reads by itself, held against Node's parser: whatever it accepts, that parser must accept as one
// whole request without content, of the same meaning.

const socket = new Socket();
const read = (bytes: string) => readOrdinaryRequest(Buffer.from(bytes, 'latin1'), socket);

/** What Node's parser makes of `bytes`, in the same terms. */
const readByNode = (bytes: string): ReturnType<typeof read> => {
  const requests: IncomingMessage[] = [];
  let isLast = false;
  let isRefused = false;
  const server = createServer({ requireHostHeader: false, maxHeaderSize: MAX_HEADER_BYTES });
  server.on('request', (req, res) => {
    requests.push(req);
    isLast = !res.shouldKeepAlive;
  });
  server.on('clientError', () => (isRefused = true));
  const connection = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  server.emit('connection', connection);
  // In a listener's own turn the parser has done all its work when `emit` returns.
  connection.emit('data', Buffer.from(bytes, 'latin1'));
  connection.destroy();

  const [req] = requests;
  if (isRefused || !req || requests.length > 1) return undefined;
  const { method, url, headers, complete } = req;
  if ((headers['content-length'] ?? '0') !== '0') return undefined;
  const special = ['transfer-encoding', 'expect', 'upgrade', 'proxy-connection'];
  if (!complete || special.some((name) => name in headers)) return undefined;
  const valueOf = (name: string): string | undefined => headers[name]?.toString();
  return {
    method,
    url,
    headers: {
      host: valueOf('host'),
      connection: valueOf('connection'),
      'content-length': valueOf('content-length'),
      origin: valueOf('origin'),
      'accept-encoding': valueOf('accept-encoding'),
      'if-match': valueOf('if-match'),
      'if-none-match': valueOf('if-none-match'),
      'if-modified-since': valueOf('if-modified-since'),
      'if-unmodified-since': valueOf('if-unmodified-since'),
      'x-request-id': valueOf('x-request-id'),
      'x-forwarded-for': valueOf('x-forwarded-for'),
      traceparent: valueOf('traceparent'),
    },
    socket,
    isLast,
  };
};

const FIELDS = [
  'Host: a.example:80',
  'Connection: keep-alive',
  'Origin: https://app.example.com',
  'Accept-Encoding: gzip, br',
  'If-None-Match: W/"abc", "def"',
  'If-Modified-Since: Fri, 01 Jan 2038 00:00:00 GMT',
  'X-Request-Id: r-1',
  'X-Forwarded-For: 198.51.100.7, 203.0.113.9',
  'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  'Cookie: a=b; c=d',
];
const PIECES = [
  ...FIELDS.map((field) => `${field}\r\n`),
  'Content-Length: 3\r\n',
  'Content-Length:0\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Expect: 100-continue\r\n',
  'Connection: close\r\n',
  'Connection: Keep-Alive\r\n',
  'X.Y!: a\r\n',
  'x_y-1: a\r\n',
  'Accept: */* \r\n',
  'Proxy-Connection: close\r\n',
  'Upgrade: h2c\r\n',
  'Cookie: cidade=S\xe3o\tPaulo\xa0\r\n',
  'X-Request-Id:a\r\n',
  'GET /banks HTTP/1.1\r\nHost: a\r\n\r\n',
  ...AWKWARD_BYTES,
  '\r\n\r\n',
  ': ',
  '?',
  '#',
  '__proto__: a\r\n',
];
const REQUEST = `GET /banks?a=b HTTP/1.1\r\n${FIELDS.join('\r\n')}\r\n\r\n`;

test('a whole ordinary request is read', () => {
  const head = read(REQUEST);
  expect(head).toMatchObject({ method: 'GET', url: '/banks?a=b', isLast: false });
  expect(head).toMatchObject({
    headers: {
      origin: 'https://app.example.com',
      'accept-encoding': 'gzip, br',
      'if-match': undefined,
      'x-forwarded-for': '198.51.100.7, 203.0.113.9',
    },
  });
  expect(read('HEAD /banks HTTP/1.1\r\nhost: [::1]\r\n\r\n')).toMatchObject({
    method: 'HEAD',
    url: '/banks',
    headers: { 'x-request-id': undefined },
  });
});

test.each([
  ['HTTP/1.1', undefined, false],
  ['HTTP/1.1', 'Keep-Alive', false],
  ['HTTP/1.1', 'close', true],
  ['HTTP/1.0', undefined, true],
  ['HTTP/1.0', 'Close', true],
])('%s with Connection: %s: the last of its connection: %s', (version, connection, isLast) => {
  const field = connection === undefined ? '' : `Connection: ${connection}\r\n`;
  expect(read(`GET /banks ${version}\r\nHost: a\r\n${field}\r\n`)).toMatchObject({ isLast });
});

test.each([
  ['characters beyond ASCII', 'Cookie: cidade=S\xc3\xa3o\xa0Paulo'],
  ['tabs', 'X-Tool:\ta\tb\t'],
  ['no value', 'X-Empty:'],
])('a header that does not matter may have %s', (_what, field) => {
  expect(read(REQUEST.replace('Cookie: a=b; c=d', field))).toEqual(read(REQUEST));
});

test('it may say that it has no content', () => {
  expect(read(REQUEST.replace('Cookie', 'Content-Length: 0\r\nCookie'))).toMatchObject({ url: '/banks?a=b' });
});

test('there need not be a space after the colon', () => {
  expect(read(REQUEST.replaceAll(': ', ':'))).toEqual(read(REQUEST));
});

test.each([
  ['one and the beginning of the next', `${REQUEST}G`],
  ['two', REQUEST.repeat(2)],
  [
    'one that says twice that it has no content',
    REQUEST.replace('Cookie: a=b', 'Content-Length: 0\r\nContent-Length: 0'),
  ],
  ['one with content', REQUEST.replace('Host', 'Content-Length: 1\r\nHost')],
  ['one of HTTP/1.0 that keeps the connection', REQUEST.replace('HTTP/1.1', 'HTTP/1.0')],
  ['one for another resource', REQUEST.replace('/banks', '/healthz')],
  ['one with a character beyond ASCII in a header that matters', REQUEST.replace('r-1', 'r-\xa0')],
  ['one with a tab in a header that matters', REQUEST.replace('gzip, br', 'gzip,\tbr')],
  ['one without Host', 'GET /banks HTTP/1.1\r\nAccept: a\r\n\r\n'],
  [
    'one with more headers than are allowed',
    REQUEST.replace('Cookie', `${'a: b\r\n'.repeat(MAX_HEADERS)}Cookie`),
  ],
  ['one near the limit of bytes', REQUEST.replace('a=b; c=d', 'a'.repeat(MAX_HEADER_BYTES / 2))],
  ['the beginning of one near the limit of bytes', `GET /banks?${'a'.repeat(MAX_HEADER_BYTES / 2)}`],
  ['a part of another', 'GET /healthz HTT'],
  ['a part of something else', '\u0016\u0003\u0001'],
])('%s is left to Node', (_what, bytes) => {
  expect(read(bytes)).toBeUndefined();
});

test('a part of one is left to Node', () => {
  for (let length = 1; length < REQUEST.length; length += 1)
    expect([length, read(REQUEST.slice(0, length))]).toEqual([length, undefined]);
});

test('of 25,000 mutated requests, Node reads each alike, or it is left to Node', () => {
  const seed = Number(process.hrtime.bigint() % 2n ** 31n);
  const random = createRandom(seed);
  let whole = 0;
  for (let count = 0; count < 25_000; count += 1) {
    let bytes = REQUEST;
    for (let times = 1 + random() * 3; times > 1; times -= 1) bytes = mutate(bytes, random, PIECES);
    if (random() < 0.2) bytes = bytes.slice(0, random() * bytes.length);
    const head = read(bytes);
    if (!head) continue;
    whole += 1;
    const context = `seed ${seed}: ${JSON.stringify(bytes)}`;
    expect([context, head]).toEqual([context, readByNode(bytes)]);
  }
  expect(whole).toBeGreaterThan(3_000);
}, 60_000);
