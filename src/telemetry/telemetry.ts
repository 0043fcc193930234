import type { DestinationStream } from 'pino';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { Redaction } from '../secrets/redaction.ts';
import type { ServiceEvent } from './events.ts';
import { createHistory } from './history.ts';
import type { LogDestination } from './log-stream.ts';
import { createEventLog, createLogger } from './log.ts';
import { createMetrics, type MetricsOptions } from './metrics.ts';

// The log, the metrics and the history, which receive every event of the service.

export interface TelemetryOptions extends MetricsOptions {
  readonly logDestination: DestinationStream & Partial<Pick<LogDestination, 'lostLines'>>;
  readonly redaction: Redaction;
  readonly clock: Clock;
}

export const createTelemetry = (config: Config, options: TelemetryOptions) => {
  const { logDestination, redaction, clock } = options;
  const logger = createLogger(config.logLevel, {
    write: (line) => logDestination.write(redaction.redact(line)),
  });
  const log = createEventLog(logger, config.banks.fields !== undefined);
  const history = createHistory(clock);
  const metrics = createMetrics(config, options, () => logDestination.lostLines?.() ?? 0);
  /** Passes `event` to all of them. */
  const emit = (event: ServiceEvent): void => {
    log(event);
    metrics.onEvent(event);
    history.onEvent(event);
  };
  return { logger, metrics, history, emit };
};
