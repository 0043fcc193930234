import express, { type Express } from 'express';
import type { RequestListener } from 'node:http';
import type { Config } from '../config/config.ts';
import { createBanksRoute, type BanksRouteOptions } from './banks/route.ts';
import { createHealthz, createReadyz, type HealthOptions } from './health.ts';
import type { RequestLog } from './log/request-log.ts';
import {
  createRequestAdmission,
  createResource,
  inFrontOf,
  toProblem,
  type RequestAdmissionOptions,
} from './middlewares.ts';
import { createOpenApiRoute } from './openapi.ts';
import { sendProblem } from './problems.ts';

// The public port's application: which resources exist. It does not listen, and it reads no body and no query string.

export interface PublicAppOptions extends BanksRouteOptions, HealthOptions, RequestAdmissionOptions {
  readonly requestLog: RequestLog;
  readonly fields: Config['banks']['fields'];
}

export const createPublicApp = (options: PublicAppOptions): RequestListener => {
  const app = createExpress();
  app.set('query parser', false);
  const resource = createResource(app, options);
  resource('/banks', createBanksRoute(options));
  resource('/healthz', createHealthz(options));
  resource('/readyz', createReadyz(options));
  resource('/openapi.json', createOpenApiRoute(options));
  app.use((_req, res) => sendProblem(res, 'not_found'));
  app.use(toProblem);
  return inFrontOf(app, [options.requestLog.middleware, createRequestAdmission(options)]);
};

/** Express without additional headers, and with exact paths. */
export const createExpress = (): Express => {
  const app = express();
  app.set('etag', false);
  app.disable('x-powered-by');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  return app;
};
