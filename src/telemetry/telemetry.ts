import type { DestinationStream } from 'pino';
import type { BankList } from '../banks/bank-list.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { redacting, type Redaction } from '../secrets/redaction.ts';
import type { SecretFileState } from '../secrets/secrets.ts';
import type { StoreState } from '../sharing/store-report.ts';
import type { ServiceEvent } from './events.ts';
import { createHistory } from './history.ts';
import type { LogDestination } from './log-stream.ts';
import { createEventLog, createLogger } from './log.ts';
import { createMetrics } from './metrics.ts';

// The log, the metrics and the history, which receive every event of the service.

export interface TelemetryOptions {
  readonly version: string;
  readonly logDestination: DestinationStream & Partial<Pick<LogDestination, 'lostLines'>>;
  readonly redaction: Redaction;
  readonly clock: Clock;
  readonly list: Pick<BankList, 'status'>;
  /** The state of each configured store. */
  readonly stores: () => readonly StoreState[];
  readonly secretFiles: () => readonly SecretFileState[];
}

export const createTelemetry = (config: Config, options: TelemetryOptions) => {
  const { logDestination, redaction, clock } = options;
  const logger = createLogger(config.logLevel, redacting(logDestination, redaction));
  const log = createEventLog(logger, config.banks.fields !== undefined);
  const history = createHistory(clock);
  const metrics = createMetrics(config, {
    ...options,
    lostLogLines: () => logDestination.lostLines?.() ?? 0,
  });
  /** Passes `event` to all of them. */
  const emit = (event: ServiceEvent): void => {
    log(event);
    metrics.onEvent(event);
    history.onEvent(event);
  };
  return { logger, metrics, history, emit };
};
