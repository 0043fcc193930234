import { expect, test } from '@jest/globals';
import { createServer, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { MAX_HEADER_BYTES } from '../../src/http-front/limits.ts';
import { createOrdinaryRequestReader } from '../../src/http-front/ordinary-request.ts';
import { createRandom, mutate, PIECES_OF_REQUESTS } from '../helpers/random.ts';

// What the hot path reads by itself, held against Node's parser: whatever it accepts, that parser
// must accept as one whole request without content, of the same meaning.

const socket = new Socket();
const NAMES = ['origin', 'accept-encoding', 'if-none-match', 'if-modified-since', 'x-request-id'];
const readBytes = createOrdinaryRequestReader('/banks', NAMES);
const read = (bytes: string) => readBytes(Buffer.from(bytes, 'latin1'), socket);
/** The first head in `bytes`, if it is whole. */
const headOf = (bytes: string): string => bytes.slice(0, bytes.indexOf('\r\n\r\n') + 4);

/** What Node's parser makes of `bytes`, in the same terms. */
const readByNode = (bytes: string): object | undefined => {
  const requests: IncomingMessage[] = [];
  let isLast = false;
  let isRefused = false;
  const server = createServer({ requireHostHeader: false, maxHeaderSize: MAX_HEADER_BYTES });
  server.on('request', (req, res) => {
    requests.push(req);
    isLast = !res.shouldKeepAlive;
  });
  server.on('clientError', () => (isRefused = true));
  const connection = new Duplex({
    read: () => undefined,
    write: (_chunk, _encoding, done) => done(),
  });
  server.emit('connection', connection);
  // In a listener's own turn the parser has done all its work when `emit` returns.
  connection.emit('data', Buffer.from(bytes, 'latin1'));
  connection.destroy();

  const [req] = requests;
  if (isRefused || !req || requests.length > 1) return undefined;
  const { method, url, headers, complete } = req;
  if ((headers['content-length'] ?? '0') !== '0') return undefined;
  const special = ['transfer-encoding', 'expect', 'proxy-connection'];
  if (!complete || special.some((name) => name in headers)) return undefined;
  const known = Object.keys(read(REQUEST)?.headers ?? {});
  return {
    method,
    url,
    headers: Object.fromEntries(known.map((name) => [name, headers[name]?.toString()])),
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
  'Content-Length:0\r\n',
  'Content-Length: -1\r\n',
  'Content-Length: a\r\n',
  'Connection: close\r\n',
  'X.Y!: a\r\n',
  'Accept: */* \r\n',
  'Proxy-Connection: close\r\n',
  'Upgrade: h2c\r\n',
  'Cookie: cidade=S\xe3o\tPaulo\xa0\r\n',
  'X-Request-Id:a\r\n',
  'GET /banks HTTP/1.1\r\nHost: a\r\n\r\n',
  ...PIECES_OF_REQUESTS,
  '\r\n\r\n',
  ': ',
  '?',
  '#',
  '__proto__: a\r\n',
];
const REQUEST = `GET /banks?a=b HTTP/1.1\r\n${FIELDS.join('\r\n')}\r\n\r\n`;

test('of 25,000 mutated requests, Node reads each alike, or it is left to Node', () => {
  const seed = Number(process.hrtime.bigint() % 2n ** 31n);
  const random = createRandom(seed);
  let whole = 0;
  for (let count = 0; count < 25_000; count += 1) {
    let bytes = REQUEST;
    for (let times = 1 + random() * 3; times > 1; times -= 1) bytes = mutate(bytes, random, PIECES);
    if (random() < 0.2) bytes = bytes.slice(0, random() * bytes.length);
    const head = headOf(bytes);
    const request = read(head);
    if (!request) continue;
    whole += 1;
    const context = `seed ${seed}: ${JSON.stringify(bytes)}`;
    expect([context, request]).toEqual([context, readByNode(head)]);
  }
  expect(whole).toBeGreaterThan(3_000);
}, 60_000);
