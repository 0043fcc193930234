import { confirmDecisions, type CachedList, type SavedList } from '../banks/cached-list.ts';
import type { ListKeeper } from '../banks/list-keeper.ts';
import { LoadError } from '../banks/load-error.ts';
import { chooseList, isAt, wasStored } from '../banks/order.ts';
import type { MonotonicMs } from '../clock.ts';
import { describeStoreFailure, type StoreReport } from './store-report.ts';
import type { RedisStore, StoreContent } from './redis-store.ts';
import type { SharedLease } from './shared-lease.ts';

// Makes the cached list and the one in Redis the same: takes the one that is there, or
// writes the cached one.

export interface ListExchangeOptions {
  readonly store: RedisStore;
  readonly lease: Pick<SharedLease, 'endForFreshList'>;
  readonly keeper: ListKeeper;
  readonly report: StoreReport;
}

/** What follows from a look at Redis. */
interface Outcome {
  /** Whether another look is necessary at once. */
  readonly again: boolean;
  /** What is wrong with what Redis has. */
  readonly problem?: string | undefined;
}

/**
 * At most so many unreadable lists are replaced in a minute. What this replica cannot read,
 * such as a list above its PROVIDER_MAX_BODY, others might write again and again.
 */
const MAX_REPLACED = 8;
const REPLACED_WITHIN_MS = 60_000;

const DONE: Outcome = { again: false };
const AGAIN: Outcome = { again: true };

export const createListExchange = (options: ListExchangeOptions) => {
  const { store, lease, keeper, report } = options;
  const { cache } = keeper;
  // What this replica remembers of earlier looks.
  /** Whether Redis has been looked at before: that it is empty is reported the first time only. */
  let hasLooked = false;
  /** The last list that was refused here. It is not read again, nor replaced. */
  let refused: { readonly head: Buffer; readonly problem: string } | undefined;
  /** Whether the others were asked for their list, and none has come that can be read. */
  let hasAskedOthers = false;
  /** When lists that cannot be read were replaced, in the last minute. */
  let replacementsAtMs: readonly MonotonicMs[] = [];

  /** A list that cannot be used counts as none, and is a problem. */
  const readTheirs = async (
    read: () => Promise<SavedList | undefined>,
  ): Promise<{ readonly theirs?: SavedList | undefined; readonly problem?: string }> => {
    try {
      return { theirs: await read() };
    } catch (error) {
      if (!store.isAvailable()) throw error;
      return { problem: describeStoreFailure(error) };
    }
  };

  /** The outcome has a problem where the list is refused here. */
  const takeTheirs = async (theirs: SavedList, ours: CachedList | undefined): Promise<Outcome> => {
    try {
      return (await keeper.takeSaved(theirs, ours)) ? DONE : AGAIN;
    } catch (error) {
      if (!(error instanceof LoadError)) throw error;
      // It may be right for other replicas: it is not replaced, and this replica keeps its own.
      if (ours && wasStored(ours)) keeper.markBeside(ours);
      return { again: false, problem: describeStoreFailure(error) };
    }
  };

  const writeOurs = async (ours: CachedList, theirs: SavedList | undefined): Promise<Outcome> => {
    const list = theirs ? keeper.rememberingBoth(ours, theirs) : ours;
    const version = await store.writeList(list, theirs?.place.version);
    if (!version) return AGAIN;
    keeper.markStored(list, version);
    if (cache.freshForMs() > 0) await lease.endForFreshList();
    return DONE;
  };

  /** Redis has no list: it is new, has lost its own, or has one of the previous release only. */
  const whenEmpty = async (cached: CachedList | undefined): Promise<Outcome> => {
    const isServed = cached !== undefined && keeper.canBeServed(cached);
    const { theirs, problem } = isServed ? {} : await readTheirs(store.readOldFormatList);
    if (!hasLooked && !theirs) report.empty();
    hasLooked = true;
    if (isServed) return writeOurs(cached, undefined);
    // What the previous release has saved may be cached already, and too old to be served.
    if (!theirs || theirs.id === cached?.id) return { again: false, problem };
    const outcome = await takeTheirs(theirs, cached);
    // It is still to be written as this version does.
    return outcome.problem === undefined && cache.served() ? AGAIN : outcome;
  };

  /** The list in Redis cannot be read: ours takes its place, or stays in use beside it. */
  const replaceUnreadable = async (ours: CachedList, nowMs: MonotonicMs): Promise<Outcome> => {
    replacementsAtMs = replacementsAtMs.filter((atMs) => nowMs - atMs < REPLACED_WITHIN_MS);
    if (replacementsAtMs.length >= MAX_REPLACED) {
      if (wasStored(ours)) keeper.markBeside(ours);
      return DONE;
    }
    const outcome = await writeOurs(ours, undefined);
    if (!outcome.again) replacementsAtMs = [...replacementsAtMs, nowMs];
    return outcome;
  };

  /**
   * The list in Redis cannot be read, and this replica has none to write. Those that have one look
   * only at the head, which may be as they know it. Asks once: they might write again and again
   * what this replica cannot read.
   */
  const askForList = async (): Promise<void> => {
    if (hasAskedOthers || !store.version()) return;
    hasAskedOthers = true;
    await store.invalidateHead();
  };

  /**
   * Redis has a list that is not the cached one, or is that one at another version, or that came
   * from the snapshot too.
   */
  const whenOther = async (
    head: Buffer,
    { nowMs }: StoreContent['moment'],
    cached: CachedList | undefined,
  ): Promise<Outcome> => {
    if (refused?.head.equals(head)) return { again: false, problem: refused.problem };
    // This may be a newer one, written since the look.
    const { theirs, problem } = await readTheirs(store.readList);
    hasLooked = true;
    if (theirs) hasAskedOthers = false;
    // The cached list as it is to be compared, and written: theirs may confirm its decisions.
    const ours = cached && theirs ? confirmDecisions(cached, theirs.decisions) : cached;
    if (theirs && ours?.id === theirs.id && !ours.isUnconfirmed) {
      // Another replica has written it again.
      keeper.markStored(ours, theirs.place.version);
      return DONE;
    }
    const next = stepFor(ours, theirs, keeper);
    switch (next.step) {
      case 'take': {
        const outcome = await takeTheirs(next.theirs, ours);
        if (outcome.problem !== undefined) refused = { head, problem: outcome.problem };
        return outcome;
      }
      case 'write': {
        const { again } = theirs
          ? await writeOurs(next.ours, theirs)
          : await replaceUnreadable(next.ours, nowMs);
        return { again, problem };
      }
      case 'leave':
        if (!theirs) await askForList();
        return { again: false, problem };
    }
  };

  /**
   * One look at Redis, and what follows from it.
   * @throws {StoreError | SecretFileError} where Redis cannot be used
   */
  return async (): Promise<Outcome> => {
    const { head, version, moment } = await store.look();
    const cached = cache.get();
    if (!head) return whenEmpty(cached);
    // The head is not signed: what it says besides counts once the list says it too.
    const isAsKnown = cached && version && isAt(version, cached) && !cached.isUnconfirmed;
    return isAsKnown ? DONE : whenOther(head, moment, cached);
  };
};

type ListStep =
  | { readonly step: 'take'; readonly theirs: SavedList }
  /** Over theirs, whether that can be read or not. */
  | { readonly step: 'write'; readonly ours: CachedList }
  /** Neither can be served: a load will bring another one. */
  | { readonly step: 'leave' };

/**
 * What becomes of the cached list and of the one that Redis has. Pure.
 * @param theirs undefined where it cannot be read
 */
const stepFor = (
  ours: CachedList | undefined,
  theirs: SavedList | undefined,
  { canBeServed, refuses }: Pick<ListKeeper, 'canBeServed' | 'refuses'>,
): ListStep => {
  const servable = ours && canBeServed(ours) ? ours : undefined;
  if (!theirs) return servable ? { step: 'write', ours: servable } : { step: 'leave' };
  // A snapshot has its age from the wall clock, which may have been wrong; Redis knows better.
  if (!ours || ours.id === theirs.id) return { step: 'take', theirs };
  if (!canBeServed(theirs)) return servable ? { step: 'write', ours: servable } : { step: 'leave' };
  if (!servable || chooseList(servable, theirs, refuses) === 'theirs')
    return { step: 'take', theirs };
  return { step: 'write', ours: servable };
};
