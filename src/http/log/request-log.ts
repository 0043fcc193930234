import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DestinationStream, Logger } from 'pino';
import { pinoHttp } from 'pino-http';
import type { Freshness } from '../../banks/freshness.ts';
import type { Redaction } from '../../secrets/redaction.ts';
import type { RequestEvent } from '../../telemetry/events.ts';
import type { ClientAddress } from '../client-address.ts';
import type { RequestHead } from '../headers.ts';
import {
  createIdentify,
  createToText,
  levelOf,
  traceIdOf,
  type Identify,
  type RequestLine,
} from './request-line.ts';

// What becomes of a finished request: one event and one log line. No other header and no query string is logged: either may
// hold what a client did not mean to reveal. The request's own logger, of pino-http, writes the line of a request that
// Express answers; the hot path's line goes to the same stream as text.

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
  /**
   * For Express: the route that answers, a constant of the code; and the state of the list that was served or could not be.
   */
  note(req: IncomingMessage, known: Partial<Pick<RequestEvent, 'route' | 'listState'>>): void;
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
  const giveLogger = createGiveLogger(logger);
  /** What the handlers add to a request that Express answers. */
  const noted = new WeakMap<IncomingMessage, Known>();

  /** Reads what is gone at the end: Express rewrites the path, and the socket loses its address. */
  const begin = (head: RequestHead, requestId: string) => {
    const startedAtMs = performance.now();
    const method = head.method ?? '';
    const path = pathOf(head);
    const ip = clientAddress(head)?.slice(0, MAX_ADDRESS_CHARS);
    const traceId = traceIdOf(head);
    /** Emits the event and gives the line: the one place where either is made. */
    return (
      { route, answeredBy, listState }: Known,
      ...[status, contentBytes, isTaken]: Parameters<LogFinished>
    ): RequestLine => {
      const durationMs = Math.round((performance.now() - startedAtMs) * 1_000) / 1_000;
      const bytes = method === 'HEAD' ? 0 : contentBytes;
      const aborted = !isTaken;
      emit?.({
        type: 'request-finished',
        route,
        answeredBy,
        method,
        status,
        durationMs,
        bytes,
        aborted,
        listState,
      });
      return {
        requestId,
        method,
        path,
        status,
        durationMs,
        bytes,
        ip,
        traceId,
        aborted: aborted || undefined,
      };
    };
  };

  return {
    middleware: (req, res, next) => {
      const requestId = identify(req);
      res.setHeader('X-Request-Id', requestId);
      const known: Known = { answeredBy: 'node_http', route: 'other', listState: undefined };
      noted.set(req, known);
      const end = begin(req, requestId);
      res.once('close', () => {
        const contentBytes = Number(res.getHeader('Content-Length') ?? 0);
        const { requestId: _isInTheLogger, ...facts } = end(
          known,
          res.statusCode,
          contentBytes,
          res.writableFinished,
        );
        req.log[levelOf({ ...known, ...facts })](facts, 'request');
      });
      req.id = requestId;
      giveLogger(req, res, next);
    },
    note: (req, known) => void Object.assign(noted.get(req) ?? {}, known),
    identify,
    watch: (head, requestId, listState) => {
      const end = begin(head, requestId);
      const isClientsId = head.headers['x-request-id'] !== undefined;
      return (...finished) => {
        const line = end({ answeredBy: 'hot_path', route: '/banks', listState }, ...finished);
        if (logger.isLevelEnabled('info')) destination.write(toText(line, isClientsId));
      };
    },
  };
};

/** What a request's event says besides what is read from its head. */
type Known = Pick<RequestEvent, 'answeredBy' | 'route' | 'listState'>;

/** Gives each request a logger, `req.log`, whose lines have its identifier. */
const createGiveLogger = (logger: Logger) =>
  pinoHttp({
    logger,
    // pino-http takes the end of a request from two events, and the level before the line.
    autoLogging: false,
    // It would log an error of the response all the same, with all headers.
    customLogLevel: () => 'silent',
    customAttributeKeys: { reqId: 'requestId' },
    quietReqLogger: true,
    quietResLogger: true,
    // pino-http makes a second child with the request all the same: an empty one saves its serialisation.
    wrapSerializers: false,
    serializers: { req: () => undefined },
  });

/** An IPv6 address with a zone takes up to 62 (39 and an interface's name); what proxies pass on can be anything. */
const MAX_ADDRESS_CHARS = 64;

/** The path without its query; a path can be as long as a header. */
const pathOf = ({ url = '' }: RequestHead): string => {
  const end = url.indexOf('?');
  return url.slice(0, Math.min(end < 0 ? url.length : end, 256));
};
