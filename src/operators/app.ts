import type { RequestListener } from 'node:http';
import type { Clock } from '../clock.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Cors } from '../http/cors.ts';
import type { FlatHeaders } from '../http/headers.ts';
import { createHealthz, createReadyz, type HealthOptions } from '../http/health.ts';
import { isForManagementHost } from './host.ts';
import type { ManagementServer } from './server.ts';
import { createTokenCheck } from './authorization.ts';
import { createRefresh } from './refresh.ts';
import { sendProblem } from '../http/problems.ts';
import { createExpress } from '../http/app.ts';
import type { RequestLog } from '../http/log/request-log.ts';
import {
  createAdmission,
  createResource,
  inFrontOf,
  toProblem,
  type Middleware,
} from '../http/middlewares.ts';
import { createStatusPage, type StatusPageOptions } from './status-page/status-page.ts';

// The management port: what must not be public. It is on loopback by default, and what it can change
// takes a token all the same.

export interface OperatorsAppOptions extends HealthOptions {
  readonly requestLog: RequestLog;
  readonly server: Pick<ManagementServer, 'isOverCapacity' | 'isUsedUp'>;
  /** Names that `Host` may have, besides those that are always allowed. */
  readonly hosts: readonly string[];
  /** Allows no other origin. */
  readonly cors: Cors;
  readonly securityHeaders: FlatHeaders;
  /** Gives the token that authorises `POST /refresh`; undefined: nobody is authorised. */
  readonly token: (() => Promise<string>) | undefined;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'contentType' | 'exposition' | 'onManagementRefusal'>;
  readonly statusPage: Omit<StatusPageOptions, keyof HealthOptions | 'isRefreshEnabled'>;
}

export const createOperatorsApp = (options: OperatorsAppOptions): RequestListener => {
  const app = createExpress();
  app.set('query parser', 'simple');
  const resource = createResource(app, options);
  resource('/healthz', createHealthz(options));
  resource('/readyz', createReadyz(options));
  resource('/metrics', async (_req, res) => {
    const text = await options.metrics.exposition();
    res
      .writeHead(200, { 'Content-Type': options.metrics.contentType, 'Cache-Control': 'no-store' })
      .end(text);
  });
  const isRefreshEnabled = options.token !== undefined;
  for (const [path, handler] of createStatusPage({ ...options, ...options.statusPage, isRefreshEnabled }))
    resource(path, handler);
  app
    .route('/refresh')
    .post(
      createTokenCheck({ ...options, onRefusal: options.metrics.onManagementRefusal }),
      createRefresh(options.list),
    )
    .all((_req, res) => {
      res.set('Allow', 'POST');
      sendProblem(res, 'method_not_allowed');
    });
  app.use((_req, res) => sendProblem(res, 'not_found', { detail: 'There is nothing at this path.' }));
  app.use(toProblem);
  return inFrontOf(app, [options.requestLog.middleware, createAdmission(options), createHostCheck(options)]);
};

/** Refuses what asks under another name: a page that reaches this port by DNS rebinding. */
const createHostCheck = ({ hosts, metrics }: OperatorsAppOptions): Middleware => {
  const names = new Set(hosts);
  return (req, res, next) => {
    if (isForManagementHost(req, names)) {
      next();
      return;
    }
    metrics.onManagementRefusal('host');
    sendProblem(res, 'host_not_allowed');
  };
};
