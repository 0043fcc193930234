import type { Clock } from '../../clock.ts';
import { withDeadline } from '../../deadline.ts';
import type { HeldList } from '../cached-list.ts';
import type { ListKeeper, OperatorRequest } from '../list-keeper.ts';
import { LoadError } from '../load-error.ts';
import type { LoadedList } from '../reading/list-reader.ts';
import type { Fleet } from './fleet.ts';
import type { NextLoad } from './next-load.ts';

// One load, from the request to the provider to the list that is held, or the failure.

/**
 * All that the list knows of the provider. Rejects with a {@link LoadError}; must give up when
 * `signal` aborts.
 */
export type Load = (signal: AbortSignal) => Promise<LoadedList>;

export interface ListLoadOptions {
  readonly load: Load;
  /**
   * Longest time for one load; one that has not settled by then is given up, whether it obeys its
   * signal or not.
   */
  readonly loadTimeoutMs: number;
  readonly keeper: ListKeeper;
  readonly fleet: Fleet;
  readonly clock: Clock;
}

/**
 * @param signal gives up the load under way
 */
export const createListLoad = (
  options: ListLoadOptions,
  nextLoad: NextLoad,
  signal: AbortSignal,
) => {
  const { load, loadTimeoutMs, keeper, fleet, clock } = options;
  const { cached, failures, onEvent } = keeper;

  /** @throws {LoadError} */
  const request = async (
    operator: OperatorRequest,
    over: HeldList | undefined,
    limitMs: number,
  ): Promise<HeldList> => {
    const requestedAtMs = clock.monotonicMs();
    const loaded = await withDeadline(load, {
      limitMs,
      clock,
      signal,
      timeoutError: () => new LoadError('timeout', `no complete response within ${limitMs} ms`),
    });
    nextLoad.answered(requestedAtMs);
    // The age counts from here: encoding a large list takes its time.
    return keeper.successor(loaded, clock.monotonicMs(), over, operator);
  };

  /**
   * Loads a list and holds it. One that another replica's list overtook counts for nothing; for an
   * operator, another one is then loaded.
   * @throws {LoadError}
   */
  const loadAndHold = async (
    operator: OperatorRequest,
    isForced: boolean,
    elapsedMs: () => number,
  ): Promise<void> => {
    // What is left of the time is whole milliseconds, because operators read it.
    for (
      let limitMs = loadTimeoutMs;
      limitMs > 0;
      limitMs = Math.ceil(loadTimeoutMs - elapsedMs())
    ) {
      const previous = cached.get();
      // oxlint-disable-next-line no-await-in-loop -- one request after the other
      const list = await request(operator, previous, limitMs);
      const details = { isForced, retryAfterMs: nextLoad.retryAfterLeftMs() };
      // oxlint-disable-next-line no-await-in-loop -- one request after the other
      const isHeld = await fleet.commit(list, previous, details);
      signal.throwIfAborted();
      if (isHeld) {
        failures.clear();
        const outcome =
          list.representations === previous?.representations ? 'unchanged' : 'changed';
        const held = cached.get();
        onEvent({
          type: 'list-renewed',
          // With its place in the store, if it has got one.
          list: held?.id === list.id ? held : list,
          previous,
          outcome,
          durationMs: elapsedMs(),
        });
        return;
      }
      if (!isForced && cached.served()) return;
    }
    throw new LoadError('timeout', `other replicas' lists won for ${loadTimeoutMs} ms`);
  };

  /**
   * Never rejects.
   * @param isForced an operator waits for it
   * @returns the failure, which is recorded and reported unless `signal` has aborted; undefined if
   *   there was none
   */
  return async (operator: OperatorRequest, isForced: boolean): Promise<LoadError | undefined> => {
    const startedAtMs = clock.monotonicMs();
    const elapsedMs = (): number => clock.monotonicMs() - startedAtMs;
    try {
      await loadAndHold(operator, isForced, elapsedMs);
      return undefined;
    } catch (thrown) {
      const error = LoadError.from(thrown);
      if (signal.aborted) return error;
      nextLoad.failed(error);
      onEvent({
        type: 'list-load-failed',
        error,
        state: cached.state(),
        durationMs: elapsedMs(),
      });
      return error;
    }
  };
};
