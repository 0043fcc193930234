import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { pinoHttp, type HttpLogger } from 'pino-http';

// One log line for each request, and the identifier that ties an answer to its line. No header and no query string
// is logged: either may hold what a client did not mean to tell.

/** A request that has been answered, or given up by its client, as it is counted: in closed sets. */
export interface FinishedRequest {
  readonly route: (typeof ROUTES)[number] | 'other';
  readonly method: (typeof METHODS)[number] | 'other';
  readonly status: number;
  readonly durationMs: number;
}

const ROUTES = ['/banks', '/healthz', '/readyz', '/openapi.json'] as const;
const METHODS = ['GET', 'HEAD', 'OPTIONS'] as const;

/**
 * Logs each finished request and sets `X-Request-Id`: the client's own if it is well-formed, otherwise a new one.
 * `onRequest` is told of each one too.
 */
export const createRequestLog = (
  logger: Logger,
  onRequest?: (request: FinishedRequest) => void,
): HttpLogger => {
  const finish = (req: IncomingMessage, res: ServerResponse, { durationMs }: Timing): object => {
    const path = pathOf(req);
    onRequest?.({
      route: ROUTES.find((route) => route === path) ?? 'other',
      method: METHODS.find((method) => method === req.method) ?? 'other',
      // As nginx calls it: the client went away before there was an answer.
      status: res.headersSent ? res.statusCode : 499,
      durationMs,
    });
    return describe(req, res, path, durationMs);
  };
  return pinoHttp({
    logger,
    genReqId: (req, res) => {
      const id = wellFormed(REQUEST_ID, req.headers['x-request-id']) ?? randomUUID();
      res.setHeader('X-Request-Id', id);
      return id;
    },
    // The request is described once, by the line below, and not by a child logger that every other line repeats.
    quietReqLogger: true,
    quietResLogger: true,
    customAttributeKeys: { reqId: 'requestId', responseTime: 'durationMs' },
    customSuccessMessage: () => 'request',
    customErrorMessage: () => 'request',
    customLogLevel: (_req, res) => (res.statusCode === 500 ? 'error' : 'info'),
    customSuccessObject: (req, res, value: Timing) => finish(req, res, value),
    customErrorObject: (req, res, _error, value: Timing) => ({ ...finish(req, res, value), aborted: true }),
  });
};

const REQUEST_ID = /^[\w.:+/=-]{1,128}$/;
/** W3C Trace Context section 3.2: version, trace-id, parent-id, flags. An all-zero trace-id is invalid. */
const TRACE_PARENT = /^[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:$|-)/;

const wellFormed = (pattern: RegExp, value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' && pattern.test(value) ? value : undefined;

interface Timing {
  readonly durationMs: number;
}

const describe = (req: IncomingMessage, res: ServerResponse, path: string, durationMs: number): object => ({
  method: req.method,
  path,
  status: res.statusCode,
  durationMs,
  bytes: req.method === 'HEAD' ? 0 : Number(res.getHeader('Content-Length') ?? 0),
  ip: 'ip' in req ? req.ip : req.socket.remoteAddress,
  traceId: TRACE_PARENT.exec(String(req.headers['traceparent']))?.[1],
});

/** The path without its query; Express may have rewritten `url`, and a path can be as long as a header. */
const pathOf = (req: IncomingMessage): string => (req.url ?? '').split('?', 1)[0]?.slice(0, 256) ?? '';
