import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { toLines, toStatusLine, type FlatHeaders } from './headers.ts';
import { MAX_HEADERS, MAX_HOST_LENGTH, MAX_TARGET_LENGTH } from './limits.ts';

// Requests that are refused, whatever they ask for: the front does not pass some on to the
// application, and Node's parser accepts others although they must or should be refused.

/** Why no application gets a request. `method_not_allowed` is CONNECT. */
export type RefusalCode =
  'bad_request' | 'headers_too_large' | 'request_timeout' | 'method_not_allowed';

/** Why the application must refuse this request; undefined: it need not. */
export const refusalOf = (
  req: IncomingMessage,
): 'bad_request' | 'uri_too_long' | 'headers_too_large' | 'expectation_failed' | undefined => {
  const { url = '', method, headers, rawHeaders, httpVersion } = req;
  if (rawHeaders.length > 2 * MAX_HEADERS) return 'headers_too_large';
  if (url.length > MAX_TARGET_LENGTH) return 'uri_too_long';
  // RFC 9112 section 3.2: none in HTTP/1.1, two, or a malformed one is a 400. Node would take the
  // first of two, and a proxy in front perhaps the other.
  const hosts = countHosts(rawHeaders);
  if (hosts > 1 || (hosts === 0 && httpVersion !== '1.0') || !isHost(headers.host ?? ''))
    return 'bad_request';
  // Origin-form, absolute-form and the asterisk of OPTIONS (sections 3.2.1, 3.2.2 and 3.2.4);
  // CONNECT never comes here.
  const isServerWide = method === 'OPTIONS' && url === '*';
  if (!url.startsWith('/') && !isAbsoluteForm(url) && !isServerWide) return 'bad_request';
  const { expect } = headers;
  return expect === undefined || expect.toLowerCase() === '100-continue'
    ? undefined
    : 'expectation_failed';
};

/** Whether it is a value of `Host`; it may be empty. */
export const isHost = (text: string): boolean => text.length <= MAX_HOST_LENGTH && HOST.test(text);

/** RFC 3986's reg-name, IP literals and a port. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;
/**
 * With a valid authority: Node's old parser, with which Express routes, takes any and prints a
 * warning.
 */
const isAbsoluteForm = (url: string): boolean => {
  const authority = authorityOf(url) ?? '';
  const isShort = authority !== '' && authority.length <= MAX_HOST_LENGTH;
  return isShort && URL.canParse(`http://${authority}`);
};

/** Of an absolute target; undefined for another one. */
const authorityOf = (url: string): string | undefined => /^https?:\/\/([^/?#]*)/i.exec(url)?.[1];

const countHosts = (rawHeaders: readonly string[]): number =>
  rawHeaders.filter(
    (name, index) => index % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host',
  ).length;

/** The response to a request that no application gets. */
export interface RefusalResponse {
  readonly status: number;
  readonly headers: FlatHeaders;
  readonly body: string;
}

/** Writes it: the last response of its connection. */
export const writeRefusal = (socket: Socket, { status, headers, body }: RefusalResponse): void => {
  const last = ['Date', new Date().toUTCString(), 'Connection', 'close'];
  socket.write(`${toStatusLine(status)}${toLines([...headers, ...last])}\r\n${body}`);
};
