import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import type { CommonHeaders } from './common-headers.ts';
import type { Cors } from './cors.ts';
import { setHeaders } from './headers.ts';
import { sendProblem } from './problem-details.ts';

// The Express application of a port. It reads no body. A middleware here does not see the requests
// that the hot path answers: a header for every response belongs in common-headers.ts.

/**
 * Defines a read-only resource. Express answers HEAD by the GET handler; other methods get a 405
 * with `Allow`.
 */
export type DefineResource = (path: string, get: RequestHandler) => void;

export const createApp = (cors: Cors, commonHeaders: CommonHeaders) => {
  const app = express();
  // No headers of its own, and exact paths.
  app
    .disable('etag')
    .disable('x-powered-by')
    .enable('case sensitive routing')
    .enable('strict routing')
    .use((req, res, next) => {
      setHeaders(res, commonHeaders(req.headers.origin));
      if (cors.varies) res.setHeader('Vary', 'Origin');
      next();
    });
  const resource: DefineResource = (path, get) => {
    app
      .route(path)
      .get(get)
      .options((req, res) => {
        setHeaders(res, cors.preflightHeaders(req.headers.origin));
        setHeaders(res, ['Allow', READING_METHODS, 'Cache-Control', 'no-store']);
        res.writeHead(204).end();
      })
      .all(refuseMethod(READING_METHODS));
  };
  return {
    app,
    resource,
    /** After all resources: what none of them answers. */
    finish: (): void => {
      app.use((_req, res) => sendProblem(res, 'not_found')).use(onError);
    },
  };
};

/** The value of `Allow` for them. */
const READING_METHODS = 'GET, HEAD, OPTIONS';

export const refuseMethod =
  (allowed: string): RequestHandler =>
  (_req, res) => {
    res.set('Allow', allowed);
    sendProblem(res, 'method_not_allowed');
  };

/** A defect of the service, which the request's log line describes. */
const onError: ErrorRequestHandler = (error: Error, _req, res, _next) => {
  res.locals.error = error;
  // Part of the response has been sent: only closing the connection can tell the client.
  if (res.headersSent) res.destroy();
  else sendProblem(res, 'internal_error');
};
