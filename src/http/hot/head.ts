import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { HOST } from '../listener/admission.ts';
import { MAX_HEADER_BYTES, MAX_TARGET_LENGTH } from '../listener/limits.ts';
import { createScan, FIELD, scanRequest, type Field, type Scan } from './scan.ts';

// Reads ordinary requests for /banks and no others. Node's parser reads each of them with the same meaning, and decides about
// everything else. So no body, second request or malformed header can slip through here.

/** What an answer and its log line depend on. */
export type RequestHead = Readonly<Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'socket'>>;

/** `headers` has only those that the answer, the log line or the connection depends on. */
export interface OrdinaryHead extends RequestHead {
  readonly headers: Readonly<
    Record<Exclude<Field, 'host' | 'connection' | 'content-length'>, string | undefined>
  >;
  /** Whether the client wants the connection to end with the answer. */
  readonly isLast: boolean;
}

/**
 * Gives the head of the request, if `bytes` is one whole ordinary request. `incomplete`: only its end is missing. `other`:
 * leave it to Node's parser.
 */
export const createReadRequestHead = () => {
  const scan = createScan();
  const text = createText(scan);
  let validHost = '';

  return (bytes: Buffer, socket: Socket): OrdinaryHead | 'incomplete' | 'other' => {
    if (bytes.length > LONGEST) return 'other';
    const scanned = scanRequest(bytes, scan);
    if (scanned !== 'whole') return scanned;

    const host = text(bytes, FIELD.host) ?? '';
    if (host !== validHost) {
      if (!HOST.test(host)) return 'other';
      validHost = host;
    }
    // Java's HttpClient, before Java 19, and Reactor Netty say of a GET that it has no content.
    if ((text(bytes, FIELD['content-length']) ?? '0') !== '0') return 'other';
    const connection = text(bytes, FIELD.connection)?.toLowerCase();
    const isLast = connection === 'close' || (connection === undefined && scan.isHttp10);
    if (!isLast && (scan.isHttp10 || (connection !== undefined && connection !== 'keep-alive')))
      return 'other';
    const { targetStart, targetEnd } = scan;
    if (targetEnd - targetStart > MAX_TARGET_LENGTH) return 'other';
    return {
      method: scan.isHead ? 'HEAD' : 'GET',
      url:
        targetEnd - targetStart === BANKS.length ? BANKS : bytes.toString('latin1', targetStart, targetEnd),
      headers: readHeaders(bytes, text),
      socket,
      isLast,
    };
  };
};

/** Node does not count exactly by bytes: near the limit, leave it to Node. */
const LONGEST = MAX_HEADER_BYTES / 2;
const BANKS = '/banks';

type Text = (bytes: Buffer, field: number) => string | undefined;

/** Most clients repeat most values, and a string that exists need not be created. */
const createText = ({ starts, ends }: Scan): Text => {
  const newest = Object.keys(FIELD).map(() => '');
  return (bytes, field) => {
    const start = starts[field] ?? 0;
    if (start === 0) return undefined;
    const end = ends[field] ?? 0;
    const known = newest[field] ?? '';
    if (isText(bytes, start, end, known)) return known;
    return (newest[field] = bytes.toString('latin1', start, end).trim());
  };
};

const isText = (bytes: Buffer, start: number, end: number, text: string): boolean => {
  if (text.length !== end - start) return false;
  for (let index = 0; index < text.length; index += 1)
    if (bytes[start + index] !== text.charCodeAt(index)) return false;
  return true;
};

/** Written out, so that all heads have one shape. */
const readHeaders = (bytes: Buffer, text: Text): OrdinaryHead['headers'] => ({
  origin: text(bytes, FIELD.origin),
  'accept-encoding': text(bytes, FIELD['accept-encoding']),
  'if-match': text(bytes, FIELD['if-match']),
  'if-none-match': text(bytes, FIELD['if-none-match']),
  'if-modified-since': text(bytes, FIELD['if-modified-since']),
  'if-unmodified-since': text(bytes, FIELD['if-unmodified-since']),
  'x-request-id': text(bytes, FIELD['x-request-id']),
  'x-forwarded-for': text(bytes, FIELD['x-forwarded-for']),
  traceparent: text(bytes, FIELD.traceparent),
});
