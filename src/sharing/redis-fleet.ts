import type { HeldList } from '../banks/cached-list.ts';
import type { ListKeeper } from '../banks/list-keeper.ts';
import type { Fleet } from '../banks/loading/fleet.ts';
import { isSaved } from '../banks/order.ts';
import type { Clock } from '../clock.ts';
import { createListExchange, placeAfter } from './list-exchange.ts';
import { createListRewrite } from './list-rewrite.ts';
import type { StoreReport } from './list-store.ts';
import type { RedisStore } from './redis-store.ts';
import { createRedisView } from './redis-view.ts';
import { createSharedLease, type SharedLeaseOptions } from './shared-lease.ts';

// The replicas that share a list in Redis. This is not consensus. The lease only saves calls: if it
// or Redis fails, a replica calls the provider itself.

export interface RedisFleetOptions extends Omit<SharedLeaseOptions, 'view'> {
  readonly store: RedisStore;
  readonly keeper: ListKeeper;
  /** Measures how long the other replicas have to write a list again. */
  readonly ioClock: Clock;
  readonly report: StoreReport;
}

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
/** So often another replica's write is met before the next look is left to the next poll. */
const MAX_ROUNDS = 8;

export const createRedisFleet = (options: RedisFleetOptions) => {
  const { store, keeper, ioClock, report } = options;
  const { cached } = keeper;
  const view = createRedisView(store, report);
  const lease = createSharedLease({ ...options, view });
  const rewrite = createListRewrite(store, ioClock);
  const exchange = createListExchange({ store, view, lease, rewrite, keeper, report });
  const inTurn = createQueue();
  /** The exchange that is under way, and whether another one is wanted after it. */
  let exchanging: Promise<void> | undefined;
  let isWanted = false;
  const stopping = new AbortController();

  const exchangeAll = async (): Promise<void> => {
    /* oxlint-disable no-await-in-loop -- one look after the other */
    while (isWanted && !stopping.signal.aborted) {
      isWanted = false;
      try {
        let problem: string | undefined;
        for (let round = 0, again = true; round < MAX_ROUNDS && again; round += 1) {
          ({ again, problem } = await inTurn(exchange));
          if (problem !== undefined) report.isBad(problem);
        }
        if (problem === undefined) report.works();
      } catch (error) {
        view.failed(error);
      }
    }
    /* oxlint-enable no-await-in-loop */
  };

  const synchronize = (): Promise<void> => {
    isWanted = true;
    return (exchanging ??= exchangeAll().finally(() => (exchanging = undefined)));
  };

  /** Writes `list` over the one that is held, and holds it if that is what Redis had. */
  const save = async (
    list: HeldList,
    over: HeldList | undefined,
    retryAfterMs: number,
  ): Promise<boolean> => {
    const held = cached.get();
    if (!held || held.id !== over?.id || view.place()?.id !== held.id) return false;
    const place = placeAfter(held.place, list);
    try {
      if (!(await view.writeList(list, place))) return false;
    } catch (error) {
      view.failed(error);
      return false;
    }
    const isHeld = keeper.hold({ ...list, place, isRestored: false }, over);
    await lease.end(retryAfterMs);
    return isHeld;
  };

  const fleet: Fleet = {
    pollMs: POLL_MS,
    handoverMs: HANDOVER_MS,
    synchronize,
    lease: view.lease,
    // Without Redis every replica loads by itself.
    claim: async () => (await lease.claim()) ?? true,
    commit: async (list, over, { isForced, retryAfterMs }) => {
      const isReplaced = (): boolean => cached.get()?.id !== over?.id;
      // A first list, or one that Redis cannot take, is held at once: requests may wait for it.
      const mustWriteFirst = (): boolean => {
        const held = cached.get();
        return held !== undefined && keeper.isUsable(held) && isSaved(held) && view.isUsable();
      };
      for (let round = 0; round < 2 && mustWriteFirst() && !isReplaced(); round += 1) {
        // oxlint-disable-next-line no-await-in-loop -- the second time over what Redis has lost
        if (await inTurn(() => save(list, over, retryAfterMs))) return true;
        // oxlint-disable-next-line no-await-in-loop -- see above
        if (view.isUsable()) await synchronize();
      }
      if (isReplaced() || mustWriteFirst()) return false;
      const isHeld = keeper.hold({ ...list, place: cached.get()?.place ?? list.place }, over);
      const synchronized = synchronize();
      if (!isForced) return isHeld;
      await synchronized;
      return cached.get()?.id === list.id;
    },
    fail: async (failure, waitMs) => {
      // A second time over what another replica has written meanwhile.
      for (let round = 0; round < 2; round += 1) {
        // oxlint-disable-next-line no-await-in-loop -- see above
        await synchronize();
        // Another replica may have succeeded meanwhile; the provider is left alone nevertheless.
        if (!keeper.failures.current().failure && failure.askedForMs === 0) return 0;
        const { failure: earlier } = view.lease() ?? {};
        // oxlint-disable-next-line no-await-in-loop -- see above
        if ((await lease.fail(failure, waitMs)) !== false) return earlier?.askedForMs ?? 0;
      }
      return 0;
    },
  };
  return {
    ...fleet,
    /** Starts connecting. Calls `onNews` when another replica may have written something. */
    open: (onNews: () => void): void =>
      store.open(() => {
        rewrite.onNews();
        onNews();
      }),
    renewConnection: store.renewConnection,
    /** Ends the lease, if this replica has it for a load, and closes the connection. */
    stop: async (): Promise<void> => {
      if (view.lease()?.isOwn) await synchronize();
      stopping.abort();
      await exchanging;
      await lease.release();
      await store.close();
    },
  };
};

/** Runs what it is given one after the other. */
const createQueue = () => {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
};
