import { expect, test } from '@jest/globals';
import { createServer, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { MAX_HEADER_BYTES } from '../../../src/http/listener/limits.ts';
import { readRequestHead } from '../../../src/http/hot/head.ts';
import { AWKWARD_BYTES, createRandom, mutate } from '../../kit/random.ts';

// What the hot path reads by itself, held against Node's parser: whatever it accepts, that parser must accept as one
// whole request without content, of the same meaning.

const read = (bytes: string) => readRequestHead(Buffer.from(bytes, 'latin1'), new Socket());

/** All that Node's parser makes of `bytes`: the requests, and whether something was left over or wrong. */
const parseByNode = (bytes: string): { requests: IncomingMessage[]; isKept: boolean; isClean: boolean } => {
  const requests: IncomingMessage[] = [];
  let isKept = true;
  let isClean = true;
  const server = createServer({ requireHostHeader: false, maxHeaderSize: MAX_HEADER_BYTES });
  server.on('request', (req, res) => {
    requests.push(req);
    isKept = res.shouldKeepAlive;
  });
  server.on('clientError', () => (isClean = false));
  const connection = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  server.emit('connection', connection);
  // In a listener's own turn the parser has done all its work when `emit` returns.
  connection.emit('data', Buffer.from(bytes, 'latin1'));
  connection.destroy();
  return { requests, isKept, isClean };
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
  'Proxy-Connection: close\r\n',
  'Upgrade: h2c\r\n',
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
  expect(head).toMatchObject({ method: 'GET', url: '/banks?a=b' });
  expect(head?.headers).toMatchObject({ host: 'a.example:80', 'accept-encoding': 'gzip, br' });
  expect(read('HEAD /banks HTTP/1.1\r\nhost: [::1]\r\n\r\n')).toMatchObject({
    method: 'HEAD',
    url: '/banks',
  });
});

test.each([
  ['a part of one', REQUEST.slice(0, -2)],
  ['one and the beginning of the next', `${REQUEST}G`],
  ['two', REQUEST.repeat(2)],
  ['one with content', REQUEST.replace('Host', 'Content-Length: 1\r\nHost')],
  ['one with the end of the connection', REQUEST.replace('keep-alive', 'close')],
  ['one for another resource', REQUEST.replace('/banks', '/healthz')],
  ['one without Host', 'GET /banks HTTP/1.1\r\n\r\n'],
  ['one near the limit of bytes', REQUEST.replace('a=b; c=d', 'a'.repeat(MAX_HEADER_BYTES / 2))],
])('%s is left to Node', (_what, bytes) => {
  expect(read(bytes)).toBeUndefined();
});

test('of 25,000 mutated requests, each that is read is one that Node reads alike', () => {
  const seed = Number(process.hrtime.bigint() % 2n ** 31n);
  const random = createRandom(seed);
  let accepted = 0;
  for (let count = 0; count < 25_000; count += 1) {
    let bytes = REQUEST;
    for (let times = 1 + random() * 3; times > 1; times -= 1) bytes = mutate(bytes, random, PIECES);
    const head = read(bytes);
    if (!head) continue;
    accepted += 1;
    const { requests, isKept, isClean } = parseByNode(bytes);
    const [req] = requests;
    const headers = Object.fromEntries(
      Object.keys(head.headers).map((name) => [name, req?.headers[name]] as const),
    );
    const context = `seed ${seed}: ${JSON.stringify(bytes)}`;
    expect([context, requests.length, isKept, isClean, req?.complete]).toEqual([
      context,
      1,
      true,
      true,
      true,
    ]);
    expect([context, req?.method, req?.url, headers]).toEqual([context, head.method, head.url, head.headers]);
    // Nothing that would change the answer was overlooked.
    for (const name of [
      'content-length',
      'transfer-encoding',
      'expect',
      'upgrade',
      'if-none-match',
      'origin',
    ])
      expect([context, name, req?.headers[name]]).toEqual([context, name, head.headers[name]]);
  }
  expect(accepted).toBeGreaterThan(3_000);
}, 60_000);
