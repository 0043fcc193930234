/* oxlint-disable max-lines-per-function */
import { randomUUID } from 'node:crypto';
import type { HeldList, SavedList } from '../banks/cached-list.ts';
import type { ListKeeper } from '../banks/list-keeper.ts';
import { LoadError, type LoadErrorKind } from '../banks/load-error.ts';
import type { Fleet } from '../banks/loading/fleet.ts';
import { isSaved, whichGoesOn, type Ordered, type Position } from '../banks/order.ts';
import type { Clock } from '../clock.ts';
import { createListAppeal } from './list-appeal.ts';
import { describeStoreFailure, StoreError, type StoreReport } from './list-store.ts';
import type { RedisStore, StoreContent } from './redis-store.ts';

// The replicas that share a list in Redis: keeps the list that is held here and the one that is
// there the same, and decides who makes the next request. This is not consensus. The lease only
// saves calls: if it or the store fails, a replica calls the provider itself.

export interface RedisFleetOptions {
  readonly store: RedisStore;
  readonly keeper: ListKeeper;
  /** The longest time that a load can take, in milliseconds. */
  readonly loadTimeoutMs: number;
  /** Failures that say nothing of the other replicas: they are not shared. */
  readonly ownFailures: readonly LoadErrorKind[];
  readonly clock: Clock;
  /** Measures how long an answer of other replicas is waited for. */
  readonly networkClock: Clock;
  readonly report: StoreReport;
}

/**
 * Added to the load's time: for reading before it and writing after it. A lease that ends too early
 * costs one call.
 */
const WRITE_MS = 500;
/**
 * Finds a dead connection before a renewal needs it (NAT gateways forget idle ones), and what a
 * lost message said.
 */
const POLL_MS = 5_000;
/**
 * After its failure a replica leaves the next attempt to another one: what fails may be its own
 * network.
 */
const HANDOVER_MS = 200;
/** So often a list is lost to another one before the next look is left to the next poll. */
const MAX_ROUNDS = 8;

export const createRedisFleet = (options: RedisFleetOptions) => {
  const { store, keeper, loadTimeoutMs, ownFailures, clock, networkClock, report } = options;
  const { cached } = keeper;
  /** What the store had at the last look; undefined while it cannot be reached. */
  let content: StoreContent | undefined;
  const stopping = new AbortController();
  /** The exchange that is under way, and whether another one is wanted after it. */
  let exchanging: Promise<void> | undefined;
  let isWanted = false;
  /** Whether the store has been found empty, which is worth one line. */
  let isKnown = false;
  /** What is wrong with what the store has. */
  let problem: string | undefined;
  /**
   * The head of a list that is not used here, and is not replaced either: it need not be read
   * again.
   */
  let passedOver: { readonly head: Buffer; readonly problem: string | undefined } | undefined;
  const appeal = createListAppeal(store, networkClock);
  /** Whether this replica may have the lease. */
  let hasClaimed = false;
  /** What exchanges lists with the store, or writes one, does so one after the other. */
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };

  const orderOf = (list: SavedList): Ordered => {
    const nowMs = clock.monotonicMs();
    return {
      id: list.id,
      place: list.place,
      isRestored: list.isRestored,
      decisions: list.decisions.map(({ id, madeAtMs }) => ({ id, ageMs: nowMs - madeAtMs })),
      ageMs: nowMs - list.sentAtMs,
    };
  };

  /** The list in the store. One that cannot be used counts as none, and is reported. */
  const readTheirs = async (place: Position | undefined) => {
    try {
      if (content?.head) {
        const found = await store.readList();
        if (found) appeal.isAnswered();
        return found;
      }
      // An upgrade: the version of this service before may have saved a list.
      const list = place || cached.served() ? undefined : await store.readListBefore();
      return list && { list, head: undefined };
    } catch (error) {
      if (!store.isConnected()) throw error;
      problem = describeStoreFailure(error);
      return undefined;
    }
  };

  /** Takes the list of the store. @returns whether another look is necessary */
  const adopt = async (list: SavedList, over: HeldList | undefined): Promise<boolean> => {
    try {
      return !(await keeper.restore(list, over));
    } catch (error) {
      if (!(error instanceof LoadError)) throw error;
      // It may be right for other replicas: it is not replaced, and what is held here goes on
      // beside it.
      problem = describeStoreFailure(error);
      if (over && isSaved(over)) keeper.confirm({ ...over.place, id: '' });
      return false;
    }
  };

  /** One look, and what follows from it. @returns whether another one is necessary */
  const exchange = async (): Promise<boolean> => {
    content = await store.look();
    const { head, place, moment } = content;
    const ours = cached.get();
    const isSame = ours !== undefined && place?.id === ours.id;
    if (isSame && !ours.isRestored) {
      if (!isSaved(ours)) keeper.confirm(place);
      return false;
    }
    if (head && passedOver?.head.equals(head)) {
      problem = passedOver.problem;
      return false;
    }
    const theirs = await readTheirs(place);
    if (theirs?.head && head && !theirs.head.equals(head)) return true;
    if (isSame && theirs) {
      // A snapshot has its age from the wall clock, which may have been wrong; the store knows
      // better.
      keeper.confirm(place, theirs.list.sentAtMs);
      return false;
    }
    if (!isKnown && !head && !theirs) report.isEmpty();
    isKnown = true;
    if (theirs?.list.id === ours?.id && ours && !theirs?.head) return false;
    const isOursUsable = ours !== undefined && keeper.isUsable(ours);
    if (theirs && (!ours || keeper.isUsable(theirs.list))) {
      const goesOn =
        isOursUsable && ours
          ? whichGoesOn(orderOf(ours), orderOf(theirs.list), (next) =>
              next === 'ours'
                ? keeper.refuses(ours, theirs.list)
                : keeper.refuses(theirs.list, ours),
            )
          : 'theirs';
      if (goesOn === 'theirs') {
        if (await adopt(theirs.list, ours)) return true;
        if (problem !== undefined && head) passedOver = { head, problem };
        // What the version before has saved is not in this one's place yet.
        return theirs.head === undefined && cached.served() !== undefined && problem === undefined;
      }
    }
    if (!isOursUsable || !ours) return head !== undefined && !theirs && appeal.make(head);
    const next = placeAfter(theirs?.head ? theirs.list.place : undefined, ours);
    const isWritten = await store.write(ours, next, head, moment, cached.freshForMs() > 0);
    if (isWritten && cached.get()?.id === ours.id) keeper.confirm(next);
    return !isWritten;
  };

  const exchangeAll = async (): Promise<void> => {
    /* oxlint-disable no-await-in-loop -- one look after the other */
    while (isWanted && !stopping.signal.aborted) {
      isWanted = false;
      try {
        let isDone = false;
        for (let round = 0; round < MAX_ROUNDS && !isDone; round += 1) {
          problem = undefined;
          isDone = !(await inTurn(exchange));
          if (problem !== undefined) report.isBad(problem);
        }
        if (problem === undefined) report.works();
      } catch (error) {
        content = undefined;
        // The connection has reported its own failures.
        if (!(error instanceof StoreError)) report.isBad(describeStoreFailure(error));
      }
    }
    /* oxlint-enable no-await-in-loop */
  };

  const synchronize = (): Promise<void> => {
    isWanted = true;
    return (exchanging ??= exchangeAll().finally(() => (exchanging = undefined)));
  };

  /** Writes `list` over the one that is held, and holds it if that is what the store had. */
  const save = async (
    list: HeldList,
    over: HeldList | undefined,
  ): Promise<'held' | 'overtaken' | 'unreachable'> => {
    const held = cached.get();
    if (!held || held.id !== over?.id || content?.place?.id !== held.id) return 'overtaken';
    const place = placeAfter(held.place, list);
    try {
      if (!(await store.write(list, place, content.head, content.moment, true))) return 'overtaken';
    } catch (error) {
      if (!(error instanceof StoreError)) report.isBad(describeStoreFailure(error));
      return 'unreachable';
    }
    hasClaimed = false;
    return keeper.hold({ ...list, place, isRestored: false }, over) ? 'held' : 'overtaken';
  };

  const writeLease = async (forMs: number, failure?: Parameters<RedisStore['writeLease']>[1]) => {
    if (!content) return undefined;
    try {
      return await store.writeLease(forMs, failure, content);
    } catch (error) {
      if (!(error instanceof StoreError)) report.isBad(describeStoreFailure(error));
      return undefined;
    }
  };

  const fleet: Fleet = {
    pollMs: POLL_MS,
    handoverMs: HANDOVER_MS,
    synchronize,
    leaseOfOthers: () => {
      const lease = store.isConnected() ? content?.lease : undefined;
      return lease?.isOwn ? undefined : lease;
    },
    claim: async () => {
      const { failure } = content?.lease ?? {};
      // The failure stays known during the next attempt. Without the store every replica goes on by
      // itself.
      const isClaimed = await writeLease(loadTimeoutMs + WRITE_MS, failure);
      if (isClaimed) hasClaimed = true;
      return isClaimed ?? true;
    },
    commit: async (list, over, isDecisive) => {
      const isReplaced = (): boolean => cached.get()?.id !== over?.id;
      // Whoever loads for the first time, or without the store, holds the list at once: requests
      // may wait for it.
      const mustWriteFirst = (held: HeldList | undefined): held is HeldList =>
        held !== undefined && keeper.isUsable(held) && isSaved(held) && store.isConnected();
      // An open connection is of no use without the signing key.
      let isUsable = true;
      for (
        let round = 0;
        round < 2 && isUsable && mustWriteFirst(cached.get()) && !isReplaced();
        round += 1
      ) {
        // oxlint-disable-next-line no-await-in-loop -- the second time over what the store has lost
        const result = await inTurn(() => save(list, over));
        if (result === 'held') return true;
        // oxlint-disable-next-line no-await-in-loop -- see above
        if (result === 'overtaken') await synchronize();
        isUsable = result === 'overtaken' && content !== undefined;
      }
      if (isReplaced() || (isUsable && mustWriteFirst(cached.get()))) return false;
      const isHeld = keeper.hold({ ...list, place: cached.get()?.place ?? list.place }, over);
      const synchronized = synchronize();
      if (!isDecisive) return isHeld;
      await synchronized;
      return cached.get()?.id === list.id;
    },
    fail: async ({ kind, retryAfterMs: askedForMs = 0 }, failing, failureId, waitMs) => {
      await synchronize();
      hasClaimed = false;
      // Another replica may have succeeded meanwhile.
      if (!keeper.failures.current().failure) return 0;
      if (ownFailures.includes(kind)) {
        await writeLease(0);
        return 0;
      }
      // Two replicas may have failed at once: the longer wait counts.
      const { failure, heldUntilMs = 0 } = content?.lease ?? {};
      const heldForMs = failure ? heldUntilMs - clock.monotonicMs() : 0;
      const failingForMs = Math.max(0, Math.round(clock.wallMs() - failing.sinceMs));
      await writeLease(Math.max(waitMs, heldForMs), {
        id: failureId,
        kind,
        attempts: failing.attempts,
        failingForMs,
        askedForMs: Math.max(askedForMs, failure?.askedForMs ?? 0),
      });
      return failure?.askedForMs ?? 0;
    },
  };
  return {
    ...fleet,
    /** Starts connecting. Calls `onNews` when another replica may have written something. */
    open: (onNews: () => void): void =>
      store.open(() => {
        appeal.onNews();
        onNews();
      }),
    renewConnection: store.renewConnection,
    /** Ends the lease, if this replica has it, and closes the connection. */
    stop: async (): Promise<void> => {
      if (hasClaimed) await synchronize();
      stopping.abort();
      await exchanging;
      if (hasClaimed && content?.lease?.isOwn) await writeLease(0);
      store.close();
    },
  };
};

/** The place that `list` gets after the one in the store. */
const placeAfter = (theirs: Position | undefined, list: HeldList): Position => ({
  register: theirs?.register || list.place.register || randomUUID(),
  version: Math.max(theirs?.version ?? 0, list.place.version) + 1,
  id: list.id,
});
