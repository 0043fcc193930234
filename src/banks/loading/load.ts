import type { Clock } from '../../clock.ts';
import { withDeadline } from '../../deadline.ts';
import type { Admit, Taken } from '../admission.ts';
import type { CachedList } from '../cached-list.ts';
import type { Decision } from '../guard/guard.ts';
import { isOvertaken } from '../guard/replacement.ts';
import type { ListEvent } from '../list-event.ts';
import { LoadError, type LoadErrorKind } from '../load-error.ts';
import type { LoadedList } from '../reading/list-reader.ts';

/** All that the list knows of the provider. Rejects with a {@link LoadError}; must give up when `signal` aborts. */
export type Load = (signal: AbortSignal) => Promise<LoadedList>;

/** The loads that failed since the last success. */
export interface LoadFailures {
  /** The failure that no success has followed yet. */
  readonly failure: LoadError | undefined;
  /** Undefined when the last load succeeded. */
  readonly failing: FailingLoads | undefined;
  /** The newest failure, whether or not a success has followed. */
  readonly lastFailure: { readonly kind: LoadErrorKind; readonly atMs: number } | undefined;
}

/** Loads that failed one after the other, without a success in between. */
export interface FailingLoads {
  /** Wall-clock milliseconds of the first failure. */
  readonly sinceMs: number;
  /** The failed loads so far, at least 1. */
  readonly attempts: number;
}

interface FailureRecord {
  add(failure: LoadError): void;
  /** A load succeeded. */
  clear(): void;
  current(): LoadFailures;
}

export const createFailureRecord = (clock: Clock): FailureRecord => {
  let current: LoadFailures = { failure: undefined, failing: undefined, lastFailure: undefined };
  return {
    add: (failure) => {
      const atMs = clock.wallMs();
      const { sinceMs = atMs, attempts = 0 } = current.failing ?? {};
      current = {
        failure,
        failing: { sinceMs, attempts: attempts + 1 },
        lastFailure: { kind: failure.kind, atMs },
      };
    },
    clear: () => {
      current = { ...current, failure: undefined, failing: undefined };
    },
    current: () => current,
  };
};

export interface OneLoadOptions {
  readonly ask: Load;
  /** Longest time for one load; a load that has not settled by then is given up, whether it obeys its signal or not. */
  readonly loadTimeoutMs: number;
  readonly cached: CachedList;
  readonly admit: Admit;
  readonly failures: FailureRecord;
  readonly clock: Clock;
  readonly onEvent: (event: ListEvent) => void;
}

/**
 * One load, from the question to the provider to the cached list or the failure. What it gives back never rejects; once its
 * signal has aborted, it has no effect and no report. `forced`: the operator's request; its reasons may be empty.
 */
export const createLoad = (options: OneLoadOptions) => {
  const { ask, loadTimeoutMs, cached, admit, failures, clock, onEvent } = options;

  /**
   * Asks once, and takes the answer unless it is overtaken.
   * @throws {LoadError}
   */
  const askOnce = async (
    decision: Decision | undefined,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<Taken | undefined> => {
    const before = cached.get();
    const askedAtMs = clock.monotonicMs();
    const loaded = await withDeadline(ask, {
      limitMs,
      clock,
      signal,
      timeoutError: () => new LoadError('timeout', `no complete answer within ${limitMs} ms`),
    });
    // The age counts from here: encoding a large list takes its time.
    const [nowMs, receivedAtMs] = [clock.monotonicMs(), clock.wallMs()];
    const sent = { sentAtMs: nowMs, countedFromMs: nowMs, receivedAtMs, changedAtMs: receivedAtMs };
    // Later than any decision before, whatever the clocks that dated those: replicas compare them.
    const acceptedAtMs = Math.max(receivedAtMs, (before?.acceptedAtMs ?? 0) + 1);
    // A list that is accepted meanwhile overtakes the answer, so that `before` still has the last decision.
    const decided = decision
      ? { acceptedAtMs, decision }
      : { acceptedAtMs: before?.acceptedAtMs, decision: before?.decision };
    return admit({ ...loaded, ...sent, ...decided, earlier: [] }, (current) =>
      signal.aborted || isOvertaken(askedAtMs, before, current) ? 'overtaken' : (decision?.reasons ?? []),
    );
  };

  return async (forced: Decision | undefined, signal: AbortSignal): Promise<LoadError | undefined> => {
    const startedAtMs = clock.monotonicMs();
    const elapsedMs = (): number => clock.monotonicMs() - startedAtMs;
    const decision = forced && forced.reasons.length > 0 ? forced : undefined;
    // The list that overtook an answer is as good, unless it is too old to be served, or an operator accepts another one or
    // asked for a newer one.
    const mustAskAgain = (): boolean =>
      !cached.served() ||
      decision !== undefined ||
      (forced !== undefined && (cached.get()?.sentAtMs ?? -Infinity) < startedAtMs);
    try {
      let taken: Taken | undefined;
      let limitMs = loadTimeoutMs;
      do {
        // oxlint-disable-next-line no-await-in-loop -- one question after the other
        taken = await askOnce(decision, limitMs, signal);
        signal.throwIfAborted();
        // What is left of the time; whole milliseconds, because operators read it.
        limitMs = Math.max(1, Math.ceil(loadTimeoutMs - elapsedMs()));
      } while (!taken && mustAskAgain());
      if (!taken) return undefined;
      failures.clear();
      const { list, previous } = taken;
      const outcome = list.representations === previous?.representations ? 'unchanged' : 'changed';
      onEvent({ type: 'list-renewed', list, previous, outcome, durationMs: elapsedMs() });
      return undefined;
    } catch (error) {
      const failure = LoadError.from(error);
      if (signal.aborted) return failure;
      failures.add(failure);
      onEvent({ type: 'list-load-failed', error: failure, state: cached.state(), durationMs: elapsedMs() });
      return failure;
    }
  };
};
