import type { ListKeeper } from '../banks/list-keeper.ts';
import type { Fleet } from '../banks/loading/fleet.ts';
import { createListCommit } from './list-commit.ts';
import { createListExchange } from './list-exchange.ts';
import type { StoreReport } from './store-report.ts';
import type { RedisStore } from './redis-store.ts';
import type { SharedLease } from './shared-lease.ts';

// The replicas that share a list in Redis. This is not consensus. The lease only saves calls: if it
// or Redis fails, a replica calls the provider itself.

export interface RedisFleetOptions {
  readonly store: RedisStore;
  readonly lease: SharedLease;
  readonly keeper: ListKeeper;
  readonly report: StoreReport;
}

/**
 * Finds a dead connection before a renewal needs it (NAT gateways forget idle ones), and makes up
 * for lost messages.
 */
const POLL_MS = 5_000;
/**
 * After its failure a replica leaves the next attempt to another one: what fails may be its own
 * network.
 */
const HANDOVER_MS = 200;
/** After this many exchanges that lost to a write of another replica, the next poll tries again. */
const MAX_ROUNDS = 8;

export const createRedisFleet = ({ store, lease, keeper, report }: RedisFleetOptions) => {
  const exchange = createListExchange({ store, lease, keeper, report });
  const exclusively = createQueue();
  /** The next synchronization, until it begins. */
  let next: Promise<void> | undefined;
  let isStopping = false;

  /** Exchanges until there is nothing left to do, and reports how that went. */
  const exchangeInRounds = async (): Promise<void> => {
    for (let round = 1; ; round += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one look after the other
      const { again, problem } = await exchange();
      if (problem !== undefined) report.ifNew(problem);
      if (again && round < MAX_ROUNDS) continue;
      if (problem === undefined) report.success();
      return;
    }
  };

  /** Those who call this before the next synchronization begins share it. */
  const synchronize = (): Promise<void> =>
    (next ??= exclusively(async () => {
      next = undefined;
      if (!isStopping) await exchangeInRounds().catch(store.failed);
    }));

  const releaseLease = async (): Promise<void> => {
    // Another replica may have written a failure into it.
    if (store.lease()?.isOwn) await synchronize();
    await lease.release();
  };

  const fleet: Fleet = {
    pollMs: POLL_MS,
    handoverMs: HANDOVER_MS,
    synchronize,
    lease: store.lease,
    // Without Redis every replica loads by itself.
    claim: async () => (await lease.claim()) !== 'overtaken',
    commit: createListCommit({ store, lease, keeper, exclusively, synchronize }),
    shareFailure: async (failure, dueInMs) => {
      // A second time over what another replica has written meanwhile.
      for (let round = 0; round < 2; round += 1) {
        // oxlint-disable-next-line no-await-in-loop -- see above
        await synchronize();
        // Another replica may have succeeded meanwhile, which does not end a Retry-After.
        if (!keeper.failures.current().failure && !failure.retryAfter) return { isDone: true };
        // One that another replica has written, also into the lease of this one.
        const before = store.lease()?.failure;
        const replaced = before && !keeper.failures.hasSeen(before.id) ? before : undefined;
        // oxlint-disable-next-line no-await-in-loop -- see above
        const written = await lease.writeFailure(failure, dueInMs);
        if (written !== 'overtaken') return { isDone: written === 'written', replaced };
      }
      return { isDone: false };
    },
    releaseLease,
  };
  return {
    ...fleet,
    /** Starts connecting. Calls `onNews` when another replica may have written something. */
    open: store.open,
    renewConnection: store.renewConnection,
    /** Ends the lease, if this replica has it for a load, and closes the connection. */
    stop: async (): Promise<void> => {
      await releaseLease();
      isStopping = true;
      await exclusively(() => Promise.resolve());
      await store.close();
    },
  };
};

/** Runs one piece of work after the other. */
const createQueue = () => {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
};
