import { randomBytes } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { isServable } from '../../banks/freshness.ts';
import type { Redaction } from '../../secrets/redaction.ts';
import type { RequestEvent } from '../../telemetry/events.ts';
import { PROBES } from '../health.ts';
import type { RequestHead } from '../headers.ts';

// One log line per request: its identifiers, how important it is, and its text where pino does not write it.

/** Gives the client's own `X-Request-Id` where it is well-formed, otherwise a new one. */
export type Identify = (head: Pick<RequestHead, 'headers'>) => string;

/** New identifiers are twelve random characters for this process and a number: unique, and a tenth of a UUID's cost. */
export const createIdentify = (): Identify => {
  const prefix = randomBytes(9).toString('base64url');
  let count = 0;
  return ({ headers }) => {
    const given = headers['x-request-id'];
    return typeof given === 'string' && REQUEST_ID.test(given) ? given : `${prefix}-${(count += 1)}`;
  };
};

const REQUEST_ID = /^[\w.:+/=-]{1,128}$/;

/** The trace-id of a well-formed `traceparent` header. */
export const traceIdOf = ({ headers }: Pick<RequestHead, 'headers'>): string | undefined => {
  const value = headers['traceparent'];
  return typeof value === 'string' ? TRACE_PARENT.exec(value)?.[1] : undefined;
};

/** W3C Trace Context section 3.2: version, trace-id, parent-id, flags. An all-zero trace-id is invalid. */
const TRACE_PARENT = /^[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:$|-)/;

/** {@link PROBES} come every few seconds from every side: their successes would be most of the log. */
export const levelOf = ({
  route,
  status,
  listState,
}: Pick<RequestEvent, 'route' | 'status' | 'listState'>): 'debug' | 'info' | 'warn' | 'error' => {
  if (PROBES.has(route)) return status < 400 ? 'debug' : 'info';
  if (status < 500) return 'info';
  return listState !== undefined && !isServable(listState) ? 'error' : 'warn';
};

/** What a line says of a request, in this order, between the time and the message. */
export interface RequestLine extends Pick<RequestEvent, 'method' | 'status' | 'durationMs' | 'bytes'> {
  readonly requestId: string;
  /** Without the query, at most 256 characters. */
  readonly path: string;
  readonly ip: string | undefined;
  readonly traceId: string | undefined;
  readonly aborted: true | undefined;
}

/**
 * Writes a line of level info as pino does, for the hot path: without a logger's serialisation, and without searching
 * the whole line for secrets, which alone takes 1 to 3 µs. What a client can choose freely is redacted part by part;
 * nothing else in the line can hold a secret.
 */
export const createToText = (redact: Redaction['redact']) => {
  const isoTime = createIsoTime();
  const quote = (clientText: string): string => JSON.stringify(redact(clientText));
  return (line: RequestLine, isClientsId: boolean): string => {
    const { method, status, durationMs, bytes, ip, traceId } = line;
    // The pattern of a client's identifier leaves nothing to escape, and our own has nothing to redact.
    const requestId = isClientsId ? redact(line.requestId) : line.requestId;
    const path = line.path === '/banks' ? '"/banks"' : quote(line.path);
    const address = ip === undefined ? '' : `,"ip":${isIPv4(ip) ? `"${ip}"` : quote(ip)}`;
    const trace = traceId === undefined ? '' : `,"traceId":"${redact(traceId)}"`;
    return (
      `{"level":30,"time":"${isoTime()}","requestId":"${requestId}","method":"${method}","path":${path},` +
      `"status":${status},"durationMs":${durationMs},"bytes":${bytes}${address}${trace}` +
      `${line.aborted ? ',"aborted":true' : ''},"msg":"request"}\n`
    );
  };
};

/** Now as pino writes it, formatted once per millisecond: a busy service writes some fifty lines in one. */
const createIsoTime = (): (() => string) => {
  let lastMs = Number.NaN;
  let text = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== lastMs) {
      lastMs = nowMs;
      text = new Date(nowMs).toISOString();
    }
    return text;
  };
};
