/* oxlint-disable max-lines-per-function */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { monotonic, type Clock, type MonotonicMs } from '../../clock.ts';
import { withDeadline } from '../../deadline.ts';
import type { HeldList } from '../cached-list.ts';
import { ACCEPTANCES, type Acceptance } from '../guard/guard.ts';
import type { ListKeeper, OperatorRequest } from '../list-keeper.ts';
import { LoadError } from '../load-error.ts';
import type { LoadedList } from '../reading/list-reader.ts';
import type { Fleet, Lease, SharedFailure } from './fleet.ts';
import {
  LONGEST_RETRY_AFTER_MS,
  LONGEST_RETRY_MS,
  renewalDelayMs,
  retryDelayMs,
} from './schedule.ts';

// When the list is loaded: one loop, which waits until a load is due, agrees with the other
// replicas on who makes it, and makes it.

/**
 * All that the list knows of the provider. Rejects with a {@link LoadError}; must give up when
 * `signal` aborts.
 */
export type Load = (signal: AbortSignal) => Promise<LoadedList>;

export interface RenewalOptions {
  readonly load: Load;
  /**
   * Longest time for one load; one that has not settled by then is given up, whether it obeys its
   * signal or not.
   */
  readonly loadTimeoutMs: number;
  readonly ttlMs: number;
  readonly keeper: ListKeeper;
  readonly fleet: Fleet;
  readonly clock: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
}

/** A load that an operator waits for. */
interface ForcedLoad {
  readonly request: OperatorRequest;
  /** One for each of those who wait for it. */
  readonly ends: ((failure: LoadError | undefined) => void)[];
}

/**
 * When the next load is due, for as long as its cause is the same failure, or a list of the same
 * age.
 */
interface Plan {
  readonly cause: LoadError | MonotonicMs | undefined;
  readonly dueAtMs: MonotonicMs;
}

const NO_REQUEST: OperatorRequest = { accept: [], requestId: '' };

/** Why nothing is loaded any more. */
export const STOPPING = new LoadError('unreachable', 'the service is stopping');

export const createRenewal = (options: RenewalOptions) => {
  const { load, loadTimeoutMs, ttlMs, keeper, fleet, clock, random } = options;
  const { cached, failures, news } = keeper;
  const stopping = new AbortController();
  const forced: ForcedLoad[] = [];
  let running: Promise<void> | undefined;
  /**
   * What the loop does: it waits until a load is due, or for another replica, or for the provider.
   */
  let phase: 'resting' | 'agreeing' | 'loading' = 'agreeing';
  /** Something has happened since the loop last looked. */
  let isWoken = false;
  let plan: Plan = { cause: undefined, dueAtMs: clock.monotonicMs() };
  /** The newest failure, of this replica or taken over from another one. */
  let failureId = '';
  /** The newest lease of another replica, and when it was first seen. */
  let lease: { readonly id: string; readonly seenAtMs: MonotonicMs } | undefined;

  const run = async (): Promise<void> => {
    /* oxlint-disable no-await-in-loop -- one step after the other */
    while (!stopping.signal.aborted) {
      phase = 'agreeing';
      isWoken = false;
      await fleet.synchronize();
      const operator = forced.shift();
      if (operator) {
        await loadFor(operator);
        continue;
      }
      const blockedForMs = waitForOthersMs();
      if (dueInMs() > 0) {
        phase = 'resting';
        news.emit('change');
        await pause(Math.min(dueInMs(), fleet.pollMs));
      } else if (blockedForMs > 0) await pause(Math.min(blockedForMs, fleet.pollMs));
      else if (await fleet.claim()) await loadOnce(NO_REQUEST, false);
    }
    /* oxlint-enable no-await-in-loop */
    for (const end of forced.splice(0).flatMap(({ ends }) => ends)) end(STOPPING);
    news.emit('change');
  };

  /** Ends after `waitMs`, or at the next news. */
  const pause = async (waitMs: number): Promise<void> => {
    if (isWoken || stopping.signal.aborted) return;
    const cancel = clock.after(Math.ceil(waitMs), wake);
    await once(news, 'wake').finally(cancel);
  };
  const wake = (): void => {
    isWoken = true;
    news.emit('wake');
  };

  /** Milliseconds until a load is due. */
  const dueInMs = (): number => {
    const { failure, failing } = failures.current();
    // A restored list may turn out to be older than its snapshot says.
    const cause = failure ?? cached.get()?.sentAtMs;
    if (cause !== plan.cause) {
      const delayMs = failure
        ? retryDelayMs(
            failing?.attempts ?? 1,
            failure.retryAfterMs,
            ttlMs,
            cached.servableForMs(),
            random(),
          ) + fleet.handoverMs
        : renewalDelayMs(cached.freshForMs(), ttlMs, random());
      plan = { cause, dueAtMs: monotonic(clock.monotonicMs() + delayMs) };
    }
    return Math.max(0, plan.dueAtMs - clock.monotonicMs());
  };

  /**
   * Milliseconds for which another replica has the right to make the next request. Takes over its
   * failure.
   */
  const waitForOthersMs = (): number => {
    const others = fleet.leaseOfOthers();
    if (!others) return 0;
    const nowMs = clock.monotonicMs();
    if (lease?.id !== others.id) lease = { id: others.id, seenAtMs: nowMs };
    const { failure } = others;
    if (failure && failure.id !== failureId) takeOver(others, failure);
    const untilMs = Math.min(others.heldUntilMs, lease.seenAtMs + patienceMs(others));
    return Math.max(0, untilMs - nowMs);
  };

  /**
   * How long another replica's lease is respected: not for all of it while requests wait for a
   * list.
   */
  const patienceMs = ({ failure }: Lease): number => {
    if (failure) return longestWaitMs();
    return cached.servableForMs() > 0 ? Infinity : loadTimeoutMs / 2;
  };

  /** The longest wait after a failure: until the list is over, and at least a minute. */
  const longestWaitMs = (): number => Math.max(cached.servableForMs() + 1, LONGEST_RETRY_MS);
  /** The longest `Retry-After` that is obeyed, whoever got it. */
  const longestRetryAfterMs = Math.max(ttlMs, LONGEST_RETRY_AFTER_MS);

  const takeOver = (
    { heldUntilMs }: Lease,
    { id, kind, attempts, failingForMs, askedForMs }: SharedFailure,
  ): void => {
    failureId = id;
    // What this replica's own failure asks for is not shortened by another one's.
    const ownDueAtMs = failures.current().failure === plan.cause && plan.cause ? plan.dueAtMs : 0;
    const error = new LoadError(kind, 'the load of another replica failed');
    failures.addShared(error, attempts, failingForMs);
    const spreadMs = random() * fleet.handoverMs;
    const nowMs = clock.monotonicMs();
    const askedMs = Math.min(askedForMs, longestRetryAfterMs);
    // Who has made the attempt may have had nothing to serve, and waits less.
    const wantedAtMs = Math.max(heldUntilMs, nowMs + askedMs, ownDueAtMs);
    const untilMs = Math.min(wantedAtMs, nowMs + longestWaitMs());
    plan = { cause: error, dueAtMs: monotonic(untilMs + spreadMs) };
    keeper.onEvent({ type: 'list-load-failed-elsewhere', error, state: cached.state() });
  };

  /** Another replica's `Retry-After` counts for this one too, as far as its own would. */
  const postpone = (cause: LoadError, askedForMs: number): void => {
    const waitMs = Math.min(askedForMs, longestRetryAfterMs, longestWaitMs());
    const untilMs = clock.monotonicMs() + waitMs;
    if (plan.cause === cause && untilMs > plan.dueAtMs)
      plan = { cause, dueAtMs: monotonic(untilMs) };
  };

  const loadFor = async ({ request, ends }: ForcedLoad): Promise<void> => {
    const failure = await loadOnce(request, true);
    for (const end of ends) end(failure);
  };

  /**
   * One load, from the question to the provider to the list that is held, or the failure. Never
   * rejects. An answer that another list overtook counts for nothing; an operator's question is
   * then asked again.
   */
  const loadOnce = async (
    request: OperatorRequest,
    isForced: boolean,
  ): Promise<LoadError | undefined> => {
    phase = 'loading';
    const startedAtMs = clock.monotonicMs();
    const elapsedMs = (): number => clock.monotonicMs() - startedAtMs;
    try {
      // What is left of the time is whole milliseconds, because operators read it.
      for (
        let limitMs = loadTimeoutMs;
        limitMs > 0;
        limitMs = Math.ceil(loadTimeoutMs - elapsedMs())
      ) {
        const over = cached.get();
        // oxlint-disable-next-line no-await-in-loop -- one question after the other
        const list = await ask(request, over, limitMs);
        // oxlint-disable-next-line no-await-in-loop -- one question after the other
        const isTaken = await fleet.commit(list, over, isForced);
        stopping.signal.throwIfAborted();
        if (isTaken) {
          failures.clear();
          const outcome = list.representations === over?.representations ? 'unchanged' : 'changed';
          keeper.onEvent({
            type: 'list-renewed',
            list,
            previous: over,
            outcome,
            durationMs: elapsedMs(),
          });
          return undefined;
        }
        if (!isForced && cached.served()) return undefined;
      }
      throw new LoadError('timeout', `other replicas' lists won for ${loadTimeoutMs} ms`);
    } catch (error) {
      const failure = LoadError.from(error);
      if (stopping.signal.aborted) return STOPPING;
      failures.add(failure);
      // Requests that wait are answered now, and not once the other replicas know.
      phase = 'agreeing';
      news.emit('change');
      keeper.onEvent({
        type: 'list-load-failed',
        error: failure,
        state: cached.state(),
        durationMs: elapsedMs(),
      });
      const { failing } = failures.current();
      failureId = randomUUID();
      const waitMs = Math.max(0, dueInMs() - fleet.handoverMs);
      if (failing) postpone(failure, await fleet.fail(failure, failing, failureId, waitMs));
      return failure;
    }
  };

  /** @throws {LoadError} */
  const ask = async (
    request: OperatorRequest,
    over: HeldList | undefined,
    limitMs: number,
  ): Promise<HeldList> => {
    const loaded = await withDeadline(load, {
      limitMs,
      clock,
      signal: stopping.signal,
      timeoutError: () => new LoadError('timeout', `no complete response within ${limitMs} ms`),
    });
    // The age counts from here: encoding a large list takes its time.
    return keeper.successor(loaded, clock.monotonicMs(), over, request);
  };

  const start = (): void => {
    if (!stopping.signal.aborted) running ??= run();
  };

  return {
    /** Loads the first list, unless a fresh one was restored, and keeps renewing it. */
    start,
    /** A request finds no list. */
    want: (): void => {
      start();
      wake();
    },
    /** There may be something new in the shared store. */
    onNews: (): void => {
      if (phase === 'loading') void fleet.synchronize();
      else wake();
    },
    /**
     * Makes a load of its own as soon as none is under way. Those who wait with the same reasons to
     * accept share one; of their request ids the first one counts.
     * @returns the failure, or undefined if there was none
     */
    refresh: (request: OperatorRequest): Promise<LoadError | undefined> =>
      new Promise((end) => {
        if (stopping.signal.aborted) {
          end(STOPPING);
          return;
        }
        const same = forced.find((other) => sameReasons(other.request.accept, request.accept));
        if (same) same.ends.push(end);
        else forced.push({ request, ends: [end] });
        start();
        wake();
      }),
    isStopped: (): boolean => stopping.signal.aborted,
    isLoading: (): boolean => phase === 'loading',
    /** Milliseconds until the next load; 0 while it is under way, here or in another replica. */
    nextLoadInMs: (): number => (phase === 'resting' ? dueInMs() : 0),
    /** Ends the load under way, and resolves once the loop has ended. */
    stop: async (): Promise<void> => {
      stopping.abort(STOPPING);
      wake();
      await running;
      news.emit('change');
    },
  };
};

const sameReasons = (some: readonly Acceptance[], others: readonly Acceptance[]): boolean =>
  ACCEPTANCES.every((reason) => some.includes(reason) === others.includes(reason));
