import { withDeadline } from '../../deadline.ts';
import { admit, type AdmissionOptions } from '../admission.ts';
import type { CachedList, HeldList, LoadedList, Validators } from '../cached-list.ts';
import type { ListEvent } from '../list-event.ts';
import { LoadError } from '../load-error.ts';
import type { FailureRecord } from './failures.ts';
import type { LoadOptions } from './loading.ts';
import { mayBeConditional } from './schedule.ts';

/**
 * All that the list knows of the provider. With `known` validators it may answer that nothing changed since.
 * Rejects with a {@link LoadError}; must give up when `signal` aborts.
 */
export type Load = (
  signal: AbortSignal,
  known: Validators | undefined,
) => Promise<LoadedList | 'not_modified'>;

export interface OneLoadOptions extends AdmissionOptions {
  readonly load: Load;
  readonly cached: CachedList;
  readonly failures: FailureRecord;
  /** Ends the load under way, which is then not reported. */
  readonly stopping: AbortSignal;
  readonly onEvent: (event: ListEvent) => void;
}

/** One load, from the question to the provider to the cached list or the failure. What it gives back never rejects. */
export const createOneLoad = (options: OneLoadOptions) => {
  const { cached, failures, clock, stopping, onEvent } = options;
  /** When the provider last sent the cached list itself, and how often it has said since that nothing changed. */
  let whole = { atMs: -Infinity, confirmations: 0 };

  /** @throws {LoadError} */
  const load = async (
    { isForced, accept, limitMs }: LoadOptions,
    startedAtMs: number,
  ): Promise<ListEvent> => {
    const previous = cached.get();
    const isConditional =
      !isForced &&
      !failures.current().failure &&
      mayBeConditional(whole.confirmations, startedAtMs - whole.atMs);
    const known = isConditional ? previous?.validators : undefined;
    const loaded = await withDeadline((signal) => options.load(signal, known), {
      limitMs,
      clock,
      signal: stopping,
      timeoutError: () => new LoadError('timeout', `no complete answer within ${limitMs} ms`),
    });
    // The age counts from here: encoding a large list takes its time.
    const sentAtMs = clock.monotonicMs();
    const isConfirmed = loaded === 'not_modified';
    const next = isConfirmed
      ? confirm(previous, clock.wallMs())
      : await admit(loaded, previous, accept, options);
    const list = accept.length > 0 ? withAcceptance(next, clock.wallMs()) : next;
    cached.set(list, sentAtMs);
    failures.clear();
    whole = isConfirmed
      ? { ...whole, confirmations: whole.confirmations + 1 }
      : { atMs: startedAtMs, confirmations: 0 };
    const isUnchanged = list.representations === previous?.representations;
    const outcome = isConfirmed ? 'not_modified' : isUnchanged ? 'unchanged' : 'changed';
    return { type: 'list-renewed', list, previous, outcome, durationMs: clock.monotonicMs() - startedAtMs };
  };

  return async (wanted: LoadOptions): Promise<LoadError | undefined> => {
    const startedAtMs = clock.monotonicMs();
    try {
      onEvent(await load(wanted, startedAtMs));
      return undefined;
    } catch (error) {
      const failure = LoadError.from(error);
      failures.add(failure);
      const durationMs = clock.monotonicMs() - startedAtMs;
      if (!stopping.aborted)
        onEvent({ type: 'list-load-failed', error: failure, state: cached.state(), durationMs });
      return failure;
    }
  };
};

/** The cached list, of which the provider says that it has not changed. */
const confirm = (cached: HeldList | undefined, nowMs: number): HeldList => {
  if (cached) return { ...cached, receivedAtMs: nowMs };
  throw new LoadError('internal', 'nothing is cached that could be unchanged');
};

/** Later than any decision before, whatever the clocks that dated those: replicas compare them. */
const withAcceptance = (list: HeldList, nowMs: number): HeldList => ({
  ...list,
  acceptedAtMs: Math.max(nowMs, (list.acceptedAtMs ?? 0) + 1),
});
