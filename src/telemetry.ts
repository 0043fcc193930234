import { pino, type DestinationStream, type Logger } from 'pino';
import type { ListEvent } from './banks/bank-list.ts';
import type { LogLevel } from './config.ts';
import type { TokenEvent } from './provider/client-credentials.ts';

// What operators are told. The one subscriber to the service's events: it says each change of state once, and
// nothing about the retries in between.

export const createLogger = (level: LogLevel, destination: DestinationStream): Logger =>
  pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);

/**
 * Turns the list's events into log lines. Where no fields were chosen, it suggests the observed ones once, in the form
 * that BANK_FIELDS wants.
 */
export const createListLog = (
  logger: Logger,
  { fieldsAreChosen }: { readonly fieldsAreChosen: boolean },
): ((event: ListEvent) => void) => {
  let told: { readonly failing: string | undefined; readonly state: string } = {
    failing: undefined,
    state: 'empty',
  };

  return (event) => {
    if (event.type === 'list-renewed') {
      const { list, previous } = event;
      const facts = { count: list.count, heldBack: list.heldBack, durationMs: Math.round(event.durationMs) };
      if (!previous) {
        logger.info(facts, 'list: the first one is here');
        if (!fieldsAreChosen) {
          const suggestion = `BANK_FIELDS=${list.upstreamFields.join(',')}`;
          logger.warn(`every field of the provider is published; choose from these: ${suggestion}`);
        }
      } else if (told.failing) logger.info(facts, 'list: recovered');
      else logger.debug(facts, 'list: renewed');
      if (list.heldBack > 0 && list.heldBack !== previous?.heldBack) {
        logger.warn({ heldBack: list.heldBack }, 'list: unusable entries are held back');
      }
      told = { failing: undefined, state: 'fresh' };
      return;
    }
    const { error, state } = event;
    if (told.failing !== error.kind || told.state !== state) {
      const facts = { kind: error.kind, state, ...(error.kind === 'internal' && { err: error.cause }) };
      logger.warn(facts, `list: the load failed: ${error.message}; ${WHAT_USERS_GET[state]}`);
    }
    told = { failing: error.kind, state };
  };
};

/** Turns the token's events into log lines. */
export const createTokenLog = (logger: Logger): ((event: TokenEvent) => void) => {
  let failing: string | undefined;
  return (event) => {
    if (event.type === 'token-renewed') {
      if (failing) logger.info('token: recovered');
      else logger.debug('token: renewed');
      failing = undefined;
      return;
    }
    const { error, validForMs } = event;
    const use = validForMs > 0 ? 'the held one stays in use' : 'there is no valid one';
    const told = `token: the renewal failed: ${error.message}; ${use}`;
    if (failing !== told) logger.warn({ kind: error.kind }, told);
    failing = told;
  };
};

const WHAT_USERS_GET = {
  empty: 'there is no list to serve',
  fresh: 'the held list is still fresh',
  stale: 'the held list is served though stale',
  expired: 'the held list is too old to be served',
} as const;
