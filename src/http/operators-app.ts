import { createHash, timingSafeEqual } from 'node:crypto';
import express, { type Express, type RequestHandler } from 'express';
import type { BankList } from '../banks/bank-list.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createHealthz, createReadyz, type HealthOptions } from './health.ts';
import { sendProblem } from './problems.ts';
import { setFields } from './fields.ts';
import { createResource, toProblem } from './public-app.ts';
import type { RequestLog } from './request-log.ts';
import { createSecurityFields } from './security-fields.ts';
import { createCors } from './cors.ts';
import { createStatusPage, type StatusPageOptions } from './status-page/status-page.ts';

// The operators' listener: what must not be public. It is on loopback unless told otherwise, and what it can change
// takes a token all the same.

export interface OperatorsAppOptions extends HealthOptions {
  readonly requestLog: RequestLog;
  /** Gives the token that authorises `POST /refresh`; undefined: nobody is authorised. */
  readonly token: (() => Promise<string>) | undefined;
  readonly metrics: Pick<Metrics, 'contentType' | 'exposition'>;
  readonly statusPage: Omit<StatusPageOptions, keyof HealthOptions | 'isRefreshEnabled'>;
}

export const createOperatorsApp = (options: OperatorsAppOptions): Express => {
  const app = express();
  app.set('query parser', 'simple');
  app.set('etag', false);
  app.enable('case sensitive routing');
  app.enable('strict routing');

  app.use(options.requestLog.middleware);
  const securityFields = createSecurityFields(NO_CORS);
  app.use((_req, res, next) => {
    setFields(res, securityFields);
    next();
  });
  const resource = createResource(app, NO_CORS);
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
    .post(createAuthorization(options.token), createRefresh(options.list))
    .all((_req, res) => {
      res.set('Allow', 'POST');
      sendProblem(res, 'method_not_allowed');
    });
  app.use((_req, res) => sendProblem(res, 'not_found', { detail: 'There is nothing at this path.' }));
  app.use(toProblem);
  return app;
};

/** No page of another origin has any business here. */
const NO_CORS = createCors([]);

/** Lets a request through that carries the token (RFC 6750 section 2.1). */
const createAuthorization =
  (token: OperatorsAppOptions['token']): RequestHandler =>
  async (req, res, next) => {
    if (token === undefined) {
      sendProblem(res, 'refresh_disabled');
      return;
    }
    const [, given = ''] = /^bearer +(\S+)$/i.exec(req.headers.authorization ?? '') ?? [];
    if (isSame(given, await token())) {
      next();
      return;
    }
    res.set('WWW-Authenticate', 'Bearer');
    sendProblem(res, 'unauthorized');
  };

/** Compares in a time that tells nothing about either text. */
const isSame = (given: string, expected: string): boolean => timingSafeEqual(sha256(given), sha256(expected));

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** `POST /refresh`: loads now; `?accept=shrunk` takes this one list even if the guard would refuse it for its size. */
const createRefresh =
  (list: BankList): RequestHandler =>
  async (req, res) => {
    const { accept } = req.query;
    if (accept !== undefined && accept !== 'shrunk') {
      sendProblem(res, 'bad_request', { detail: 'The only value of accept is shrunk.' });
      return;
    }
    const before = list.served()?.list;
    const failure = await list.refresh({ acceptShrunk: accept === 'shrunk' });
    if (failure) {
      const hint =
        failure.kind === 'shrunk' ? '; if that is right, POST /refresh?accept=shrunk takes it' : '';
      sendProblem(res, 'refresh_failed', { detail: `${failure.message}${hint}`, kind: failure.kind });
      return;
    }
    const { held } = list.status();
    const changed = before?.representations.identity.etag !== held?.representations.identity.etag;
    res.set('Cache-Control', 'no-store');
    res.json({ outcome: changed ? 'changed' : 'unchanged', count: held?.count, heldBack: held?.heldBack });
  };
