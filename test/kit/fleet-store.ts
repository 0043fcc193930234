import type { SavedList } from '../../src/banks/cached-list.ts';
import { StoreError, type ReleaseLease, type SharedStore } from '../../src/sharing/list-store.ts';
import type { Clock } from '../../src/clock.ts';

// A shared store in memory that fails on command, for fleets on a clock that tests move.

export interface FleetStore {
  /** The store as one replica sees it. */
  seenBy(replica: number): SharedStore;
  /** What happens to `replica` now; undefined: everything works. Recovery is reported like a new connection. */
  setFault(replica: number, fault: Fault | undefined): void;
  /** Drops the saved list, like a Redis that restarted empty. */
  clear(): void;
}

/** `refuses` at once; `stalls` until the deadline; `deaf` gets no messages. */
export type Fault = 'refuses' | 'stalls' | 'deaf';

const DEADLINE_MS = 500;

export const createFleetStore = (clock: Clock): FleetStore => {
  let held: { readonly list: SavedList; readonly sentAtMs: number } | undefined;
  let lease: { readonly owner: symbol; readonly untilMs: number } | undefined;
  const listeners = new Map<number, () => void>();
  const faults = new Map<number, Fault>();

  const reach = async (replica: number): Promise<void> => {
    const fault = faults.get(replica);
    if (fault === 'stalls') await new Promise<void>((resolve) => void clock.after(DEADLINE_MS, resolve));
    if (fault === 'stalls' || fault === 'refuses') throw new StoreError('fails on command');
  };
  return {
    seenBy: (replica) => ({
      name: 'CACHE_REDIS_URL',
      read: async () => {
        await reach(replica);
        return held && { list: held.list, ageMs: clock.monotonicMs() - held.sentAtMs };
      },
      write: async (list, ageMs) => {
        await reach(replica);
        held = { list, sentAtMs: clock.monotonicMs() - ageMs };
        for (const [other, onChange] of listeners) if (other !== replica && !faults.has(other)) onChange();
      },
      claim: async (forMs): Promise<ReleaseLease | undefined> => {
        await reach(replica);
        if (lease && lease.untilMs > clock.monotonicMs()) return undefined;
        const owner = Symbol('lease');
        lease = { owner, untilMs: clock.monotonicMs() + forMs };
        return async () => {
          const isReached = await reach(replica).then(
            () => true,
            () => false,
          );
          if (isReached && lease?.owner === owner) lease = undefined;
        };
      },
      open: (onChange) => {
        listeners.set(replica, onChange);
        if (!faults.has(replica)) onChange();
      },
      close: () => void listeners.delete(replica),
    }),
    setFault: (replica, fault) => {
      if (fault) faults.set(replica, fault);
      else if (faults.delete(replica)) listeners.get(replica)?.();
    },
    clear: () => {
      held = undefined;
      lease = undefined;
    },
  };
};
