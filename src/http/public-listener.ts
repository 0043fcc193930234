import type { DestinationStream, Logger } from 'pino';
import type { BankList } from '../banks/bank-list.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createPrepareAnswers } from './banks/answers.ts';
import { createClientAddress, createIsProxy } from './client-address.ts';
import { createCors } from './cors.ts';
import { createSecurityHeaders } from './headers.ts';
import { createRequestLog } from './log/request-log.ts';
import type { DrainOptions } from './server/drain.ts';
import { createHotPath } from './server/hot-path.ts';
import { LIMITS } from './server/limits.ts';
import { createBoundedServer } from './server/server.ts';
import type { RequestEvent } from '../telemetry/events.ts';
import type { StoreState } from '../telemetry/store-states.ts';

// Composes the public port: the headers of every response, the hot path for ordinary requests, and the Express application
// for the others.

export interface PublicListenerOptions {
  readonly list: BankList;
  readonly stores: () => readonly StoreState[];
  readonly version: string;
  readonly isDraining: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where `logger` writes. */
  readonly logDestination: DestinationStream;
  readonly redact: (text: string) => string;
  /** Is given every finished request. */
  readonly emit: (event: RequestEvent) => void;
}

export interface PublicListener {
  /** Loads Express, which takes a tenth of a second. Call it before `listen`. */
  load(): Promise<void>;
  /** Rejects with Node's error, such as EADDRINUSE. Resolves with the address. */
  listen(): Promise<string>;
  /** See {@link DrainOptions}. Resolves when the last connection is closed. */
  drain(options: DrainOptions): Promise<void>;
}

export const createPublicListener = (config: Config, options: PublicListenerOptions): PublicListener => {
  const { list, stores, version, isDraining, clock, logger, emit } = options;
  const { keepAliveTimeoutMs } = config;
  const cors = createCors(config.corsOrigins);
  const securityHeaders = createSecurityHeaders(cors);
  const shared = {
    list,
    stores,
    version,
    environment: config.provider.environment,
    isDraining,
    cors,
    securityHeaders,
    requestLog: createRequestLog({
      logger,
      destination: options.logDestination,
      redact: options.redact,
      clientAddress: createClientAddress(config.trustProxy),
      cors,
      emit,
    }),
    prepareAnswers: createPrepareAnswers({
      list,
      cachePolicy: { ...config.cache, browserMaxAgeMs: config.browserMaxAgeMs },
      variesByOrigin: cors.varies,
    }),
  };
  const server = createBoundedServer({
    commonHeaders: [...securityHeaders, ...cors.headers(undefined)],
    onRefusal: (refusal) => logger.info(refusal, 'request refused'),
    clock,
    isProxy: createIsProxy(config.trustProxy),
    hotPath: config.hotPath ? createHotPath({ ...shared, keepAliveTimeoutMs }) : undefined,
    limits: { ...LIMITS, keepAliveTimeoutMs },
  });
  return {
    load: async () => {
      const { createPublicApp } = await import('./app.ts');
      server.serve(createPublicApp({ ...shared, server, fields: config.banks.fields }));
    },
    listen: () => server.listen(config.listen),
    drain: (times) => server.drain(times),
  };
};
