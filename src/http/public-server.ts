import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createChooseResponse } from './banks/responses.ts';
import { createHotPath } from './banks/hot-path.ts';
import { createClientAddress, createClientOf } from './client-address.ts';
import { createCommonHeaders } from './common-headers.ts';
import { createCors } from './cors.ts';
import type { HealthOptions } from './health.ts';
import { createRespondToRefused } from './refused.ts';
import { createRequestLog, type RequestLogOptions } from './request-log.ts';
import { createHttpFront, LIMITS, type HttpFront } from '../http-front/index.ts';
import type { ConnectionClosedEvent, RequestEvent } from '../telemetry/events.ts';

// Composes the public port: the headers of every response, the hot path for ordinary requests, and
// the Express application for the others.

export interface PublicServerOptions
  extends HealthOptions, Omit<RequestLogOptions, 'clientAddress' | 'cors' | 'emit'> {
  readonly clock: Clock;
  readonly emit: (event: RequestEvent | ConnectionClosedEvent) => void;
}

export const createPublicServer = (config: Config, options: PublicServerOptions): HttpFront => {
  const { list, clock, logger } = options;
  const cors = createCors(config.corsOrigins);
  const commonHeaders = createCommonHeaders(cors);
  const shared = {
    ...options,
    cors,
    commonHeaders,
    requestLog: createRequestLog({
      ...options,
      clientAddress: createClientAddress(config.trustProxy),
      cors,
    }),
    chooseResponse: createChooseResponse({
      list,
      cachePolicy: { ...config.cache, browserMaxAgeMs: config.browserMaxAgeMs },
      variesByOrigin: cors.varies,
      clock,
    }),
  };
  const server = createHttpFront({
    respondToRefused: createRespondToRefused(commonHeaders(undefined), logger),
    clock,
    clientOf: createClientOf(config.trustProxy),
    onClosed: (reason) => options.emit({ type: 'connection-closed', reason }),
    hotPath: config.hotPath ? createHotPath(shared) : undefined,
    limits: { ...LIMITS, keepAliveTimeoutMs: config.keepAliveTimeoutMs },
    loadApp: async () => {
      const { createPublicApp } = await import('./app.ts');
      return createPublicApp({ ...shared, server, fields: config.banks.fields });
    },
  });
  return server;
};
