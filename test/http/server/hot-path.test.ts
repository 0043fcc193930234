import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startEmulator, type Emulator } from '../../../emulator/emulator.ts';
import { ENCODINGS } from '../../../src/banks/representation.ts';
import { createManualClock } from '../../kit/manual-clock.ts';
import { eventually, startRig, type Rig } from '../../kit/rig.ts';

// The same service twice, with HOT_PATH=on and off. Each case goes to both, and what comes back over the wire must be the
// same bytes, and the lines of the log the same text.

const FRONTEND = 'https://app.example.com';
const SECRET = '5up3rS3cr3t-0123456789abcdef';

const clock = createManualClock();
let emulator: Emulator;
let hot: Rig;
let express: Rig;
const etags = new Map<string, string>();

const start = async (hotPath: 'on' | 'off'): Promise<Rig> => {
  const rig = await startRig({
    provider: emulator,
    clock,
    env: {
      HOT_PATH: hotPath,
      CORS_ORIGINS: `${FRONTEND},https://other.example.com`,
      TRUST_PROXY: '1',
      MANAGEMENT_TOKEN: SECRET,
    },
  });
  await eventually(() => rig.service.list.served() !== undefined);
  return rig;
};

beforeAll(async () => {
  emulator = await startEmulator({ now: () => clock.wallMs() });
  subscribe('http.server.request.start', countRequest);
  hot = await start('on');
  express = await start('off');
  for (const encoding of ENCODINGS) {
    const [fields] = await send(express, `GET /banks HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${encoding}`);
    etags.set(encoding, /^etag: (.*)$/im.exec(fields)?.[1] ?? '');
  }
  await eventually(() => linesOf(express).length === ENCODINGS.length);
});
afterAll(async () => {
  unsubscribe('http.server.request.start', countRequest);
  for (const rig of [hot, express]) await rig.close();
  await emulator.close();
});

/** How many requests node:http has had on each port: what an APM agent sees. */
const nodeRequests = new Map<number, number>();
const isAboutRequest = (message: unknown): message is { readonly request: IncomingMessage } =>
  typeof message === 'object' && message !== null && 'request' in message;
const countRequest = (message: unknown): void => {
  if (!isAboutRequest(message)) return;
  const port = message.request.socket.localPort ?? 0;
  nodeRequests.set(port, (nodeRequests.get(port) ?? 0) + 1);
};
const portOf = ({ url }: Rig): number => Number(new URL(url).port);
const nodeRequestsOf = (rig: Rig): number => nodeRequests.get(portOf(rig)) ?? 0;

/** The log's lines about requests. */
const linesOf = (rig: Rig): string[] =>
  rig
    .log()
    .split('\n')
    .filter((line) => line.includes('"msg":"request"'));

/** Sends one request as bytes and gives the head and the content of the answer, also as bytes (in Latin-1). */
const send = (rig: Rig, request: string): Promise<[head: string, content: string]> =>
  new Promise((resolve, reject) => {
    const bytes = request.replaceAll(/\{(\w+)\}/g, (_, encoding: string) => etags.get(encoding) ?? '');
    const socket = connect({ host: '127.0.0.1', port: portOf(rig) });
    let received = '';
    socket.setEncoding('latin1').setTimeout(5_000, () => socket.destroy(new Error('no answer')));
    socket.on('error', reject).on('close', () => reject(new Error(`cut off: ${received}`)));
    socket.on('data', (chunk) => {
      received += String(chunk);
      const end = received.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = received.slice(0, end);
      const hasNoContent = request.startsWith('HEAD') || / (?:204|304) /.test(head.slice(0, 15));
      const length = hasNoContent ? 0 : Number(/^content-length: (\d+)$/im.exec(head)?.[1]);
      if (received.length < end + 4 + length) return;
      socket.destroy();
      resolve([head, received.slice(end + 4)]);
    });
    socket.write(`${bytes}\r\n\r\n`);
  });

/** What two answers to the same request may differ in. */
const comparable = ([head, content]: [string, string]): string =>
  `${head.replace(/^date: .*$/im, 'Date').replace(/^x-request-id: [\da-f-]{36}$/im, 'X-Request-Id')}\r\n\r\n${content}`;

type Case = readonly [what: string, takes: 'hot' | 'express', request: string];

const get = (...fields: string[]): string => ['GET /banks HTTP/1.1', 'Host: a', ...fields].join('\r\n');
const head = (...fields: string[]): string => get(...fields).replace('GET', 'HEAD');

const CHROME = [
  'Connection: keep-alive',
  'sec-ch-ua: "Chromium";v="131", "Not_A Brand";v="24"',
  'sec-ch-ua-mobile: ?0',
  'sec-ch-ua-platform: "Linux"',
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
  'Accept: application/json',
  'Cache-Control: no-cache',
  'Cookie: session=1',
  'Sec-Fetch-Site: cross-site',
  'Sec-Fetch-Mode: cors',
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Accept-Language: pt-BR,pt;q=0.9,en;q=0.8',
];

const CASES: readonly Case[] = [
  ['no field but Host', 'hot', get()],
  ['a browser', 'hot', get(...CHROME)],
  ['a browser of an allowed origin', 'hot', get(...CHROME, `Origin: ${FRONTEND}`)],
  ['a browser of another origin', 'hot', get(...CHROME, 'Origin: https://evil.example.com')],
  ['a browser that holds the list', 'hot', get(...CHROME, 'If-None-Match: {br}')],
  ['two fields of one name', 'express', get('Accept-Encoding: gzip;q=0.5', 'Accept-Encoding: br')],
  ...ENCODINGS.flatMap((encoding): Case[] => [
    [encoding, 'hot', get(`Accept-Encoding: ${encoding}`)],
    [`${encoding}, HEAD`, 'hot', head(`Accept-Encoding: ${encoding}`)],
    [`${encoding}, held`, 'hot', get(`Accept-Encoding: ${encoding}`, `If-None-Match: {${encoding}}`)],
    [`${encoding}, HEAD, held`, 'hot', head(`Accept-Encoding: ${encoding}`, `If-None-Match: {${encoding}}`)],
  ]),
  ['a cookie beyond ASCII', 'hot', get('Cookie: cidade=S\u00e3o\tPaulo', 'Accept-Encoding: br')],
  ['an empty value', 'hot', get('X-Empty:')],
  ['no space after the colons', 'hot', get('Accept-Encoding:br', 'If-None-Match:{br}', 'X-Request-Id:a-1')],
  ['a tab in a header that matters', 'express', get('Accept-Encoding: br,\tgzip')],
  ['If-None-Match: two fields', 'express', get('If-None-Match: "a"', 'If-None-Match: {identity}')],
  ['If-Match: does not fit', 'express', get('If-Match: "a"')],
  ['a query', 'hot', get().replace('/banks', '/banks?a=1&b=%zz')],
  ['an empty query', 'hot', get().replace('/banks', '/banks?')],
  ['a fragment', 'express', get().replace('/banks', '/banks?a#b')],
  ['a request id of its own', 'hot', get('X-Request-Id: a.b:c+d/e=f-1')],
  ['a malformed request id', 'hot', get('X-Request-Id: a b')],
  ['a trace', 'hot', get('traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01')],
  ['a secret as the request id', 'hot', get(`X-Request-Id: ${SECRET}`)],
  ['a secret as the trace id', 'hot', get(`traceparent: 00-${SECRET}-00f067aa0ba902b7-01`)],
  ['a secret as the address', 'hot', get(`X-Forwarded-For: ${SECRET}`)],
  ['an address from the proxy', 'hot', get('X-Forwarded-For: 198.51.100.7, 203.0.113.9')],
  ['HTTP/1.0', 'hot', get().replace('HTTP/1.1', 'HTTP/1.0')],
  ['HTTP/1.0 without Host', 'express', 'GET /banks HTTP/1.0'],
  [
    'HTTP/1.0 that keeps the connection',
    'express',
    get('Connection: keep-alive').replace('HTTP/1.1', 'HTTP/1.0'),
  ],
  ['the end of the connection asked for', 'hot', get('Connection: close')],
  ['the end of the connection asked for, HEAD', 'hot', head('Connection: close')],
  ['no body, and a header that says so', 'hot', get('Content-Length: 0', 'Accept-Encoding: br')],
  ['a small body', 'express', `${get('Content-Length: 2')}\r\n\r\nab`],
  ['a large body', 'express', get('Content-Length: 100000')],
  ['a body of unknown length', 'express', get('Transfer-Encoding: chunked')],
  ['no Host', 'express', 'GET /banks HTTP/1.1'],
  ['two Hosts', 'express', get('Host: b')],
  ['a malformed Host', 'express', get().replace('Host: a', 'Host: a b')],
  ['the absolute form', 'express', get().replace('/banks', 'http://a/banks')],
  ['a target that is too long', 'express', get().replace('/banks', `/banks?${'a'.repeat(9_000)}`)],
  ['too many fields', 'express', get(...Array.from({ length: 100 }, (_, index) => `x-${index}: 1`))],
  ['another method', 'express', get().replace('GET', 'POST')],
  ['OPTIONS', 'express', get(`Origin: ${FRONTEND}`).replace('GET', 'OPTIONS')],
  ['a path that only begins alike', 'express', get().replace('/banks', '/banks/')],
  ['a percent-encoded path', 'express', get().replace('/banks', '/%62anks')],
];

const expectSame = async (request: string, takes: Case[1], rigs = { hot, express }): Promise<void> => {
  const [hotBefore, expressBefore] = [nodeRequestsOf(rigs.hot), nodeRequestsOf(rigs.express)];
  const before = [linesOf(rigs.hot).length, linesOf(rigs.express).length];
  const [fromHot, fromExpress] = [await send(rigs.hot, request), await send(rigs.express, request)];
  expect(comparable(fromHot)).toBe(comparable(fromExpress));
  expect(nodeRequestsOf(rigs.hot) - hotBefore).toBe(takes === 'hot' ? 0 : 1);
  expect(nodeRequestsOf(rigs.express) - expressBefore).toBe(1);
  await eventually(() =>
    [rigs.hot, rigs.express].every((rig, index) => linesOf(rig).length > (before[index] ?? 0)),
  );
  expect(comparableLine(linesOf(rigs.hot).at(-1))).toBe(comparableLine(linesOf(rigs.express).at(-1)));
};

const comparableLine = (line = ''): string =>
  line
    .replace(/"time":"[^"]+"/, '"time":""')
    .replace(/"durationMs":[\d.]+/, '"durationMs":0')
    .replace(/"requestId":"[\da-f-]{36}"/, '"requestId":"new"');

describe('HOT_PATH=on answers as HOT_PATH=off does, byte for byte', () => {
  test.each(CASES)('%s (%s)', async (_what, takes, request) => {
    await expectSame(request, takes);
  });

  test('while draining (express)', async () => {
    const rigs = { hot: await start('on'), express: await start('off') };
    const stopped = [rigs.hot, rigs.express].map(({ service }) => service.stop({ noticeMs: 1_000 }));
    await expectSame(get(), 'express', rigs);
    clock.advance(1_000);
    await Promise.all(stopped);
  });

  test('with a stale list, a second later, and with a changed list', async () => {
    clock.skip(2_000);
    await expectSame(get(...CHROME), 'hot');
    await emulator.behave('unavailable');
    clock.advance(3_600_000);
    await eventually(() =>
      [hot, express].every(({ service }) => service.list.status().failure !== undefined),
    );
    await expectSame(get(...CHROME), 'hot');
    await emulator.behave('healthy');
    emulator.setBanks([{ code: '001', ispb: '1', name: 'One' }]);
    for (const { service } of [hot, express]) await service.list.refresh(['shrunk']);
    const [, content] = await send(hot, get());
    expect(JSON.parse(content)).toEqual([{ code: '001', ispb: '1', name: 'One' }]);
    await expectSame(get(...CHROME), 'hot');
  });
});

describe('a head that arrives in pieces', () => {
  const REQUEST = `${get(...CHROME)}\r\n\r\n`;
  /** Sends each piece once the service has read the one before: another client's request is answered after that. */
  const sendPieces = async (pieces: readonly string[]): Promise<string> => {
    const socket = connect({ host: '127.0.0.1', port: portOf(hot), noDelay: true });
    let received = '';
    socket.setEncoding('latin1').on('data', (chunk) => (received += String(chunk)));
    for (const piece of pieces) {
      await new Promise((resolve) => void socket.write(piece, resolve));
      await send(hot, get());
    }
    await eventually(() => received.includes('\r\n\r\n'));
    socket.destroy();
    return received.slice(0, 15);
  };

  test.each([
    ['two', [REQUEST.slice(0, 100), REQUEST.slice(100)]],
    ['two, cut in its last bytes', [REQUEST.slice(0, -1), REQUEST.slice(-1)]],
    ['two, the second with another request', [REQUEST.slice(0, 100), REQUEST.slice(100) + REQUEST]],
    ['three', [REQUEST.slice(0, 100), REQUEST.slice(100, 200), REQUEST.slice(200)]],
  ])("is node:http's, and only it: %s", async (_what, pieces) => {
    const before = nodeRequestsOf(hot);
    expect(await sendPieces(pieces)).toBe('HTTP/1.1 200 OK');
    expect(nodeRequestsOf(hot) - before).toBe(1);
  });
});

test('the Date is that of the answer, also while nothing else changes, and so is the time in the log', async () => {
  const dateOf = async (rig: Rig): Promise<number> => {
    const [fields] = await send(rig, get());
    return Date.parse(/^date: (.*)$/im.exec(fields)?.[1] ?? '');
  };
  const first = await dateOf(hot);
  await eventually(() => Date.now() >= first + 1_000);
  const second = await dateOf(hot);
  expect(second).toBeGreaterThan(first);
  const [, time = ''] = /"time":"([^"]+)"/.exec(linesOf(hot).at(-1) ?? '') ?? [];
  expect(Date.parse(time)).toBeGreaterThanOrEqual(second);
  expect(Math.abs(second - (await dateOf(express)))).toBeLessThanOrEqual(1_000);
});

test('no secret that a client sent is in the log, and the rest of its request is', async () => {
  const requests = [
    get(`X-Request-Id: ${SECRET}`),
    get(`traceparent: 00-${SECRET}-00f067aa0ba902b7-01`),
    get(`X-Forwarded-For: ${SECRET}`),
    get('X-Request-Id: a.b:c+d/e=f-1'),
    get('traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'),
    get('X-Forwarded-For: 198.51.100.7, 203.0.113.9'),
  ];
  for (const rig of [hot, express]) {
    const before = linesOf(rig).length;
    for (const request of requests) await send(rig, request);
    await eventually(() => linesOf(rig).length >= before + requests.length);
    const lines = linesOf(rig).slice(before).join('\n');
    expect(lines).not.toContain(SECRET);
    expect(lines).toContain('"traceId":"4bf92f3577b34da6a3ce929d0e0e4736"');
    expect(lines).toContain('"requestId":"a.b:c+d/e=f-1"');
    expect(lines).toContain('"ip":"203.0.113.9"');
  }
});
