import { expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { NODE_OPTIONS, refusalOf } from '../../src/http-front/refusals.ts';
import { startServer, STATUSES } from '../helpers/http-front.ts';
import { createRandom, mutate, PIECES_OF_REQUESTS } from '../helpers/random.ts';
import { openRaw } from '../helpers/raw-http.ts';
import { serve } from '../helpers/serve.ts';

// Requests that arrive in pieces, cut at every byte, and mutated ones get the response that
// node:http alone gives if it refuses the same. Only the first: what comes with a request is
// discarded.

const echo: RequestListener = (req, res) => void res.end(`[${req.method} ${req.url}]`);

const startAll = async (): Promise<string[]> => {
  const respond: RequestListener = (req, res) => {
    const refusal = refusalOf(req);
    if (refusal) res.writeHead(STATUSES[refusal]).end();
    else echo(req, res);
  };
  const plain = createServer(NODE_OPTIONS, respond);
  plain.on('checkContinue', respond).on('checkExpectation', respond);
  plain.on('clientError', (_error, socket) => {
    socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
  });
  return [
    `http://127.0.0.1:${await serve(plain)}`,
    (await startServer(echo)).url,
    (await startServer(echo, { hotPath: undefined })).url,
  ];
};

/** Status and content of the first answer. */
const send = async (url: string, pieces: readonly string[]): Promise<string> => {
  const { socket, received } = await openRaw(url);
  for (const piece of pieces) {
    socket.write(piece, 'latin1');
    await new Promise((resolve) => setImmediate(resolve));
  }
  socket.end();
  if (!socket.destroyed) await once(socket, 'close');
  const [, status, body = ''] =
    /^HTTP\/1\.1 (\d+)[^]*?\r\n\r\n(\[[^\]]*\])?/.exec(received()) ?? [];
  return `${status} ${body}`;
};

const expectSame = async (urls: readonly string[], pieces: readonly string[]): Promise<void> => {
  const [wanted, ...answers] = await Promise.all(urls.map((url) => send(url, pieces)));
  for (const answer of answers) expect([pieces, answer]).toEqual([pieces, wanted]);
};

const REQUESTS = [
  'GET /hot HTTP/1.1\r\nHost: a\r\n\r\n',
  '\r\nHEAD /cold?a=b HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n',
  'POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n\r\n\r\n',
  'POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\n\r\n\r\n\r\n0\r\nT: t\r\n\r\n',
  'GET /c HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
  'GET /d HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n',
];

test('a request that is cut at any byte', async () => {
  const urls = await startAll();
  for (const request of REQUESTS)
    await Promise.all(
      Array.from(request, (_byte, at) =>
        expectSame(urls, [request.slice(0, at), request.slice(at)]),
      ),
    );
});

test('1,000 mutated requests in random pieces', async () => {
  const urls = await startAll();
  const seed = Number(process.hrtime.bigint() % 2n ** 31n);
  const random = createRandom(seed);
  const piecesOf = (text: string): string[] => {
    const at = Math.floor(random() * text.length);
    return random() < 0.5 ? [text] : [text.slice(0, at), text.slice(at)];
  };
  for (let round = 0; round < 20; round += 1)
    await Promise.all(
      Array.from({ length: 50 }, () => {
        const request = REQUESTS[Math.floor(random() * REQUESTS.length)] ?? '';
        return expectSame(urls, piecesOf(mutate(request, random, PIECES_OF_REQUESTS)));
      }),
    );
}, 60_000);
