import { systemClock, type Clock } from './clock.ts';
import { ConfigError, secretsOf, type Config } from './config/config.ts';
import { createCore, type Core, type CoreOptions } from './core.ts';
import { createPublicServer } from './http/public-server.ts';
import { createManagementServer } from './management/management-server.ts';
import type { DrainTimes } from './management/drain-times.ts';
import { createRedaction, type Redaction } from './secrets/redaction.ts';
import type { ServiceEvent } from './telemetry/events.ts';
import { createTelemetry, type TelemetryOptions } from './telemetry/telemetry.ts';

// The composition root: every part is made here and given what it uses. Two services can live in
// one process.

/** By default the clock and the random numbers are the system's. */
export interface ServiceOptions {
  readonly version: string;
  readonly clock?: Clock;
  readonly random?: () => number;
  // For tests: see CoreOptions.
  readonly ioClock?: CoreOptions['ioClock'];
  readonly lookup?: CoreOptions['lookup'];
  readonly loadRedisClient?: CoreOptions['loadRedisClient'];
  readonly files?: CoreOptions['files'];
  readonly compressors?: CoreOptions['compressors'];
  readonly logDestination: TelemetryOptions['logDestination'];
  /** Is given every secret; the caller uses it for what it writes besides the log. */
  readonly redaction?: Redaction;
}

export const createService = (config: Config, options: ServiceOptions) => {
  const { clock = systemClock, random = Math.random } = options;
  const { version, logDestination } = options;
  const redaction = options.redaction ?? createRedaction();
  const { addSecret, redact, findEcho } = redaction;
  for (const [variable, secret] of secretsOf(config)) addSecret(variable, secret);
  let drain: DrainTimes | undefined;
  let isCoreStopped = false;
  // `telemetry` is assigned below: nothing may be emitted while the core is created.
  const emit = (event: ServiceEvent): void => {
    // Stopping the core ends the operations of Redis, which is not a failure of Redis.
    if (isCoreStopped && event.type === 'store-failed' && event.store === 'CACHE_REDIS_URL') return;
    telemetry.emit(event);
  };

  const core = createCore(config, { ...options, clock, random, addSecret, findEcho, emit });
  const { list, secrets } = core;
  const telemetry = createTelemetry(config, {
    version,
    logDestination,
    redaction,
    clock,
    list,
    stores: core.stores,
    secretFiles: secrets.states,
  });
  const { logger, metrics, history, uptimeMs } = telemetry;

  const serverOptions = {
    list,
    clock,
    version,
    environment: config.provider.environment,
    logger,
    logDestination,
    redact,
    emit,
    stores: telemetry.stores,
    secretFiles: secrets.states,
    isDraining: () => drain !== undefined,
  };
  const publicServer = createPublicServer(config, serverOptions);
  const { token } = config.management;
  const managementServer = createManagementServer(config, {
    ...serverOptions,
    renewSecrets: core.renewSecrets,
    metrics,
    history,
    uptimeMs,
    readToken: token && (() => secrets.read('MANAGEMENT_TOKEN')),
    drain: () => drain,
  });

  const stopCore = async (): Promise<void> => {
    isCoreStopped = true;
    secrets.stop();
    await core.stop();
  };

  return {
    list,
    /**
     * Restores the saved list, binds the listeners and asks for the first list. Rejects if a
     * port is taken, if `stop` is called meanwhile, and with a ConfigError if a secret file is not
     * usable and no list was restored.
     */
    start: async () => {
      const unusableFiles = await secrets.check();
      assertNotStopped(drain);
      const restoredFrom = await core.restore();
      assertNotStopped(drain);
      // With a list to serve, the service starts: the files can be corrected while it runs.
      if (unusableFiles.length > 0 && !list.served()) {
        await stopCore();
        throw toConfigError(unusableFiles);
      }
      // First, with all that it loads: clients of the public port can take all file descriptors.
      const { listen } = config.management;
      const managementUrl = listen && (await managementServer.listen(listen));
      assertNotStopped(drain);
      const publicUrl = await publicServer.listen(config.listen);
      assertNotStopped(drain);
      logger.info(
        {
          url: publicUrl,
          managementUrl,
          ...configurationFacts(config),
          version,
          token: core.tokenVariable,
          restoredFrom: restoredFrom ?? 'none',
        },
        'listening',
      );
      core.start();
      secrets.start();
      return { publicUrl, managementUrl };
    },
    /**
     * Drains and closes, inside `SHUTDOWN_GRACE`. For the first `noticeMs`, requests are
     * still accepted while /readyz responds with 503.
     */
    stop: async ({ noticeMs }: { readonly noticeMs: number }): Promise<void> => {
      logger.info({ noticeMs: Math.round(noticeMs), graceMs: config.shutdownGraceMs }, 'draining');
      const nowMs = clock.wallMs();
      drain = { acceptsUntilMs: nowMs + noticeMs, endsByMs: nowMs + config.shutdownGraceMs };
      await publicServer.drain({ noticeMs, graceMs: config.shutdownGraceMs });
      await stopCore();
      // The management port closes last: operators may watch the drain, and a refresh that waits
      // gets its response in this turn of the event loop.
      await clock.turn();
      await managementServer.close();
      telemetry.close();
      logger.info('stopped');
    },
  };
};

const toConfigError = (files: Awaited<ReturnType<Core['secrets']['check']>>): ConfigError =>
  new ConfigError(files.map(({ variable, problem }) => ({ variables: [variable], text: problem })));

/** The configuration in the line `listening`. */
const configurationFacts = ({ provider, banks }: Config) => ({
  environment: provider.environment,
  fields: banks.fields?.map(({ name }) => name).join(',') ?? 'all',
});

const assertNotStopped = (drain: DrainTimes | undefined): void => {
  if (drain) throw new Error('The service was stopped while it started.');
};
