import type { DestinationStream } from 'pino';
import { Agent, type Dispatcher } from 'undici';
import { createBankList, type BankList, type Load } from './banks/bank-list.ts';
import { systemClock, type Clock } from './clock.ts';
import type { Config } from './config.ts';
import { createCors } from './http/cors.ts';
import { createPublicApp } from './http/public-app.ts';
import { createRequestLog } from './http/request-log.ts';
import { createSecurityFields } from './http/security-fields.ts';
import { createPublicServer, listen } from './http/server.ts';
import { createAccessToken } from './provider/access-token.ts';
import { requestBanks } from './provider/client.ts';
import { processBanksAnswer } from './provider/contract.ts';
import { createListLog, createLogger } from './telemetry.ts';

// The wiring, and nothing else: who gets what. Two services can live in one process.

export interface ServiceOptions {
  readonly version: string;
  readonly logDestination: DestinationStream;
  readonly clock?: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random?: () => number;
  readonly dispatcher?: Dispatcher;
}

export interface Service {
  readonly list: BankList;
  /** Binds the listeners and asks for the first list. Resolves with the public address; rejects when a port is taken. */
  start(): Promise<{ readonly publicUrl: string }>;
  /**
   * Drains and closes, inside `SHUTDOWN_GRACE`. For `noticeMs` of it requests are still taken while /readyz says no.
   */
  stop(options: { readonly noticeMs: number }): Promise<void>;
}

export const createService = (config: Config, options: ServiceOptions): Service => {
  const { clock = systemClock, random = Math.random, version } = options;
  const logger = createLogger(config.logLevel, options.logDestination);
  const dispatcher = options.dispatcher ?? new Agent({ connections: 1, headersTimeout: 0, bodyTimeout: 0 });
  const accessToken = createAccessToken(config.provider.token);

  const load: Load = async (signal) => {
    const answer = await requestBanks({ dispatcher, ...config.provider }, await accessToken(), signal);
    return processBanksAnswer(answer, config.banks, clock.wallMs());
  };
  const list = createBankList({
    load,
    loadTimeoutMs: config.provider.timeoutMs,
    policy: config.cache,
    guard: config.guard,
    clock,
    random,
    onEvent: createListLog(logger),
  });

  let draining = false;
  const cors = createCors(config.corsOrigins);
  const securityFields = createSecurityFields(cors);
  const publicServer = createPublicServer({
    commonFields: [...securityFields, ...cors.fields(undefined)],
    onRefusal: (refusal) => logger.info(refusal, 'request refused'),
    clock,
    app: ({ isInExcess }) =>
      createPublicApp({
        list,
        version,
        cors,
        securityFields,
        isInExcess,
        environment: config.provider.environment,
        isDraining: () => draining,
        requestLog: createRequestLog(logger),
        trustProxy: config.trustProxy,
        fields: config.banks.fields,
        cachePolicy: { ...config.cache, browserMaxAgeMs: config.browserMaxAgeMs },
      }),
  });
  return {
    list,
    start: async () => {
      const publicUrl = await listen(publicServer.server, config.listen);
      logger.info({ url: publicUrl, environment: config.provider.environment, version }, 'listening');
      list.start();
      return { publicUrl };
    },
    stop: async ({ noticeMs }) => {
      logger.info('draining');
      draining = true;
      await publicServer.drain({ noticeMs, graceMs: config.shutdownGraceMs });
      list.stop();
      await dispatcher.destroy();
      logger.info('stopped');
    },
  };
};
