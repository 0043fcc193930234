import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { toLines, toStatusLine, type FlatHeaders } from '../headers.ts';
import { problemAnswer, type ProblemCode } from '../problems.ts';
import { MAX_HEADERS, MAX_TARGET_LENGTH } from './limits.ts';

// Which requests are refused, whatever they ask for: what Node's parser accepts and this service
// does not, and what no application gets: broken, too large or late, or CONNECT. The latter get the
// same problem+json as any other error.

/** Why this request is refused; undefined: it is not. */
export const refusalOf = (req: IncomingMessage): ProblemCode | undefined => {
  const { url = '', method, headers, rawHeaders, httpVersion } = req;
  if (rawHeaders.length > 2 * MAX_HEADERS) return 'headers_too_large';
  if (url.length > MAX_TARGET_LENGTH) return 'uri_too_long';
  // RFC 9112 section 3.2: none in HTTP/1.1, two, or a malformed one is a 400. Node would take the
  // first of two, and a proxy in front perhaps the other.
  const hosts = countHosts(rawHeaders);
  if (hosts > 1 || (hosts === 0 && httpVersion !== '1.0') || !HOST.test(headers.host ?? ''))
    return 'bad_request';
  // Origin-form, absolute-form and the asterisk of OPTIONS (sections 3.2.1, 3.2.2 and 3.2.4);
  // CONNECT never comes here.
  if (!url.startsWith('/') && !isAbsoluteForm(url) && !isServerWide(method, url))
    return 'bad_request';
  const { expect } = headers;
  return expect === undefined || expect.toLowerCase() === '100-continue'
    ? undefined
    : 'expectation_failed';
};

/** `OPTIONS *` asks about the server and not about a resource (RFC 9110 section 9.3.7). */
export const isServerWide = (method: string | undefined, url: string | undefined): boolean =>
  method === 'OPTIONS' && url === '*';

/** Whether content follows the head. No resource takes any. */
export const hasContent = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** RFC 3986's reg-name, IP literals and a port; an empty host is allowed. */
export const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;
/**
 * With a valid authority: Node's old parser, with which Express routes, takes any and prints a
 * warning.
 */
const isAbsoluteForm = (url: string): boolean =>
  /^https?:\/\/[^/?#]/i.test(url) && URL.canParse(url);

const countHosts = (rawHeaders: readonly string[]): number =>
  rawHeaders.filter(
    (name, index) => index % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host',
  ).length;

/** Of all methods, only CONNECT is refused here. */
const MORE_HEADERS: { readonly [Code in ProblemCode]?: FlatHeaders } = {
  method_not_allowed: ['Allow', 'GET, HEAD, OPTIONS'],
  overloaded: ['Retry-After', '1'],
};

/** One request that never became one, for the log. */
export interface ParserRefusal {
  readonly statusCode: number;
  readonly code: ProblemCode;
  readonly requestId: string;
}

/** Makes what answers such a request on its socket: the last answer there. */
export const createWriteRefusal =
  (commonHeaders: FlatHeaders, onRefusal: (refusal: ParserRefusal) => void) =>
  (socket: Socket, code: ProblemCode): void => {
    const requestId = randomUUID();
    const { status, headers, body } = problemAnswer(code);
    onRefusal({ statusCode: status, code, requestId });
    const own = ['X-Request-Id', requestId, ...(MORE_HEADERS[code] ?? []), ...headers];
    const last = ['Date', new Date().toUTCString(), 'Connection', 'close'];
    socket.write(
      `${toStatusLine(status)}${toLines([...commonHeaders, ...own, ...last])}\r\n${body}`,
    );
  };

/**
 * Whether it is the target that makes a head too long: its first line does not end within the limit
 * for that.
 */
export const isLongTarget = (head: Buffer): boolean =>
  !head.subarray(0, MAX_TARGET_LENGTH).includes('\n');
