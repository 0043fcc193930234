import type { Clock } from '../../clock.ts';
import { ACCEPTANCES, type Acceptance, type Decision } from '../guard/guard.ts';
import { LoadError } from '../load-error.ts';

// When loads happen: one at a time, however many ask for one; in turn with other replicas; again after a failure or ahead
// of the list's expiry. What a load does, and whose turn it is, is handed in.

/**
 * What each event does in each state; an event without an entry changes nothing.
 *
 *   new      nothing is loaded until somebody asks
 *   idle     an alarm is set for the next load
 *   waiting  the other replicas decide whether this one loads
 *   loading  a question to the provider is out
 *   stopped  for good
 *
 *   start    the service is up
 *   wanted   a request finds no list
 *   forced   an operator wants a load, or wanted one while another was under way
 *   due      the alarm went off
 *   replaced a list came from a store
 *   granted  it is this replica's turn,
 *   spared   or there is nothing left to load
 *   ended    the load has ended, whatever its result
 */
export const TRANSITIONS = {
  new: { start: 'idle', wanted: 'waiting', forced: 'loading', stop: 'stopped' },
  idle: { due: 'waiting', wanted: 'waiting', replaced: 'idle', forced: 'loading', stop: 'stopped' },
  waiting: { granted: 'loading', spared: 'idle', forced: 'loading', stop: 'stopped' },
  loading: { ended: 'idle', stop: 'stopped' },
  stopped: {},
} as const;

export type LoadingState = keyof typeof TRANSITIONS;
type LoadingEvent = { [S in LoadingState]: keyof (typeof TRANSITIONS)[S] }[LoadingState];

/**
 * Decides, before a load that nobody forced, whether this replica makes it. Waits about `patienceMs` for another
 * one's list; stops earlier when no load is due or `signal` aborts. Never rejects.
 */
export type TakeTurn = (wanted: {
  readonly isDue: () => boolean;
  /** Asked again while it waits: the list may have become too old to be served. */
  readonly patienceMs: () => number;
  readonly signal: AbortSignal;
}) => Promise<Turn>;

export interface Turn {
  readonly mayLoad: boolean;
  /** Ends the turn; to be called once, after the load or instead of it. */
  readonly end: () => void;
}

export interface LoadingOptions {
  /** Makes one load, perhaps as an operator asked for, and deals with its result, until its signal aborts. Never rejects. */
  readonly load: (forced: Decision | undefined, signal: AbortSignal) => Promise<LoadError | undefined>;
  readonly takeTurn: TakeTurn;
  /** Whether the list must be loaded now, or a failed load repeated. */
  readonly isDue: () => boolean;
  /** Whether requests can be answered meanwhile. */
  readonly hasList: () => boolean;
  /** Milliseconds from now to the next load. */
  readonly nextDelayMs: () => number;
  /** Called when the state becomes `idle` or `stopped`. */
  readonly onRest: () => void;
  /** Longest time for one load. */
  readonly loadTimeoutMs: number;
  readonly clock: Clock;
}

/** A load that an operator waits for. */
interface ForcedLoad {
  readonly request: Decision;
  /** One for each of those who wait for it. */
  readonly ends: ((failure: LoadError | undefined) => void)[];
}

/** The turn of a replica that has no others beside it, cannot ask them, or has waited for them long enough. */
export const WITHOUT_LEASE: Turn = { mayLoad: true, end: () => undefined };

export const createLoading = (options: LoadingOptions) => {
  const { load, takeTurn, isDue, loadTimeoutMs, clock } = options;
  let state: LoadingState = 'new';
  /** Ends what the state has under way: its alarm, its wait or its load. */
  let leave = (): void => {};
  let alarmAtMs = 0;
  const forced: ForcedLoad[] = [];

  const on = (event: LoadingEvent, turn: Turn = WITHOUT_LEASE): void => {
    const transitions: Partial<Record<LoadingEvent, LoadingState>> = TRANSITIONS[state];
    const next = transitions[event];
    if (next === undefined) return;
    leave();
    leave = () => undefined;
    state = next;
    enter[next](turn);
  };

  const setAlarm = (): void => {
    const leftMs = alarmAtMs - clock.monotonicMs();
    if (leftMs <= 0) on('due');
    // A timer may fire early, or be shorter than the wait (see LONGEST_TIMER_MS): the clock decides, not the timer.
    else leave = clock.after(Math.ceil(leftMs), setAlarm);
  };

  const enter: Readonly<Record<LoadingState, (turn: Turn) => void>> = {
    new: () => undefined,
    idle: () => {
      options.onRest();
      if (forced.length > 0) {
        on('forced');
        return;
      }
      alarmAtMs = clock.monotonicMs() + options.nextDelayMs();
      setAlarm();
    },
    waiting: () => {
      const wait = new AbortController();
      leave = () => wait.abort();
      // With nothing to serve, requests wait: for another replica half of their time.
      const patienceMs = (): number => loadTimeoutMs * (options.hasList() ? 2 : 0.5);
      const decided = (turn: Turn): void => {
        // A turn that nobody waits for any more is given back.
        if (wait.signal.aborted) turn.end();
        else on(turn.mayLoad ? 'granted' : 'spared', turn);
      };
      void takeTurn({ isDue, patienceMs, signal: wait.signal }).then(decided);
    },
    loading: (turn) => {
      const forcedLoad = forced.shift();
      const ending = new AbortController();
      leave = () => ending.abort(STOPPING);
      const ended = (failure: LoadError | undefined): void => {
        turn.end();
        for (const end of forcedLoad?.ends ?? []) end(failure);
        on('ended');
      };
      void load(forcedLoad?.request, ending.signal).then(ended);
    },
    stopped: () => {
      for (const end of forced.splice(0).flatMap(({ ends }) => ends)) end(STOPPING);
      options.onRest();
    },
  };

  return {
    /** Something happened outside; see {@link TRANSITIONS}. */
    on: (event: 'start' | 'wanted' | 'replaced' | 'stop'): void => on(event),
    /**
     * Makes a load of its own as soon as none is under way. Those who wait with the same `reasons` to accept share one.
     * @param requestId of the operator's request; where requests share a load, the first one's counts
     * @returns the failure, or undefined if there was none
     */
    refresh: (reasons: readonly Acceptance[], requestId = ''): Promise<LoadError | undefined> =>
      new Promise((end) => {
        if (state === 'stopped') {
          end(STOPPING);
          return;
        }
        const same = forced.find(({ request }) => sameReasons(request.reasons, reasons));
        if (same) same.ends.push(end);
        else forced.push({ request: { reasons, requestId }, ends: [end] });
        on('forced');
      }),
    state: (): LoadingState => state,
    /** Milliseconds until the next load; 0 unless an alarm is set. */
    nextLoadInMs: (): number => (state === 'idle' ? Math.max(0, alarmAtMs - clock.monotonicMs()) : 0),
  };
};

/** Why nothing is loaded any more. */
export const STOPPING = new LoadError('unreachable', 'the service is stopping');

const sameReasons = (some: readonly Acceptance[], others: readonly Acceptance[]): boolean =>
  ACCEPTANCES.every((reason) => some.includes(reason) === others.includes(reason));
