import type { Clock } from '../../clock.ts';
import { createAlarm } from './alarm.ts';
import type { Acceptance } from '../guard/guard.ts';
import type { LoadError } from '../load-error.ts';

// When loads happen: one at a time, however many ask for one; in turn with other replicas; again after a failure or
// ahead of the list's expiry. What a load does is handed in.

export interface LoadOptions {
  /** An operator asked: the provider is to send the whole list, whatever it thinks of our validators. */
  readonly isForced: boolean;
  readonly accept: readonly Acceptance[];
  /** Longest time for it. */
  readonly limitMs: number;
}

/**
 * Decides, before a load that nobody forced, whether this replica makes it. Waits at most about `patienceMs` for
 * another one's list, and no longer than the load `isDue` or until `signal` aborts. Never rejects.
 */
export type WaitForTurn = (wanted: {
  readonly isDue: () => boolean;
  readonly patienceMs: number;
  readonly signal: AbortSignal;
}) => Promise<Turn>;

/** `end` is to be called when the load has ended, whatever its result. */
export type Turn = { readonly mayLoad: true; readonly end: () => void } | { readonly mayLoad: false };

export interface LoadingOptions {
  /** Makes one load and deals with its result. Never rejects. */
  readonly load: (options: LoadOptions) => Promise<LoadError | undefined>;
  /** Undefined: there are no other replicas. */
  readonly waitForTurn: WaitForTurn | undefined;
  /** Whether the list must be loaded now, or a failed load repeated. */
  readonly isDue: () => boolean;
  /** Whether requests can be answered meanwhile. */
  readonly hasList: () => boolean;
  /** Milliseconds from now to the next load. */
  readonly nextDelayMs: () => number;
  /** Longest time for one load. */
  readonly loadTimeoutMs: number;
  readonly clock: Clock;
}

export interface Loading {
  /** Shares the load under way, or starts one. Never rejects. */
  renew(): Promise<void>;
  /** Loads after a load that is under way; resolves with the failure, or undefined if there was none. */
  refresh(accept: readonly Acceptance[]): Promise<LoadError | undefined>;
  isUnderWay(): boolean;
  /** Waits anew for the next load, unless one is under way. */
  schedule(): void;
  /** Milliseconds until the next load; 0 while one is under way. */
  nextLoadInMs(): number;
  /** Starts no further load by itself. */
  stop(): void;
}

export const createLoading = (options: LoadingOptions): Loading => {
  const { load, waitForTurn, loadTimeoutMs, clock } = options;
  let inFlight: Promise<unknown> | undefined;
  let waiting = new AbortController();
  let isStopped = false;

  const schedule = (): void => {
    if (!isStopped && !inFlight) alarm.set(options.nextDelayMs());
  };

  const run = <T>(work: () => Promise<T>): Promise<T> => {
    alarm.cancel();
    const running = work().finally(() => {
      inFlight = undefined;
      waiting = new AbortController();
      schedule();
    });
    inFlight = running;
    return running;
  };

  const loadUnlessAnotherReplicaDoes = async (): Promise<void> => {
    if (!waitForTurn) {
      await load({ isForced: false, accept: [], limitMs: loadTimeoutMs });
      return;
    }
    const startedAtMs = clock.monotonicMs();
    const turn = await waitForTurn({
      isDue: options.isDue,
      // With nothing to serve, requests wait: for another replica half of their time, for the provider the rest.
      patienceMs: loadTimeoutMs * (options.hasList() ? 2 : 0.5),
      signal: waiting.signal,
    });
    if (!turn.mayLoad) return;
    const waitedMs = options.hasList() ? 0 : clock.monotonicMs() - startedAtMs;
    const limitMs = Math.max(1, loadTimeoutMs - waitedMs);
    await load({ isForced: false, accept: [], limitMs }).finally(turn.end);
  };

  const renew = async (): Promise<void> => {
    await (inFlight ?? run(loadUnlessAnotherReplicaDoes));
  };
  const alarm = createAlarm(clock, () => void renew());

  const refresh = async (accept: readonly Acceptance[]): Promise<LoadError | undefined> => {
    if (!inFlight) return run(() => load({ isForced: true, accept, limitMs: loadTimeoutMs }));
    // It began before the operator's decision and would ignore it.
    waiting.abort();
    await inFlight;
    return refresh(accept);
  };

  return {
    renew,
    refresh,
    isUnderWay: () => inFlight !== undefined,
    schedule,
    nextLoadInMs: () => (inFlight ? 0 : alarm.leftMs()),
    stop: () => {
      isStopped = true;
      alarm.cancel();
      waiting.abort();
    },
  };
};
