import { MAX_HEADERS } from '../listener/limits.ts';

// One pass over the bytes of a request for /banks. It is not a parser: it accepts less than RFC 9112 allows, and what it does
// not accept is left to Node's parser. It creates no object and no string.

/** The headers that the answer, the log line, the connection or the content depends on, with indexes in a {@link Scan}. */
export const FIELD = {
  host: 0,
  connection: 1,
  origin: 2,
  'accept-encoding': 3,
  'if-match': 4,
  'if-none-match': 5,
  'if-modified-since': 6,
  'if-unmodified-since': 7,
  'x-request-id': 8,
  'x-forwarded-for': 9,
  traceparent: 10,
  'content-length': 11,
} as const;
export type Field = keyof typeof FIELD;

/** With any of these a request has content, wants another protocol, or may end the connection. */
const SPECIAL = ['transfer-encoding', 'expect', 'upgrade', 'proxy-connection'] as const;

const FIELDS = Object.keys(FIELD);

/**
 * `whole`: one request without content, and nothing after it. `incomplete`: only the end of one is missing. `other`: anything
 * else.
 */
export type Scanned = 'whole' | 'incomplete' | 'other';

/** Where the parts of a request are, as offsets into its bytes. The next scan overwrites it. */
export interface Scan {
  isHead: boolean;
  isHttp10: boolean;
  targetStart: number;
  targetEnd: number;
  /** By {@link FIELD}: where the header's value begins, or 0 without the header, and where it ends, with the spaces around it. */
  readonly starts: Uint16Array;
  readonly ends: Uint16Array;
}

export const createScan = (): Scan => ({
  isHead: false,
  isHttp10: false,
  targetStart: 0,
  targetEnd: 0,
  starts: new Uint16Array(FIELDS.length),
  ends: new Uint16Array(FIELDS.length),
});

/** Scans at most 64 KiB; `scan` is valid if it returns `whole`. */
export const scanRequest = (bytes: Uint8Array, scan: Scan): Scanned => {
  let at = scanRequestLine(bytes, scan);
  scan.starts.fill(0);
  for (let count = 0; at >= 0 && bytes[at] !== CR; count += 1)
    at = count < MAX_HEADERS ? scanHeader(bytes, at, scan) : OTHER;
  if (at >= 0) at = after(bytes, at, CRLF);
  if (at === INCOMPLETE) return 'incomplete';
  return at === bytes.length && scan.starts[FIELD.host] !== 0 ? 'whole' : 'other';
};

/** What the functions below return instead of an offset. */
const OTHER = -1;
const INCOMPLETE = -2;

const scanRequestLine = (bytes: Uint8Array, scan: Scan): number => {
  scan.isHead = bytes[0] === HEAD_BANKS[0];
  const start = scan.isHead ? HEAD_BANKS : GET_BANKS;
  let at = after(bytes, 0, start);
  if (at < 0) return at;
  if (bytes[at] === QUESTION_MARK) at = endOfRun(bytes, at, QUERY);
  scan.targetStart = start.length - BANKS_LENGTH;
  scan.targetEnd = at;
  at = after(bytes, at, HTTP_1);
  if (at < 0) return at;
  scan.isHttp10 = bytes[at] === ZERO;
  return after(bytes, at, scan.isHttp10 ? ZERO_CRLF : ONE_CRLF);
};

/** Returns the offset after the line. */
const scanHeader = (bytes: Uint8Array, start: number, { starts, ends }: Scan): number => {
  const nameEnd = endOfRun(bytes, start, NAME);
  if (nameEnd === start && start < bytes.length) return OTHER;
  let valueStart = after(bytes, nameEnd, COLON);
  if (valueStart < 0) return valueStart;
  if (bytes[valueStart] === SPACE) valueStart += 1;
  let valueEnd = endOfRun(bytes, valueStart, PRINTABLE);
  let isSignificant = false;
  for (const index of INDEXES_BY_LENGTH[nameEnd - start] ?? []) {
    if (!isNamed(bytes, start, NAMES[index])) continue;
    // With two headers of one name, Node joins them, takes the first or refuses them, depending on the name.
    if (index >= FIELDS.length || starts[index] !== 0) return OTHER;
    starts[index] = valueStart;
    ends[index] = valueEnd;
    isSignificant = true;
  }
  // Node trims and joins other characters in ways of its own, which matters only where the value does.
  if (!isSignificant) valueEnd = endOfRun(bytes, valueEnd, VALUE);
  return after(bytes, valueEnd, CRLF);
};

/** The offset after `expected`, which must be at `start`. */
const after = (bytes: Uint8Array, start: number, expected: Uint8Array): number => {
  for (let index = 0; index < expected.length; index += 1) {
    if (start + index >= bytes.length) return INCOMPLETE;
    if (bytes[start + index] !== expected[index]) return OTHER;
  }
  return start + expected.length;
};

/** The offset of the first byte from `start` on that is not of `kind`. */
const endOfRun = (bytes: Uint8Array, start: number, kind: number): number => {
  let at = start;
  while (at < bytes.length && ((KINDS[bytes[at] ?? 0] ?? 0) & kind) !== 0) at += 1;
  return at;
};

const isNamed = (bytes: Uint8Array, start: number, name: Uint8Array = CRLF): boolean => {
  for (let index = 0; index < name.length; index += 1)
    if (((bytes[start + index] ?? 0) | LOWER_CASE) !== name[index]) return false;
  return true;
};

const BANKS_LENGTH = '/banks'.length;
const GET_BANKS = Buffer.from('GET /banks');
const HEAD_BANKS = Buffer.from('HEAD /banks');
const HTTP_1 = Buffer.from(' HTTP/1.');
const ONE_CRLF = Buffer.from('1\r\n');
const ZERO_CRLF = Buffer.from('0\r\n');
const COLON = Buffer.from(':');
const CRLF = Buffer.from('\r\n');
const CR = 0x0d;
const SPACE = 0x20;
const QUESTION_MARK = 0x3f;
const ZERO = 0x30;
/** Changes `A` to `a`, and leaves `-` as it is: the only other character in {@link NAMES}. */
const LOWER_CASE = 0x20;

const NAMES = [...FIELDS, ...SPECIAL].map((name) => Buffer.from(name));
/** For each length of a name, the indexes in {@link NAMES}. */
const INDEXES_BY_LENGTH = Array.from(
  { length: 1 + Math.max(...NAMES.map((name) => name.length)) },
  (_, length) => [...NAMES.keys()].filter((index) => NAMES[index]?.length === length),
);

/** Kinds of characters, as bits. */
const NAME = 1;
const PRINTABLE = 2;
const VALUE = 4;
const QUERY = 8;
/**
 * RFC 9110 section 5.6.2's tchar; printable ASCII; the same with tabs and what is not ASCII, as in cookies and the names of
 * cities; printable ASCII without space and `#`.
 */
const PATTERNS = [
  [NAME, /[\w!#$%&'*+.^`|~-]/],
  [PRINTABLE, /[ -~]/],
  [VALUE, /[\t -~\x80-\xff]/],
  [QUERY, /[!"$-~]/],
] as const;
const KINDS = Uint8Array.from({ length: 256 }, (_, byte) =>
  PATTERNS.reduce(
    (kinds, [kind, pattern]) => (pattern.test(String.fromCharCode(byte)) ? kinds | kind : kinds),
    0,
  ),
);
