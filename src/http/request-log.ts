import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DestinationStream, Level, Logger } from 'pino';
import { pinoHttp } from 'pino-http';
import { isServable, type Freshness } from '../banks/freshness.ts';
import { toIso } from '../clock.ts';
import type { Redaction } from '../secrets/redaction.ts';
import { isServerError, type RequestEvent } from '../telemetry/events.ts';
import type { ClientAddress } from './client-address.ts';
import type { RequestHead } from './headers.ts';
import type { ProblemCode } from './problem-details.ts';

// One log line and one event for each request, with the same fields whoever answers it. Of the
// request's headers only its identifiers and addresses are logged, and never the query: the others
// may hold what a client did not mean to reveal. A fault in here costs the line or the event, not
// the request.

interface RequestLogOptions {
  readonly logger: Logger;
  /** Where `logger` writes what it has redacted. What is written here must have been redacted. */
  readonly logDestination: DestinationStream;
  readonly redact: Redaction['redact'];
  readonly clientAddress: ClientAddress;
  /** Whether a route's successes are logged at level debug: they come every few seconds. */
  readonly isRoutine: (route: string) => boolean;
  /** Is given every finished request, whatever the log's level. */
  readonly emit: (event: RequestEvent) => void;
}

/** What is known of a request. Of one that Express handles, it is `res.locals`. */
interface RequestRecord {
  readonly startedAtMs: number;
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly ip: string | undefined;
  readonly traceId: string | undefined;
  /** The client's own, if it is well-formed. */
  readonly clientRequestId: string | undefined;
  /** That of the response. */
  requestId: string;
  /** Of the list that was served, or why none could be; undefined for other responses. */
  listState?: Freshness;
  /** If the response is one. */
  problem?: ProblemCode;
  /** If a defect of the service is the reason for the response. */
  error?: Error;
  /** Once Express has answered: the same for the line and the event. */
  sent?: Sent;
}

/** What was sent to the client, and by what. */
interface Sent extends Pick<
  RequestEvent,
  'answeredBy' | 'route' | 'status' | 'isWritten' | 'durationMs'
> {
  readonly contentBytes: number;
}

declare global {
  namespace Express {
    interface Locals extends RequestRecord {}
  }
}

/** A request and a response, with what Express adds. */
type Handled = IncomingMessage & { readonly route?: { readonly path: string } };
type Answered = ServerResponse & { readonly locals: RequestRecord };

const MESSAGE = 'request';

const MAX_PATH_CHARS = 256;

const REQUEST_ID = /^[\w.:+/=-]{1,128}$/;

/**
 * W3C Trace Context section 3.2: version, trace-id, parent-id, flags. An all-zero trace-id is
 * invalid, and so is version `ff`.
 */
const TRACE_PARENT =
  /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:$|-)/;

export type RequestLog = ReturnType<typeof createRequestLog>;

export const createRequestLog = (options: RequestLogOptions) => {
  const { logger, logDestination, redact, clientAddress, isRoutine, emit } = options;
  const isoNow = createIsoNow();

  const startRecord = (head: RequestHead): RequestRecord => {
    const clientRequestId = requestIdOf(head);
    return {
      startedAtMs: performance.now(),
      method: head.method,
      path: pathOf(head),
      ip: clientAddress(head),
      traceId: traceIdOf(head),
      clientRequestId,
      requestId: clientRequestId ?? randomUUID(),
    };
  };

  const levelOf = ({ listState, error }: RequestRecord, { status, route }: Sent): Level => {
    if (error) return 'error';
    if (isServerError(status))
      return listState !== undefined && !isServable(listState) ? 'error' : 'warn';
    return isRoutine(route) && (status ?? 0) < 400 ? 'debug' : 'info';
  };

  const safely = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      logger.error({ err: error }, 'unexpected error in logging a request');
    }
  };

  const describe = (req: Handled, res: Answered) => lineOf(res.locals, sentByExpress(req, res));
  /** Logs what Express has answered. */
  const logResponse = pinoHttp<Handled, Answered>({
    logger,
    // By default both, with all their headers.
    serializers: { req: () => undefined, res: () => undefined },
    wrapSerializers: false,
    customLogLevel: (req, res) => levelOf(res.locals, sentByExpress(req, res)),
    customSuccessMessage: () => MESSAGE,
    customErrorMessage: () => MESSAGE,
    customSuccessObject: describe,
    customErrorObject: describe,
  });

  return {
    /**
     * For what Express is about to answer: sets `X-Request-Id`, and logs the request once it is
     * finished. As a middleware it would take much longer on Node 20: Express changes the prototypes
     * of both objects, to which pino-http adds properties.
     */
    startForExpress: (req: IncomingMessage, res: ServerResponse): void => {
      const record = startRecord(req);
      const answered = Object.assign(res, { locals: record });
      res.setHeader('X-Request-Id', record.requestId);
      res.once('close', () => safely(() => emit(eventOf(record, sentByExpress(req, answered)))));
      logResponse(req, answered);
    },
    /**
     * For the route of /banks: the state of the list that is about to be served, or could not be.
     * Caches keep a list for other clients, so it has an id that is not this client's.
     */
    noteList: (res: Answered, listState: Freshness): void => {
      const record = res.locals;
      record.listState = listState;
      if (isServable(listState)) renewId(record);
      res.setHeader('X-Request-Id', record.requestId);
    },
    /**
     * For the hot path, once it has the response to a request for /banks: the identifier for
     * `X-Request-Id`, and what logs the request once it is finished.
     */
    startOnHotPath: (
      head: RequestHead,
      listState: Freshness,
      status: number,
      contentBytes: number,
    ) => {
      const record = startRecord(head);
      record.listState = listState;
      renewId(record);
      /** `isWritten`: whether all of it was written before the client was gone. */
      const end = (isWritten: boolean): void =>
        safely(() => {
          const durationMs = durationOf(record);
          const sent = { ...ON_HOT_PATH, status, contentBytes, isWritten, durationMs };
          if (logger.isLevelEnabled('info'))
            logDestination.write(toText(lineOf(record, sent), isoNow(), redact));
          emit(eventOf(record, sent));
        });
      return { requestId: record.requestId, end };
    },
    /** For a request that no application gets. @returns the identifier for `X-Request-Id` */
    refused: (
      head: RequestHead,
      problem: ProblemCode,
      status: number,
      contentBytes: number,
    ): string => {
      const record = startRecord(head);
      record.problem = problem;
      safely(() => {
        const durationMs = durationOf(record);
        const sent = { ...BY_SERVER, status, contentBytes, isWritten: true, durationMs };
        logger.info(lineOf(record, sent), MESSAGE);
        emit(eventOf(record, sent));
      });
      return record.requestId;
    },
  };
};

const ON_HOT_PATH = { answeredBy: 'hot_path', route: '/banks' } as const;
const BY_SERVER = { answeredBy: 'server', route: 'other' } as const;

/** Gives the response an identifier that is not the client's. */
const renewId = (record: RequestRecord): void => {
  if (record.clientRequestId !== undefined) record.requestId = randomUUID();
};

const sentByExpress = ({ route }: Handled, res: Answered): Sent =>
  (res.locals.sent ??= {
    answeredBy: 'express',
    // The paths are constants of the code.
    route: route?.path ?? 'other',
    status: res.headersSent ? res.statusCode : undefined,
    contentBytes: Number(res.getHeader('Content-Length') ?? 0),
    isWritten: res.writableFinished,
    durationMs: durationOf(res.locals),
  });

const durationOf = ({ startedAtMs }: RequestRecord): number =>
  Math.round((performance.now() - startedAtMs) * 1_000) / 1_000;

/** What a line says of a request, in this order, between the time and the message. */
const lineOf = (record: RequestRecord, sent: Sent) => ({
  requestId: record.requestId,
  /** If it is another one than that of the response. */
  clientRequestId: record.clientRequestId === record.requestId ? undefined : record.clientRequestId,
  method: record.method,
  path: record.path,
  /** Not `status`: log platforms read a line's severity from that name, before `severity`. */
  statusCode: sent.status,
  code: record.problem,
  durationMs: sent.durationMs,
  bytes: record.method === 'HEAD' ? 0 : sent.contentBytes,
  ip: record.ip,
  traceId: record.traceId,
  aborted: sent.isWritten ? undefined : true,
  err: record.error,
});

const eventOf = (
  { method = '', listState }: RequestRecord,
  { answeredBy, route, status, isWritten, durationMs }: Sent,
): RequestEvent => ({
  type: 'request-finished',
  answeredBy,
  route,
  method,
  status,
  listState,
  isWritten,
  durationMs,
});

/** The path without its query; a path can be as long as a header. */
const pathOf = ({ url }: RequestHead): string | undefined => {
  if (url === undefined) return undefined;
  const end = url.indexOf('?');
  return url.slice(0, Math.min(end < 0 ? url.length : end, MAX_PATH_CHARS));
};

/** The client's own, if it is well-formed. */
const requestIdOf = ({ headers }: RequestHead): string | undefined => {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined;
};

/** The trace-id of a well-formed `traceparent` header. */
const traceIdOf = ({ headers }: RequestHead): string | undefined => {
  const value = headers['traceparent'];
  return typeof value === 'string' ? TRACE_PARENT.exec(value)?.[1] : undefined;
};

/**
 * A line of the hot path as pino writes it: without a logger's serialisation, and without searching
 * the whole line for secrets, which alone takes 1 to 3 µs. What a client can choose is redacted part
 * by part. Nothing in it needs an escape: identifiers fit REQUEST_ID and TRACE_PARENT, an address is
 * one (client-address.ts), and the path is that of the hot path.
 */
const toText = (
  line: ReturnType<typeof lineOf>,
  time: string,
  redact: Redaction['redact'],
): string => {
  const { requestId, clientRequestId, method, path, statusCode, durationMs, bytes } = line;
  const { ip, traceId, aborted } = line;
  const given = clientRequestId ? `"clientRequestId":"${redact(clientRequestId)}",` : '';
  const address = ip === undefined ? '' : `,"ip":"${redact(ip)}"`;
  const trace = traceId === undefined ? '' : `,"traceId":"${redact(traceId)}"`;
  return (
    `{"level":30,"severity":"INFO","time":"${time}","requestId":"${requestId}",${given}` +
    `"method":"${method}","path":"${path}","statusCode":${statusCode},"durationMs":${durationMs},` +
    `"bytes":${bytes}${address}${trace}${aborted ? ',"aborted":true' : ''},"msg":"request"}\n`
  );
};

/**
 * Gives now as pino writes it, formatted once per millisecond: a busy service writes some fifty log
 * lines in one.
 */
const createIsoNow = (): (() => string) => {
  let lastMs = Number.NaN;
  let text = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== lastMs) text = toIso(nowMs);
    lastMs = nowMs;
    return text;
  };
};
