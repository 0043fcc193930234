import type { Clock } from '../../clock.ts';
import { withDeadline } from '../../deadline.ts';
import { changedAt, type Admission, type Taken } from '../admission.ts';
import type { CachedList, HeldList, LoadedList, Validators } from '../cached-list.ts';
import type { Acceptance } from '../guard/guard.ts';
import { isOvertaken, type Question } from '../guard/replacement.ts';
import type { ListEvent } from '../list-event.ts';
import { LoadError } from '../load-error.ts';
import type { FailureRecord } from './failures.ts';
import { mayBeConditional } from './schedule.ts';

/**
 * All that the list knows of the provider. With `known` validators it may answer that nothing changed since.
 * Rejects with a {@link LoadError}; must give up when `signal` aborts.
 */
export type Load = (
  signal: AbortSignal,
  known: Validators | undefined,
) => Promise<LoadedList | 'not_modified'>;

export interface LoadOptions {
  /** An operator asked: the provider is to send the whole list, whatever it thinks of our validators. */
  readonly isForced: boolean;
  /** The reasons for which this one list is not refused. */
  readonly accept: readonly Acceptance[];
  /** Longest time for it. */
  readonly limitMs: number;
  /** Ends it, with no effect and no report. */
  readonly signal: AbortSignal;
}

export interface OneLoadOptions {
  readonly ask: Load;
  readonly cached: CachedList;
  readonly admission: Admission;
  readonly failures: FailureRecord;
  readonly clock: Clock;
  readonly onEvent: (event: ListEvent) => void;
}

/** One load, from the question to the provider to the cached list or the failure. What it gives back never rejects. */
export const createLoad = ({ ask, cached, admission, failures, clock, onEvent }: OneLoadOptions) => {
  /** When the provider last sent the cached list itself, and how often it has said since that nothing changed. */
  let whole = { atMs: -Infinity, confirmations: 0 };

  const mayAskForChanges = (nowMs: number): boolean =>
    !failures.current().failure && mayBeConditional(whole.confirmations, nowMs - whole.atMs);

  /**
   * Asks once, and takes the answer unless it is overtaken.
   * @throws {LoadError}
   */
  const askOnce = async (
    { isForced, accept, signal }: LoadOptions,
    limitMs: number,
  ): Promise<(Taken & { readonly isConfirmed: boolean }) | undefined> => {
    const askedAtMs = clock.monotonicMs();
    const question: Question = { askedAtMs, acceptedAtMs: cached.get()?.acceptedAtMs };
    const list = !isForced && mayAskForChanges(askedAtMs) ? cached.get() : undefined;
    const answer = await withDeadline((ending) => ask(ending, list?.validators), {
      limitMs,
      clock,
      signal,
      timeoutError: () => new LoadError('timeout', `no complete answer within ${limitMs} ms`),
    });
    // The age counts from here: encoding a large list takes its time.
    const [nowMs, receivedAtMs] = [clock.monotonicMs(), clock.wallMs()];
    const sent = { sentAtMs: nowMs, countedFromMs: nowMs };
    const isOver = (current: HeldList | undefined): boolean =>
      signal.aborted || isOvertaken(question, current);
    if (answer === 'not_modified') {
      if (!list) throw new LoadError('internal', 'nothing is cached that could be unchanged');
      const taken = admission.confirm(list, { ...sent, receivedAtMs });
      if (taken) whole = { ...whole, confirmations: whole.confirmations + 1 };
      return taken && { ...taken, isConfirmed: true };
    }
    const taken = await admission.take(answer, {
      sent,
      waive: (current) => (isOver(current) ? 'overtaken' : accept),
      asSuccessor: (previous, isUnchanged) => ({
        receivedAtMs,
        changedAtMs: changedAt(previous, isUnchanged, receivedAtMs),
        acceptedAtMs: accept.length > 0 ? acceptedAfter(previous, clock.wallMs()) : previous?.acceptedAtMs,
      }),
    });
    if (taken) whole = { atMs: askedAtMs, confirmations: 0 };
    return taken && { ...taken, isConfirmed: false };
  };

  const load = async (wanted: LoadOptions, startedAtMs: number): Promise<void> => {
    const leftMs = (): number => Math.max(1, wanted.limitMs - (clock.monotonicMs() - startedAtMs));
    let taken = await askOnce(wanted, leftMs());
    // What an operator accepts is still to be asked for; otherwise the list that overtook the answer is as good.
    // oxlint-disable-next-line no-await-in-loop -- one question after the other
    while (!taken && wanted.accept.length > 0) taken = await askOnce(wanted, leftMs());
    wanted.signal.throwIfAborted();
    if (!taken) return;
    failures.clear();
    const { list, previous, isConfirmed } = taken;
    const isUnchanged = list.representations === previous?.representations;
    const outcome = isConfirmed ? 'not_modified' : isUnchanged ? 'unchanged' : 'changed';
    const durationMs = clock.monotonicMs() - startedAtMs;
    onEvent({ type: 'list-renewed', list, previous, outcome, durationMs });
  };

  return async (wanted: LoadOptions): Promise<LoadError | undefined> => {
    const startedAtMs = clock.monotonicMs();
    try {
      await load(wanted, startedAtMs);
      return undefined;
    } catch (error) {
      const failure = LoadError.from(error);
      if (wanted.signal.aborted) return failure;
      failures.add(failure);
      const durationMs = clock.monotonicMs() - startedAtMs;
      onEvent({ type: 'list-load-failed', error: failure, state: cached.state(), durationMs });
      return failure;
    }
  };
};

/** Later than any decision before, whatever the clocks that dated those: replicas compare them. */
const acceptedAfter = (previous: HeldList | undefined, nowMs: number): number =>
  Math.max(nowMs, (previous?.acceptedAtMs ?? 0) + 1);
