import type { Clock } from '../../clock.ts';
import { createWakeUp } from '../../wake-up.ts';
import { OVERRIDABLE, type Overridable } from '../guard/guard.ts';
import type { ListKeeper, OperatorRequest } from '../list-keeper.ts';
import { STOPPING, type LoadError } from '../load-error.ts';
import type { Fleet } from './fleet.ts';
import { createListLoad, type Load } from './list-load.ts';
import { createNextLoad } from './next-load.ts';
import type { RetryAfter } from './retry-after.ts';

// When the list is loaded: one loop, which waits until a load is due, agrees with the other
// replicas on who makes it, and makes it.

export interface RenewalOptions {
  readonly load: Load;
  /** Longest time for one load. */
  readonly loadTimeoutMs: number;
  readonly ttlMs: number;
  readonly keeper: ListKeeper;
  readonly fleet: Fleet;
  readonly retryAfter: RetryAfter;
  readonly clock: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
}

/** A load that operators wait for. */
interface OperatorsLoad {
  readonly request: OperatorRequest;
  /** One for each of those who wait for it. */
  readonly ends: End[];
}

type End = (failure: LoadError | undefined) => void;

export const createRenewal = (options: RenewalOptions) => {
  const { keeper, fleet, clock } = options;
  const { changes } = keeper;
  /** Ends a wait of the loop: something has happened since it last looked. */
  const alarm = createWakeUp();
  const stopping = new AbortController();
  const nextLoad = createNextLoad(options);
  const claims = createClaims(fleet);
  const loadList = createListLoad({ ...options, nextLoad, signal: stopping.signal });
  const operators: OperatorsLoad[] = [];
  let running: Promise<void> | undefined;
  /**
   * What the loop does: it waits until a load is due; or loads; or looks at the other replicas, and
   * waits while it is the turn of one of them.
   */
  let phase: 'waiting' | 'looking' | 'loading' = 'looking';

  const run = async (): Promise<void> => {
    /* oxlint-disable no-await-in-loop -- one step after the other */
    while (!stopping.signal.aborted) {
      phase = 'looking';
      alarm.forget();
      await fleet.synchronize();
      nextLoad.followOthers();
      const operator = operators.shift();
      if (operator) await loadFor(operator);
      else await waitOrRenew();
    }
    /* oxlint-enable no-await-in-loop */
    for (const end of operators.splice(0).flatMap(({ ends }) => ends)) end(STOPPING);
    changes.emit('change');
  };

  const waitOrRenew = async (): Promise<void> => {
    nextLoad.plan();
    const dueInMs = nextLoad.dueInMs();
    const othersTurnMs = nextLoad.othersTurnMs();
    if (dueInMs > 0 || othersTurnMs > 0) claims.restart();
    if (dueInMs > 0) {
      phase = 'waiting';
      changes.emit('change');
      await pause(dueInMs);
    } else if (othersTurnMs > 0) await pause(othersTurnMs);
    else if (await claims.mayLoad()) await load(undefined);
  };

  /** Ends after `waitMs`, when it is woken, or when the shared store is to be looked at. */
  const pause = async (waitMs: number): Promise<void> => {
    const cancel = clock.after(Math.ceil(Math.min(waitMs, fleet.pollMs)), alarm.wake);
    await alarm.woken();
    cancel();
  };

  const loadFor = async ({ request, ends }: OperatorsLoad): Promise<void> => {
    const failure = await load(request);
    for (const end of ends) end(failure);
  };

  const load = async (operator: OperatorRequest | undefined): Promise<LoadError | undefined> => {
    phase = 'loading';
    const failure = await loadList(operator);
    if (stopping.signal.aborted) return failure && STOPPING;
    phase = 'looking';
    if (!failure) return undefined;
    // Requests that wait are answered now, and not once the other replicas know.
    changes.emit('change');
    await nextLoad.shareFailure();
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
      alarm.wake();
    },
    /** There may be something new in the shared store. */
    onNews: (): void => {
      if (phase === 'loading') void look();
      else alarm.wake();
    },
    /**
     * Makes a load of its own as soon as none is under way. Those who override the same
     * reasons share one; of their request ids the first one counts.
     * @returns the failure, or undefined if there was none
     */
    refresh: (request: OperatorRequest): Promise<LoadError | undefined> =>
      new Promise((end) => {
        if (stopping.signal.aborted) {
          end(STOPPING);
          return;
        }
        enqueue(operators, request, end);
        start();
        alarm.wake();
      }),
    /** Why requests without a list need not wait; undefined where a load may bring one. */
    failure: (): LoadError | undefined =>
      keeper.failures.current().failure ?? nextLoad.retryAfterCause(),
    isStopped: (): boolean => stopping.signal.aborted,
    isLoading: (): boolean => phase === 'loading',
    /** Milliseconds until the next load; 0 while it is under way, here or in another replica. */
    nextLoadInMs: (): number => (phase === 'waiting' ? nextLoad.dueInMs() : 0),
    /** Ends the load under way, and resolves once the loop has ended. */
    stop: async (): Promise<void> => {
      stopping.abort(STOPPING);
      alarm.wake();
      await running;
      changes.emit('change');
    },
  };
};

/** Claims of the right to make the next request, one after the other. */
const createClaims = (fleet: Pick<Fleet, 'claim'>) => {
  let overtaken = 0;
  return {
    /** No load is due, or it is the turn of another replica. */
    restart: (): void => {
      overtaken = 0;
    },
    /**
     * Whether to load: the lease was claimed; or each claim finds that something else was written
     * meanwhile, but never a lease, so that waiting for its owner would have no end.
     */
    mayLoad: async (): Promise<boolean> => {
      if (await fleet.claim()) return true;
      overtaken += 1;
      return overtaken > MAX_OVERTAKEN_CLAIMS;
    },
  };
};

/** Each costs the time of a request to Redis. */
const MAX_OVERTAKEN_CLAIMS = 8;

/** Operators who override the same reasons share a load. */
const enqueue = (operators: OperatorsLoad[], request: OperatorRequest, end: End): void => {
  const same = operators.find((other) => sameReasons(other.request.overrides, request.overrides));
  if (same) same.ends.push(end);
  else operators.push({ request, ends: [end] });
};

const sameReasons = (some: readonly Overridable[], others: readonly Overridable[]): boolean =>
  OVERRIDABLE.every((reason) => some.includes(reason) === others.includes(reason));
