import { on, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Running } from '../bench/processes.ts';
import type { Cost } from './measure.ts';
import { NUMBERED, SHAPES, type Shape } from './shapes.ts';

// Where a client's text enters: the parts of a request's head, as bytes that a raw client sends.

export interface RequestPlace {
  readonly name: string;
  readonly port: 'public' | 'management';
  /** Longest text, in bytes. */
  readonly longest: number;
  readonly shapes: readonly Shape[];
  /** A request with `text` in that place. */
  readonly request: (text: string) => string;
}

/** A head of 16 KiB is refused; one of 8 KiB is left to node:http. */
const LONGEST_HEAD = 15_500;
const LONGEST_TARGET = 7_900;

/** Those that anything here reads: this service, Express or node:http. */
const HEADERS = [
  'Host',
  'Connection',
  'Origin',
  'Accept-Encoding',
  'If-Match',
  'If-None-Match',
  'If-Modified-Since',
  'If-Unmodified-Since',
  'X-Request-Id',
  'X-Forwarded-For',
  'Traceparent',
  'Content-Length',
  'Transfer-Encoding',
  'Expect',
  'Upgrade',
  'Cookie',
  'Authorization',
  'Access-Control-Request-Method',
  'Access-Control-Request-Headers',
  'Sec-Fetch-Site',
];

const head = (line: string, headers: string): string =>
  `${line} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;

const header = (
  name: string,
  line = 'HEAD /banks',
  port: RequestPlace['port'] = 'public',
): RequestPlace => ({
  name: `${port === 'management' ? 'management port: ' : ''}${name}`,
  port,
  longest: LONGEST_HEAD,
  shapes: SHAPES,
  request: (text) =>
    name === 'Host'
      ? `${line} HTTP/1.1\r\nHost: ${text}\r\n\r\n`
      : head(line, `${name}: ${text}\r\n`),
});

/** Many headers instead of a long one. */
const NAMES: readonly Shape[] = [
  {
    name: '90 names',
    text: (length) =>
      Array.from({ length: 90 }, (_, index) => `${index}:`.padEnd(length / 90 - 2, 'a')).join(
        '\r\n',
      ) + '\r\n',
  },
  NUMBERED(() => 'a:\r\n', 'one short name'),
  NUMBERED((index) => `${index}:\r\n`, 'different short names'),
  NUMBERED(() => 'cookie:a\r\n', 'Cookie'),
  NUMBERED(() => 'if-none-match:"a"\r\n', 'If-None-Match'),
  NUMBERED(() => 'accept-encoding:a\r\n', 'Accept-Encoding'),
  NUMBERED(() => 'x-forwarded-for:::1\r\n', 'X-Forwarded-For'),
  NUMBERED(() => 'set-cookie:a\r\n', 'Set-Cookie'),
  NUMBERED(() => 'host:a\r\n', 'Host'),
];

const BODIES: readonly Shape[] = [
  { name: 'plain', text: (length) => `Content-Length: ${length}\r\n\r\n${'a'.repeat(length)}` },
  {
    name: 'chunks of a byte',
    text: (length) =>
      `Transfer-Encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(Math.floor(length / 6))}0\r\n\r\n`,
  },
  {
    name: 'chunk extensions',
    text: (length) =>
      `Transfer-Encoding: chunked\r\n\r\n1;${'a=b;'.repeat(length / 4)}\r\na\r\n0\r\n\r\n`,
  },
  {
    name: 'trailers',
    text: (length) => `Transfer-Encoding: chunked\r\n\r\n0\r\n${'a:\r\n'.repeat(length / 4)}\r\n`,
  },
];

export const REQUEST_PLACES: readonly RequestPlace[] = [
  ...HEADERS.map((name) => header(name)),
  {
    name: 'names of headers',
    port: 'public',
    longest: LONGEST_HEAD,
    shapes: NAMES,
    request: (text) => head('HEAD /banks', text),
  },
  {
    name: 'query',
    port: 'public',
    longest: LONGEST_TARGET,
    shapes: SHAPES,
    request: (text) => head(`HEAD /banks?${toTarget(text)}`, ''),
  },
  {
    name: 'path',
    port: 'public',
    longest: LONGEST_TARGET,
    shapes: SHAPES,
    request: (text) => head(`HEAD /${toTarget(text)}`, ''),
  },
  {
    name: 'absolute target',
    port: 'public',
    longest: LONGEST_TARGET,
    shapes: SHAPES,
    request: (text) => head(`HEAD http://${toTarget(text)}/banks`, ''),
  },
  {
    name: 'method',
    port: 'public',
    longest: LONGEST_TARGET,
    shapes: SHAPES,
    request: (text) => head(`${toTarget(text)} /banks`, ''),
  },
  {
    name: 'content',
    port: 'public',
    longest: LONGEST_HEAD,
    shapes: BODIES,
    request: (text) => `POST /banks HTTP/1.1\r\nHost: a\r\n${text}`,
  },
  ...['Host', 'X-Forwarded-For', 'Traceparent'].map((name) =>
    header(name, 'HEAD /healthz', 'management'),
  ),
  ...['Authorization', 'Origin', 'Sec-Fetch-Site'].map((name) =>
    header(name, 'POST /refresh', 'management'),
  ),
  {
    name: 'management port: query',
    port: 'management',
    longest: LONGEST_TARGET,
    shapes: SHAPES,
    request: (text) =>
      head(
        `POST /refresh?accept=${toTarget(text)}`,
        `Authorization: Bearer ${MANAGEMENT_TOKEN}\r\n`,
      ),
  },
];

export const MANAGEMENT_TOKEN = 'worst-case-management-token';

/** A space would end the target. */
const toTarget = (text: string): string => text.replaceAll(/[ \t\x80]/g, '+');

/** A plain request for the same, of `length` bytes. */
export const plainRequest = (place: RequestPlace, length: number, isLast: boolean): string => {
  const line = /^[A-Z]+ \S+/.exec(place.request('a'))?.[0] ?? 'HEAD /banks';
  const start = place.name.startsWith('management') ? line.replace(/\?.*/, '') : line;
  const last = isLast ? 'Connection: close\r\n' : '';
  const empty = head(start, `${last}X-Plain: \r\n`).length;
  return head(start, `${last}X-Plain: ${'a'.repeat(Math.max(1, length - empty))}\r\n`);
};

/** Sends requests to one port, one after the other, and measures the service meanwhile. */
export const createSender = (port: number, service: Running) => {
  let socket: Socket | undefined;
  let received = '';

  const open = async (): Promise<Socket> => {
    const opened = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: false });
    // It may be reset behind its last answer, which is not read to the end.
    opened.on('error', () => undefined);
    opened.on('data', (chunk) => void (received += chunk.toString('latin1')));
    await once(opened, 'connect');
    return opened;
  };

  /** Sends `count` requests at once, and resolves with the answers' heads. */
  const exchange = async (bytes: string, count = 1): Promise<string> => {
    socket ??= await open();
    received = '';
    socket.write(bytes.repeat(count), 'latin1');
    for await (const _ of on(socket, 'data', {
      close: ['close'],
      signal: AbortSignal.timeout(ANSWER_MS),
    }))
      if (received.split(END_OF_HEAD).length > count) break;
    if (received === '' || /\r\nconnection: close/i.test(received)) {
      socket.end();
      if (!socket.destroyed) await once(socket, 'close');
      socket = undefined;
    }
    return received;
  };

  return {
    exchange,
    /** Whether the answer ends the connection. */
    isLast: async (bytes: string): Promise<boolean> => {
      await exchange(bytes);
      return socket === undefined;
    },
    costOf:
      (bytes: string, isLast: boolean): Cost =>
      async () => {
        await wait(SETTLE_MS);
        const before = service.preciseCpuUs();
        if (isLast) for (let sent = 0; sent < CONNECTIONS; sent += 1) await exchange(bytes);
        else await exchange(bytes, PIPELINED);
        await wait(SETTLE_MS);
        return (service.preciseCpuUs() - before) / (isLast ? CONNECTIONS : PIPELINED);
      },
    close: (): void => void socket?.destroy(),
  };
};

const END_OF_HEAD = '\r\n\r\n';
/** So many are a few milliseconds, and far from the limit for requests that wait. */
const PIPELINED = 20;
const CONNECTIONS = 6;
const ANSWER_MS = 10_000;
/** The system counts what a thread has used when that stops, and at the next of its ticks. */
const SETTLE_MS = 3;
