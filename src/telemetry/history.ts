import type { Clock } from '../clock.ts';
import type { ServiceEvent } from './events.ts';

// The last six hours by the minute, for the status page.

export interface Minute {
  /** The greatest age of the list; undefined if there was no list. */
  readonly oldestAgeMs: number | undefined;
  readonly renewed: number;
  readonly failed: number;
  /** The longest request to the provider; undefined if there was none. */
  readonly slowestCallMs: number | undefined;
  readonly requests: number;
  /** Those on the public port that were answered with a status of 500 or above. */
  readonly failedRequests: number;
}

export interface History {
  onEvent(event: ServiceEvent): void;
  /** The last minutes without gaps, oldest first, none from before the start. The last one is incomplete. */
  readonly minutes: () => readonly Minute[];
}

export interface HistoryOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** The list's age now. */
  readonly ageMs: () => number | undefined;
}

export const HISTORY_MINUTES = 360;
const MINUTE_MS = 60_000;

export const createHistory = ({ clock, ageMs }: HistoryOptions): History => {
  let current = newMinute();
  const minutes = [current];
  let currentEndsAtMs = clock.monotonicMs() + MINUTE_MS;
  /** From when the list's age counts, in monotonic milliseconds. */
  let agedFromMs: number | undefined;

  const noteAge = (atMs: number): void => {
    if (agedFromMs !== undefined) current.oldestAgeMs = Math.max(current.oldestAgeMs ?? 0, atMs - agedFromMs);
  };

  /** Adds the minutes that have begun since the last call. There is no timer: events and readers call this. */
  const catchUp = (nowMs: number): void => {
    while (nowMs >= currentEndsAtMs) {
      noteAge(currentEndsAtMs);
      current = newMinute();
      minutes.push(current);
      if (minutes.length > HISTORY_MINUTES) minutes.shift();
      currentEndsAtMs += MINUTE_MS;
    }
  };

  return {
    onEvent: (event) => {
      const nowMs = clock.monotonicMs();
      catchUp(nowMs);
      if (event.type === 'request-finished') {
        current.requests += 1;
        if (event.status >= 500) current.failedRequests += 1;
      } else if (event.type === 'list-renewed' || event.type === 'list-restored') {
        if (event.type === 'list-renewed') current.renewed += 1;
        // Of the list that was replaced, and of the new one, which may be old already.
        noteAge(nowMs);
        const age = ageMs();
        agedFromMs = age === undefined ? undefined : nowMs - age;
        noteAge(nowMs);
      } else if (event.type === 'list-load-failed') current.failed += 1;
      else if (event.type === 'provider-called')
        current.slowestCallMs = Math.max(current.slowestCallMs ?? 0, event.durationMs);
    },
    minutes: () => {
      const nowMs = clock.monotonicMs();
      catchUp(nowMs);
      noteAge(nowMs);
      return [...minutes];
    },
  };
};

const newMinute = (): { -readonly [K in keyof Minute]: Minute[K] } => ({
  oldestAgeMs: undefined,
  renewed: 0,
  failed: 0,
  slowestCallMs: undefined,
  requests: 0,
  failedRequests: 0,
});
