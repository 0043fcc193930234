import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { HOST } from '../listener/admission.ts';
import { MAX_HEADER_BYTES, MAX_HEADERS, MAX_TARGET_LENGTH } from '../listener/limits.ts';

// Reads ordinary requests for /banks and no others: not with a parser, but with a pattern that is narrower than the grammar.
// Node's parser reads what matches with the same meaning, and decides about everything else. So no body, second request or
// malformed header can slip through here.

/** What an answer and its log line depend on. `headers` has only those that this module reads. */
export type RequestHead = Readonly<Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'socket'>>;

/** The head of the request, if `bytes` is one whole ordinary request; undefined: leave it to Node's parser. */
export const readRequestHead = (bytes: Buffer, socket: Socket): RequestHead | undefined => {
  if (bytes.length > LONGEST) return undefined;
  const text = bytes.toString('latin1');
  const line = WHOLE_REQUEST.exec(text);
  if (!line) return undefined;
  const [, method = '', url = ''] = line;
  const headers: Record<string, string> = {};
  SIGNIFICANT.lastIndex = 0;
  for (let header = SIGNIFICANT.exec(text); header; header = SIGNIFICANT.exec(text)) {
    const [, name = '', value = ''] = header;
    const key = name.toLowerCase();
    // With two headers of one name, Node joins them, takes the first or refuses them, depending on the name.
    if (key in headers) return undefined;
    headers[key] = value.trim();
  }
  const isOrdinary =
    headers['host'] !== undefined &&
    HOST.test(headers['host']) &&
    (headers['connection'] ?? 'keep-alive').toLowerCase() === 'keep-alive' &&
    !SPECIAL.some((name) => name in headers) &&
    url.length <= MAX_TARGET_LENGTH;
  return isOrdinary ? { method, url, headers, socket } : undefined;
};

/** Node does not count exactly by bytes: near the limit, leave it to Node. */
const LONGEST = MAX_HEADER_BYTES / 2;

/** Printable ASCII, one space after each colon, and nothing after the empty line. */
const WHOLE_REQUEST = new RegExp(
  String.raw`^(GET|HEAD) (/banks(?:\?[!"$-~]*)?) HTTP/1\.1\r\n(?:[\w-]+: [ -~]*\r\n){1,${MAX_HEADERS}}\r\n$`,
);

/** With any of these a request has content, wants another protocol, or may end the connection. */
const SPECIAL = ['content-length', 'transfer-encoding', 'expect', 'upgrade', 'proxy-connection'] as const;

/** Every header that the answer, the log line or the connection depends on. */
const SIGNIFICANT = new RegExp(
  String.raw`\n(host|connection|origin|accept-encoding|if-(?:none-match|match|modified-since|unmodified-since)|x-request-id|x-forwarded-for|traceparent|${SPECIAL.join('|')}): ([^\r]*)`,
  'gi',
);
