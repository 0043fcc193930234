import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { toLines, toStatusLine, type FlatHeaders } from './response-head.ts';
import { MAX_HEADERS } from './limits.ts';

// Requests that the application never gets, whatever they ask for: Node's parser refuses some, and
// accepts others that must or should be refused.

/** What is known of a request: if it could not be read, only who has sent it. */
export type RequestHead = Readonly<Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'socket'>>;

/** Why a request is refused. */
export type RefusalCode = 'bad_request' | 'headers_too_large' | 'request_timeout';

/** Options of node:http without which `refusalOf` would not see what it must refuse. */
export const NODE_OPTIONS = {
  // Node's response would be a bare 400.
  requireHostHeader: false,
  // Node would keep the first of two `Host` headers; a proxy in front perhaps the other.
  joinDuplicateHeaders: true,
};

/** Why a request that Node's parser has accepted must be refused; undefined: it need not. */
export const refusalOf = (req: IncomingMessage): RefusalCode | undefined => {
  const { url = '', method, rawHeaders, httpVersion, headers } = req;
  if (rawHeaders.length > 2 * MAX_HEADERS) return 'headers_too_large';
  // RFC 9112 section 3.2: none in HTTP/1.1, two, or a malformed one is a 400. Two are joined by a
  // comma and a space (see NODE_OPTIONS), which makes them malformed.
  const isHostRight = headers.host === undefined ? httpVersion === '1.0' : isHost(headers.host);
  if (!isHostRight) return 'bad_request';
  // The asterisk-form (section 3.2.4). CONNECT never comes here.
  if (url === '*' && method === 'OPTIONS') return undefined;
  return toOriginForm(url) === undefined ? 'bad_request' : undefined;
};

/** Whether it is a value of `Host`: RFC 3986's reg-name or IP literal, and a port. May be empty. */
export const isHost = (text: string): boolean => HOST.test(text);

const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;

/**
 * The path and query of a request target in origin-form or absolute-form (RFC 9112 sections 3.2.1
 * and 3.2.2); undefined for any other. Express would have an absolute one read by Node's old URL
 * parser, which takes malformed ones and prints a warning.
 */
export const toOriginForm = (target: string): string | undefined => {
  if (target.startsWith('/')) return target;
  const [start = '', authority = ''] = ABSOLUTE.exec(target) ?? [];
  if (authority === '' || !isHost(authority)) return undefined;
  const rest = target.slice(start.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
};

const ABSOLUTE = /^https?:\/\/([^/?#]*)/i;

/** The response to a request that no application gets. */
export interface RefusalResponse {
  readonly status: number;
  readonly headers: FlatHeaders;
  readonly body: string;
}

/** Writes it: the last response of its connection. */
export const writeRefusal = (
  socket: Socket,
  method: string | undefined,
  { status, headers, body }: RefusalResponse,
): void => {
  const last = ['Date', new Date().toUTCString(), 'Connection', 'close'];
  const head = `${toStatusLine(status)}${toLines([...headers, ...last])}\r\n`;
  socket.write(method === 'HEAD' ? head : head + body);
};
