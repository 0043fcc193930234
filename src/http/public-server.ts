import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createChooseAnswer } from './banks/answers.ts';
import { createHotPath } from './banks/hot-path.ts';
import { createClientAddress, createIsProxy } from './client-address.ts';
import { createCommonHeaders } from './common-headers.ts';
import { createCors } from './cors.ts';
import type { HealthOptions } from './health.ts';
import { createRequestLog, type RequestLogOptions } from './request-log.ts';
import { LIMITS } from './server/limits.ts';
import { createBoundedServer, type BoundedServer } from './server/server.ts';

// Composes the public port: the headers of every response, the hot path for ordinary requests, and
// the Express application for the others.

export interface PublicServerOptions
  extends HealthOptions, Omit<RequestLogOptions, 'clientAddress' | 'cors'> {
  readonly clock: Clock;
}

export const createPublicServer = (config: Config, options: PublicServerOptions): BoundedServer => {
  const { list, clock, logger } = options;
  const { keepAliveTimeoutMs } = config;
  const cors = createCors(config.corsOrigins);
  const commonHeaders = createCommonHeaders(cors);
  const shared = {
    ...options,
    cors,
    commonHeaders,
    keepAliveTimeoutMs,
    requestLog: createRequestLog({
      ...options,
      clientAddress: createClientAddress(config.trustProxy),
      cors,
    }),
    chooseAnswer: createChooseAnswer({
      list,
      cachePolicy: { ...config.cache, browserMaxAgeMs: config.browserMaxAgeMs },
      variesByOrigin: cors.varies,
      clock,
    }),
  };
  const server = createBoundedServer({
    commonHeaders: commonHeaders(undefined),
    onRefusal: (refusal) => logger.info(refusal, 'request refused'),
    clock,
    isProxy: createIsProxy(config.trustProxy),
    hotPath: config.hotPath ? createHotPath(shared) : undefined,
    limits: { ...LIMITS, keepAliveTimeoutMs },
    loadApp: async () => {
      const { createPublicApp } = await import('./app.ts');
      return createPublicApp({ ...shared, server, fields: config.banks.fields });
    },
  });
  return server;
};
