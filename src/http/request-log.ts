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

// One event and one log line for each finished request, with the same fields on both paths. Of the
// request's headers only its identifiers and addresses are logged, and never the query: the others
// may hold what a client did not mean to reveal. A fault in here costs the line, not the request.

interface RequestLogOptions {
  readonly logger: Logger;
  /** Where `logger` writes what it has redacted. What is written here must have been redacted. */
  readonly logDestination: DestinationStream;
  readonly redact: Redaction['redact'];
  readonly clientAddress: ClientAddress;
  /** Whose successes are logged at level debug; by default those of {@link PROBES}. */
  readonly routineRoutes?: ReadonlySet<string>;
  /** Is given every finished request, whatever the log's level. */
  readonly emit?: (event: RequestEvent) => void;
}

export type RequestLog = ReturnType<typeof createRequestLog>;

export const createRequestLog = (options: RequestLogOptions) => {
  const { logger, logDestination, redact, clientAddress, emit } = options;
  const { routineRoutes = PROBES } = options;
  /** Of the requests that Express is handling. */
  const records = new WeakMap<IncomingMessage, RequestRecord>();
  const isoTime = createIsoTime();

  /** Reads what is gone at the end: Express rewrites the path, and the socket loses its address. */
  const begin = (head: RequestHead): RequestRecord => {
    const clientRequestId = requestIdOf(head);
    return {
      startedAtMs: performance.now(),
      requestId: clientRequestId ?? randomUUID(),
      clientRequestId,
      method: head.method ?? '',
      path: pathOf(head),
      ip: clientAddress(head),
      traceId: traceIdOf(head),
      listState: undefined,
      refusal: undefined,
      event: undefined,
    };
  };

  const safely = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      logger.error({ err: error }, 'unexpected error in logging a request');
    }
  };

  const recordOf = (req: IncomingMessage): RequestRecord => {
    let record = records.get(req);
    if (!record) records.set(req, (record = begin(req)));
    return record;
  };

  /** What Express has answered: made once, for the log and for `emit`. */
  const finish = (req: IncomingMessage, res: ServerResponse): RequestEvent => {
    const record = recordOf(req);
    return (record.event ??= eventOf(record, sentBy(req, res)));
  };

  /** Logs what Express has answered. */
  const logResponse = pinoHttp({
    logger,
    genReqId: (req, res) => {
      const { requestId } = recordOf(req);
      res.setHeader('X-Request-Id', requestId);
      return requestId;
    },
    // By default both, with all their headers.
    serializers: { req: () => undefined, res: () => undefined },
    wrapSerializers: false,
    customLogLevel: (req, res) => (res.err ? 'error' : levelOf(finish(req, res), routineRoutes)),
    customSuccessMessage: () => 'request',
    customErrorMessage: () => 'request',
    customSuccessObject: (req, res) => lineOf(recordOf(req), finish(req, res)),
    customErrorObject: (req, res) => ({
      ...lineOf(recordOf(req), finish(req, res)),
      err: res.err,
    }),
  });

  return {
    /** For what Express answers: sets `X-Request-Id`, and logs the request once it is finished. */
    middleware: (req: IncomingMessage, res: ServerResponse, next: () => void): void => {
      if (emit) res.once('close', () => safely(() => emit(finish(req, res))));
      logResponse(req, res, next);
    },
    /**
     * For handlers: the state of the list that was served or could not be, and why the request was
     * refused.
     */
    note: (req: IncomingMessage, notes: Partial<Notes>): void =>
      void Object.assign(recordOf(req), notes),
    /** Gives a response that caches keep for other clients an id that is not this client's. */
    renewRequestId: (req: IncomingMessage, res: ServerResponse): void => {
      const record = recordOf(req);
      if (record.clientRequestId === undefined) return;
      record.requestId = randomUUID();
      res.setHeader('X-Request-Id', record.requestId);
    },
    /**
     * For the hot path, once it has the response to a request for /banks: the identifier for
     * `X-Request-Id`, and what logs the request once it is finished.
     */
    begin: (head: RequestHead, listState: Freshness, status: number, contentBytes: number) => {
      const record = begin(head);
      record.listState = listState;
      if (record.clientRequestId !== undefined) record.requestId = randomUUID();
      const sent = { answeredBy: 'hot_path', route: '/banks', status, contentBytes } as const;
      /** `isWritten`: whether all of it was written before the client was gone. */
      const end = (isWritten: boolean): void => {
        const event = eventOf(record, { ...sent, isWritten });
        safely(() => emit?.(event));
        if (logger.isLevelEnabled('info'))
          safely(() => logDestination.write(toText(lineOf(record, event), isoTime(), redact)));
      };
      return { requestId: record.requestId, end };
    },
  };
};

/** What a handler knows of its response. */
type Notes = Pick<RequestEvent, 'listState' | 'refusal'>;

/** What is known of a request while it is handled. */
interface RequestRecord extends Pick<RequestEvent, 'method'>, Mutable<Notes> {
  readonly startedAtMs: number;
  readonly path: string;
  readonly ip: string | undefined;
  readonly traceId: string | undefined;
  /** The client's own, if it is well-formed. */
  readonly clientRequestId: string | undefined;
  /** That of the response. */
  requestId: string;
  /** Once it is finished. */
  event: RequestEvent | undefined;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** What was sent to the client, and by whom. */
interface Sent extends Pick<RequestEvent, 'answeredBy' | 'route' | 'status'> {
  readonly contentBytes: number;
  readonly isWritten: boolean;
}

const sentBy = (
  req: IncomingMessage & { readonly route?: { readonly path: string } },
  res: ServerResponse,
): Sent => ({
  answeredBy: 'express',
  // Express sets it once a route fits; the paths are constants of the code.
  route: req.route?.path ?? 'other',
  status: res.headersSent ? res.statusCode : undefined,
  contentBytes: Number(res.getHeader('Content-Length') ?? 0),
  isWritten: res.writableFinished,
});

const eventOf = (record: RequestRecord, sent: Sent): RequestEvent => ({
  type: 'request-finished',
  route: sent.route,
  answeredBy: sent.answeredBy,
  listState: record.listState,
  refusal: record.refusal,
  method: record.method,
  status: sent.status,
  durationMs: Math.round((performance.now() - record.startedAtMs) * 1_000) / 1_000,
  bytes: record.method === 'HEAD' ? 0 : sent.contentBytes,
  aborted: !sent.isWritten,
});

/** What a line says of a request, in this order, between the time and the message. */
const lineOf = (record: RequestRecord, event: RequestEvent) => ({
  requestId: record.requestId,
  /** If it is another one than that of the response. */
  clientRequestId: record.clientRequestId === record.requestId ? undefined : record.clientRequestId,
  method: event.method,
  path: record.path,
  /** Not `status`: log platforms read a line's severity from that name, before `severity`. */
  statusCode: event.status,
  code: event.refusal,
  durationMs: event.durationMs,
  bytes: event.bytes,
  ip: record.ip,
  traceId: record.traceId,
  aborted: event.aborted || undefined,
});

type RequestLine = ReturnType<typeof lineOf>;

/**
 * Requests for routine routes come every few seconds: their successes would be most of the log.
 */
const levelOf = (
  { route, status, listState }: RequestEvent,
  routineRoutes: ReadonlySet<string>,
) => {
  if (routineRoutes.has(route)) return status !== undefined && status < 400 ? 'debug' : 'info';
  if (!isServerError(status)) return 'info';
  return listState !== undefined && !isServable(listState) ? 'error' : 'warn';
};

const MAX_PATH_CHARS = 256;

/** The path without its query; a path can be as long as a header. */
export const pathOf = ({ url = '' }: Pick<RequestHead, 'url'>): string => {
  const end = url.indexOf('?');
  return url.slice(0, Math.min(end < 0 ? url.length : end, MAX_PATH_CHARS));
};

/** The client's own, if it is well-formed. */
const requestIdOf = ({ headers }: Pick<RequestHead, 'headers'>): string | undefined => {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined;
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
 * A line of the hot path as pino writes it: without a logger's serialisation, and without searching
 * the whole line for secrets, which alone takes 1 to 3 µs. What a client can choose is redacted
 * part by part; its form leaves nothing to escape, and nothing else in the line can hold a secret.
 */
const toText = (line: RequestLine, time: string, redact: Redaction['redact']): string => {
  const { requestId, clientRequestId, method, path, statusCode, durationMs, bytes } = line;
  const { ip, traceId, aborted } = line;
  const given = clientRequestId ? `"clientRequestId":"${redact(clientRequestId)}",` : '';
  const address = ip === undefined ? '' : `,"ip":"${isIPv4(ip) ? ip : redact(ip)}"`;
  const trace = traceId === undefined ? '' : `,"traceId":"${redact(traceId)}"`;
  return (
    `{"level":30,"severity":"INFO","time":"${time}","requestId":"${requestId}",${given}` +
    `"method":"${method}","path":"${path}","statusCode":${statusCode},"durationMs":${durationMs},` +
    `"bytes":${bytes}${address}${trace}${aborted ? ',"aborted":true' : ''},"msg":"request"}\n`
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
