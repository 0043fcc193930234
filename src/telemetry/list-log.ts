import type { Logger } from 'pino';
import type { HeldList } from '../banks/cached-list.ts';
import type { ListEvent } from '../banks/list-event.ts';
import type { Freshness } from '../banks/freshness.ts';
import { compareLists } from '../banks/list-change.ts';
import {
  countRejected,
  NOTHING_REJECTED,
  REJECTION_REASONS,
  type RejectedEntries,
} from '../banks/reading/entry.ts';
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
    logRejected(logger, list.rejected, previous?.rejected ?? NOTHING_REJECTED);
    suggestFields(list);
  };

  return (event) => {
    switch (event.type) {
      case 'list-renewed':
        logRenewal(event.list, event.previous, event.durationMs);
        break;
      case 'list-load-failed': {
        const { error, state } = event;
        // Another field is another change.
        const failing = [error.kind, ...error.fields].join();
        if (logged.failing !== failing || logged.state !== state) {
          const facts = {
            kind: error.kind,
            state,
            ...(error.fields.length > 0 && { fields: listNames(error.fields) }),
            ...(error.kind === 'internal' && { err: error.cause }),
          };
          logger.warn(facts, `list: load failed: ${error.message}; ${CONSEQUENCES[state]}`);
        }
        logged = { failing, state };
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

const logRejected = (logger: Logger, rejected: RejectedEntries, before: RejectedEntries): void => {
  if (REJECTION_REASONS.every((reason) => rejected[reason] === before[reason])) return;
  const facts = {
    rejected: countRejected(rejected),
    reasons: Object.fromEntries(
      REJECTION_REASONS.filter((reason) => rejected[reason] > 0).map((reason) => [reason, rejected[reason]]),
    ),
  };
  if (facts.rejected > 0) logger.warn(facts, 'list: unusable entries were rejected');
  else logger.info({ rejected: 0 }, 'list: all entries are usable again');
};

/** What clients get now. */
const CONSEQUENCES = {
  empty: 'there is no list to serve',
  fresh: 'the cached list is still fresh',
  stale: 'the stale list is served',
  expired: 'the cached list is too old to be served',
} as const satisfies Record<Freshness, string>;
