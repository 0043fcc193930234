import type { DestinationStream } from 'pino';
import type { BankList } from '../banks/bank-list.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { redacting, type Redaction } from '../secrets/redaction.ts';
import type { SecretFileState } from '../secrets/secrets.ts';
import type { StoreName } from '../sharing/store-report.ts';
import type { ServiceEvent, StoreState } from './events.ts';
import { createHistory } from './history.ts';
import type { LogDestination } from './log-stream.ts';
import { createEventLog, createLogger } from './log.ts';
import { createMetrics } from './metrics.ts';

// The log, the metrics, the history and the states of the stores, which receive every event of the
// service.

export interface TelemetryOptions {
  readonly version: string;
  readonly logDestination: DestinationStream & Partial<Pick<LogDestination, 'lostLines'>>;
  readonly redaction: Redaction;
  readonly clock: Clock;
  readonly list: Pick<BankList, 'status'>;
  /** The stores that are configured. */
  readonly stores: readonly StoreName[];
  readonly secretFiles: () => readonly SecretFileState[];
}

export const createTelemetry = (config: Config, options: TelemetryOptions) => {
  const { version, logDestination, redaction, clock, list } = options;
  const logger = createLogger(config.logLevel, redacting(logDestination, redaction));
  const log = createEventLog(logger, config.banks.fields !== undefined);
  const history = createHistory(clock);
  const failing = new Map<StoreName, StoreState['failing']>();
  /** The state of each configured store. */
  const stores = () =>
    options.stores.map((name): StoreState => ({ name, failing: failing.get(name) }));
  const metrics = createMetrics(config, {
    list,
    clock,
    version,
    stores,
    secretFiles: options.secretFiles,
    lostLogLines: () => logDestination.lostLines?.() ?? 0,
  });
  /** Passes `event` to all of them. */
  const emit = (event: ServiceEvent): void => {
    log(event);
    metrics.onEvent(event);
    history.onEvent(event);
    if (event.type === 'store-failed') {
      const { sinceMs = clock.wallMs() } = failing.get(event.store) ?? {};
      failing.set(event.store, { sinceMs, reason: event.reason });
    } else if (event.type === 'store-recovered') failing.delete(event.store);
  };
  return { logger, metrics, history, stores, emit };
};
