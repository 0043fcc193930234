import type { BankList, TakeTurn } from '../banks/bank-list.ts';
import type { Turn } from '../banks/loading/loading.ts';
import type { Clock } from '../clock.ts';
import type { LastGoodList } from './last-good-list.ts';
import type { SharedStore } from './list-store.ts';

// Decides which of several replicas calls the provider: one for all of them, as long as the shared store works. This is not
// consensus. The lease only saves calls: if it or the store fails, a replica calls the provider itself, and two owners of
// the lease cause no more than one extra call.

export interface FleetOptions {
  readonly store: SharedStore;
  readonly lastGoodList: LastGoodList;
  /** The longest time that a load can take, in milliseconds. */
  readonly loadTimeoutMs: number;
  readonly clock: Clock;
}

export interface Fleet {
  /** Connects to the store and gives `list` what the other replicas write. */
  start(list: BankList): void;
  stop(): void;
  readonly takeTurn: TakeTurn;
}

/** The lease covers the longest load and the write after it. */
const WRITE_MS = 500;
/** How often a waiting replica tries again: the owner of the lease may have died, or the message been lost. */
const RETRY_CLAIM_MS = 250;

export const createFleet = (options: FleetOptions): Fleet => {
  const { store, lastGoodList, clock } = options;
  const waiting = new Set<() => void>();

  /** Resolves when the list may have changed, when it is time to try again, or when `signal` aborts. */
  const changeOrRetry = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        cancel();
        waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const cancel = clock.after(RETRY_CLAIM_MS, wake);
      waiting.add(wake);
      signal.addEventListener('abort', wake);
    });

  /** Exchanges lists with the store; the newer one wins. An older list may have been written after a newer one. */
  const reconcile = async (list: BankList): Promise<void> => {
    const restored = await lastGoodList.takeFrom(store, list);
    for (const wake of waiting) wake();
    const { held, ageMs = 0 } = list.status();
    // A list that is refused here may be valid for other replicas: overwriting it would start an endless exchange.
    if (restored === 'failed' || !held) return;
    if (!restored.isTaken && held.receivedAtMs !== restored.saved?.receivedAtMs)
      lastGoodList.save(held, ageMs);
  };

  let reconciling: Promise<void> | undefined;
  let hasChanged = false;
  /** Reads the store once at a time, and once more if messages arrived meanwhile, however many. */
  const onChange = (list: BankList): void => {
    hasChanged = true;
    reconciling ??= (async () => {
      while (hasChanged) {
        hasChanged = false;
        // oxlint-disable-next-line no-await-in-loop -- one at a time
        await reconcile(list);
      }
      reconciling = undefined;
    })();
  };

  const takeTurn: TakeTurn = async (list, { isDue, patienceMs, signal }): Promise<Turn> => {
    const untilMs = clock.monotonicMs() + patienceMs;
    while (isDue() && !signal.aborted) {
      const lease = await lastGoodList.attempt(store, () => store.claim(options.loadTimeoutMs + WRITE_MS));
      if (lease === 'failed') return ALONE;
      if (lease) {
        // Another replica may have renewed the list while this claim was under way.
        await lastGoodList.takeFrom(store, list);
        const end = (): void => void lastGoodList.onSettled().then(lease);
        if (isDue() && !signal.aborted) return { mayLoad: true, end };
        end();
        break;
      }
      if (clock.monotonicMs() >= untilMs) return ALONE;
      await changeOrRetry(signal);
    }
    return SPARED;
  };

  return {
    start: (list) => store.open(() => onChange(list)),
    stop: () => store.close(),
    takeTurn,
  };
};

const ALONE: Turn = { mayLoad: true, end: () => undefined };
const SPARED: Turn = { mayLoad: false };
