import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DestinationStream, Logger } from 'pino';
import { pinoHttp } from 'pino-http';
import type { Freshness } from '../../banks/freshness.ts';
import type { Redaction } from '../../secrets/redaction.ts';
import type { RequestEvent } from '../../telemetry/events.ts';
import type { ClientAddress } from '../client-address.ts';
import type { RequestHead } from '../hot/head.ts';
import { createIdentify, traceIdOf, type Identify } from './request-id.ts';
import { createToText, levelOf, type RequestLine } from './request-line.ts';

// What becomes of a finished request: one log line and one event. No other header and no query string is logged: either
// may hold what a client did not mean to reveal. pino-http writes the line of a request that Express answers; the hot
// path's line goes to the same stream, written from the same facts.

export interface RequestLogOptions {
  readonly logger: Logger;
  /** Where `logger` writes. */
  readonly destination: DestinationStream;
  readonly redact: Redaction['redact'];
  readonly clientAddress: ClientAddress;
  /** Is given every finished request, whatever the log's level. */
  readonly emit?: (event: RequestEvent) => void;
}

export interface RequestLog {
  /** In front of Express: sets `X-Request-Id`, and logs the request once it is finished. */
  readonly middleware: (req: IncomingMessage, res: ServerResponse, next: () => void) => void;
  /** For Express: notes the route that answers, a constant of the code. */
  noteRoute(req: IncomingMessage, route: string): void;
  /** For Express: notes the state of the list that was served or could not be. */
  noteListState(req: IncomingMessage, state: Freshness): void;
  /** For the hot path: the identifier for the answer's `X-Request-Id`. */
  readonly identify: Identify;
  /** For the hot path, when a request for /banks begins: what logs it once it is finished. */
  watch(head: RequestHead, requestId: string, listState: Freshness): LogFinished;
}

/**
 * `contentBytes`: of what it was answered with, not counting that HEAD gets none. `isTaken`: whether the system has
 * taken all of it, and not lost the client before.
 */
export type LogFinished = (status: number, contentBytes: number, isTaken: boolean) => void;

export const createRequestLog = (options: RequestLogOptions): RequestLog => {
  const { logger, destination, redact, clientAddress, emit } = options;
  const identify = createIdentify();
  const toText = createToText(redact);

  const begin = (
    head: RequestHead,
    requestId: string,
    { answeredBy, route }: Pick<RequestUnderWay, 'answeredBy' | 'route'>,
  ): RequestUnderWay => ({
    startedAtMs: performance.now(),
    requestId,
    answeredBy,
    route,
    method: head.method ?? '',
    path: pathOf(head),
    ip: clientAddress(head)?.slice(0, MAX_ADDRESS_CHARS),
    traceId: traceIdOf(head),
    listState: undefined,
  });

  /** Emits the event, and gives the line: the one place where either is made. */
  const end = (
    request: RequestUnderWay,
    status: number,
    contentBytes: number,
    isTaken: boolean,
    listState: Freshness | undefined,
  ): { readonly event: RequestEvent; readonly line: RequestLine } => {
    const { requestId, answeredBy, route, method, path, ip, traceId } = request;
    const durationMs = Math.round((performance.now() - request.startedAtMs) * 1_000) / 1_000;
    const bytes = method === 'HEAD' ? 0 : contentBytes;
    const aborted = !isTaken;
    const event: RequestEvent = {
      type: 'request-finished',
      route,
      answeredBy,
      method,
      status,
      durationMs,
      bytes,
      aborted,
      listState,
    };
    emit?.(event);
    const shown = aborted || undefined;
    return {
      event,
      line: { requestId, method, path, status, durationMs, bytes, ip, traceId, aborted: shown },
    };
  };

  const underWay = new WeakMap<IncomingMessage, RequestUnderWay>();
  const note = (req: IncomingMessage, known: Partial<RequestUnderWay>): void => {
    const request = underWay.get(req);
    if (request) Object.assign(request, known);
  };

  return {
    middleware: createMiddleware(logger, {
      begin: (req, res) => {
        const requestId = identify(req);
        res.setHeader('X-Request-Id', requestId);
        underWay.set(req, begin(req, requestId, BY_NODE));
        return requestId;
      },
      end: (req, res) => {
        const request = underWay.get(req) ?? begin(req, '', BY_NODE);
        const contentBytes = Number(res.getHeader('Content-Length') ?? 0);
        return end(request, res.statusCode, contentBytes, res.writableFinished, request.listState);
      },
    }),
    noteRoute: (req, route) => note(req, { route }),
    noteListState: (req, listState) => note(req, { listState }),
    identify,
    watch: (head, requestId, listState) => {
      const request = begin(head, requestId, BY_HOT_PATH);
      const isClientsId = head.headers['x-request-id'] !== undefined;
      return (status, contentBytes, isTaken) => {
        const { line } = end(request, status, contentBytes, isTaken, listState);
        if (logger.isLevelEnabled('info')) destination.write(toText(line, isClientsId));
      };
    },
  };
};

/** What is known of a request before it is finished: Express rewrites the path, and the socket loses its address. */
interface RequestUnderWay extends Pick<RequestLine, 'requestId' | 'method' | 'path' | 'ip' | 'traceId'> {
  readonly startedAtMs: number;
  readonly answeredBy: RequestEvent['answeredBy'];
  route: string;
  listState: Freshness | undefined;
}

interface Hooks {
  /** Gives the request's identifier. */
  readonly begin: (req: IncomingMessage, res: ServerResponse) => string;
  readonly end: (
    req: IncomingMessage,
    res: ServerResponse,
  ) => { readonly event: RequestEvent; readonly line: RequestLine };
}

const createMiddleware = (logger: Logger, { begin, end }: Hooks): RequestLog['middleware'] => {
  const lines = new WeakMap<ServerResponse, object>();
  const toLine = (_req: IncomingMessage, res: ServerResponse): object => lines.get(res) ?? {};
  return pinoHttp({
    logger,
    genReqId: begin,
    // The request is described once, by its line, and not by a child logger that every other line repeats. pino-http
    // makes that child all the same: an empty `req` saves its serialisation.
    quietReqLogger: true,
    quietResLogger: true,
    wrapSerializers: false,
    serializers: { req: () => undefined },
    customAttributeKeys: { reqId: 'requestId' },
    // pino-http asks for the level first, exactly once for each request.
    customLogLevel: (req, res) => {
      const { event, line } = end(req, res);
      const { requestId: _isInTheChildLogger, ...facts } = line;
      lines.set(res, facts);
      return levelOf(event);
    },
    customSuccessMessage: () => 'request',
    customErrorMessage: () => 'request',
    customSuccessObject: toLine,
    customErrorObject: toLine,
  });
};

/** The route is that of a request that is refused before a route has it, or that none takes. */
const BY_NODE = { answeredBy: 'node_http', route: 'other' } as const;
const BY_HOT_PATH = { answeredBy: 'hot_path', route: '/banks' } as const;

/** An IPv6 address with a zone takes up to 62 (39 and an interface's name); what proxies pass on can be anything. */
const MAX_ADDRESS_CHARS = 64;

/** The path without its query; a path can be as long as a header. */
const pathOf = ({ url = '' }: RequestHead): string => {
  const end = url.indexOf('?');
  return url.slice(0, Math.min(end < 0 ? url.length : end, 256));
};
