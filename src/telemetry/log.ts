import { pino, type DestinationStream, type Logger } from 'pino';
import type { HeldList } from '../banks/cached-list.ts';
import type { Freshness } from '../banks/freshness.ts';
import { compareLists } from '../banks/list-change.ts';
import {
  countRejected,
  NOTHING_REJECTED,
  REJECTION_REASONS,
  type RejectedEntries,
} from '../banks/reading/entry.ts';
import type { LogLevel } from '../config/values.ts';
import type { TokenEvent } from '../provider/client-credentials.ts';
import type { ServiceEvent } from './events.ts';
import { listNames } from './printable.ts';

// What operators read. It says each change of state once, and nothing about the retries in between.

export const createLogger = (level: LogLevel, destination: DestinationStream): Logger =>
  pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);

/**
 * Turns events into log lines. Where no fields were chosen, it suggests the observed ones once, in the form that
 * BANK_FIELDS wants.
 */
export const createEventLog = (
  logger: Logger,
  { fieldsAreChosen }: { readonly fieldsAreChosen: boolean },
): ((event: ServiceEvent) => void) => {
  let told: { readonly failing?: string; readonly state: Freshness } = { state: 'empty' };
  let suggested = fieldsAreChosen;
  const failingStores = new Set<string>();
  const tellToken = createTokenLog(logger);

  const tellRenewed = (list: HeldList, previous: HeldList | undefined, durationMs?: number): void => {
    const facts = {
      count: list.count,
      ...(durationMs !== undefined && { durationMs: Math.round(durationMs) }),
    };
    if (told.state === 'empty') logger.info(facts, 'list: the first one is here');
    else if (told.failing) logger.info(facts, 'list: recovered');
    else logger.debug(facts, 'list: renewed');
    told = { state: 'fresh' };

    if (previous) {
      const { fieldsAppeared, fieldsVanished, ...counts } = compareLists(previous, list);
      if (counts.added + counts.removed > 0) logger.info({ ...counts, count: list.count }, 'list: changed');
      if (fieldsAppeared.length + fieldsVanished.length > 0) {
        const names = {
          fieldsAppeared: listNames(fieldsAppeared),
          fieldsVanished: listNames(fieldsVanished),
        };
        logger.warn(names, 'list: the provider sends other fields than before');
      }
    }
    const rejected = reasonsOf(list.rejected);
    if (rejected !== reasonsOf(previous?.rejected ?? NOTHING_REJECTED)) {
      const facts = { rejected: countRejected(list.rejected), reasons: rejected };
      logger.warn(facts, 'list: unusable entries are rejected');
    }
    if (!suggested && list.upstreamFields.length > 0) {
      const suggestion = `BANK_FIELDS=${listNames(list.upstreamFields).join(',')}`;
      logger.warn(`every field of the provider is published; choose from these: ${suggestion}`);
      suggested = true;
    }
  };

  return (event) => {
    switch (event.type) {
      case 'list-renewed':
        tellRenewed(event.list, event.previous, event.durationMs);
        break;
      case 'list-load-failed': {
        const { error, state } = event;
        const failing = [error.kind, ...error.fields].join();
        if (told.failing !== failing || told.state !== state) {
          const facts = {
            kind: error.kind,
            state,
            ...(error.fields.length > 0 && { fields: listNames(error.fields) }),
            ...(error.kind === 'internal' && { err: error.cause }),
          };
          logger.warn(facts, `list: the load failed: ${error.message}; ${WHAT_USERS_GET[state]}`);
        }
        told = { failing, state };
        break;
      }
      case 'list-restored': {
        if (event.previous && event.state === 'fresh') {
          tellRenewed(event.list, event.previous);
          break;
        }
        const facts = {
          count: event.list.count,
          receivedAt: new Date(event.list.receivedAtMs).toISOString(),
        };
        logger.info(facts, `list: the last good one was restored; ${WHAT_USERS_GET[event.state]}`);
        told = { state: event.state };
        break;
      }
      case 'store-empty':
        logger.info({ store: event.store }, `${event.store}: no list is kept there yet`);
        break;
      case 'store-failed':
        if (!failingStores.has(event.store))
          logger.warn({ store: event.store }, `${event.store}: ${event.reason}`);
        failingStores.add(event.store);
        break;
      case 'store-recovered':
        if (failingStores.delete(event.store))
          logger.info({ store: event.store }, `${event.store}: works again`);
        break;
      case 'token-renewed':
      case 'token-renewal-failed':
        tellToken(event);
        break;
      case 'provider-called':
        // The load that it belongs to is told.
        break;
    }
  };
};

/** Such as "2 duplicate, 1 required_field"; empty where nothing is rejected. */
const reasonsOf = (rejected: RejectedEntries): string =>
  REJECTION_REASONS.filter((reason) => rejected[reason] > 0)
    .map((reason) => `${rejected[reason]} ${reason}`)
    .join(', ');

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
    const use = validForMs > 0 ? 'the held one stays in use' : 'there is no valid one';
    const told = `token: the renewal failed: ${error.message}; ${use}`;
    if (failing !== told) logger.warn({ kind: error.kind }, told);
    failing = told;
  };
};

const WHAT_USERS_GET = {
  empty: 'there is no list to serve',
  fresh: 'the held list is fresh',
  stale: 'the held list is served though stale',
  expired: 'the held list is too old to be served',
} as const satisfies Record<Freshness, string>;
