import { setImmediate } from 'node:timers/promises';
import { createBankList } from './banks/bank-list.ts';
import { createSoleReplica } from './banks/fleet.ts';
import type { Compressors } from './banks/representation.ts';
import { systemClock, type Clock } from './clock.ts';
import { ConfigError, type Config } from './config/config.ts';
import { createPublicServer } from './http/public-server.ts';
import { createManagementServer } from './management/management-server.ts';
import { createParts } from './parts.ts';
import { createRedaction, type Redaction } from './secrets/redaction.ts';
import { variableOf } from './secrets/secret.ts';
import { createRedisFleet } from './sharing/redis-fleet.ts';
import { createSnapshotFile } from './sharing/snapshot-file.ts';
import { createStoreReport, type StoreName, type StoreReport } from './sharing/store-report.ts';
import type { ServiceEvent } from './telemetry/events.ts';
import { createTelemetry, type TelemetryOptions } from './telemetry/telemetry.ts';

// The composition root: every part is made here and given what it uses. Two services can live in
// one process.

export interface ServiceOptions {
  readonly version: string;
  readonly logDestination: TelemetryOptions['logDestination'];
  /** Is given every secret; the caller uses it for what it writes besides the log. */
  readonly redaction?: Redaction;
  // For tests; by default the system's.
  readonly clock?: Clock;
  /** Measures the deadlines of Redis, which do not follow a clock that is moved by hand. */
  readonly ioClock?: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random?: () => number;
  readonly compressors?: Compressors;
}

// Each part once, in the order of dependence.
// oxlint-disable-next-line max-lines-per-function
export const createService = (config: Config, options: ServiceOptions) => {
  const { version, logDestination, clock = systemClock, random = Math.random } = options;
  const { provider: providerConfig, banks, cache } = config;
  const redaction = options.redaction ?? createRedaction();
  let isDraining = false;
  // `telemetry` is assigned below: nothing is emitted while the parts are made.
  const emit = (event: ServiceEvent): void => telemetry.emit(event);

  const { secrets, provider, envelope, guardPolicy } = createParts(config, {
    ...options,
    redaction,
    onEvent: emit,
  });
  const reports: StoreReport[] = [];
  const reportOn = (store: StoreName): StoreReport => {
    const report = createStoreReport(store, clock, emit);
    reports.push(report);
    return report;
  };
  const stores = () => reports.map((report) => report.state());
  const snapshot =
    cache.snapshotFile === undefined
      ? undefined
      : createSnapshotFile({
          path: cache.snapshotFile,
          envelope,
          clock,
          report: reportOn('CACHE_SNAPSHOT_FILE'),
        });
  const redis =
    config.secrets.CACHE_REDIS_URL &&
    createRedisFleet({
      envelope,
      policy: cache,
      clock,
      ioClock: options.ioClock ?? clock,
      readUrl: () => secrets.read('CACHE_REDIS_URL'),
      report: reportOn(variableOf('CACHE_REDIS_URL', config.secrets)),
    });
  const list = createBankList({
    policy: cache,
    guard: guardPolicy,
    loadTimeoutMs: providerConfig.timeoutMs,
    load: provider.load,
    fleet: redis ?? createSoleReplica(clock),
    save: snapshot?.save,
    clock,
    random,
    emit,
    compressors: options.compressors,
  });

  const telemetry = createTelemetry(config, {
    version,
    logDestination,
    redaction,
    clock,
    list,
    stores,
    secretFiles: secrets.states,
  });
  const { logger, metrics, history } = telemetry;

  const serverOptions = {
    list,
    clock,
    version,
    logger,
    logDestination,
    redact: redaction.redact,
    emit,
    environment: providerConfig.environment,
    stores,
    secretFiles: secrets.states,
    isDraining: () => isDraining,
  };
  const publicServer = createPublicServer(config, serverOptions);
  const managementServer = createManagementServer(config, {
    ...serverOptions,
    metrics,
    history,
    readToken: config.secrets.MANAGEMENT_TOKEN && (() => secrets.read('MANAGEMENT_TOKEN')),
    /** Reads all secrets again. @returns what failed, a sentence each */
    renewSecrets: async () => {
      const unusable = await secrets.check();
      const tokenProblem = await provider.renewToken();
      return [
        ...unusable.map(
          ({ variable, problem, consequence }) => `${variable} ${problem}; ${consequence}`,
        ),
        ...(tokenProblem === undefined ? [] : [tokenProblem]),
      ];
    },
  });

  const assertNotStopped = (): void => {
    if (isDraining) throw new Error('The service was stopped while it started.');
  };

  const stopList = async (): Promise<void> => {
    secrets.stop();
    provider.close();
    await list.stop();
    redis?.close();
    await snapshot?.stop();
  };

  const start = async () => {
    const unusable = await secrets.check();
    assertNotStopped();
    await list.restore(await snapshot?.read());
    assertNotStopped();
    // With a list to serve, the service starts: the files can be corrected while it runs.
    if (unusable.length > 0 && !list.served()) throw new ConfigError(unusable);
    // First: clients of the public port can take all file descriptors.
    const { listen } = config.management;
    const managementUrl = listen && (await managementServer.listen(listen));
    assertNotStopped();
    const publicUrl = await publicServer.listen(config.listen);
    assertNotStopped();
    logger.info(
      {
        url: publicUrl,
        managementUrl,
        version,
        environment: providerConfig.environment,
        fields: banks.fields?.map(({ name }) => name).join(',') ?? 'all',
        token: providerConfig.tokenVariable,
      },
      'listening',
    );
    list.start();
    secrets.start();
    return { publicUrl, managementUrl };
  };

  return {
    list,
    /**
     * Restores the saved list, binds the listeners and asks for the first list. Rejects, with
     * everything closed, if a port is taken, if `stop` is called meanwhile, and with a ConfigError
     * if a secret file is not usable and no list was restored.
     */
    start: async (): ReturnType<typeof start> => {
      try {
        return await start();
      } catch (error) {
        await Promise.all([publicServer.close(), managementServer.close(), stopList()]);
        throw error;
      }
    },
    /**
     * Drains and closes, inside `SHUTDOWN_GRACE`. For the first `noticeMs`, requests are
     * still accepted while /readyz responds with 503.
     */
    stop: async ({ noticeMs }: { readonly noticeMs: number }): Promise<void> => {
      logger.info({ noticeMs: Math.round(noticeMs), graceMs: config.shutdownGraceMs }, 'draining');
      isDraining = true;
      await publicServer.drain({ noticeMs, graceMs: config.shutdownGraceMs });
      await stopList();
      // The management port closes last: operators may watch the drain, and a refresh that waits
      // gets its response in this turn of the event loop.
      await setImmediate();
      await managementServer.close();
      logger.info('stopped');
    },
  };
};
