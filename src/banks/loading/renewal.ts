import { EventEmitter, once } from 'node:events';
import { ACCEPTANCES, type Acceptance } from '../guard/guard.ts';
import type { OperatorRequest } from '../list-keeper.ts';
import { LoadError } from '../load-error.ts';
import { createListLoad, type ListLoadOptions } from './list-load.ts';
import { createNextLoad, type NextLoadOptions } from './next-load.ts';

// When the list is loaded: one loop, which waits until a load is due, agrees with the other
// replicas on who makes it, and makes it.

export type RenewalOptions = ListLoadOptions & NextLoadOptions;

/** A load that an operator waits for. */
interface ForcedLoad {
  readonly request: OperatorRequest;
  /** One for each of those who wait for it. */
  readonly ends: ((failure: LoadError | undefined) => void)[];
}

const NO_OPERATOR: OperatorRequest = { accept: [], requestId: '' };

/** Why nothing is loaded any more. */
export const STOPPING = new LoadError('unreachable', 'the service is stopping');

export const createRenewal = (options: RenewalOptions) => {
  const { keeper, fleet, clock } = options;
  const { news } = keeper;
  /** Emits `wake`, which ends a wait of the loop. */
  const alarm = new EventEmitter();
  const stopping = new AbortController();
  const nextLoad = createNextLoad(options);
  const loadList = createListLoad(options, nextLoad, stopping.signal);
  const forced: ForcedLoad[] = [];
  let running: Promise<void> | undefined;
  /**
   * What the loop does: it waits until a load is due; or looks at the others, or waits for the load
   * of one of them; or loads.
   */
  let phase: 'waiting' | 'looking' | 'loading' = 'looking';
  /** Something has happened since the loop last looked. */
  let isWoken = false;

  const run = async (): Promise<void> => {
    /* oxlint-disable no-await-in-loop -- one step after the other */
    while (!stopping.signal.aborted) {
      phase = 'looking';
      isWoken = false;
      await fleet.synchronize();
      nextLoad.followOthers();
      const operator = forced.shift();
      if (operator) await loadFor(operator);
      else await waitOrRenew();
    }
    /* oxlint-enable no-await-in-loop */
    for (const end of forced.splice(0).flatMap(({ ends }) => ends)) end(STOPPING);
    news.emit('change');
  };

  const waitOrRenew = async (): Promise<void> => {
    // Asked at each look, since it notes when it first sees a lease.
    const othersTurnMs = nextLoad.othersTurnMs();
    const dueInMs = nextLoad.dueInMs();
    if (dueInMs > 0) {
      phase = 'waiting';
      news.emit('change');
      await pause(dueInMs);
    } else if (othersTurnMs > 0) await pause(othersTurnMs);
    else if (await fleet.claim()) await load(NO_OPERATOR, false);
  };

  /** Ends after `waitMs`, at the next news, or when the shared store is to be looked at. */
  const pause = async (waitMs: number): Promise<void> => {
    if (isWoken || stopping.signal.aborted) return;
    const cancel = clock.after(Math.ceil(Math.min(waitMs, fleet.pollMs)), wake);
    await once(alarm, 'wake').finally(cancel);
  };
  const wake = (): void => {
    isWoken = true;
    alarm.emit('wake');
  };

  const loadFor = async ({ request, ends }: ForcedLoad): Promise<void> => {
    const failure = await load(request, true);
    for (const end of ends) end(failure);
  };

  const load = async (
    request: OperatorRequest,
    isForced: boolean,
  ): Promise<LoadError | undefined> => {
    phase = 'loading';
    const failure = await loadList(request, isForced);
    if (stopping.signal.aborted) return failure && STOPPING;
    phase = 'looking';
    if (!failure) return undefined;
    // Requests that wait are answered now, and not once the other replicas know.
    news.emit('change');
    await nextLoad.shareFailure(failure);
    return failure;
  };

  /** While a load is under way, the other replicas are only followed. */
  const look = async (): Promise<void> => {
    await fleet.synchronize();
    nextLoad.followOthers();
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
      if (phase === 'loading') void look();
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
    nextLoadInMs: (): number => (phase === 'waiting' ? nextLoad.dueInMs() : 0),
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
