import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { MAX_HEADER_BYTES, MAX_HEADERS } from './limits.ts';
import { isHost } from './refusals.ts';

// Reads ordinary GET requests for one path and no others, in one pass over the bytes. It is not a
// parser: it accepts less than RFC 9112 allows. Node's parser reads each request that it accepts
// with the same meaning, and decides about everything else. So no content or malformed header can
// slip through here.

export interface OrdinaryRequest extends Readonly<Pick<IncomingMessage, 'method' | 'url'>> {
  /** The headers that the caller asked for, and the ones that are read here. No others. */
  readonly headers: IncomingHttpHeaders;
  readonly socket: Socket;
  /** Whether the client wants the connection to end with the response. */
  readonly isLast: boolean;
}

/**
 * Makes what reads requests for `path`. It gives the request, with the headers of these `names`, if
 * `bytes` is the whole head of an ordinary one. Otherwise leave it to Node's parser.
 */
export const createOrdinaryRequestReader = (path: string, names: readonly string[]) => {
  const start = `GET ${path}`;
  const readHeaders = createReadHeaders([...new Set([...READ_HERE, ...names])]);

  return (bytes: Buffer, socket: Socket): OrdinaryRequest | undefined => {
    if (bytes.length > LONGEST) return undefined;
    const pathEnd = skip(bytes, 0, start);
    const hasQuery = bytes[pathEnd] === QUESTION_MARK;
    const targetEnd = hasQuery ? endOf(bytes, pathEnd, OF_QUERY) : pathEnd;
    const versionAt = skip(bytes, targetEnd, ' HTTP/1.');
    const isHttp10 = bytes[versionAt] === ZERO;
    const headersAt = skip(bytes, versionAt, isHttp10 ? '0\r\n' : '1\r\n');
    if (headersAt < 0) return undefined;
    // The values are slices of one text: decoding each from the bytes takes 0.1 µs, on Node 20.
    const text = bytes.toString('latin1');
    const headers = readHeaders(bytes, text, headersAt);
    if (!headers?.['host'] || !isHost(headers['host'])) return undefined;

    // Java's HttpClient, before Java 19, and Reactor Netty say of a GET that it has no content.
    if ((headers['content-length'] ?? '0') !== '0') return undefined;
    const connection = headers['connection']?.toLowerCase();
    const isLast = connection === 'close' || (connection === undefined && isHttp10);
    if (!isLast && (isHttp10 || (connection !== undefined && connection !== 'keep-alive')))
      return undefined;
    const url = hasQuery ? text.slice('GET '.length, targetEnd) : path;
    return { method: 'GET', url, headers, socket, isLast };
  };
};

const READ_HERE = ['host', 'connection', 'content-length'];

/** With one of these a request has content, or may end the connection. */
const SPECIAL = ['transfer-encoding', 'expect', 'proxy-connection'];

/** Node does not count exactly by bytes: near the limit, leave it to Node. */
const LONGEST = MAX_HEADER_BYTES / 2;

// The functions below give the offset after what they read, or NOT_ORDINARY.

const NOT_ORDINARY = -1;

/** Each of the names, with its value if it was sent. */
type KeptHeaders = Record<string, string | undefined>;

/** Makes what reads a header section and keeps the headers with these names. */
const createReadHeaders = (names: readonly string[]) => {
  const none: KeptHeaders = Object.fromEntries(names.map((name) => [name, undefined]));
  const all = [...names, ...SPECIAL].map((name) => ({ name, letters: Buffer.from(name) }));
  const longest = Math.max(...all.map(({ letters }) => letters.length));
  const byLength = Array.from({ length: longest + 1 }, (_, length) =>
    all.filter(({ letters }) => letters.length === length),
  );

  const nameIn = (bytes: Buffer, start: number, end: number): string | undefined => {
    for (const { name, letters } of byLength[end - start] ?? []) {
      let index = 0;
      // Changes `A` to `a`, and leaves `-` as it is.
      while (index < letters.length && ((bytes[start + index] ?? 0) | 0x20) === letters[index])
        index += 1;
      if (index === letters.length) return name;
    }
    return undefined;
  };
  /** Reads one line into `headers`, if its header is one of them. */
  const readLine = (bytes: Buffer, text: string, start: number, headers: KeptHeaders): number => {
    const nameEnd = endOf(bytes, start, OF_NAME);
    if (nameEnd === start || bytes[nameEnd] !== COLON) return NOT_ORDINARY;
    const name = nameIn(bytes, start, nameEnd);
    // Node trims and joins unusual characters in its own way. That matters only if the value does.
    const valueEnd = endOf(bytes, nameEnd + 1, name === undefined ? TEXT : PRINTABLE);
    if (name !== undefined) {
      // With two headers of one name, Node joins them, takes the first or refuses them, depending
      // on the name. The special ones are not in `headers`.
      if (headers[name] !== undefined || !(name in headers)) return NOT_ORDINARY;
      headers[name] = text.slice(nameEnd + 1, valueEnd).trim();
    }
    return skip(bytes, valueEnd, '\r\n');
  };

  /** Undefined if `bytes`, from `start` to the end, are not an ordinary one. `text` is all of it. */
  return (bytes: Buffer, text: string, start: number): KeptHeaders | undefined => {
    const headers: KeptHeaders = { ...none };
    let at = start;
    for (let count = 0; at >= 0 && bytes[at] !== CR; count += 1)
      at = count < MAX_HEADERS ? readLine(bytes, text, at, headers) : NOT_ORDINARY;
    return skip(bytes, at, '\r\n') === bytes.length ? headers : undefined;
  };
};

const skip = (bytes: Buffer, start: number, expected: string): number => {
  if (start < 0 || start + expected.length > bytes.length) return NOT_ORDINARY;
  for (let index = 0; index < expected.length; index += 1)
    if (bytes[start + index] !== expected.charCodeAt(index)) return NOT_ORDINARY;
  return start + expected.length;
};

/** The offset of the first byte from `start` on that is not one of `characters`. */
const endOf = (bytes: Buffer, start: number, characters: Uint8Array): number => {
  let at = start;
  while (at < bytes.length && characters[bytes[at] ?? 0] === 1) at += 1;
  return at;
};

/** For each byte, 1 if it is one of the characters that `pattern` matches. */
const charactersOf = (pattern: RegExp): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => Number(pattern.test(String.fromCharCode(byte))));

/** RFC 9110 section 5.6.2's tchar. */
const OF_NAME = charactersOf(/[\w!#$%&'*+.^`|~-]/);
const PRINTABLE = charactersOf(/[ -~]/);
/** Also tabs and what is not ASCII, as in cookies and the names of cities. */
const TEXT = charactersOf(/[\t -~\x80-\xff]/);
/** Printable, but neither a space nor `#`. */
const OF_QUERY = charactersOf(/[!"$-~]/);

const CR = 0x0d;
const ZERO = 0x30;
const COLON = 0x3a;
const QUESTION_MARK = 0x3f;
