import type { Logger } from 'pino';
import type { HeldList } from '../banks/cached-list.ts';
import type { ListEvent } from '../banks/list-event.ts';
import type { Freshness } from '../banks/freshness.ts';
import { compareLists } from '../banks/list-change.ts';
import { listNames } from './printable.ts';

/**
 * Logs what happens to the list: one line for each change of state, and none for the retries in between.
 * @param fieldsAreChosen whether BANK_FIELDS is set; otherwise one line suggests a value made of the observed fields
 */
export const createListLog = (
  logger: Logger,
  { fieldsAreChosen }: { readonly fieldsAreChosen: boolean },
): ((event: ListEvent) => void) => {
  let logged: { readonly failing?: string; readonly state: Freshness } = { state: 'empty' };
  let isSuggested = fieldsAreChosen;

  const suggestFields = ({ upstreamFields }: HeldList): void => {
    if (isSuggested || upstreamFields.length === 0) return;
    isSuggested = true;
    const suggestion = `BANK_FIELDS=${listNames(upstreamFields).join(',')}`;
    logger.warn(`list: every field of the provider is published; to choose some, set ${suggestion}`);
  };

  const logRenewal = (list: HeldList, previous: HeldList | undefined, durationMs?: number): void => {
    const facts = {
      count: list.count,
      ...(durationMs !== undefined && { durationMs: Math.round(durationMs) }),
    };
    if (logged.state === 'empty') logger.info(facts, 'list: initial load succeeded');
    else if (logged.failing) logger.info(facts, 'list: recovered');
    else logger.debug(facts, 'list: renewed');
    logged = { state: 'fresh' };
    if (previous) logChanges(logger, previous, list);
    logRejected(logger, list.rejected, previous?.rejected ?? 0);
    suggestFields(list);
  };

  return (event) => {
    switch (event.type) {
      case 'list-renewed':
        logRenewal(event.list, event.previous, event.durationMs);
        break;
      case 'list-load-failed': {
        const { error, state } = event;
        if (logged.failing !== error.kind || logged.state !== state) {
          const facts = { kind: error.kind, state, ...(error.kind === 'internal' && { err: error.cause }) };
          logger.warn(facts, `list: load failed: ${error.message}; ${CONSEQUENCES[state]}`);
        }
        logged = { failing: error.kind, state };
        break;
      }
      case 'list-restored': {
        const { list, previous, state } = event;
        if (previous && state === 'fresh') {
          logRenewal(list, previous);
          break;
        }
        const facts = { count: list.count, receivedAt: new Date(list.receivedAtMs).toISOString() };
        logger.info(facts, `list: restored the saved list; ${CONSEQUENCES[state]}`);
        logged = { state };
        break;
      }
    }
  };
};

const logChanges = (logger: Logger, previous: HeldList, list: HeldList): void => {
  const { fieldsAppeared, fieldsVanished, ...counts } = compareLists(previous, list);
  if (counts.added + counts.removed > 0) logger.info({ ...counts, count: list.count }, 'list: changed');
  if (fieldsAppeared.length + fieldsVanished.length > 0) {
    const names = { fieldsAppeared: listNames(fieldsAppeared), fieldsVanished: listNames(fieldsVanished) };
    logger.warn(names, "list: the provider's fields changed");
  }
};

const logRejected = (logger: Logger, rejected: number, before: number): void => {
  if (rejected === before) return;
  if (rejected > 0) logger.warn({ rejected }, 'list: unusable entries were rejected');
  else logger.info({ rejected }, 'list: all entries are usable again');
};

/** What clients get now. */
const CONSEQUENCES = {
  empty: 'there is no list to serve',
  fresh: 'the cached list is still fresh',
  stale: 'the stale list is served',
  expired: 'the cached list is too old to be served',
} as const satisfies Record<Freshness, string>;
