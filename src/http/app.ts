import express, { type Express, type RequestHandler } from 'express';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { BankList } from '../banks/bank-list.ts';
import { refusalOf } from '../http-front/index.ts';
import type { RequestRefusal } from '../telemetry/events.ts';
import { createBanksRoute, type BanksRouteOptions } from './banks/route.ts';
import type { CommonHeaders } from './common-headers.ts';
import type { Cors } from './cors.ts';
import { READING_METHODS, setHeaders } from './headers.ts';
import { createHealthz, createReadyz, type HealthOptions } from './health.ts';
import { createOpenApiRoute, type OpenApiOptions } from './openapi.ts';
import { sendProblem } from './problems.ts';
import type { RequestLog } from './request-log.ts';

// The applications of both ports: what they do with every request, whatever it asks for, and which
// resources exist. They do not listen, and read no body. A header for every response belongs in
// common-headers.ts: the hot path does not go through Express.

export type Middleware = (req: IncomingMessage, res: ServerResponse, next: () => void) => void;

export interface AppOptions {
  readonly list: Pick<BankList, 'served'>;
  readonly isDraining: () => boolean;
  readonly requestLog: RequestLog;
  readonly cors: Cors;
  readonly commonHeaders: CommonHeaders;
}

/**
 * Defines a read-only resource. Express answers HEAD by the GET handler; other methods get a 405
 * with `Allow`.
 */
type DefineResource = (path: string, get: RequestHandler) => void;

/**
 * An application with /readyz and what `define` adds. `check` comes before all resources, and
 * refuses what it does not pass on.
 */
export const createApp = (
  options: AppOptions,
  define: (resource: DefineResource, app: Express, refuse: Refuse) => void,
  check: Middleware = (_req, _res, next) => next(),
): RequestListener => {
  const { cors, requestLog } = options;
  const refuse = createRefusal(requestLog);
  const app = express();
  // No headers of its own, and exact paths.
  app
    .disable('etag')
    .disable('x-powered-by')
    .enable('case sensitive routing')
    .enable('strict routing');
  const resource: DefineResource = (path, get) => {
    app
      .route(path)
      .get(get)
      .options((req, res) => {
        setHeaders(res, cors.preflightHeaders(req));
        setHeaders(res, ['Allow', READING_METHODS, 'Cache-Control', 'no-store']);
        res.writeHead(204).end();
      })
      .all((req, res) => {
        res.setHeader('Allow', READING_METHODS);
        refuse(req, res, 'method_not_allowed');
      });
  };
  define(resource, app, refuse);
  resource('/readyz', createReadyz(options));
  app.use((_req, res) => sendProblem(res, 'not_found'));
  const onError = createErrorHandler(refuse);
  app.use(onError);

  const admit = createRequestAdmission(options, refuse);
  return (req, res) =>
    requestLog.middleware(req, res, () => {
      try {
        admit(req, res, () => check(req, res, () => void app(req, res)));
      } catch (error) {
        onError(error, req, res, () => undefined);
      }
    });
};

interface PublicAppOptions extends AppOptions, BanksRouteOptions, HealthOptions, OpenApiOptions {
  readonly list: BankList;
}

export const createPublicApp = (options: PublicAppOptions): RequestListener =>
  createApp(options, (resource) => {
    resource('/banks', createBanksRoute(options));
    resource('/healthz', createHealthz(options));
    resource('/openapi.json', createOpenApiRoute(options));
  });

/**
 * Sets the headers of every response, and refuses what is refused whatever the resource. It belongs
 * in front of Express, whose router parses the target with Node's old URL parser, which accepts
 * malformed targets and prints a warning (DEP0170).
 */
const createRequestAdmission =
  ({ cors, commonHeaders }: AppOptions, refuse: Refuse): Middleware =>
  (req, res, next) => {
    setHeaders(res, commonHeaders(req.headers.origin));
    if (cors.varies) res.setHeader('Vary', 'Origin');

    const refusal = refusalOf(req);
    if (!refusal) return next();
    res.setHeader('Connection', 'close');
    refuse(req, res, refusal);
  };

type Refuse = (req: IncomingMessage, res: ServerResponse, code: RequestRefusal) => void;

/** Sends the problem, and has it counted and logged as a refusal. */
const createRefusal =
  (requestLog: RequestLog): Refuse =>
  (req, res, code) => {
    requestLog.note(req, { refusal: code });
    sendProblem(res, code);
  };

/**
 * Express's own refusals (a malformed percent-encoding in the path) are the client's fault; any
 * other error is a defect, which the request's log line tells of.
 */
const createErrorHandler =
  (refuse: Refuse) =>
  // Express knows an error handler by its four parameters.
  (error: unknown, req: IncomingMessage, res: ServerResponse, _next: () => void): void => {
    if (isClientError(error) && !res.headersSent) return refuse(req, res, 'bad_request');
    res.err = error instanceof Error ? error : new Error('no error was thrown', { cause: error });
    // Part of the response has been sent: only closing the connection can tell the client.
    if (res.headersSent) res.destroy();
    else sendProblem(res, 'internal_error');
  };

const isClientError = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'status' in error && error.status === 400;
