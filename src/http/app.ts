import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { ServerResponse } from 'node:http';
import type { Config } from '../config/config.ts';
import { hasUnwantedBody, isServerWide, refusalOf } from './listener/admission.ts';
import { createBanksRoute, type BanksRouteOptions } from './banks/route.ts';
import type { Cors } from './cors.ts';
import { setFields, type FlatFields } from './headers.ts';
import { createHealthz, createReadyz, sendJson, type HealthOptions } from './health.ts';
import { createOpenApi } from './openapi.ts';
import { sendProblem } from './problems.ts';
import type { RequestLog } from './request-log.ts';
import type { PublicServer } from './listener/server.ts';

// The public listener's application: what exists, for which methods, and what every answer carries. It does not
// listen, and it reads no body and no query string.

export interface PublicAppOptions extends BanksRouteOptions, HealthOptions, AdmissionOptions {
  readonly requestLog: RequestLog;
  readonly fields: Config['banks']['fields'];
}

export interface AdmissionOptions {
  readonly cors: Cors;
  readonly securityFields: FlatFields;
  readonly server: Pick<PublicServer, 'isOverCapacity' | 'isUsedUp'>;
  readonly isDraining: () => boolean;
}

/** What every request meets first: the headers of every answer, and the refusals that do not depend on the resource. */
export const createAdmission =
  ({ cors, server, ...options }: AdmissionOptions): RequestHandler =>
  (req, res, next) => {
    setFields(res, options.securityFields);
    setFields(res, cors.fields(req.headers.origin));
    if (cors.varies) res.setHeader('Vary', 'Origin');
    const isOverCapacity = server.isOverCapacity(req.socket);
    // A connection that is reused after the drain has ended would lose its request.
    const isLast =
      isOverCapacity || server.isUsedUp(req.socket) || options.isDraining() || hasUnwantedBody(req);
    if (isLast) res.setHeader('Connection', 'close');
    const refusal = refusalOf(req);
    if (refusal) {
      res.setHeader('Connection', 'close');
      sendProblem(res, refusal);
    } else if (isOverCapacity && !PROBES.has(req.url)) {
      res.setHeader('Retry-After', 1);
      sendProblem(res, 'too_many_connections');
    } else if (isServerWide(req.method, req.url)) sendOptions(res);
    else next();
  };

export const createPublicApp = (options: PublicAppOptions): Express => {
  const { cors } = options;
  const app = express();
  app.set('query parser', false);
  app.set('etag', false);
  app.disable('x-powered-by');
  app.enable('case sensitive routing');
  app.enable('strict routing');

  app.use(options.requestLog.middleware);
  app.use(createAdmission(options));
  const resource = createResource(app, cors);
  resource('/banks', createBanksRoute(options));
  resource('/healthz', createHealthz(options));
  resource('/readyz', createReadyz(options));
  const openApi = createOpenApi(options);
  resource('/openapi.json', (_req, res) => sendJson(res, openApi));
  app.use((_req, res) => sendProblem(res, 'not_found'));
  app.use(toProblem);
  return app;
};

/** Answered however full the service is: an orchestrator would restart it, or send all clients to fewer replicas. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/** Defines read-only resources. Express answers HEAD by the GET handler; another method is told what is allowed. */
export const createResource =
  (app: Express, cors: Cors) =>
  (path: string, get: RequestHandler): void => {
    app
      .route(path)
      .get(get)
      .options((req, res) => {
        setFields(res, cors.preflightFields(req));
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
