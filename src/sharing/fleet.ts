import { EventEmitter, once } from 'node:events';
import { WITHOUT_LEASE, type TakeTurn, type Turn } from '../banks/loading/loading.ts';
import type { Clock } from '../clock.ts';
import type { LastGoodList } from './last-good-list.ts';
import type { ReleaseLease, SharedStore } from './list-store.ts';

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

/** Added to the load's time: for reading before it and writing after it. A lease that ends too early costs one call. */
const WRITE_MS = 500;
/** How often a waiting replica tries again: the owner of the lease may have died, or the message been lost. */
const RETRY_CLAIM_MS = 250;

export const createFleet = ({ store, lastGoodList, loadTimeoutMs, clock }: FleetOptions) => {
  /** Tells a replica that waits for its turn that there may be a list. */
  const news = new EventEmitter();
  let isStopped = false;
  /** The exchange of lists that is under way, and whether messages have arrived since it began. */
  let exchanging: Promise<void> | undefined;
  let hasNews = false;
  /** Turns that have the lease, by what ends them. */
  const leased = new Set<() => void>();
  /** Ends with the decisions that are under way and the leases that are being given back. */
  let deciding: Promise<unknown> = Promise.resolve();
  const track = <T>(work: Promise<T>): Promise<T> => {
    // Without the results, which would hold each other for as long as the service runs.
    deciding = Promise.all([deciding, work]).then(() => undefined);
    return work;
  };

  /** Exchanges lists with the store once at a time, and once more if messages arrived meanwhile, however many. */
  const onChange = (): void => {
    if (isStopped) return;
    hasNews = true;
    exchanging ??= exchangeAll().finally(() => (exchanging = undefined));
  };
  const exchangeAll = async (): Promise<void> => {
    while (hasNews) {
      hasNews = false;
      // oxlint-disable-next-line no-await-in-loop -- one at a time
      await lastGoodList.pull(store);
      news.emit('news');
    }
  };

  const turnWith = (lease: ReleaseLease): Turn => {
    const end = (): void => {
      // The next owner of the lease is to find the list.
      if (leased.delete(end)) void track(lastGoodList.onSettled(store).then(lease));
    };
    leased.add(end);
    return { mayLoad: true, end };
  };

  /** Resolves when there may be a new list, when it is time to try again, or when `signal` aborts. */
  const newsOrRetry = async (signal: AbortSignal): Promise<void> => {
    const cancel = clock.after(RETRY_CLAIM_MS, () => news.emit('news'));
    await once(news, 'news', { signal }).catch(() => undefined);
    cancel();
  };

  const decide: TakeTurn = async ({ isDue, patienceMs, signal }) => {
    const sinceMs = clock.monotonicMs();
    while (isDue() && !signal.aborted) {
      const lease = await lastGoodList.attempt(store, () => store.claim(loadTimeoutMs + WRITE_MS));
      if (lease === 'failed') return isDue() ? WITHOUT_LEASE : SPARED;
      if (lease) {
        const turn = turnWith(lease);
        // Another replica may have renewed the list while this claim was under way.
        await lastGoodList.pull(store);
        if (isDue() && !signal.aborted) return turn;
        turn.end();
        break;
      }
      if (clock.monotonicMs() - sinceMs >= patienceMs()) {
        // The message that there is a list may have been lost.
        await lastGoodList.pull(store);
        return isDue() ? WITHOUT_LEASE : SPARED;
      }
      await newsOrRetry(signal);
    }
    return SPARED;
  };
  const takeTurn: TakeTurn = (wanted) => track(decide(wanted));

  return {
    /** Connects to the store, and from then on takes what the other replicas write. */
    start: (): void => store.open(onChange),
    /** Gives back the lease and closes the connection, once nothing is under way any more. */
    stop: async (): Promise<void> => {
      isStopped = true;
      await Promise.all([deciding, exchanging]);
      await lastGoodList.onSettled(store);
      for (const end of leased) end();
      await deciding;
      store.close();
    },
    takeTurn,
  };
};

const SPARED: Turn = { mayLoad: false, end: () => undefined };
