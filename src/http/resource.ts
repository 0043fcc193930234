import type { ServerResponse } from 'node:http';
import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import type { Cors } from './cors.ts';
import { setHeaders } from './headers.ts';
import type { RequestLog } from './log/request-log.ts';
import { sendProblem } from './problems.ts';

// Read-only resources on Express: GET, HEAD and OPTIONS, and what happens with any other method or with an error.

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

/** The answer to OPTIONS. */
export const sendOptions = (res: ServerResponse): void => {
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
