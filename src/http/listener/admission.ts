import type { IncomingMessage } from 'node:http';
import { MAX_DROPPED_BODY_BYTES, MAX_HEADERS, MAX_TARGET_LENGTH } from './limits.ts';
import type { ProblemCode } from '../problems.ts';

// What Node's parser accepts and this service does not: pure functions of one request's head.

/** Why this request is refused, whatever it asks for; undefined: it is not. */
export const refusalOf = (req: IncomingMessage): ProblemCode | undefined => {
  const { url = '', method, headers, rawHeaders, httpVersion } = req;
  if (rawHeaders.length > 2 * MAX_HEADERS) return 'headers_too_large';
  if (url.length > MAX_TARGET_LENGTH) return 'uri_too_long';
  // RFC 9112 section 3.2: none in HTTP/1.1, two, or a malformed one is a 400. Node would take the first of two, and a
  // proxy in front perhaps the other.
  const hosts = countHosts(rawHeaders);
  if (hosts > 1 || (hosts === 0 && httpVersion !== '1.0') || !HOST.test(headers.host ?? ''))
    return 'bad_request';
  // Origin-form, absolute-form and the asterisk of OPTIONS (sections 3.2.1, 3.2.2 and 3.2.4); CONNECT never comes here.
  if (!url.startsWith('/') && !isAbsoluteForm(url) && !isServerWide(method, url)) return 'bad_request';
  const { expect } = headers;
  return expect === undefined || expect.toLowerCase() === '100-continue' ? undefined : 'expectation_failed';
};

/** `OPTIONS *` asks about the server and not about a resource (RFC 9110 section 9.3.7). */
export const isServerWide = (method: string | undefined, url: string | undefined): boolean =>
  method === 'OPTIONS' && url === '*';

/**
 * Whether the connection must end with this answer: the body that follows the request is not worth reading, or may
 * never come, since the client waits for a 100 (Continue) that it does not get.
 */
export const hasUnwantedBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  headers.expect !== undefined ||
  Number(headers['content-length'] ?? 0) > MAX_DROPPED_BODY_BYTES;

/** RFC 3986's reg-name, IP literals and a port; an empty host is allowed. */
export const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;
/** With a valid authority: Node's old parser, with which Express routes, takes any and prints a warning. */
const isAbsoluteForm = (url: string): boolean => /^https?:\/\/[^/?#]/i.test(url) && URL.canParse(url);

const countHosts = (rawHeaders: readonly string[]): number => {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
};
