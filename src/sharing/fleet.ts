import type { BankList, Turn, TakeTurn } from '../banks/bank-list.ts';
import type { Clock } from '../clock.ts';
import type { LastGoodList } from './last-good-list.ts';
import type { SharedStore } from './list-store.ts';

// Who of several replicas asks the provider: one for all of them, as long as the shared store works. There is no
// consensus. The lease only saves calls: whatever is wrong with it or with the store, a replica asks for itself, and
// the worst that two owners of a lease can do is one call too many.

export interface FleetOptions {
  readonly store: SharedStore;
  readonly lastGoodList: LastGoodList;
  /** Late, because the list asks for turns and a turn looks at the list. */
  readonly list: () => BankList;
  /** The longest that a load can take, in milliseconds. */
  readonly loadTimeoutMs: number;
  readonly clock: Clock;
}

export interface Fleet {
  /** Connects to the store and follows what the others write. */
  start(): void;
  stop(): void;
  readonly takeTurn: TakeTurn;
}

/** The lease outlives the longest load by the write that follows it. */
const WRITE_MS = 500;
/** How often a waiting replica looks whether the lease has ended: its owner may have died, or the news been lost. */
const LOOK_EVERY_MS = 250;

export const createFleet = (options: FleetOptions): Fleet => {
  const { store, lastGoodList, list, clock } = options;
  const waiting = new Set<() => void>();

  /** Resolves when the list may have changed, when it is time to look again, or when `signal` aborts. */
  const somethingNew = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        cancel();
        waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const cancel = clock.after(LOOK_EVERY_MS, wake);
      waiting.add(wake);
      signal.addEventListener('abort', wake);
    });

  /** The younger of both lists becomes the list of both: another's write may have come after, and be older. */
  const reconcile = async (): Promise<void> => {
    const restored = await lastGoodList.takeFrom(store, list());
    for (const wake of waiting) wake();
    const { held, ageMs = 0 } = list().status();
    // What is refused here may be right for the others: replicas would overwrite each other.
    if (restored === 'failed' || !held) return;
    if (!restored.isTaken && held.receivedAtMs !== restored.kept?.receivedAtMs)
      lastGoodList.keep(held, ageMs);
  };

  let reconciling: Promise<void> | undefined;
  let hasNews = false;
  /** However many messages come, the store is read once at a time, and once more for those that came meanwhile. */
  const onNews = (): void => {
    hasNews = true;
    reconciling ??= (async () => {
      while (hasNews) {
        hasNews = false;
        // oxlint-disable-next-line no-await-in-loop -- one at a time
        await reconcile();
      }
      reconciling = undefined;
    })();
  };

  const takeTurn: TakeTurn = async ({ isDue, patienceMs, signal }): Promise<Turn> => {
    const untilMs = clock.monotonicMs() + patienceMs;
    while (isDue() && !signal.aborted) {
      const lease = await lastGoodList.attempt(store, () => store.claim(options.loadTimeoutMs + WRITE_MS));
      if (lease === 'failed') return ALONE;
      if (lease) {
        // Another one's renewal may have ended while this one's claim was on its way.
        await lastGoodList.takeFrom(store, list());
        const end = (): void => void lastGoodList.onSettled().then(lease);
        if (isDue() && !signal.aborted) return { mayLoad: true, end };
        end();
        break;
      }
      if (clock.monotonicMs() >= untilMs) return ALONE;
      await somethingNew(signal);
    }
    return SPARED;
  };

  return {
    start: () => store.open(onNews),
    stop: () => store.close(),
    takeTurn,
  };
};

const ALONE: Turn = { mayLoad: true, end: () => undefined };
const SPARED: Turn = { mayLoad: false };
