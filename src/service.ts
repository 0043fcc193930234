import type { LookupFunction } from 'node:net';
import type { DestinationStream } from 'pino';
import type { BankList } from './banks/bank-list.ts';
import { systemClock, type Clock } from './clock.ts';
import { secretsOf, type Config } from './config/config.ts';
import { createCore } from './core.ts';
import { createPublicListener } from './http/public-listener.ts';
import { createManagementPort } from './operators/management-port.ts';
import type { DrainTimes } from './operators/status-page/verdict.ts';
import { createRedaction, type Redaction } from './secrets/redaction.ts';
import type { ServiceEvent } from './telemetry/events.ts';
import { createTelemetry } from './telemetry/telemetry.ts';

// The composition root: every part is made here and given what it uses. Two services can live in one process.

export interface ServiceOptions {
  readonly version: string;
  readonly logDestination: DestinationStream;
  /** Is given every secret; the caller uses it for what it writes besides the log. */
  readonly redaction?: Redaction;
  readonly clock?: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random?: () => number;
  /** Resolves the provider's host names; Node's own unless given. */
  readonly lookup?: LookupFunction;
}

export interface Service {
  readonly list: BankList;
  /**
   * Restores the last good list, binds the listeners and asks for the first list. Rejects when a port is taken.
   */
  start(): Promise<{ readonly publicUrl: string; readonly operatorsUrl: string | undefined }>;
  /**
   * Drains and closes, inside `SHUTDOWN_GRACE`. For `noticeMs` of it requests are still taken while /readyz says no.
   */
  stop(options: { readonly noticeMs: number }): Promise<void>;
}

export const createService = (config: Config, options: ServiceOptions): Service => {
  const { clock = systemClock, random = Math.random, version, logDestination } = options;
  const redaction = options.redaction ?? createRedaction();
  for (const [variable, secret] of secretsOf(config)) redaction.addSecret(variable, secret);
  // Events come from parts that are made before the telemetry, and none before all are made.
  const emit = (event: ServiceEvent): void => telemetry.emit(event);

  const core = createCore(config, {
    version,
    lookup: options.lookup,
    clock,
    random,
    addSecret: redaction.addSecret,
    emit,
  });
  const { list } = core;
  const telemetry = createTelemetry(config, {
    version,
    logDestination,
    redaction,
    clock,
    status: () => list.status(),
    stores: core.stores,
  });
  const { logger, metrics, history } = telemetry;

  let drain: DrainTimes | undefined;
  const shared = { list, stores: telemetry.stores, version, clock, logger, logDestination };
  const publicListener = createPublicListener(config, {
    ...shared,
    isDraining: () => drain !== undefined,
    redact: redaction.redact,
    emit,
  });
  const managementPort = createManagementPort(config, {
    ...shared,
    drain: () => drain,
    redaction,
    metrics,
    history,
  });

  return {
    list,
    start: async () => {
      // Loading Express is this thread's work and restoring a list mostly other threads': they go side by side.
      const [restoredFrom] = await Promise.all([
        core.restore(),
        publicListener.load(),
        managementPort.load(),
      ]);
      const publicUrl = await publicListener.listen();
      const operatorsUrl = await managementPort.listen();
      logger.info(
        {
          url: publicUrl,
          operatorsUrl,
          environment: config.provider.environment,
          version,
          token: core.tokenVariable,
          fields: config.banks.fields?.map(({ name }) => name).join(',') ?? 'all',
          lastGoodList: restoredFrom ?? 'none',
        },
        'listening',
      );
      core.start();
      return { publicUrl, operatorsUrl };
    },
    stop: async ({ noticeMs }) => {
      logger.info({ noticeMs: Math.round(noticeMs), graceMs: config.shutdownGraceMs }, 'draining');
      const nowMs = clock.wallMs();
      drain = { acceptsUntilMs: nowMs + noticeMs, endsByMs: nowMs + config.shutdownGraceMs };
      // The management port answers to the end: somebody may be watching the drain.
      await publicListener.drain({ noticeMs, graceMs: config.shutdownGraceMs });
      await Promise.all([managementPort.close(), core.stop()]);
      logger.info('stopped');
    },
  };
};
