import { numbered, SHAPES, type Shape } from './shapes.ts';

// Where a client's text enters: the parts of a request's head, as bytes that a raw client sends.

export interface RequestPlace {
  readonly name: string;
  readonly port: 'public' | 'management' | 'emulator' | 'control';
  /** Longest text, in bytes. */
  readonly longest: number;
  readonly shapes: readonly Shape[];
  /** A request with `text` in that place. */
  readonly request: (text: string) => string;
  /** What it is compared with; by default, a request with one long header that nothing reads. */
  readonly plain?: (length: number, isLast: boolean) => string;
}

/** A head of 16 KiB is refused; one of 8 KiB is left to node:http. */
const LONGEST_HEAD = 15_500;
const LONGEST_TARGET = 7_900;

/**
 * Those that anything here reads: this service, Express or node:http. With what a plain request has
 * there; undefined: nothing.
 */
const HEADERS: Readonly<Record<string, string | undefined>> = {
  Host: 'banks.example.com',
  Connection: 'keep-alive',
  Origin: 'https://other.example.com',
  'Accept-Encoding': 'gzip, deflate, br, zstd',
  'If-Match': '*',
  'If-None-Match': '"a"',
  'If-Modified-Since': 'Sun, 06 Nov 1994 08:49:37 GMT',
  'If-Unmodified-Since': 'Fri, 31 Dec 9999 23:59:59 GMT',
  'X-Request-Id': 'a',
  'X-Forwarded-For': '203.0.113.7',
  Traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  'Content-Length': '0',
  'Transfer-Encoding': undefined,
  Expect: undefined,
  Upgrade: undefined,
  Cookie: 'a=b',
  Authorization: 'Basic YTph',
  'Access-Control-Request-Method': 'GET',
  'Access-Control-Request-Headers': 'content-type',
  'Sec-Fetch-Site': 'same-site',
};

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
  plain: (length, isLast) => {
    const value = HEADERS[name];
    const isIncluded = value !== undefined && !(isLast && name === 'Connection');
    return plainRequest(line, length, isLast, isIncluded ? `${name}: ${value}\r\n` : '');
  },
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
  numbered(() => 'a:\r\n', 'one short name'),
  numbered((index) => `${index}:\r\n`, 'different short names'),
  numbered(() => 'cookie:a\r\n', 'Cookie'),
  numbered(() => 'if-none-match:"a"\r\n', 'If-None-Match'),
  numbered(() => 'accept-encoding:a\r\n', 'Accept-Encoding'),
  numbered(() => 'x-forwarded-for:::1\r\n', 'X-Forwarded-For'),
  numbered(() => 'set-cookie:a\r\n', 'Set-Cookie'),
  numbered(() => 'host:a\r\n', 'Host'),
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

export const MANAGEMENT_TOKEN = 'worst-case-management-token';

/** A space would end the target. */
const toTarget = (text: string): string => text.replaceAll(/[ \t\x80]/g, '+');

const emulatorPlace = (
  port: 'emulator' | 'control',
  name: string,
  longest: number,
  request: RequestPlace['request'],
): RequestPlace => ({
  name: `${port === 'control' ? "the emulator's control" : 'the emulator'}: ${name}`,
  port,
  longest,
  shapes: SHAPES,
  request,
  plain: (length) => request('a'.repeat(Math.max(1, length - request('').length))),
});

/** Where the emulator of the provider reads. It is compared with a plain text in the same place. */
const EMULATOR_PLACES: readonly RequestPlace[] = [
  emulatorPlace('emulator', 'Authorization', LONGEST_HEAD, (text) =>
    head('GET /api/v1/banks', `Authorization: ${text}\r\n`),
  ),
  emulatorPlace('emulator', 'Basic credentials', LONGEST_HEAD, (text) =>
    head('POST /oauth/token', `Authorization: Basic ${text}\r\nContent-Length: 0\r\n`),
  ),
  emulatorPlace('emulator', 'path', LONGEST_TARGET, (text) => head(`GET /${toTarget(text)}`, '')),
  emulatorPlace(
    'emulator',
    'request for a token',
    16_000,
    (text) =>
      `${head(
        'POST /oauth/token',
        `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${text.length}\r\n`,
      )}${text}`,
  ),
  emulatorPlace('control', 'path', LONGEST_TARGET, (text) =>
    head(`PUT /behaviour/${toTarget(text)}`, ''),
  ),
  emulatorPlace('control', 'query', LONGEST_TARGET, (text) =>
    head(`PUT /behaviour/healthy?${toTarget(text)}`, ''),
  ),
];

export const REQUEST_PLACES: readonly RequestPlace[] = [
  ...Object.keys(HEADERS).map((name) => header(name)),
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
    plain: (length, isLast) =>
      plainRequest(
        'POST /refresh?accept=a',
        length,
        isLast,
        `Authorization: Bearer ${MANAGEMENT_TOKEN}\r\n`,
      ),
  },
  ...EMULATOR_PLACES,
];

/** A plain request `line` of `length` bytes. */
export const plainRequest = (
  line: string,
  length: number,
  isLast: boolean,
  headers = '',
): string => {
  const rest = `${headers}${isLast ? 'Connection: close\r\n' : ''}`;
  const withFiller = (filler: string): string => {
    const text = head(line, `${rest}X-Plain: ${filler}\r\n`);
    return headers.startsWith('Host') ? text.replace('Host: a\r\n', '') : text;
  };
  return withFiller('a'.repeat(Math.max(1, length - withFiller('').length)));
};

/** The plain request for `place`, which ends the connection if the other one does. */
export const plainFor = (place: RequestPlace, length: number, isLast: boolean): string => {
  if (place.plain) return place.plain(length, isLast);
  const [line = ''] = /^[A-Z]+ \S+/.exec(place.request('a')) ?? ['HEAD /banks'];
  return plainRequest(
    place.port === 'management' ? line.replace(/\?.*/, '') : line,
    length,
    isLast,
  );
};
