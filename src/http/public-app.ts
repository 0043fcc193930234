import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import helmet from 'helmet';
import type { Config } from '../config.ts';
import { createBanksRoute, type BanksRouteOptions } from './banks-route.ts';
import { createHealthz, createReadyz, type HealthOptions } from './health.ts';
import { sendProblem } from './problems.ts';

// The public listener's application: what exists, for which methods, and what every answer carries. It does not
// listen, and it reads no body and no query string.

export interface PublicAppOptions extends BanksRouteOptions, HealthOptions {
  readonly requestLog: RequestHandler;
  readonly trustProxy: Config['trustProxy'];
}

export const createPublicApp = (options: PublicAppOptions): Express => {
  const app = express();
  app.set('trust proxy', options.trustProxy ?? false);
  app.set('query parser', false);
  app.set('etag', false);
  app.enable('case sensitive routing');
  app.enable('strict routing');

  app.use(options.requestLog);
  app.use(helmet(HELMET_FOR_JSON));
  app.use((_req, res, next) => {
    // A connection that is reused after the drain has ended would lose its request.
    if (options.isDraining()) res.setHeader('Connection', 'close');
    next();
  });
  resource(app, '/banks', createBanksRoute(options));
  resource(app, '/healthz', createHealthz(options));
  resource(app, '/readyz', createReadyz(options));
  app.use((_req, res) => sendProblem(res, 'not_found'));
  app.use(toProblem);
  return app;
};

/** Helmet's set for answers that are data: nothing in them may be run, framed or embedded. */
export const HELMET_FOR_JSON: Parameters<typeof helmet>[0] = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
  },
  referrerPolicy: { policy: 'no-referrer' },
  xFrameOptions: { action: 'deny' },
};

/** A read-only resource. Express answers HEAD by the GET handler; every other method is told what is allowed. */
export const resource = (app: Express, path: string, get: RequestHandler): void => {
  app
    .route(path)
    .get(get)
    .options((_req, res) => void res.set('Allow', ALLOWED).status(204).end())
    .all((_req, res) => {
      res.set('Allow', ALLOWED);
      sendProblem(res, 'method_not_allowed');
    });
};

const ALLOWED = 'GET, HEAD, OPTIONS';

/** Express's own refusals (a malformed percent-encoding in the path) are the client's fault; all else is a defect. */
export const toProblem: ErrorRequestHandler = (error: unknown, req, res, next) => {
  if (res.headersSent) {
    // Half an answer is out: only closing the connection, which Express then does, can tell the client.
    next(error);
    return;
  }
  const isClientError =
    typeof error === 'object' && error !== null && 'status' in error && error.status === 400;
  if (!isClientError) req.log.error({ err: error }, 'a request failed for a reason that was not foreseen');
  sendProblem(res, isClientError ? 'bad_request' : 'internal_error');
};
