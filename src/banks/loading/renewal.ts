import { createWakeUp } from '../../wake-up.ts';
import { OVERRIDABLE, type Overridable } from '../guard/guard.ts';
import type { OperatorRequest } from '../list-keeper.ts';
import { STOPPING, type LoadError } from '../load-error.ts';
import { createFailureSharing } from './failure-sharing.ts';
import { createListLoad } from './list-load.ts';
import { createNextLoad } from './next-load.ts';
import { createOtherReplicas } from './other-replicas.ts';
import type { RenewalOptions } from './renewal-options.ts';

// When the list is loaded: one loop, which waits until a load is due, agrees with the other
// replicas on who makes it, and makes it.

export const createRenewal = (options: RenewalOptions) => {
  const { keeper, fleet, retryAfter, clock } = options;
  const { changes } = keeper;
  const wakeUp = createWakeUp();
  const stopping = new AbortController();
  const nextLoad = createNextLoad(options);
  const sharing = createFailureSharing(options, nextLoad);
  const others = createOtherReplicas(options, nextLoad, sharing);
  const loadList = createListLoad(options, nextLoad, stopping.signal);
  const refreshes = createRefreshQueue();
  let running: Promise<void> | undefined;
  /** Claims in a row that found another write to the lease. */
  let lostClaims = 0;
  /**
   * What the loop does: `waiting` until a load is due; `loading`; or `agreeing` with the other
   * replicas on what comes next, which includes the wait while one of them loads.
   */
  let phase: 'waiting' | 'agreeing' | 'loading' = 'agreeing';

  const run = async (): Promise<void> => {
    /* oxlint-disable no-await-in-loop -- one step after the other */
    while (!stopping.signal.aborted) {
      phase = 'agreeing';
      wakeUp.forget();
      await lookAtOthers();
      // Writing looks at the shared store again.
      if (await sharing.shareAgain()) others.follow();
      const refresh = refreshes.next();
      if (refresh) refresh.end(await load(refresh.request));
      else await waitOrRenew();
    }
    /* oxlint-enable no-await-in-loop */
  };

  const lookAtOthers = async (): Promise<void> => {
    await fleet.synchronize();
    others.follow();
  };

  const waitOrRenew = async (): Promise<void> => {
    nextLoad.plan();
    const dueInMs = nextLoad.dueInMs();
    const othersWaitMs = others.waitForOthersMs();
    if (dueInMs > 0 || othersWaitMs > 0) lostClaims = 0;
    if (dueInMs > 0) {
      phase = 'waiting';
      changes.emit('change');
      await pause(dueInMs);
    } else if (othersWaitMs > 0) {
      // After a failure no request waits for the load of another replica.
      if (backOffCause()) changes.emit('change');
      await pause(othersWaitMs);
    } else if (await mayLoad()) await load(undefined);
  };

  /** Ends after `waitMs`, when it is woken, or when it is time to look at the shared store. */
  const pause = async (waitMs: number): Promise<void> => {
    const cancel = clock.after(Math.ceil(Math.min(waitMs, fleet.pollMs)), wakeUp.wake);
    await wakeUp.woken();
    cancel();
  };

  /**
   * Claims the lease. After {@link MAX_LOST_CLAIMS} it loads without: something writes to the lease
   * again and again, and nothing in it can be waited for.
   */
  const mayLoad = async (): Promise<boolean> => {
    if (await fleet.claim()) return true;
    lostClaims += 1;
    return lostClaims > MAX_LOST_CLAIMS;
  };

  const load = async (operator: OperatorRequest | undefined): Promise<LoadError | undefined> => {
    phase = 'loading';
    const failure = await loadList(operator);
    if (stopping.signal.aborted) return failure && STOPPING;
    phase = 'agreeing';
    if (!failure) return undefined;
    // Requests that wait are answered now, and not once the other replicas know.
    changes.emit('change');
    await sharing.share(failure);
    return failure;
  };

  /**
   * The failure after which the next load waits, with or without a `Retry-After`; undefined where
   * the next load is not delayed by one.
   */
  const backOffCause = (): LoadError | undefined =>
    keeper.failures.current().failure ?? retryAfter.cause();

  const start = (): void => {
    if (!stopping.signal.aborted) running ??= run();
  };
  const wake = (): void => {
    start();
    wakeUp.wake();
  };

  return {
    /** Loads the first list, unless a fresh one was restored, and keeps renewing it. */
    start,
    /** For a request without a list: starts the loop, or ends its wait. */
    wake,
    /** There may be something new in the shared store. */
    onNews: (): void => {
      if (phase === 'loading') void lookAtOthers();
      else wakeUp.wake();
    },
    /**
     * Makes a load of its own as soon as none is under way. Those who override the same
     * reasons share one; of their request ids the first one counts.
     * @returns the failure, or undefined if there was none
     */
    refresh: (request: OperatorRequest): Promise<LoadError | undefined> => {
      if (stopping.signal.aborted) return Promise.resolve(STOPPING);
      const end = refreshes.add(request);
      wake();
      return end;
    },
    backOffCause,
    isStopped: (): boolean => stopping.signal.aborted,
    isLoading: (): boolean => phase === 'loading',
    /** Milliseconds until the next load; 0 while it is under way, here or in another replica. */
    nextLoadInMs: (): number => (phase === 'waiting' ? nextLoad.dueInMs() : 0),
    /** Milliseconds until the next load is due, whatever is under way. */
    dueInMs: nextLoad.dueInMs,
    /** Ends the load under way, and resolves once the loop has ended. */
    stop: async (): Promise<void> => {
      stopping.abort(STOPPING);
      wakeUp.wake();
      await running;
      refreshes.endAll(STOPPING);
      changes.emit('change');
    },
  };
};

/** Each costs the time of a request to Redis. */
const MAX_LOST_CLAIMS = 8;

/** Loads that operators wait for. Those who override the same reasons share one. */
const createRefreshQueue = () => {
  const waiting: Refresh[] = [];
  return {
    /** @returns the failure of the load, or undefined if there was none */
    add: (request: OperatorRequest): Promise<LoadError | undefined> => {
      const same = waiting.find((other) => isSameSet(other.request.overrides, request.overrides));
      if (same) return same.ended;
      let end = (_failure: LoadError | undefined): void => {};
      const ended = new Promise<LoadError | undefined>((resolve) => (end = resolve));
      waiting.push({ request, ended, end });
      return ended;
    },
    next: (): Refresh | undefined => waiting.shift(),
    endAll: (failure: LoadError): void => {
      for (const { end } of waiting.splice(0)) end(failure);
    },
  };
};

interface Refresh {
  readonly request: OperatorRequest;
  readonly ended: Promise<LoadError | undefined>;
  readonly end: (failure: LoadError | undefined) => void;
}

const isSameSet = (some: readonly Overridable[], others: readonly Overridable[]): boolean =>
  OVERRIDABLE.every((reason) => some.includes(reason) === others.includes(reason));
