import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Cors } from './cors.ts';
import { setHeaders, type FlatHeaders } from './headers.ts';
import { PROBES } from './health.ts';
import { hasUnwantedBody, isServerWide, refusalOf } from './server/refusals.ts';
import type { BoundedServer } from './server/server.ts';
import type { RequestLog } from './log/request-log.ts';
import { sendProblem } from './problems.ts';

// What both ports do with every request, whatever it asks for: before its route, around it, and after an error.

export type Middleware = (req: IncomingMessage, res: ServerResponse, next: () => void) => void;

/** Passes each request through `middlewares`, in this order, and then to `app`. */
export const inFrontOf = (app: RequestListener, middlewares: readonly Middleware[]): RequestListener =>
  middlewares.reduceRight<RequestListener>(
    (next, middleware) => (req, res) => middleware(req, res, () => next(req, res)),
    app,
  );

export interface RequestAdmissionOptions {
  readonly cors: Cors;
  readonly securityHeaders: FlatHeaders;
  readonly server: Pick<BoundedServer, 'isOverCapacity'>;
  readonly isDraining: () => boolean;
}

/**
 * Sets the headers of every answer, and refuses what is refused whatever the resource. It belongs in front of Express, whose
 * router parses the target with Node's old URL parser, which accepts malformed targets and prints a warning (DEP0170).
 */
export const createRequestAdmission =
  ({ cors, securityHeaders, server, isDraining }: RequestAdmissionOptions): Middleware =>
  (req, res, next) => {
    setHeaders(res, securityHeaders);
    setHeaders(res, cors.headers(req.headers.origin));
    if (cors.varies) res.setHeader('Vary', 'Origin');

    const refusal = refusalOf(req);
    const isOverCapacity = server.isOverCapacity(req);
    // Announces the end of the connection with its last answer: a client that reused it would lose its request.
    if (refusal || isOverCapacity || isDraining() || hasUnwantedBody(req))
      res.setHeader('Connection', 'close');

    if (refusal) sendProblem(res, refusal);
    // Probes are always answered: otherwise an orchestrator would restart a full service, or send all clients to fewer
    // replicas.
    else if (isOverCapacity && !PROBES.has(req.url)) {
      res.setHeader('Retry-After', 1);
      sendProblem(res, 'too_many_connections');
    }
    // `OPTIONS *` asks about the server, so no route has it.
    else if (isServerWide(req.method, req.url)) sendOptions(res);
    else next();
  };

interface ResourceOptions {
  readonly cors: Cors;
  readonly requestLog: Pick<RequestLog, 'note'>;
}

/** Defines read-only resources. Express answers HEAD by the GET handler; other methods get a 405 with `Allow`. */
export const createResource =
  (app: Express, { cors, requestLog }: ResourceOptions) =>
  (path: string, get: RequestHandler): void => {
    app
      .route(path)
      .all((req, _res, next) => {
        requestLog.note(req, { route: path });
        next();
      })
      .get(get)
      .options((req, res) => {
        setHeaders(res, cors.preflightHeaders(req));
        sendOptions(res);
      })
      .all((_req, res) => {
        res.setHeader('Allow', ALLOWED);
        sendProblem(res, 'method_not_allowed');
      });
  };

const sendOptions = (res: ServerResponse): void => {
  res.setHeader('Allow', ALLOWED);
  res.setHeader('Cache-Control', 'no-store');
  res.writeHead(204).end();
};

const ALLOWED = 'GET, HEAD, OPTIONS';

/** Express's own refusals (a malformed percent-encoding in the path) are the client's fault; any other error is a defect. */
export const toProblem: ErrorRequestHandler = (error: unknown, req, res, next) => {
  if (res.headersSent) {
    // Part of the response has been sent: only closing the connection can tell the client, and Express does that.
    next(error);
    return;
  }
  const isClientError =
    typeof error === 'object' && error !== null && 'status' in error && error.status === 400;
  if (!isClientError) req.log.error({ err: error }, 'unexpected error in a request');
  sendProblem(res, isClientError ? 'bad_request' : 'internal_error');
};
