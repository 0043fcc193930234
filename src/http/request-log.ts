import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIPv4 } from 'node:net';
import type { DestinationStream, Logger } from 'pino';
import { pinoHttp } from 'pino-http';
import { isServable, type Freshness } from '../banks/freshness.ts';
import { toIso } from '../clock.ts';
import type { Redaction } from '../secrets/redaction.ts';
import { isServerError, type RequestEvent } from '../telemetry/events.ts';
import type { ClientAddress } from './client-address.ts';
import { PROBES } from './health.ts';
import type { RequestHead } from './headers.ts';
import { refusedInsteadOf } from './refused.ts';

// Emits one event and writes one log line for each finished request. No other header and no query
// string is logged: either may hold what a client did not mean to reveal. A line of level info is
// written as text, past the logger's redaction: what clients choose is redacted here.

interface RequestLogOptions {
  readonly logger: Logger;
  /** Where `logger` writes what it has redacted. What is written here must have been redacted. */
  readonly logDestination: DestinationStream;
  readonly redact: Redaction['redact'];
  readonly clientAddress: ClientAddress;
  /** Is given every finished request, whatever the log's level. */
  readonly emit?: (event: RequestEvent) => void;
}

export type RequestLog = ReturnType<typeof createRequestLog>;

export const createRequestLog = (options: RequestLogOptions) => {
  const { logger, logDestination, redact, clientAddress, emit } = options;
  /** Of the requests that node:http is handling: their handlers complete them by `note`. */
  const notesOf = new WeakMap<IncomingMessage, Notes>();
  const isoTime = createIsoTime();
  const giveLogger = createLoggerSource(logger);

  /** Reads what is gone at the end: Express rewrites the path, and the socket loses its address. */
  const createRecord = (head: RequestHead, requestId: string) => {
    const startedAtMs = performance.now();
    const method = head.method ?? '';
    const path = pathOf(head);
    const ip = clientAddress(head)?.slice(0, MAX_ADDRESS_CHARS);
    const traceId = traceIdOf(head);
    /** Emits the event and gives the line: the one place where either is made. */
    return (
      notes: Notes,
      status: RequestEvent['status'],
      contentBytes: number,
      isWritten: boolean,
    ): RequestLine => {
      const durationMs = Math.round((performance.now() - startedAtMs) * 1_000) / 1_000;
      const bytes = method === 'HEAD' ? 0 : contentBytes;
      const { route, answeredBy, listState, refusal } = notes;
      emit?.({
        type: 'request-finished',
        route,
        answeredBy,
        listState,
        refusal,
        method,
        status,
        durationMs,
        bytes,
        aborted: !isWritten,
      });
      const aborted = isWritten ? undefined : true;
      return {
        requestId,
        method,
        path,
        statusCode: status,
        code: refusal,
        durationMs,
        bytes,
        ip,
        traceId,
        aborted,
      };
    };
  };

  const write = (line: RequestLine, notes: Notes, isClientsId: boolean): void => {
    const level = levelOf({ ...notes, status: line.statusCode });
    if (level !== 'info') logger[level](line, 'request');
    else if (logger.isLevelEnabled('info'))
      logDestination.write(toText(line, isoTime(), isClientsId, redact));
  };

  return {
    /**
     * For what node:http answers: sets `X-Request-Id`, and logs the request once it is finished.
     */
    middleware: (req: IncomingMessage, res: ServerResponse, next: () => void): void => {
      const requestId = identify(req);
      res.setHeader('X-Request-Id', requestId);
      const notes = createNotes('express', 'other', undefined);
      notesOf.set(req, notes);
      const record = createRecord(req, requestId);
      const isClientsId = req.headers['x-request-id'] !== undefined;
      res.once('close', () => {
        const refused = refusedInsteadOf(res);
        const { status, contentBytes, isWritten } = refused ?? outcomeOf(res);
        const all = refused ? { ...notes, refusal: refused.code } : notes;
        write(record(all, status, contentBytes, isWritten), all, isClientsId);
      });
      next();
    },
    /** The request's own logger, for more than the line above: what it logs has `requestId`. */
    loggerFor: (req: IncomingMessage, res: ServerResponse): Logger => {
      giveLogger(req, res);
      return req.log;
    },
    /**
     * For handlers: the route that answers, a constant of the code; the state of the list that was
     * served or could not be; and why the request was refused.
     */
    note: (req: IncomingMessage, notes: Partial<Omit<Notes, 'answeredBy'>>): void =>
      void Object.assign(notesOf.get(req) ?? {}, notes),
    /**
     * For the hot path, once it has the response to a request for /banks: the identifier for
     * `X-Request-Id`, and what logs the request once it is finished.
     */
    begin: (head: RequestHead, listState: Freshness, status: number, contentBytes: number) => {
      const requestId = identify(head);
      const record = createRecord(head, requestId);
      const isClientsId = head.headers['x-request-id'] !== undefined;
      const notes = createNotes('hot_path', '/banks', listState);
      /** `isWritten`: whether all of it was written before the client was gone. */
      const end = (isWritten: boolean): void =>
        write(record(notes, status, contentBytes, isWritten), notes, isClientsId);
      return { requestId, end };
    },
  };
};

/** What a request's event says besides what is read from its head. */
type Notes = Pick<RequestEvent, 'answeredBy' | 'route' | 'listState' | 'refusal'>;

const createNotes = (
  answeredBy: Notes['answeredBy'],
  route: string,
  listState: Notes['listState'],
): Notes => ({ answeredBy, route, listState, refusal: undefined });

/** What the client got of a response that has been closed. */
const outcomeOf = (res: ServerResponse) => ({
  status: res.headersSent ? res.statusCode : undefined,
  contentBytes: Number(res.getHeader('Content-Length') ?? 0),
  isWritten: res.writableFinished,
});

/**
 * Gives a request a logger of its own, `req.log`. Making one takes longer than everything else that
 * is logged of a request, so only a request that needs it gets one.
 */
const createLoggerSource = (logger: Logger) =>
  pinoHttp({
    logger,
    genReqId: (_req, res) => String(res.getHeader('X-Request-Id')),
    customAttributeKeys: { reqId: 'requestId' },
    // No lines of its own, and neither the request nor the response in ours: both have all headers.
    autoLogging: false,
    quietReqLogger: true,
    quietResLogger: true,
  });

/**
 * An IPv6 address with a zone takes up to 62 (39 and an interface's name); what proxies pass on can
 * be anything.
 */
const MAX_ADDRESS_CHARS = 64;
const MAX_PATH_CHARS = 256;

/** The path without its query; a path can be as long as a header. */
export const pathOf = ({ url = '' }: Pick<RequestHead, 'url'>): string => {
  const end = url.indexOf('?');
  return url.slice(0, Math.min(end < 0 ? url.length : end, MAX_PATH_CHARS));
};

/** Gives the client's own `X-Request-Id` if it is well-formed, otherwise a new one. */
const identify = ({ headers }: Pick<RequestHead, 'headers'>): string => {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
};

const REQUEST_ID = /^[\w.:+/=-]{1,128}$/;

/** The trace-id of a well-formed `traceparent` header; `ff` is not a valid version. */
const traceIdOf = ({ headers }: Pick<RequestHead, 'headers'>): string | undefined => {
  const value = headers['traceparent'];
  return typeof value === 'string' ? TRACE_PARENT.exec(value)?.[1] : undefined;
};

/**
 * W3C Trace Context section 3.2: version, trace-id, parent-id, flags. An all-zero trace-id is
 * invalid.
 */
const TRACE_PARENT =
  /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:$|-)/;

/**
 * {@link PROBES} come every few seconds from every side: their successes would be most of the log.
 */
const levelOf = ({ route, status, listState }: Notes & Pick<RequestEvent, 'status'>) => {
  if (PROBES.has(route)) return status !== undefined && status < 400 ? 'debug' : 'info';
  if (!isServerError(status)) return 'info';
  return listState !== undefined && !isServable(listState) ? 'error' : 'warn';
};

/** What a line says of a request, in this order, between the time and the message. */
interface RequestLine extends Pick<RequestEvent, 'method' | 'durationMs' | 'bytes'> {
  readonly requestId: string;
  /** Not `status`: log platforms read a line's severity from that name, before `severity`. */
  readonly statusCode: number | undefined;
  /** Of a request that was refused: the code of the response. */
  readonly code: RequestEvent['refusal'];
  /** Without the query, at most 256 characters. */
  readonly path: string;
  readonly ip: string | undefined;
  readonly traceId: string | undefined;
  readonly aborted: true | undefined;
}

/**
 * Writes a line of level info as pino does: without a logger's serialisation, and without searching
 * the whole line for secrets, which alone takes 1 to 3 µs. What a client can choose freely is
 * redacted part by part; nothing else in the line can hold a secret.
 */
const toText = (
  line: RequestLine,
  time: string,
  isClientsId: boolean,
  redact: Redaction['redact'],
): string => {
  const { method, statusCode, code, durationMs, bytes, ip, traceId } = line;
  const quote = (clientText: string): string => JSON.stringify(redact(clientText));
  // The pattern of a client's identifier leaves nothing to escape, and our own has nothing to
  // redact.
  const requestId = isClientsId ? redact(line.requestId) : line.requestId;
  const path = line.path === '/banks' ? '"/banks"' : quote(line.path);
  const address = ip === undefined ? '' : `,"ip":${isIPv4(ip) ? `"${ip}"` : quote(ip)}`;
  const trace = traceId === undefined ? '' : `,"traceId":"${redact(traceId)}"`;
  const status = statusCode === undefined ? '' : `,"statusCode":${statusCode}`;
  const refusal = code === undefined ? '' : `,"code":"${code}"`;
  return (
    `{"level":30,"severity":"INFO","time":"${time}","requestId":"${requestId}",` +
    `"method":"${method}","path":${path}${status}${refusal},"durationMs":${durationMs},"bytes":${bytes}${address}${trace}` +
    `${line.aborted ? ',"aborted":true' : ''},"msg":"request"}\n`
  );
};

/**
 * Now as pino writes it, formatted once per millisecond: a busy service writes some fifty lines in
 * one.
 */
const createIsoTime = (): (() => string) => {
  let lastMs = Number.NaN;
  let text = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== lastMs) text = toIso(nowMs);
    lastMs = nowMs;
    return text;
  };
};
