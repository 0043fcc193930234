import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Cors } from './cors.ts';
import { setHeaders, type FlatHeaders } from './headers.ts';
import { PROBES } from './health.ts';
import { hasUnwantedBody, isServerWide, refusalOf } from './listener/admission.ts';
import type { PublicServer } from './listener/server.ts';
import { sendProblem } from './problems.ts';
import { sendOptions } from './resource.ts';

// What every request passes before its route, on both ports. It runs before Express, whose router parses the target with Node's
// old URL parser, which accepts malformed targets and prints a warning (DEP0170).

export type Middleware = (req: IncomingMessage, res: ServerResponse, next: () => void) => void;

/** Passes each request through `middlewares`, in this order, and then to `app`. */
export const inFrontOf = (app: RequestListener, middlewares: readonly Middleware[]): RequestListener =>
  middlewares.reduceRight<RequestListener>(
    (next, middleware) => (req, res) => middleware(req, res, () => next(req, res)),
    app,
  );

export interface AdmissionOptions {
  readonly cors: Cors;
  readonly securityHeaders: FlatHeaders;
  readonly server: Pick<PublicServer, 'isOverCapacity' | 'isUsedUp'>;
  readonly isDraining: () => boolean;
}

/** The headers of every answer, and the refusals that do not depend on the resource. */
export const createAdmission = (options: AdmissionOptions): readonly Middleware[] => [
  createCommonHeaders(options),
  createLastAnswer(options),
  refuseMalformed,
  createCapacityCheck(options),
  answerServerWide,
];

const createCommonHeaders =
  ({ cors, securityHeaders }: Pick<AdmissionOptions, 'cors' | 'securityHeaders'>): Middleware =>
  (req, res, next) => {
    setHeaders(res, securityHeaders);
    setHeaders(res, cors.headers(req.headers.origin));
    if (cors.varies) res.setHeader('Vary', 'Origin');
    next();
  };

/** Announces the end of the connection with its last response. A client that reused it would lose its request. */
const createLastAnswer =
  ({ server, isDraining }: Pick<AdmissionOptions, 'server' | 'isDraining'>): Middleware =>
  (req, res, next) => {
    const isLast =
      server.isOverCapacity(req.socket) ||
      server.isUsedUp(req.socket) ||
      isDraining() ||
      hasUnwantedBody(req);
    if (isLast) res.setHeader('Connection', 'close');
    next();
  };

const refuseMalformed: Middleware = (req, res, next) => {
  const refusal = refusalOf(req);
  if (refusal) {
    res.setHeader('Connection', 'close');
    sendProblem(res, refusal);
  } else next();
};

/** Probes are always answered: otherwise an orchestrator would restart a full service, or send all clients to fewer replicas. */
const createCapacityCheck =
  ({ server }: Pick<AdmissionOptions, 'server'>): Middleware =>
  (req, res, next) => {
    if (server.isOverCapacity(req.socket) && !PROBES.has(req.url)) {
      res.setHeader('Retry-After', 1);
      sendProblem(res, 'too_many_connections');
    } else next();
  };

/** `OPTIONS *` asks about the server, so no route has it. */
const answerServerWide: Middleware = (req, res, next) => {
  if (isServerWide(req.method, req.url)) sendOptions(res);
  else next();
};
