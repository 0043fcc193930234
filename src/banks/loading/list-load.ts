import { withDeadline } from '../../deadline.ts';
import type { CachedList } from '../cached-list.ts';
import type { OperatorRequest } from '../list-keeper.ts';
import { isOverridable } from '../guard/guard.ts';
import { LoadError } from '../load-error.ts';
import type { LoadedList } from '../reading/list-reader.ts';
import type { NextLoad } from './next-load.ts';
import type { RenewalOptions } from './renewal-options.ts';

// One load, from the request to the provider to the cached list, or the failure.

/** @param signal gives up the load under way */
export const createListLoad = (
  options: RenewalOptions,
  nextLoad: NextLoad,
  signal: AbortSignal,
) => {
  const { load, loadTimeoutMs, keeper, fleet, retryAfter, clock, onEvent } = options;
  const { cache, failures } = keeper;

  /** Loads a list and prepares it, to be taken after `previous`. @throws {LoadError} */
  const loadAndPrepare = async (
    operator: OperatorRequest | undefined,
    previous: CachedList | undefined,
    limitMs: number,
  ): Promise<{ readonly loaded: LoadedList; readonly list: CachedList }> => {
    const requestedAtMs = clock.monotonicMs();
    const readResponse = await withDeadline(load, {
      limitMs,
      clock,
      signal,
      timeoutError: () => new LoadError('timeout', `no complete response within ${limitMs} ms`),
    });
    // The age counts from here: reading and encoding a large list take their time.
    const times = { requestedAtMs, loadedAtMs: clock.monotonicMs() };
    const loaded = await readResponse(signal);
    const list = await keeper.prepareLoaded(loaded, times, previous, operator);
    nextLoad.noteLoad(clock.monotonicMs() - requestedAtMs);
    retryAfter.endBefore(requestedAtMs);
    return { loaded, list };
  };

  const recordFailure = (failure: LoadError): void => {
    failures.add(failure);
    retryAfter.add(failure, fleet.handoverMs);
    nextLoad.plan();
  };

  /**
   * Loads a list and takes it.
   * @returns `overtaken` where the list of another replica came first, and is the cached one
   * @throws {LoadError}
   */
  const loadAndTake = async (
    operator: OperatorRequest | undefined,
    limitMs: number,
    elapsedMs: () => number,
  ): Promise<'taken' | 'overtaken'> => {
    const previous = cache.get();
    const prepared = await loadAndPrepare(operator, previous, limitMs).catch((error: unknown) => {
      // It was compared with a list that another replica's has replaced meanwhile.
      if (cache.get()?.id !== previous?.id && isOverridable(LoadError.from(error).kind))
        return undefined;
      throw error;
    });
    if (!prepared) return 'overtaken';
    const { loaded, list } = prepared;
    const result = await fleet.commit(list, previous);
    // An operator asks for the list of all replicas; otherwise it is enough that this one serves it.
    if (operator && result.kind === 'taken') await result.synchronized;
    signal.throwIfAborted();
    if (result.kind === 'overtaken') return 'overtaken';
    if (operator && cache.get()?.id !== list.id) return 'overtaken';
    failures.clear();
    const cached = cache.get();
    onEvent({
      type: 'list-renewed',
      // With its version in the store, if it has got one.
      list: cached?.id === list.id ? cached : list,
      loaded,
      previous,
      outcome: list.representations === previous?.representations ? 'unchanged' : 'changed',
      durationMs: elapsedMs(),
    });
    return 'taken';
  };

  /**
   * Loads a list. If another replica's list comes first, that one is used, and for an operator
   * another list is loaded. Never rejects.
   * @param operator waits for a list of this replica; undefined: nobody does
   * @returns the failure; undefined if there was none. It is recorded and reported, unless `signal`
   *   has aborted, or the provider answered and only the lists of other replicas came first
   */
  return async (operator: OperatorRequest | undefined): Promise<LoadError | undefined> => {
    const startedAtMs = clock.monotonicMs();
    const elapsedMs = (): number => clock.monotonicMs() - startedAtMs;
    let isOvertaken = false;
    try {
      let limitMs = loadTimeoutMs;
      while (limitMs > 0) {
        // oxlint-disable-next-line no-await-in-loop -- one request after the other
        const result = await loadAndTake(operator, limitMs, elapsedMs);
        if (result === 'taken' || !operator) return undefined;
        isOvertaken = true;
        // Whole milliseconds, because operators read what is left of the time.
        limitMs = Math.ceil(loadTimeoutMs - elapsedMs());
      }
      throw new LoadError(
        'timeout',
        `the lists of other replicas came first for ${loadTimeoutMs} ms`,
      );
    } catch (thrown) {
      const error = LoadError.from(thrown);
      if (signal.aborted) return error;
      // The provider has answered: this is no reason to back off.
      if (isOvertaken && error.kind === 'timeout') return error;
      recordFailure(error);
      onEvent({
        type: 'list-load-failed',
        error,
        state: cache.state(),
        durationMs: elapsedMs(),
      });
      return error;
    }
  };
};
