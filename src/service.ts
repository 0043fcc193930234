import { createServer } from 'node:http';
import type { DestinationStream } from 'pino';
import { Agent, type Dispatcher } from 'undici';
import { createBankList, type BankList, type Load } from './banks/bank-list.ts';
import { systemClock, type Clock } from './clock.ts';
import { secretsOf, type Config } from './config.ts';
import { createPublicApp } from './http/public-app.ts';
import { createRequestLog } from './http/request-log.ts';
import { drain, listen } from './http/server.ts';
import { createAccessToken, withToken } from './provider/access-token.ts';
import { requestBanks } from './provider/client.ts';
import { processBanksAnswer } from './provider/contract.ts';
import { createRedaction, redacting, type Redaction } from './redaction.ts';
import { createListLog, createLogger, createTokenLog } from './telemetry.ts';

// The wiring, and nothing else: who gets what. Two services can live in one process.

export interface ServiceOptions {
  readonly version: string;
  readonly logDestination: DestinationStream;
  /** Learns every secret; for whoever writes something that is not a log line. */
  readonly redaction?: Redaction;
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
  const redaction = options.redaction ?? createRedaction();
  for (const [variable, secret] of secretsOf(config)) redaction.hide(variable, secret);
  const logger = createLogger(config.logLevel, redacting(options.logDestination, redaction));
  // Two connections to an origin: a token endpoint that hangs must not hold up the list beside it.
  const dispatcher = options.dispatcher ?? new Agent({ connections: 2, headersTimeout: 0, bodyTimeout: 0 });
  const accessToken = createAccessToken({
    source: config.provider.token,
    environment: config.provider.environment,
    timeoutMs: config.provider.timeoutMs,
    dispatcher,
    clock,
    random,
    hide: redaction.hide,
    onEvent: createTokenLog(logger),
  });

  const load: Load = async (signal) => {
    const answer = await withToken(accessToken, (token) =>
      requestBanks({ dispatcher, ...config.provider }, token, signal),
    );
    return processBanksAnswer(answer, config.banks, clock.wallMs());
  };
  const list = createBankList({
    load,
    loadTimeoutMs: config.provider.timeoutMs,
    policy: config.cache,
    guard: config.guard,
    clock,
    random,
    onEvent: createListLog(logger, { fieldsAreChosen: config.banks.fields !== undefined }),
  });

  let draining = false;
  const app = createPublicApp({
    list,
    version,
    environment: config.provider.environment,
    isDraining: () => draining,
    requestLog: createRequestLog(logger),
    trustProxy: config.trustProxy,
  });
  const server = createServer(app);

  return {
    list,
    start: async () => {
      const publicUrl = await listen(server, config.listen);
      logger.info({ url: publicUrl, environment: config.provider.environment, version }, 'listening');
      list.start();
      return { publicUrl };
    },
    stop: async ({ noticeMs }) => {
      logger.info('draining');
      draining = true;
      await drain(server, { noticeMs, graceMs: config.shutdownGraceMs }, clock);
      list.stop();
      await dispatcher.destroy();
      logger.info('stopped');
    },
  };
};
