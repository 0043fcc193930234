import { pino, type DestinationStream, type Logger } from 'pino';
import type { CachedList } from '../banks/cached-list.ts';
import type { Freshness } from '../banks/freshness.ts';
import type { ListChange } from '../banks/list-change.ts';
import { suggestFields } from '../banks/field-suggestion.ts';
import type { ListEvent } from '../banks/list-event.ts';
import { UNUSABLE_FILE, type LoadError } from '../banks/load-error.ts';
import { countUnusable, NOTHING_REJECTED, REJECTION_REASONS } from '../banks/reading/entry.ts';
import type { LoadedList } from '../banks/reading/list-reader.ts';
import { toIso } from '../clock.ts';
import type { LogLevel } from '../config/values.ts';
import { listNames } from '../printable.ts';
import type { ServiceEvent } from './events.ts';

// The log for operators: one line for each change of state of the list, a store or the token, and
// none for the retries in between.

/** A fault in writing a line costs the line, and not the request or the state that it is about. */
export const createLogger = (level: LogLevel, destination: DestinationStream): Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${toIso(Date.now())}"`,
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

/** Writes a line for each event that changes a state. */
export type EventLog = (event: ServiceEvent) => void;

/**
 * @param fieldsAreChosen whether BANK_FIELDS is set; otherwise one line suggests a value made of
 *   the observed fields
 */
export const createEventLog = (logger: Logger, fieldsAreChosen: boolean): EventLog => {
  const list = createListLog(logger, fieldsAreChosen);
  const failingStores = new Set<string>();
  /** The newest line about a failing token; undefined while it works. */
  let failingToken: string | undefined;
  return (event) => {
    switch (event.type) {
      case 'list-taken':
        list.taken(event);
        break;
      case 'load-failed':
      case 'load-failed-elsewhere':
        list.loadFailed(event);
        break;
      case 'list-aged':
        list.aged(event.state);
        break;
      case 'store-empty':
        logger.info({ store: event.store }, `${event.store}: no saved list yet`);
        break;
      case 'store-failed': {
        const { store, reason } = event;
        // New reasons are not logged: they may alternate with each attempt. The status page has the
        // newest.
        if (!failingStores.has(store)) logger.warn({ store }, `${store}: ${reason}`);
        failingStores.add(store);
        break;
      }
      case 'store-recovered': {
        const { store } = event;
        if (failingStores.delete(store)) logger.info({ store }, `${store}: works again`);
        break;
      }
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
      case 'request-refused':
      case 'management-refused':
      case 'connection-dropped':
        // The load that made the call is logged, and each request has a line of its own. Dropped
        // connections are only counted: they may be thousands a second.
        break;
    }
  };
};

type Taken = Extract<ListEvent, { readonly type: 'list-taken' }>;

const createListLog = (logger: Logger, fieldsAreChosen: boolean) => {
  /** What the newest line said. */
  let logged: { readonly failing?: string; readonly state: Freshness } = { state: 'empty' };
  let isSuggested = fieldsAreChosen;

  const logRenewal = ({ list, previous, change, load }: Taken): void => {
    const facts = { count: list.count, durationMs: load && Math.round(load.durationMs) };
    if (logged.state === 'empty') logger.info(facts, 'list: initial load succeeded');
    else if (logged.failing) logger.info(facts, 'list: recovered');
    else if (logged.state !== 'fresh') logger.info(facts, 'list: renewed');
    else logger.debug(facts, 'list: renewed');
    logged = { state: 'fresh' };
    if (change) logChange(logger, list, change);
    logRejected(logger, list, previous, load?.loaded.objectFields);
    logNextPage(logger, list, previous);
    const publishable = load?.loaded.publishableFields ?? [];
    if (isSuggested || publishable.length === 0) return;
    isSuggested = true;
    const suggestion = `BANK_FIELDS=${listNames(suggestFields(publishable)).join(',')}`;
    logger.warn(
      `list: every field of the provider is published; to choose some, set ${suggestion}`,
    );
  };

  return {
    taken: (event: Taken): void => {
      const { list, previous, state, source, change } = event;
      if (list.accepted && list.id !== previous?.id)
        logger.warn(
          { ...list.accepted, added: change?.added, removed: change?.removed, count: list.count },
          'list: accepted by an operator',
        );
      if (source === 'provider' || (previous && state === 'fresh')) logRenewal(event);
      else {
        const facts = { count: list.count, source };
        logger.info(facts, `list: restored the saved list; ${CONSEQUENCES[state]}`);
        logRejected(logger, list, previous);
        logNextPage(logger, list, previous);
        // A stale list does not end a failure.
        logged = state === 'fresh' ? { state } : { ...logged, state };
      }
    },
    loadFailed: ({
      error,
      state,
    }: {
      readonly error: LoadError;
      readonly state: Freshness;
    }): void => {
      // Other fields are a change, and so is a file that becomes unusable or usable.
      const isOfFile = error.reasonCode === UNUSABLE_FILE;
      const failing = [error.kind, isOfFile, ...error.fields].join();
      if (logged.failing !== failing || logged.state !== state) {
        const fields = error.fields.length > 0 ? listNames(error.fields) : undefined;
        const err = error.kind === 'internal' ? error.cause : undefined;
        const facts = { kind: error.kind, state, fields, err };
        logger.warn(facts, `list: load failed: ${error.message}; ${CONSEQUENCES[state]}`);
      }
      logged = { failing, state };
    },
    aged: (state: Freshness): void => {
      if (state === logged.state) return;
      logger.warn({ state }, `list: not renewed in time; ${CONSEQUENCES[state]}`);
      logged = { ...logged, state };
    },
  };
};

/** What clients get now. */
const CONSEQUENCES = {
  empty: 'there is no list to serve',
  fresh: 'the cached list is still fresh',
  stale: 'the stale list is served',
  expired: 'the cached list is too old to be served',
} as const satisfies Record<Freshness, string>;

const logChange = (logger: Logger, { count }: CachedList, change: ListChange): void => {
  const { added, removed, isLarge, fieldsAppeared, fieldsVanished } = change;
  const facts = { added, removed, count };
  if (isLarge) logger.warn(facts, 'list: changed by more than GUARD_MAX_SHRINK');
  // Also if only the order of the entries changed.
  else logger.info(facts, 'list: changed');
  if (fieldsAppeared.length + fieldsVanished.length > 0) {
    const names = {
      fieldsAppeared: listNames(fieldsAppeared),
      fieldsVanished: listNames(fieldsVanished),
    };
    logger.warn(names, "list: the provider's fields changed");
  }
};

const logNextPage = (
  logger: Logger,
  { hasNextPage, count }: CachedList,
  previous?: CachedList,
): void => {
  if (hasNextPage === (previous?.hasNextPage ?? false)) return;
  if (hasNextPage)
    logger.warn(
      { count },
      'list: probably incomplete: the response links to a next page, which is not loaded',
    );
  else logger.info({ count }, 'list: no longer incomplete');
};

const logRejected = (
  logger: Logger,
  { rejected }: CachedList,
  previous: CachedList | undefined,
  objectFields: LoadedList['objectFields'] = new Map(),
): void => {
  const before = previous?.rejected ?? NOTHING_REJECTED;
  if (REJECTION_REASONS.every((reason) => rejected[reason] === before[reason])) return;
  const count = countUnusable(rejected);
  const reasons = Object.fromEntries(Object.entries(rejected).filter(([, entries]) => entries > 0));
  const fields = objectFields.size > 0 ? listNames([...objectFields.keys()]) : undefined;
  if (count > 0)
    logger.warn(
      { rejected: count, reasons, objectFields: fields },
      'list: unusable entries were rejected',
    );
  else logger.info({ rejected: 0 }, 'list: all entries are usable again');
};
