import type { Clock } from '../clock.ts';
import { isServerError, type ServiceEvent } from './events.ts';

// The last six hours by the minute, for the status page.

class MinuteTally {
  /** The greatest age of the list; undefined if there was no list. */
  oldestAgeMs: number | undefined;
  renewed = 0;
  failed = 0;
  /** The longest request to the provider; undefined if there was none. */
  slowestCallMs: number | undefined;
  /** On the public port. */
  requests = 0;
  /** Of those, answered with a status of 500 or above. */
  failedRequests = 0;
}

export type Minute = Readonly<MinuteTally>;

export const HISTORY_MINUTES = 360;
const MINUTE_MS = 60_000;

export const createHistory = (clock: Pick<Clock, 'monotonicMs'>) => {
  let current = new MinuteTally();
  const minutes = [current];
  let currentEndsAtMs = clock.monotonicMs() + MINUTE_MS;
  /** When the list's age began, in monotonic milliseconds. */
  let agedFromMs: number | undefined;

  const noteAge = (atMs: number): void => {
    if (agedFromMs !== undefined)
      current.oldestAgeMs = Math.max(current.oldestAgeMs ?? 0, atMs - agedFromMs);
  };

  /**
   * Adds the minutes that have begun since the last call. There is no timer: events and readers
   * call this.
   */
  const catchUp = (nowMs: number): void => {
    while (nowMs >= currentEndsAtMs) {
      noteAge(currentEndsAtMs);
      current = new MinuteTally();
      minutes.push(current);
      if (minutes.length > HISTORY_MINUTES) minutes.shift();
      currentEndsAtMs += MINUTE_MS;
    }
  };

  return {
    onEvent: (event: ServiceEvent): void => {
      const nowMs = clock.monotonicMs();
      catchUp(nowMs);
      if (event.type === 'request-finished') {
        current.requests += 1;
        if (isServerError(event.status)) current.failedRequests += 1;
      } else if (event.type === 'list-taken') {
        if (event.load) current.renewed += 1;
        // The last age of the list that is replaced. That of the new one is noted later, because it
        // only grows.
        noteAge(nowMs);
        agedFromMs = event.list.askedAtMs;
      } else if (event.type === 'load-failed') current.failed += 1;
      else if (event.type === 'provider-called')
        current.slowestCallMs = Math.max(current.slowestCallMs ?? 0, event.durationMs);
    },
    /**
     * The last minutes without gaps, oldest first, none from before the start. The last one is
     * incomplete.
     */
    minutes: (): readonly Minute[] => {
      const nowMs = clock.monotonicMs();
      catchUp(nowMs);
      noteAge(nowMs);
      return [...minutes];
    },
  };
};
