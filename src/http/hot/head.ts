import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { HOST } from '../listener/admission.ts';
import { MAX_HEADER_BYTES, MAX_HEADERS, MAX_TARGET_LENGTH } from '../listener/limits.ts';

// Reads the ordinary request for /banks, and no other: no parser, but a pattern that is narrower than the grammar. What
// fits it, Node's parser would take with the same meaning; whatever does not, or might not, is left for that parser to
// judge. So there is nothing here that a body, a second request or a malformed field could slip through.

/** What an answer and its log line depend on. Of the fields, this module reads the significant ones only. */
export type RequestHead = Readonly<Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'socket'>>;

/** The head of a request that is the whole of `bytes`; undefined where Node's parser has to look. */
export const readRequestHead = (bytes: Buffer, socket: Socket): RequestHead | undefined => {
  if (bytes.length > LONGEST) return undefined;
  const text = bytes.toString('latin1');
  const line = WHOLE_REQUEST.exec(text);
  if (!line) return undefined;
  const [, method = '', url = ''] = line;
  const headers: Record<string, string> = {};
  SIGNIFICANT.lastIndex = 0;
  for (let field = SIGNIFICANT.exec(text); field; field = SIGNIFICANT.exec(text)) {
    const [, name = '', value = ''] = field;
    const key = name.toLowerCase();
    // Node joins two fields of one name, takes the first or refuses them, as the name may be.
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

/** Node counts a little otherwise than by bytes: near its bound it shall decide. */
const LONGEST = MAX_HEADER_BYTES / 2;

/** Printable ASCII, one blank after each colon, and nothing after the empty line. */
const WHOLE_REQUEST = new RegExp(
  String.raw`^(GET|HEAD) (/banks(?:\?[!"$-~]*)?) HTTP/1\.1\r\n(?:[\w-]+: [ -~]*\r\n){1,${MAX_HEADERS}}\r\n$`,
);

/** With any of these a request has content, wants another protocol, or may end the connection. */
const SPECIAL = ['content-length', 'transfer-encoding', 'expect', 'upgrade', 'proxy-connection'] as const;

/** Every field that the answer, the log line or the connection depends on. */
const SIGNIFICANT = new RegExp(
  String.raw`\n(host|connection|origin|accept-encoding|if-(?:none-match|match|modified-since|unmodified-since)|x-request-id|x-forwarded-for|traceparent|${SPECIAL.join('|')}): ([^\r]*)`,
  'gi',
);
