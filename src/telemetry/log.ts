import { pino, type DestinationStream, type Logger } from 'pino';
import type { LogLevel } from '../config/values.ts';
import type { TokenEvent } from '../provider/client-credentials.ts';
import type { StoreEvent } from '../sharing/list-store.ts';
import type { ServiceEvent } from './events.ts';
import { createListLog } from './list-log.ts';

// The log for operators: one line for each change of state, and none for the retries in between.

export const createLogger = (level: LogLevel, destination: DestinationStream): Logger =>
  pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);

/** Writes a line for each event that changes the state of the list, a store or the token. */
export const createEventLog = (
  logger: Logger,
  options: Parameters<typeof createListLog>[1],
): ((event: ServiceEvent) => void) => {
  const logList = createListLog(logger, options);
  const logStore = createStoreLog(logger);
  const logToken = createTokenLog(logger);
  return (event) => {
    switch (event.type) {
      case 'list-renewed':
      case 'list-load-failed':
      case 'list-restored':
        logList(event);
        break;
      case 'store-empty':
      case 'store-failed':
      case 'store-recovered':
        logStore(event);
        break;
      case 'token-renewed':
      case 'token-renewal-failed':
        logToken(event);
        break;
      case 'provider-called':
        // The load that made the call is logged.
        break;
      case 'request-finished':
        // The request log has written its line.
        break;
    }
  };
};

const createStoreLog = (logger: Logger): ((event: StoreEvent) => void) => {
  const failing = new Set<string>();
  return (event) => {
    const { store } = event;
    switch (event.type) {
      case 'store-empty':
        logger.info({ store }, `${store}: no saved list yet`);
        break;
      case 'store-failed':
        if (!failing.has(store)) logger.warn({ store }, `${store}: ${event.reason}`);
        failing.add(store);
        break;
      case 'store-recovered':
        if (failing.delete(store)) logger.info({ store }, `${store}: works again`);
        break;
    }
  };
};

const createTokenLog = (logger: Logger): ((event: TokenEvent) => void) => {
  let failing: string | undefined;
  return (event) => {
    if (event.type === 'token-renewed') {
      if (failing) logger.info('token: recovered');
      else logger.debug('token: renewed');
      failing = undefined;
      return;
    }
    const { error, validForMs } = event;
    const use = validForMs > 0 ? 'the current token stays in use' : 'there is no valid token';
    const message = `token: renewal failed: ${error.message}; ${use}`;
    if (failing !== message) logger.warn({ kind: error.kind }, message);
    failing = message;
  };
};
