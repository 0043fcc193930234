import type { RequestListener } from 'node:http';
import type { DestinationStream, Logger } from 'pino';
import type { BankList } from '../banks/bank-list.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createExpress } from '../http/app.ts';
import { createClientAddress } from '../http/client-address.ts';
import { createHealthz, createReadyz } from '../http/health.ts';
import { createRequestLog } from '../http/log/request-log.ts';
import {
  createRequestAdmission,
  createResource,
  inFrontOf,
  toProblem,
  type RequestAdmissionOptions,
} from '../http/middlewares.ts';
import { sendProblem } from '../http/problems.ts';
import type { Redaction } from '../secrets/redaction.ts';
import type { History } from '../telemetry/history.ts';
import type { ManagementRefusal, Metrics } from '../telemetry/metrics.ts';
import type { StoreState } from '../telemetry/store-states.ts';
import { createHostCheck, createTokenCheck, readManagementToken } from './authorization.ts';
import { createRefresh } from './refresh.ts';
import { createStatusPage } from './status-page/status-page.ts';
import type { DrainTimes } from './status-page/verdict.ts';

// The routes of the management port: what must not be public. It is on loopback by default, and what it can change takes a
// token all the same.

export interface OperatorsAppOptions extends Omit<RequestAdmissionOptions, 'isDraining'> {
  readonly list: BankList;
  readonly stores: () => readonly StoreState[];
  readonly version: string;
  /** When the drain under way ends; undefined: there is none. */
  readonly drain: () => DrainTimes | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where `logger` writes. */
  readonly logDestination: DestinationStream;
  readonly redaction: Redaction;
  readonly metrics: Metrics;
  readonly history: History;
}

export const createOperatorsApp = (config: Config, options: OperatorsAppOptions): RequestListener => {
  const { list, stores, version, drain, clock, redaction, metrics, history } = options;
  const isDraining = (): boolean => drain() !== undefined;
  const health = { list, stores, version, environment: config.provider.environment, isDraining };
  const onRefusal = (reason: ManagementRefusal): void => metrics.onManagementRefusal(reason);
  const token = readManagementToken(config, redaction);
  // These requests are logged and not counted: they are not users'.
  const requestLog = createRequestLog({
    logger: options.logger,
    destination: options.logDestination,
    redact: redaction.redact,
    clientAddress: createClientAddress(config.trustProxy),
  });

  const app = createExpress();
  app.set('query parser', 'simple');
  const resource = createResource(app, { cors: options.cors, requestLog });
  resource('/healthz', createHealthz(health));
  resource('/readyz', createReadyz(health));
  resource('/metrics', async (_req, res) => {
    const text = await metrics.exposition();
    res.writeHead(200, { 'Content-Type': metrics.contentType, 'Cache-Control': 'no-store' }).end(text);
  });
  const statusPage = createStatusPage({
    ...health,
    wallMs: () => clock.wallMs(),
    policy: config.cache,
    fields: config.banks.fields,
    minutes: () => history.minutes(),
    drain,
    isRefreshEnabled: token !== undefined,
  });
  for (const [path, handler] of statusPage) resource(path, handler);
  app
    .route('/refresh')
    .post(createTokenCheck({ token, clock, onRefusal }), createRefresh(list))
    .all((_req, res) => {
      res.set('Allow', 'POST');
      sendProblem(res, 'method_not_allowed');
    });
  app.use((_req, res) => sendProblem(res, 'not_found', { detail: 'There is nothing at this path.' }));
  app.use(toProblem);
  return inFrontOf(app, [
    requestLog.middleware,
    createRequestAdmission({ ...options, isDraining }),
    createHostCheck(config.management.hosts, onRefusal),
  ]);
};
