import { describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createHotPath, hotPath, startServer } from '../helpers/http-front.ts';
import { closeLater } from '../helpers/close-later.ts';
import { listenOn } from '../helpers/free-port.ts';
import { createRandom } from '../helpers/random.ts';
import { openRaw, sendRaw, type RawClient } from '../helpers/raw-http.ts';
import { eventually } from '../helpers/wait-until.ts';

// Clients that send more requests than they have answers for: all are answered in order, one at a
// time, and a client that does not read costs nothing but its own connection.

const start = async (...args: Parameters<typeof startServer>) => (await startServer(...args)).url;

/** Opens a connection that is not read before `resume` is called. */
const open = async (url: string): Promise<RawClient> => {
  const client = await openRaw(url);
  client.socket.pause();
  closeLater(() => client.socket.destroy());
  return client;
};

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const echo: RequestListener = (req, res) => void res.end(`[${req.method} ${req.url}]`);
const later: RequestListener = (req, res) => void setImmediate(echo, req, res);
const LARGE = Buffer.alloc(8 * 1024 * 1024);

/**
 * Another client's request is answered meanwhile, and so what others sent before it has been read.
 */
const letAnotherAsk = async (url: string): Promise<void> => {
  const { socket } = await open(url);
  socket.resume().write(get('/cold'));
  await eventually(() => socket.bytesRead > LARGE.length);
};

describe.each([
  ['with the hot path', { hotPath }],
  ['without it', { hotPath: undefined }],
])('%s', (_name, options) => {
  test('3,000 requests of both kinds are answered in order, to a client that has closed its side', async () => {
    const url = await start(later, options);
    const pathOf = (index: number): string =>
      `/${index < 2_000 || index % 7 === 0 ? 'hot' : 'cold'}?${index}`;
    const paths = Array.from({ length: 3_000 }, (_unused, index) => pathOf(index));
    const answers = await sendRaw(url, paths.map(get).join(''));
    expect(answers.map(({ body }) => body)).toEqual(paths.map((path) => `[GET ${path}]`));
  });

  test('an unread pipeline stops being read, and is answered when its client reads on', async () => {
    let requests = 0;
    const answerHot = createHotPath(() => {
      requests += 1;
      return LARGE;
    });
    const answer: RequestListener = (_req, res) => {
      requests += 1;
      res.end(LARGE);
    };
    const url = await start(answer, { hotPath: options.hotPath && answerHot });
    const { socket, received } = await open(url);
    socket.write(get('/hot').repeat(4));
    await letAnotherAsk(url);
    expect(requests).toBe(2);
    socket.resume();
    await eventually(() => socket.bytesRead > 4 * LARGE.length);
    expect(received().split('HTTP/1.1 200').length - 1).toBe(4);
  });

  test('half a head that comes with the end of the request before it has no more time than another; idling is no half head', async () => {
    const url = await start(echo, { ...options, limits: { headersTimeoutMs: 500 } });
    const send = async (
      [first, end]: readonly [string, string],
      next: string,
    ): Promise<RawClient> => {
      const client = await open(url);
      client.socket.resume().write(first);
      if (end !== '') await eventually(() => statusesOf(client).length === 1);
      client.socket.write(end + next);
      return client;
    };
    const idle = await Promise.all(ENDS.map((request) => send(request, '')));
    const half = await Promise.all(
      ENDS.map((request) => send(request, 'GET /half HTTP/1.1\r\nHos')),
    );
    await eventually(() => half.every(({ socket }) => socket.destroyed));
    expect(half.map(statusesOf)).toEqual(ENDS.map(() => ['200', '408']));
    expect(idle.map(statusesOf)).toEqual(ENDS.map(() => ['200']));
    expect(idle.filter(({ socket }) => socket.destroyed)).toEqual([]);
  });

  test('over the bound of waiting requests, the client that reads least loses its connection', async () => {
    const url = await start((_req, res) => res.end(LARGE), {
      ...options,
      limits: { heldBytes: 300_000 },
    });
    const unread = [await open(url), await open(url), await open(url)];
    for (const { socket } of unread) {
      socket.write(get('/cold').repeat(1_300));
      await letAnotherAsk(url);
    }
    for (const { socket } of unread) socket.resume();
    await eventually(() => unread[0]?.socket.destroyed === true);
    expect(unread[2]?.socket.destroyed).toBe(false);
  });
});

test('a request that two reads cut, even in its empty line, is one request, and the application has one at a time', async () => {
  let owed = 0;
  let most = 0;
  const url = await start((req, res) => {
    most = Math.max(most, (owed += 1));
    res.once('close', () => (owed -= 1));
    later(req, res);
  });
  const { socket, received } = await open(url);
  socket.resume();
  const bytes = get('/cold').repeat(3);
  const count = (): number => received().split('[GET /cold]').length - 1;
  for (const cut of [-1, -2, -3, -9]) {
    const before = count();
    socket.write(bytes.slice(0, cut));
    await eventually(() => count() === before + 2);
    socket.write(bytes.slice(cut) + bytes);
    await eventually(() => count() === before + 6);
  }
  expect(most).toBe(1);
});

test('2,000 requests in one read do not keep another client waiting', async () => {
  const url = await start(echo);
  const [greedy, other] = [await open(url), await open(url)];
  greedy.socket.write(get('/hot').repeat(2_000));
  greedy.socket.resume();
  await once(greedy.socket, 'data');
  other.socket.write(get('/hot'));
  other.socket.resume();
  await once(other.socket, 'data');
  expect(greedy.received().split('[GET /hot]').length).toBeLessThan(1_000);
  await eventually(() => greedy.received().split('[GET /hot]').length === 2_001);
});

test.each([
  ['a broken request', 'garbage\r\n\r\n'],
  ['a whole request', get('/hot')],
  ['2 MB of anything', 'a'.repeat(2_000_000)],
])('after a response with Connection: close nothing is answered: %s', async (_what, next) => {
  const url = await start((_req, res) => res.setHeader('Connection', 'close').end('x'));
  expect((await sendRaw(url, get('/cold') + next)).map(({ status }) => status)).toEqual([200]);
});

const SHAPES = [
  get('/a'),
  get('/hot'),
  'HEAD /head HTTP/1.1\r\nHost: a\r\n\r\n',
  'POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n',
  'GET /expect HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n',
  '\r\n',
];
/** Requests, and what follows once they have been answered. */
const ENDS = [
  [get('/hot'), ''],
  [get('/cold'), ''],
  [get('/cold'), '\r\n'],
] as const;
const statusesOf = ({ received }: RawClient): unknown[] =>
  [...received().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
const LAST_SHAPES = [
  `POST /content HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\na\r\n\r\nb\r\n\r\n${get('/hot')}`,
  `POST /chunks HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\r\n\r\n\r\n0\r\n\r\n${get('/a')}`,
  get('/half').slice(0, 20),
  'GET /close HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  'GET /old HTTP/1.0\r\n\r\n',
  '',
];

test('300 random pipelines in random pieces get the answers that node:http alone gives', async () => {
  const seed = Number(process.hrtime.bigint() % 2n ** 31n);
  const random = createRandom(seed);
  const pick = (shapes: readonly string[]): string =>
    shapes[Math.floor(random() * shapes.length)] ?? '';
  const echoOne: RequestListener = (req, res) => {
    if (/content|chunks/.test(req.url ?? '')) res.setHeader('Connection', 'close');
    echo(req, res);
  };
  const plain = createServer({ requireHostHeader: false }, echoOne);
  // Without it, node:http answers only the first of several requests to a client that has closed
  // its side.
  Object.assign(plain, { httpAllowHalfOpen: true });
  plain.on('checkContinue', echoOne).on('clientError', (_error, socket) => {
    socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
  });
  const urls = [
    `http://127.0.0.1:${await listenOn(plain)}`,
    await start(echo),
    await start(echo, { hotPath: undefined }),
  ];
  closeLater(() => plain.close());

  const tryOne = async (): Promise<void> => {
    let bytes = '';
    for (let times = random() * 12; times > 0; times -= 1) bytes += pick(SHAPES);
    bytes += pick(LAST_SHAPES);
    const cuts = Array.from({ length: random() * 4 }, () => Math.floor(random() * bytes.length));
    const context = `seed ${seed}: ${JSON.stringify([bytes, cuts])}`;
    const [wanted, ...answers] = await Promise.all(
      urls.map((url) => sendInPieces(url, bytes, cuts)),
    );
    for (const got of answers) expect([context, got]).toEqual([context, wanted]);
  };
  await Promise.all(Array.from({ length: 300 }, tryOne));
});

/** Status and content of each answer, without what only its head tells. */
const sendInPieces = async (
  url: string,
  bytes: string,
  cuts: readonly number[],
): Promise<string[]> => {
  const { socket, received } = await open(url);
  socket.resume();
  const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
  for (const [index, place] of places.entries()) {
    socket.write(bytes.slice(places[index - 1] ?? 0, place));
    await new Promise((resolve) => setImmediate(resolve));
  }
  socket.end();
  if (!socket.destroyed) await once(socket, 'close');
  return received().match(/HTTP\/1\.1 \d+|\[[A-Z]+ \/\w+\]/g) ?? [];
};
