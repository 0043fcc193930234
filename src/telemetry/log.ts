import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import { isServable, type Freshness } from '../banks/freshness.ts';
import { countUnusable, NOTHING_REJECTED, REJECTION_REASONS } from '../banks/reading/entry.ts';
import { suggestFields } from '../banks/reading/provider-fields.ts';
import type { LogLevel } from '../config/values.ts';
import type { ServiceEvent } from './events.ts';

// The log for operators: one line for each change of state of the list, a store or the token, and
// none for the retries in between.

/** A fault in writing a line costs the line, and not the request or the state that it is about. */
export const createLogger = (level: LogLevel, destination: DestinationStream): Logger => {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      // Called once per level, and not per line.
      formatters: { level: (label, number) => ({ level: number, severity: SEVERITIES[label] }) },
    },
    {
      write: (line) => {
        try {
          destination.write(line);
        } catch {
          // There is nobody to tell.
        }
      },
    },
  );
};

/**
 * Each level in the words of LogSeverity, which Cloud Logging reads from `severity`. Datadog takes
 * any word with the same first letters, and would read pino's number as info, whatever it is.
 */
const SEVERITIES: Readonly<Record<string, string>> = {
  trace: 'DEBUG',
  debug: 'DEBUG',
  info: 'INFO',
  warn: 'WARNING',
  error: 'ERROR',
  fatal: 'CRITICAL',
};

type ListTaken = Extract<ServiceEvent, { readonly type: 'list-taken' }>;
type LoadFailure = Pick<Extract<ServiceEvent, { readonly type: 'load-failed' }>, 'error' | 'state'>;

/**
 * Writes a line for each event that changes a state.
 * @param fieldsAreChosen whether BANK_FIELDS is set; otherwise one line suggests a value made of
 *   the observed fields
 */
export const createEventLog = (logger: Logger, fieldsAreChosen: boolean) => {
  let state: Freshness = 'empty';
  /** What the newest line says of what fails; undefined: nothing does. */
  let failing: string | undefined;
  let failingToken: string | undefined;
  let isSuggested = fieldsAreChosen;

  const logTaken = (event: ListTaken): void => {
    const { list, previous, source, load } = event;
    const facts = { count: list.count, source, durationMs: load && Math.round(load.durationMs) };
    if (source !== 'provider' && (event.state !== 'fresh' || !previous))
      logger.info(facts, `list: restored the saved list; ${CONSEQUENCES[event.state]}`);
    else if (!previous) logger.info(facts, 'list: initial load succeeded');
    else if (failing || state !== 'fresh') logger.info(facts, 'list: recovered');
    else logger.debug(facts, 'list: renewed');
    ({ state } = event);
    // A stale list does not end a failure.
    if (state === 'fresh') failing = undefined;
    logContent(logger, event);
    const fields = isSuggested ? [] : suggestFields(load?.publishableFields ?? []);
    if (fields.length === 0) return;
    isSuggested = true;
    logger.warn(
      `list: every field of the provider is published; to choose some, set BANK_FIELDS=${fields.join(',')}`,
    );
  };

  const logFailure = ({ error, state: now }: LoadFailure): void => {
    const { kind, fields, message, cause } = error;
    // Other fields are a change. That the list has become older is a line of its own.
    const failure = [kind, ...fields].join();
    if (failing === failure) return;
    failing = failure;
    const facts = {
      kind,
      state: now,
      fields: fields.length > 0 ? fields : undefined,
      err: kind === 'internal' ? cause : undefined,
    };
    logger[severityOf(now)](facts, `list: load failed: ${message}; ${CONSEQUENCES[now]}`);
  };

  return (event: ServiceEvent): void => {
    switch (event.type) {
      case 'list-taken':
        logTaken(event);
        break;
      case 'load-failed':
      case 'load-failed-elsewhere':
        logFailure(event);
        break;
      case 'list-aged':
        ({ state } = event);
        logger[severityOf(state)]({ state }, `list: not renewed in time; ${CONSEQUENCES[state]}`);
        break;
      case 'store-failed':
        logger.warn({ store: event.store }, `${event.store}: ${event.reason}`);
        break;
      case 'store-recovered':
        logger.info({ store: event.store }, `${event.store}: works again`);
        break;
      case 'token-renewed':
        if (failingToken) logger.info('token: recovered');
        else logger.debug('token: renewed');
        failingToken = undefined;
        break;
      case 'token-renewal-failed': {
        const { error, consequence } = event;
        const message = `token: renewal failed: ${error.message}; ${consequence}`;
        if (failingToken !== message) logger.warn({ kind: error.kind }, message);
        failingToken = message;
        break;
      }
      case 'secret-file-unusable': {
        const { variable, problem, consequence } = event;
        logger.warn({ variable }, `${variable}: ${problem}; ${consequence}`);
        break;
      }
      case 'secret-file-usable':
        logger.info({ variable: event.variable }, `${event.variable}: is usable again`);
        break;
      case 'provider-called':
      case 'request-finished':
      case 'management-refused':
      case 'connection-dropped':
        // The load that made the call is logged, and each request has a line of its own. Dropped
        // connections are only counted: they may be thousands a second.
        break;
    }
  };
};

/** What clients get now. */
const CONSEQUENCES = {
  empty: 'there is no list to serve',
  fresh: 'the cached list is still fresh',
  stale: 'the stale list is served',
  expired: 'the cached list is too old to be served',
} as const satisfies Record<Freshness, string>;

/** Of a line that says that something is wrong: `error` while clients get errors. */
const severityOf = (state: Freshness) => (isServable(state) ? 'warn' : 'error');

/** A line for each thing about its content that is not as it was. */
const logContent = (logger: Logger, { list, previous, change, load }: ListTaken): void => {
  const { count, rejected, hasNextPage } = list;
  const facts = { added: change?.added, removed: change?.removed, count };
  if (load?.accepted) logger.warn({ ...load.accepted, ...facts }, 'list: accepted by an operator');
  if (change?.isLarge) logger.warn(facts, 'list: changed by more than GUARD_MAX_SHRINK');
  // Also if only the order of the entries changed.
  else if (change) logger.info(facts, 'list: changed');
  const before = previous?.rejected ?? NOTHING_REJECTED;
  if (REJECTION_REASONS.some((reason) => rejected[reason] !== before[reason])) {
    const unusable = countUnusable(rejected);
    if (unusable > 0)
      logger.warn(
        { rejected: unusable, reasons: rejected },
        'list: unusable entries were rejected',
      );
    else if (countUnusable(before) > 0) logger.info('list: all entries are usable again');
  }
  if (hasNextPage === (previous?.hasNextPage ?? false)) return;
  if (hasNextPage)
    logger.warn(
      { count },
      'list: probably incomplete: the response links to a next page, which is not loaded',
    );
  else logger.info({ count }, 'list: no longer incomplete');
};
